// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program of the host in the guest, beside the filesystem under test: what it finds there, how it is
 * started, what it said. harness/stages/trace.py makes the text that program_parse() reads, one "KEY TAB VALUE"
 * a line, bytes in hex:
 *
 *   mount TAB FS TAB OPTIONS TAB SECTORS       of the filesystem under test
 *   seconds TAB N                              after which it is ended
 *   within TAB 1                               its setup is a part of it (tracer.c)
 *   untraced TAB 1                             it is run without the tracer, to know what the tracer costs
 *   hashes TAB 1                               of a file's content its hash alone is told
 *   file TAB NAME TAB MODE TAB HEX             /program/NAME
 *   stdin TAB HEX
 *   setup TAB HEX, argument TAB HEX, environment TAB HEX      one word each
 *
 * Not here: the tracer (tracer.c), scripts that are measured (programs.c).
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
#include <unistd.h>

#define PROGRAM "/program"
#define INPUT "/tmp/.input"
#define COMPLAINED "/tmp/.complained"
#define SAID_BYTES (1 << 20) /* of each; its end is cut off */
/*
 * Processes and threads of the whole guest, the kernel's own among them: a program that forks without end gets EAGAIN
 * before the table of the tracer (TASKS_MAX) or the guest's memory is full.
 */
#define TASKS_AT_ONCE "256"

static void limit_threads(void)
{
	static const char path[] = "/proc/sys/kernel/threads-max";
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, TASKS_AT_ONCE, strlen(TASKS_AT_ONCE)) < 0)
		die(path);
	close(file);
}

/* What a program expects beside /usr and /etc. Debian's own links lead into them. */
void program_root(void)
{
	static const struct {
		const char *type, *at, *options;
	} mounts[] = {
		{ "tmpfs", PROGRAM, "mode=755" }, { "tmpfs", "/run", "mode=755" },	  { "tmpfs", "/var", "mode=755" },
		{ "tmpfs", "/dev/shm", "mode=1777" }, { "devpts", "/dev/pts", "ptmxmode=666" },
	};
	static bool done;

	if (done)
		return;
	done = true;
	if (on_machine)
		die("a program is recorded in a guest, which is its own"); /* limit_threads() is for the whole machine */
	programs_mount_folders();
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].at, 0755);
		if (mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, mounts[i].options))
			die(mounts[i].at);
	}
	mkdir("/run/lock", 01777);
	mkdir("/var/tmp", 01777);
	mkdir("/var/lib", 0755);
	limit_threads();
	symlink("/run", "/var/run");
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

void write_file(const char *path, int mode, const char *bytes, size_t length)
{
	unlink(path);
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file < 0 || write(file, bytes, length) != (ssize_t)length || fchmod(file, mode))
		die(path);
	close(file);
}

static void put_file(char *value)
{
	char *name = strsep(&value, "\t"), *mode = strsep(&value, "\t"), path[512];

	if (!value)
		die("program: a file");
	snprintf(path, sizeof(path), PROGRAM "/%s", name);
	write_file(path, strtol(mode, NULL, 8), value, from_hex(value));
}

static void add_word(char **words, size_t *count, char *word)
{
	if (*count + 1 >= WORDS_MAX)
		die("program: too many words");
	from_hex(word);
	words[(*count)++] = word;
	words[*count] = NULL;
}

struct start program_parse(char *text)
{
	struct start start = { .seconds = 60 };
	char *line;

	program_root();
	write_file(INPUT, 0600, "", 0);
	while ((line = strsep(&text, "\n")) && *line) {
		char *value = line, *key = strsep(&value, "\t");

		if (!value)
			die("program: a line without a value");
		if (!strcmp(key, "mount")) {
			start.mount.filesystem = strsep(&value, "\t");
			start.mount.options = strsep(&value, "\t");
			start.mount.sectors = value ? strtoull(value, NULL, 10) : 0;
		} else if (!strcmp(key, "seconds")) {
			start.seconds = atof(value);
		} else if (!strcmp(key, "within")) {
			start.within = atoi(value);
		} else if (!strcmp(key, "untraced")) {
			start.untraced = atoi(value);
		} else if (!strcmp(key, "hashes")) {
			start.hashes = atoi(value);
		} else if (!strcmp(key, "file")) {
			put_file(value);
		} else if (!strcmp(key, "stdin")) {
			write_file(INPUT, 0600, value, from_hex(value));
		} else if (!strcmp(key, "setup")) {
			add_word(start.setup, &start.setup_count, value);
		} else if (!strcmp(key, "argument")) {
			add_word(start.arguments, &start.argument_count, value);
		} else if (!strcmp(key, "environment")) {
			add_word(start.environment, &start.environment_count, value);
		} else {
			die("program: an unknown key");
		}
	}
	return start;
}

static void onto(const char *path, int flags, int descriptor)
{
	int file = open(path, flags, 0600);

	if (file < 0)
		_exit(127);
	dup2(file, descriptor);
	close(file);
}

/* The working directory is the mount already. */
void program_become(char **words, char **environment)
{
	setsid();
	umask(022);
	onto(INPUT, O_RDONLY, STDIN_FILENO);
	onto(PROGRAM_SAID, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, STDOUT_FILENO);
	onto(COMPLAINED, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, STDERR_FILENO);
	close_range(3, ~0U, 0);
	environ = environment;
	execvp(words[0], words);
	dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
	_exit(127);
}

int program_plain(char **words, char **environment, double seconds)
{
	sigset_t child_ended, before;

	sigemptyset(&child_ended);
	sigaddset(&child_ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ended, &before);
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		program_become(words, environment);
	}
	int status = programs_wait(child, now_ms() + seconds * 1e3, &child_ended);

	programs_end_all();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

static void put_said(struct text *out, const char *name, const char *path)
{
	static char bytes[SAID_BYTES];
	int file = open(path, O_RDONLY);
	size_t length = 0;
	ssize_t got;

	while (file >= 0 && (got = read(file, bytes + length, sizeof(bytes) - length)) > 0)
		length += got;
	if (file >= 0)
		close(file);
	put(out, ",\"%s\":", name);
	put_string(out, bytes, length);
}

void program_put_output(struct text *out)
{
	put_said(out, "said", PROGRAM_SAID);
	put_said(out, "complained", COMPLAINED);
}
