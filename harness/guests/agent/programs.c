// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's own programs in the guest, for what is measured: its /usr and /etc, read-only; the filesystem under
 * test on the plain disk; a script with a deadline, what it said, how busy the processors were, and what the kernel
 * said meanwhile. User Mode Linux has them by hostfs; on a machine set_up.c has mounted them already, where that was
 * asked for. QEMU's guests have none.
 */
#include "agent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCRIPT "/tmp/script"
#define SAID "/tmp/said"
#define COMPLAINED "/tmp/complained"
#define SHELL "/usr/bin/bash"
#define SAID_BYTES (2 << 20) /* of each; its end is cut off */
#define DEADLINE_PASSED (-1)
#define FORK_US 100000

void programs_mount_folders(void)
{
	static const char *const folders[] = { "/usr", "/etc" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !on_machine; i++) {
		if (mount("host", folders[i], "hostfs", MS_RDONLY, folders[i]))
			die(folders[i]);
	}
	if (access(SHELL, X_OK))
		die(SHELL);
	if (mount("tmp", "/tmp", "tmpfs", 0, "mode=1777"))
		die("/tmp");
}

void programs_mount(void)
{
	programs_mount_folders();
	answer("programs");
}

void programs_enter(const char *filesystem, const char *options)
{
	double start = now_ms();
	int error = mount_filesystem(RECORDED_DISK, filesystem, options);

	answer("entered %d %.3f", error, now_ms() - start);
}

void programs_leave(void)
{
	double start = now_ms();
	int error = umount2(MOUNT_POINT, 0) ? errno : 0;

	answer("left %d %.3f", error, now_ms() - start);
}

static void say_into(const char *path, int descriptor)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file < 0)
		_exit(127);
	dup2(file, descriptor);
	close(file);
}

static __attribute__((noreturn)) void become_script(const sigset_t *before)
{
	static char *const arguments[] = { "bash", SCRIPT, NULL };
	static char *const surroundings[] = {
		"PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin", "LC_ALL=C", "HOME=/tmp", "TMPDIR=/tmp",
		"MNT=" MOUNT_POINT, "DEV=" RECORDED_DISK, "FILES=" PROGRAM_FILES, NULL,
	};
	int nothing = open("/dev/null", O_RDONLY);

	setsid();
	sigprocmask(SIG_SETMASK, before, NULL);
	dup2(nothing, STDIN_FILENO);
	say_into(SAID, STDOUT_FILENO);
	say_into(COMPLAINED, STDERR_FILENO);
	if (!chdir("/tmp"))
		execve(SHELL, arguments, surroundings);
	_exit(127);
}

/* We are init: whoever lost his parent is ours, too. Its exit status as a shell tells it. */
int programs_wait(pid_t script, double deadline_ms, const sigset_t *child_ended)
{
	for (;;) {
		int status;
		pid_t ended;

		while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
			if (ended == script)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		double left = deadline_ms - now_ms();

		if (left <= 0)
			return DEADLINE_PASSED;
		struct timespec patience = { (long)(left / 1e3), (long)(left * 1e6) % 1000000000 };

		sigtimedwait(child_ended, NULL, &patience);
	}
}

/*
 * All but us. First they are stopped, and given time to finish a fork: one that SIGKILL interrupts fails late in
 * copy_process(), and there User Mode Linux faults in exit_mmap().
 */
void programs_kill_all(void)
{
	if (kill(-1, SIGSTOP))
		return; /* nobody is left */
	usleep(FORK_US);
	kill(-1, SIGKILL);
}

void programs_end_all(void)
{
	programs_kill_all();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void put_said(const char *name, const char *path)
{
	static char bytes[SAID_BYTES];
	int file = open(path, O_RDONLY);
	size_t length = 0;
	ssize_t got;

	while (file >= 0 && (got = read(file, bytes + length, sizeof(bytes) - length)) > 0)
		length += got;
	close(file);
	put(&report, ",\"%s\":", name);
	put_string(&report, bytes, length);
}

/* Milliseconds that all processors together were busy since boot; proc(5), /proc/stat: the first line. */
static double busy_ms(void)
{
	unsigned long long user = 0, nice_ = 0, system = 0, irq = 0, softirq = 0;
	FILE *file = fopen("/proc/stat", "r");

	if (!file || fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice_, &system, &irq, &softirq) != 5)
		die("/proc/stat");
	fclose(file);
	return (double)(user + nice_ + system + irq + softirq) * 1e3 / sysconf(_SC_CLK_TCK);
}

void programs_execute(const char *script, size_t bytes, double seconds)
{
	sigset_t child_ended, before;
	int file = open(SCRIPT, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file < 0 || write(file, script, bytes) != (ssize_t)bytes)
		die(SCRIPT);
	close(file);
	sigemptyset(&child_ended);
	sigaddset(&child_ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ended, &before);
	clear_kernel_log();
	double busy = busy_ms(), start = now_ms();
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child)
		become_script(&before);
	int status = programs_wait(child, start + seconds * 1e3, &child_ended);
	double took = now_ms() - start;

	busy = busy_ms() - busy;
	programs_end_all();
	sigprocmask(SIG_SETMASK, &before, NULL);
	report.length = 0;
	put(&report, "{\"status\":%d,\"took_ms\":%.3f,\"busy_ms\":%.3f", status, took, busy);
	put_said("said", SAID);
	put_said("complained", COMPLAINED);
	put(&report, ",\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, "}");
}
