// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program under ptrace while its writes are recorded: which calls it made on the filesystem under test, and
 * where each of them stands in the log.
 *
 * A seccomp filter stops only the calls that can change or persist a filesystem (SECCOMP_RET_TRACE); a kernel
 * without filters stops every call (PTRACE_SYSCALL). dm-log-writes has no clock, so the order of calls and writes is
 * what our marks say: one while the caller is stopped before the call, one while it is stopped after it, or where the
 * next call begins (mark_can_wait()). Of
 * all processes and threads one such call runs at a time, and the others wait, stopped: the history has an order.
 *
 * What a descriptor or a path means the kernel says itself (/proc/TID/fd, /proc/TID/cwd), so dup, close, chdir and
 * renamed directories need no bookkeeping. Paths in the report are relative to the mount.
 *
 * Stores through a shared mapping are no calls: the content of each file so mapped is compared whenever a
 * call stops, and what differs is reported as a call "store", between the call before and this one.
 *
 * It knows the registers and the numbers of calls of x86_64, which guests are of. For another architecture it refuses.
 *
 * Report: see workloads/trace.py. Not here: what a call means (workloads/traced.py), how the program is
 * started (start.c).
 */
#include "agent.h"

#ifndef __x86_64__

/* A program is traced in a guest, and guests are of x86_64. On a machine the command is not sent. */
void trace_record(char *text)
{
	(void)text;
	errno = ENOSYS;
	die("program: the tracer knows the registers and calls of x86_64 alone");
}

#else

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS_MAX 1024
#define CALLS_MAX 60000 /* workloads/text.py: OPERATION_COUNT_MAX */
#define REPORT_BYTES_MAX (15 << 20) /* of what the outbox has before the data */
#define DATA_OFFSET (16 << 20)
#define DATA_BYTES (48 << 20)
#define OUTSIDE_MAX 20
#define MAPPED_MAX 16
#define MAPPED_BYTES (4 << 20)
#define TIMER_US 200000
#define RESTARTS 512 /* -ERESTARTSYS and the like: the call comes again */

/* --- which calls ---------------------------------------------------------------------------------- */

enum what {
	OPEN, NAME, NAMES, LINK, SYMLINK, NODE, ATTRIBUTE, CHMOD, CHOWN, TIMES, XATTR, TRUNCATE, ALLOCATE,
	WRITE, COPY, SYNC_FILE, SYNC_ALL, RANGE, MSYNC, MAP, CONTROL, FLAGS, BIND, REFUSED,
};

struct known {
	int nr;
	const char *name;
	enum what what;
	/* which arguments they are, -1 for none */
	signed char file, directory, path, directory2, path2, flags;
	bool follow;
};

#define PATH(p) -1, -1, p, -1, -1, -1
#define AT(d, p, f) -1, d, p, -1, -1, f
#define FILE_AT(n) n, -1, -1, -1, -1, -1

static const struct known calls[] = {
	{ SYS_open, "open", OPEN, PATH(0), true },
	{ SYS_openat, "openat", OPEN, AT(0, 1, -1), true },
	{ SYS_openat2, "openat2", OPEN, AT(0, 1, -1), true },
	{ SYS_creat, "creat", OPEN, PATH(0), true },
	{ SYS_mkdir, "mkdir", NAME, PATH(0), false },
	{ SYS_mkdirat, "mkdirat", NAME, AT(0, 1, -1), false },
	{ SYS_mknod, "mknod", NODE, PATH(0), false },
	{ SYS_mknodat, "mknodat", NODE, AT(0, 1, -1), false },
	{ SYS_symlink, "symlink", SYMLINK, PATH(1), false },
	{ SYS_symlinkat, "symlinkat", SYMLINK, AT(1, 2, -1), false },
	{ SYS_link, "link", LINK, -1, -1, 0, -1, 1, -1, false },
	{ SYS_linkat, "linkat", LINK, -1, 0, 1, 2, 3, 4, false },
	{ SYS_unlink, "unlink", NAME, PATH(0), false },
	{ SYS_unlinkat, "unlinkat", NAME, AT(0, 1, 2), false },
	{ SYS_rmdir, "rmdir", NAME, PATH(0), false },
	{ SYS_rename, "rename", NAMES, -1, -1, 0, -1, 1, -1, false },
	{ SYS_renameat, "renameat", NAMES, -1, 0, 1, 2, 3, -1, false },
	{ SYS_renameat2, "renameat2", NAMES, -1, 0, 1, 2, 3, 4, false },
	{ SYS_chmod, "chmod", CHMOD, PATH(0), true },
	{ SYS_fchmod, "fchmod", CHMOD, FILE_AT(0), true },
	{ SYS_fchmodat, "fchmodat", CHMOD, AT(0, 1, -1), true },
	{ 452, "fchmodat2", CHMOD, AT(0, 1, 3), true },
	{ SYS_chown, "chown", CHOWN, PATH(0), true },
	{ SYS_lchown, "lchown", CHOWN, PATH(0), false },
	{ SYS_fchown, "fchown", CHOWN, FILE_AT(0), true },
	{ SYS_fchownat, "fchownat", CHOWN, AT(0, 1, 4), true },
	{ SYS_utime, "utime", TIMES, PATH(0), true },
	{ SYS_utimes, "utimes", TIMES, PATH(0), true },
	{ SYS_futimesat, "futimesat", TIMES, AT(0, 1, -1), true },
	{ SYS_utimensat, "utimensat", TIMES, AT(0, 1, 3), true },
	{ SYS_setxattr, "setxattr", XATTR, PATH(0), true },
	{ SYS_lsetxattr, "lsetxattr", XATTR, PATH(0), false },
	{ SYS_fsetxattr, "fsetxattr", XATTR, FILE_AT(0), true },
	{ SYS_removexattr, "removexattr", XATTR, PATH(0), true },
	{ SYS_lremovexattr, "lremovexattr", XATTR, PATH(0), false },
	{ SYS_fremovexattr, "fremovexattr", XATTR, FILE_AT(0), true },
	{ SYS_truncate, "truncate", TRUNCATE, PATH(0), true },
	{ SYS_ftruncate, "ftruncate", TRUNCATE, FILE_AT(0), true },
	{ SYS_fallocate, "fallocate", ALLOCATE, FILE_AT(0), true },
	{ SYS_write, "write", WRITE, FILE_AT(0), true },
	{ SYS_pwrite64, "pwrite64", WRITE, FILE_AT(0), true },
	{ SYS_writev, "writev", WRITE, FILE_AT(0), true },
	{ SYS_pwritev, "pwritev", WRITE, FILE_AT(0), true },
	{ SYS_pwritev2, "pwritev2", WRITE, FILE_AT(0), true },
	{ SYS_sendfile, "sendfile", COPY, FILE_AT(0), true },
	{ SYS_copy_file_range, "copy_file_range", COPY, FILE_AT(2), true },
	{ SYS_splice, "splice", COPY, FILE_AT(2), true },
	{ SYS_fsync, "fsync", SYNC_FILE, FILE_AT(0), true },
	{ SYS_fdatasync, "fdatasync", SYNC_FILE, FILE_AT(0), true },
	{ SYS_syncfs, "syncfs", SYNC_FILE, FILE_AT(0), true },
	{ SYS_sync_file_range, "sync_file_range", RANGE, FILE_AT(0), true },
	{ SYS_sync, "sync", SYNC_ALL, PATH(-1), false },
	{ SYS_msync, "msync", MSYNC, PATH(-1), false },
	{ SYS_mmap, "mmap", MAP, FILE_AT(4), true },
	{ SYS_ioctl, "ioctl", CONTROL, FILE_AT(0), true },
	{ SYS_fcntl, "fcntl", FLAGS, FILE_AT(0), true },
	{ SYS_open_by_handle_at, "open_by_handle_at", FLAGS, FILE_AT(-1), true },
	{ SYS_bind, "bind", BIND, PATH(-1), false },
	{ SYS_io_uring_setup, "io_uring_setup", REFUSED, PATH(-1), false },
	{ SYS_io_submit, "io_submit", REFUSED, PATH(-1), false },
};

#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))

static const unsigned int controls[] = {
	FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, BTRFS_IOC_SUBVOL_CREATE,
	BTRFS_IOC_SUBVOL_CREATE_V2, BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_CREATE_V2, BTRFS_IOC_SNAP_DESTROY,
	BTRFS_IOC_SNAP_DESTROY_V2, BTRFS_IOC_SYNC, BTRFS_IOC_START_SYNC,
};

#define CONTROL_COUNT (sizeof(controls) / sizeof(controls[0]))
#define NR_OFFSET offsetof(struct seccomp_data, nr)
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define STOP BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)
#define GO BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF(test, value, then, otherwise) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, then, otherwise)
#define CHANGING (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define TOLD_BY_WRITES (O_APPEND | O_DIRECT | O_SYNC) /* O_SYNC has the bit of O_DSYNC, too */

static bool add_filter(void)
{
	struct sock_filter all[2 * CALL_COUNT + 2 * CONTROL_COUNT + 64];
	unsigned short n = 0;

	all[n++] = (struct sock_filter)LOAD(offsetof(struct seccomp_data, arch));
	all[n++] = (struct sock_filter)IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
	all[n++] = (struct sock_filter)GO;
	all[n++] = (struct sock_filter)LOAD(NR_OFFSET);
	for (size_t i = 0; i < CALL_COUNT; i++) {
		int nr = calls[i].nr;

		if (nr == SYS_open || nr == SYS_openat) { /* most opens only read */
			all[n++] = (struct sock_filter)IF(BPF_JEQ, nr, 0, 4);
			all[n++] = (struct sock_filter)LOAD(ARGUMENT(nr == SYS_open ? 1 : 2));
			all[n++] = (struct sock_filter)IF(BPF_JSET, CHANGING | TOLD_BY_WRITES, 0, 1);
			all[n++] = (struct sock_filter)STOP;
			all[n++] = (struct sock_filter)GO;
		} else if (nr == SYS_mmap) {
			all[n++] = (struct sock_filter)IF(BPF_JEQ, nr, 0, 7);
			all[n++] = (struct sock_filter)LOAD(ARGUMENT(2));
			all[n++] = (struct sock_filter)IF(BPF_JSET, PROT_WRITE, 0, 4);
			all[n++] = (struct sock_filter)LOAD(ARGUMENT(3));
			all[n++] = (struct sock_filter)IF(BPF_JSET, MAP_ANONYMOUS, 2, 0);
			all[n++] = (struct sock_filter)IF(BPF_JSET, MAP_SHARED, 0, 1);
			all[n++] = (struct sock_filter)STOP;
			all[n++] = (struct sock_filter)GO;
		} else if (nr == SYS_fcntl) {
			all[n++] = (struct sock_filter)IF(BPF_JEQ, nr, 0, 4);
			all[n++] = (struct sock_filter)LOAD(ARGUMENT(1));
			all[n++] = (struct sock_filter)IF(BPF_JEQ, F_SETFL, 0, 1);
			all[n++] = (struct sock_filter)STOP;
			all[n++] = (struct sock_filter)GO;
		} else if (nr == SYS_ioctl) {
			all[n++] = (struct sock_filter)IF(BPF_JEQ, nr, 0, 2 * CONTROL_COUNT + 2);
			all[n++] = (struct sock_filter)LOAD(ARGUMENT(1));
			for (size_t j = 0; j < CONTROL_COUNT; j++) {
				all[n++] = (struct sock_filter)IF(BPF_JEQ, controls[j], 0, 1);
				all[n++] = (struct sock_filter)STOP;
			}
			all[n++] = (struct sock_filter)GO;
		} else {
			all[n++] = (struct sock_filter)IF(BPF_JEQ, nr, 0, 1);
			all[n++] = (struct sock_filter)STOP;
		}
	}
	all[n++] = (struct sock_filter)GO;
	struct sock_fprog program = { n, all };

	/* As root, so a program may still change its user: no PR_SET_NO_NEW_PRIVS. */
	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool has_filters(void)
{
	unsigned int action = SECCOMP_RET_TRACE;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

/* --- the state of a trace -------------------------------------------------------------------------- */

struct event { /* one call, from its entry to its exit */
	int number;
	const struct known *known;
	char path[PATH_BYTES], path2[PATH_BYTES]; /* in the mount; "" for none */
	char where[64]; /* the file of a call by descriptor, as we reach it */
	bool by_file, says, nameless;
	const char *kind; /* of what was there before */
	uint64_t before, size, flags, mode, offset, length, at, data, data_length;
	char name[256], *value;
	size_t value_length;
	char target[PATH_BYTES];
};

enum standing { RUNNING, IN_CALL, WAITING };

struct task {
	pid_t tid;
	enum standing standing;
	bool begun, inside; /* inside: without filters, between entry and exit */
	int memory;
	unsigned long turn; /* of those that wait */
	struct user_regs_struct registers;
	struct event *event;
};

static struct task tasks[TASKS_MAX];
static struct task *busy; /* whose call is being done */
static dev_t mount_device;
static bool filtered, running; /* running: past its setup, so calls have marks */
static int number, said_marks;
static unsigned long turns;
static bool first_call, data_full, calls_full;
static uint64_t data_end; /* bytes of data so far */
static unsigned char *data_buffer; /* the last, unfinished part of them */
static char outside[OUTSIDE_MAX][PATH_BYTES];
static int outside_count;
static bool refused_uring, refused_aio;
/* No process has opened a file with flags that a write asks about: then no descriptor has them. */
static bool flags_plain;
static struct text said_places;

/* object_status(), with one system call less for what is not in a subvolume. */
static bool status_of(const char *path, bool follow, struct stat *status, uint64_t *number)
{
	if (follow ? stat(path, status) : lstat(path, status))
		return false;
	*number = status->st_ino;
	return status->st_dev == mount_device || object_status(path, follow, status, number);
}

static const char *proc(const struct task *task, const char *what, long file)
{
	static char path[64];

	if (file < 0)
		snprintf(path, sizeof(path), "/proc/%d/%s", task->tid, what);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s/%ld", task->tid, what, file);
	return path;
}

static struct task *task_of(pid_t tid)
{
	for (int i = 0; i < TASKS_MAX; i++)
		if (tasks[i].tid == tid)
			return &tasks[i];
	for (int i = 0; i < TASKS_MAX; i++) {
		if (tasks[i].tid)
			continue;
		struct event *event = tasks[i].event; /* is kept for the next one */

		tasks[i] = (struct task){ .tid = tid, .memory = -1, .event = event };
		return &tasks[i];
	}
	die("too many processes and threads under the tracer");
}

static void forget_memory(struct task *task)
{
	if (task->memory >= 0)
		close(task->memory);
	task->memory = -1;
}

static unsigned long argument(const struct task *task, int index)
{
	const struct user_regs_struct *r = &task->registers;
	const unsigned long all[] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

	return index < 0 ? 0 : all[index];
}

static size_t read_memory(struct task *task, uint64_t address, void *buffer, size_t length)
{
	if (task->memory < 0)
		task->memory = open(proc(task, "mem", -1), O_RDONLY);
	ssize_t got = pread(task->memory, buffer, length, address);

	return got < 0 ? 0 : got;
}

/* Text up to its zero byte: a page at a time, for the next one need not be there. */
static bool read_text(struct task *task, uint64_t address, char *text, size_t size)
{
	size_t have = 0;

	text[0] = 0;
	if (!address)
		return false;
	while (have < size) {
		size_t want = 4096 - (address + have) % 4096;
		size_t got = read_memory(task, address + have, text + have, want < size - have ? want : size - have);

		if (!got)
			break;
		if (memchr(text + have, 0, got))
			return true;
		have += got;
	}
	text[have < size ? have : size - 1] = 0;
	return false;
}

/* --- written bytes: behind the report in the outbox -------------------------------------------------- */

#define DATA_BUFFER (1 << 20)

static void data_add(const unsigned char *bytes, size_t length)
{
	if (data_end + length > DATA_BYTES - DATA_BUFFER) {
		data_full = true;
		return;
	}
	while (length) {
		size_t at = data_end % DATA_BUFFER;
		size_t part = length < DATA_BUFFER - at ? length : DATA_BUFFER - at;

		memcpy(data_buffer + at, bytes, part);
		data_end += part;
		bytes += part;
		length -= part;
		if (data_end % DATA_BUFFER == 0)
			outbox_put(data_buffer, DATA_BUFFER, DATA_OFFSET + data_end - DATA_BUFFER);
	}
}

static void data_flush(void)
{
	if (data_end % DATA_BUFFER)
		outbox_put(data_buffer, DATA_BUFFER, DATA_OFFSET + data_end / DATA_BUFFER * DATA_BUFFER);
}

static unsigned char part_buffer[1 << 18];

static void data_from_memory(struct task *task, uint64_t address, size_t length)
{
	while (length) {
		size_t part = length < sizeof(part_buffer) ? length : sizeof(part_buffer);
		size_t got = read_memory(task, address, part_buffer, part);

		if (!got)
			return;
		data_add(part_buffer, got);
		address += got;
		length -= got;
	}
}

static void data_from_file(const char *path, uint64_t offset, uint64_t length)
{
	int file = open(path, O_RDONLY);

	while (length && file >= 0) {
		size_t part = length < sizeof(part_buffer) ? length : sizeof(part_buffer);
		ssize_t got = pread(file, part_buffer, part, offset);

		if (got <= 0)
			break;
		data_add(part_buffer, got);
		offset += got;
		length -= got;
	}
	if (file >= 0)
		close(file);
}

/* --- what a path or a descriptor means --------------------------------------------------------------- */

#define DELETED " (deleted)"

static bool in_mount(const char *absolute, char *path)
{
	size_t length = strlen(MOUNT_POINT);

	if (strncmp(absolute, MOUNT_POINT, length) || (absolute[length] && absolute[length] != '/'))
		return false;
	snprintf(path, PATH_BYTES, "%s", absolute[length] ? absolute + length + 1 : ".");
	return true;
}

static bool link_text(const char *link, char *text)
{
	ssize_t length = readlink(link, text, PATH_BYTES - 1);

	text[length < 0 ? 0 : length] = 0;
	return length > 0;
}

static void note_outside(const char *path)
{
	/* Of what start.c made, too, nobody need know. */
	if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6) || !strncmp(path, "/tmp/.", 6) || path[0] != '/')
		return;
	for (int i = 0; i < outside_count; i++)
		if (!strcmp(outside[i], path))
			return;
	if (outside_count < OUTSIDE_MAX)
		snprintf(outside[outside_count++], PATH_BYTES, "%s", path);
}

/* Whether the descriptor is of the mount; its path, "" and nameless for a file without that name. */
static bool file_in_mount(struct task *task, long file, struct event *event, bool changes)
{
	char text[PATH_BYTES];

	snprintf(event->where, sizeof(event->where), "/proc/%d/fd/%ld", task->tid, file);
	if (file < 0 || !link_text(event->where, text))
		return false;
	event->by_file = true;
	event->says = !strcmp(text, PROGRAM_SAID);
	size_t length = strlen(text), tail = strlen(DELETED);

	event->nameless = length > tail && !strcmp(text + length - tail, DELETED);
	if (!in_mount(text, event->path)) {
		if (changes && !event->says)
			note_outside(text);
		return false;
	}
	if (event->nameless)
		event->path[0] = 0;
	return true;
}

/* What follows /proc/self is the caller's, not ours. */
static void full_path(const struct task *task, int directory, const char *path, char *full)
{
	const char *own = !strncmp(path, "/proc/self/", 11) ? path + 11 : NULL;

	if (own)
		snprintf(full, PATH_BYTES, "/proc/%d/%s", task->tid, own);
	else if (!strncmp(path, "/dev/fd/", 8))
		snprintf(full, PATH_BYTES, "/proc/%d/fd/%s", task->tid, path + 8);
	else if (path[0] == '/')
		snprintf(full, PATH_BYTES, "%s", path);
	else if (directory == AT_FDCWD)
		snprintf(full, PATH_BYTES, "/proc/%d/cwd/%s", task->tid, path);
	else
		snprintf(full, PATH_BYTES, "/proc/%d/fd/%d/%s", task->tid, directory, path);
}

static bool opened_path(const char *path, int flags, char *text)
{
	char link[64];
	int file = open(path, O_PATH | O_CLOEXEC | flags);

	if (file < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	bool there = link_text(link, text);

	close(file);
	return there;
}

/* Where a symlink leads whose target is not there yet: an open may make it. One more symlink there is not followed. */
static bool dangling(const char *link, char *found)
{
	char target[PATH_BYTES], above[PATH_BYTES], text[PATH_BYTES];
	const char *slash = strrchr(link, '/');

	if (!link_text(link, target))
		return false;
	if (target[0] == '/')
		snprintf(above, sizeof(above), "%s", target);
	else
		snprintf(above, sizeof(above), "%.*s/%.2048s", (int)(slash - link), link, target);
	char *name = strrchr(above, '/');

	*name++ = 0;
	if (!opened_path(above[0] ? above : "/", O_DIRECTORY, text))
		return false;
	snprintf(found, PATH_BYTES, "%.3000s/%.255s", text, name);
	return true;
}

/* Whether the path is in the mount, and as what. A name need not be there yet. */
static bool path_in_mount(struct task *task, int directory, const char *path, bool follow, char *found, bool changes)
{
	char full[PATH_BYTES], text[PATH_BYTES], *slash;
	struct stat status;

	full_path(task, directory, path, full);
	size_t length = strlen(full);

	while (length > 1 && full[length - 1] == '/')
		full[--length] = 0;
	slash = strrchr(full, '/');
	const char *name = slash ? slash + 1 : full;
	bool whole = !strcmp(name, ".") || !strcmp(name, "..") || !*name;

	if (!whole && follow && !lstat(full, &status) && S_ISLNK(status.st_mode))
		whole = true; /* its own name is not the one that counts */
	if (whole) {
		if (!opened_path(full, 0, text) && !dangling(full, text))
			return false;
	} else {
		char above[PATH_BYTES];

		snprintf(above, sizeof(above), "%.*s", slash == full ? 1 : (int)(slash - full), full);
		if (!opened_path(above, O_DIRECTORY, text))
			return false;
		length = strlen(text);
		snprintf(text + length, sizeof(text) - length, "%s%s", length > 1 ? "/" : "", name);
	}
	if (in_mount(text, found))
		return true;
	if (changes)
		note_outside(text);
	return false;
}

/* --- stores through shared mappings ---------------------------------------------------------------- */

static struct mapped {
	int file; /* -1: not in use */
	char path[PATH_BYTES];
	uint64_t inode;
	unsigned char *shadow;
	size_t size;
} mapped[MAPPED_MAX];
static int mapped_count, reserved = -1; /* the number of a store that may come */
static int ends = -1; /* the number of a call that has ended, and has no mark of that yet */

/*
 * One call ends and the next one begins: one mark where both stand at the same place. -1 for none of them. A mark costs
 * what three system calls cost, and two writes of dm-log-writes.
 */
static void mark(int begins)
{
	char text[64] = "";

	if (!running)
		return;
	if (ends >= 0)
		snprintf(text, sizeof(text), begins < 0 ? "done-%d" : "done-%d,", ends);
	if (begins >= 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "begin-%d", begins);
	if (text[0])
		log_writes_mark(text);
	ends = -1;
}

static size_t read_all(int file, unsigned char *bytes)
{
	size_t have = 0;
	ssize_t got;

	while (have < MAPPED_BYTES && (got = pread(file, bytes + have, MAPPED_BYTES - have, have)) > 0)
		have += got;
	return have;
}

static void unmap(struct mapped *of)
{
	close(of->file);
	free(of->shadow);
	of->file = -1;
	mapped_count--;
}

static bool follow_mapping(const char *where, const char *path, uint64_t inode)
{
	struct mapped *place = NULL;
	struct stat status;

	for (int i = 0; i < MAPPED_MAX; i++) {
		if (mapped[i].file >= 0 && mapped[i].inode == inode)
			return true;
		if (mapped[i].file < 0 && !place)
			place = &mapped[i];
	}
	if (!place || stat(where, &status) || status.st_size > MAPPED_BYTES)
		return false;
	place->file = open(where, O_RDONLY | O_CLOEXEC);
	place->shadow = malloc(MAPPED_BYTES);
	if (place->file < 0 || !place->shadow)
		return false;
	snprintf(place->path, sizeof(place->path), "%s", path);
	place->inode = inode;
	place->size = read_all(place->file, place->shadow);
	mapped_count++;
	return true;
}

static void put_call(const char *name, int of, long result);

static void put_store(struct mapped *of, const unsigned char *now, size_t size, bool exact)
{
	size_t first = 0, end = size < of->size ? size : of->size;

	while (first < end && now[first] == of->shadow[first])
		first++;
	while (end > first && now[end - 1] == of->shadow[end - 1])
		end--;
	uint64_t start = data_end;

	data_add(now + first, end - first);
	put_call("store", ends, 0);
	put(&report, ",\"path\":");
	put_string(&report, of->path, strlen(of->path));
	put(&report, ",\"inode\":%llu,\"offset\":%zu,\"length\":%zu,\"data\":[%llu,%zu]%s}", (unsigned long long)of->inode,
	    first, end - first, (unsigned long long)start, end - first, exact ? "" : ",\"unsure\":true");
}

/* Before a call: what was stored since the last one. */
static void look_at_mappings(void)
{
	static unsigned char now[MAPPED_BYTES];
	bool exact = true;

	for (int i = 0; i < MAPPED_MAX; i++) {
		struct mapped *of = &mapped[i];

		if (of->file < 0)
			continue;
		size_t size = read_all(of->file, now);
		size_t both = size < of->size ? size : of->size;

		if (memcmp(now, of->shadow, both)) {
			if (!exact) { /* one after the other, whatever their order was */
				reserved = number++;
				mark(reserved);
			}
			ends = reserved;
			put_store(of, now, size, exact);
			exact = false;
		}
		memcpy(of->shadow, now, size);
		of->size = size;
	}
}

/* After a call: it may have written to them; the next store can come from now on. */
static void refresh_mappings(void)
{
	struct stat status;

	if (!mapped_count)
		return;
	for (int i = 0; i < MAPPED_MAX; i++) {
		struct mapped *of = &mapped[i];

		if (of->file < 0)
			continue;
		if (fstat(of->file, &status) || !status.st_nlink)
			unmap(of); /* while we have it open it stays on disk */
		else
			of->size = read_all(of->file, of->shadow);
	}
	reserved = number++;
	mark(reserved);
}

/* --- the entry of a call --------------------------------------------------------------------------- */

static const struct known *known_call(unsigned long nr)
{
	for (size_t i = 0; i < CALL_COUNT; i++)
		if ((unsigned long)calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

static void look_before(struct event *event, bool follow)
{
	struct stat status;

	event->kind = "";
	if (!status_of(event->by_file ? event->where : event->path, follow, &status, &event->before))
		return;
	event->kind = kind_name(status.st_mode);
	event->size = status.st_size;
}

/* pos and flags of proc(5), fdinfo */
static void descriptor_facts(struct task *task, long file, struct event *event)
{
	char text[256];
	int info = open(proc(task, "fdinfo", file), O_RDONLY);
	ssize_t got = info < 0 ? 0 : read(info, text, sizeof(text) - 1);
	unsigned long long position = 0;
	unsigned int flags = 0;

	if (info >= 0)
		close(info);
	text[got > 0 ? got : 0] = 0;
	sscanf(text, "pos: %llu flags: %o", &position, &flags);
	event->offset = position;
	event->flags = flags;
}

/* The bits of O_SYNC and O_DSYNC of a descriptor: a clone or copy through one of two that has them is an fsync on btrfs. */
static unsigned int sync_flags(struct task *task, int file)
{
	struct event facts = { 0 };

	descriptor_facts(task, file, &facts);
	return facts.flags & O_SYNC;
}

static bool enter_open(struct task *task, struct event *event)
{
	char path[PATH_BYTES];
	const struct known *known = event->known;
	int directory = known->directory < 0 ? AT_FDCWD : (int)argument(task, known->directory);

	if (known->nr == SYS_creat)
		event->flags = O_CREAT | O_WRONLY | O_TRUNC;
	else if (known->nr == SYS_openat2) {
		struct open_how how = { 0 };

		read_memory(task, argument(task, 2), &how, sizeof(how));
		event->flags = how.flags;
	} else {
		event->flags = argument(task, known->path + 1);
	}
	if (event->flags & TOLD_BY_WRITES)
		flags_plain = false;
	if (!(event->flags & CHANGING) || !read_text(task, argument(task, known->path), path, sizeof(path)))
		return false;
	bool exclusive = (event->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || event->flags & O_NOFOLLOW;
	bool nameless = (event->flags & O_TMPFILE) == O_TMPFILE;

	if (!path_in_mount(task, directory, path, !exclusive, event->path, true))
		return false;
	look_before(event, false);
	if (nameless)
		return true;
	if (!event->kind[0])
		return event->flags & O_CREAT;
	return event->flags & O_TRUNC && !strcmp(event->kind, "file") && !exclusive;
}

static bool enter_names(struct task *task, struct event *event)
{
	const struct known *known = event->known;
	char path[PATH_BYTES];
	int directory = known->directory < 0 ? AT_FDCWD : (int)argument(task, known->directory);
	int directory2 = known->directory2 < 0 ? AT_FDCWD : (int)argument(task, known->directory2);

	event->flags = argument(task, known->flags);
	if (!read_text(task, argument(task, known->path), path, sizeof(path)) && !event->flags)
		return false;
	if (known->what == LINK && event->flags & AT_EMPTY_PATH && !path[0]) {
		if (!file_in_mount(task, directory, event, true))
			return false;
	} else if (known->what == LINK && event->flags & AT_SYMLINK_FOLLOW && strstr(path, "/fd/")) {
		/* /proc/self/fd/N: a file without a name gets one */
		if (!file_in_mount(task, atol(strrchr(path, '/') + 1), event, true))
			return false;
	} else if (!path_in_mount(task, directory, path, known->what == LINK && event->flags & AT_SYMLINK_FOLLOW,
				  event->path, true)) {
		return false;
	}
	look_before(event, event->by_file);
	if (known->path2 < 0)
		return true;
	return read_text(task, argument(task, known->path2), path, sizeof(path)) &&
	       path_in_mount(task, directory2, path, false, event->path2, true);
}

/* By a path, or by a descriptor: what an attribute belongs to. */
static bool enter_object(struct task *task, struct event *event)
{
	const struct known *known = event->known;
	char path[PATH_BYTES];

	event->flags = argument(task, known->flags);
	if (known->file >= 0)
		return file_in_mount(task, (int)argument(task, known->file), event, true);
	int directory = known->directory < 0 ? AT_FDCWD : (int)argument(task, known->directory);
	bool there = read_text(task, argument(task, known->path), path, sizeof(path));

	if ((!there || (event->flags & AT_EMPTY_PATH && !path[0])) && directory != AT_FDCWD)
		return file_in_mount(task, directory, event, true);
	bool follow = known->follow && !(event->flags & AT_SYMLINK_NOFOLLOW);

	return there && path_in_mount(task, directory, path, follow, event->path, true);
}

static int first_of(const struct known *known)
{
	return (known->file >= 0 ? known->file : known->path) + 1;
}

static void enter_xattr(struct task *task, struct event *event)
{
	int first = first_of(event->known);

	read_text(task, argument(task, first), event->name, sizeof(event->name));
	if (!strstr(event->known->name, "set"))
		return;
	event->value_length = argument(task, first + 2);
	if (event->value_length > 65536)
		event->value_length = 65536;
	event->value = malloc(event->value_length + 1);
	event->value_length = read_memory(task, argument(task, first + 1), event->value, event->value_length);
}

/* Where and what is written; a call that moves bytes in the kernel is asked afterwards. */
static void enter_write(struct task *task, struct event *event)
{
	int nr = event->known->nr;
	struct stat status;

	if (!flags_plain || nr == SYS_write || nr == SYS_writev || nr == SYS_pwritev2)
		descriptor_facts(task, (int)argument(task, event->known->file), event);
	if (nr == SYS_pwrite64 || nr == SYS_pwritev || (nr == SYS_pwritev2 && argument(task, 3) != ~0UL))
		event->offset = argument(task, 3);
	if (nr == SYS_pwritev2)
		event->at = argument(task, 5);
	if ((event->flags & O_APPEND || (nr == SYS_pwritev2 && event->at & RWF_APPEND)) && !stat(event->where, &status))
		event->offset = status.st_size;
	event->data = data_end;
	if (nr == SYS_write || nr == SYS_pwrite64) {
		event->length = argument(task, 2);
		data_from_memory(task, argument(task, 1), event->length);
	} else {
		struct iovec parts[1024];
		size_t count = argument(task, 2) < 1024 ? argument(task, 2) : 1024;

		count = read_memory(task, argument(task, 1), parts, count * sizeof(parts[0])) / sizeof(parts[0]);
		for (size_t i = 0; i < count; i++) {
			event->length += parts[i].iov_len;
			data_from_memory(task, (uint64_t)parts[i].iov_base, parts[i].iov_len);
		}
	}
}

static void enter_copy(struct task *task, struct event *event)
{
	int nr = event->known->nr;
	uint64_t place = nr == SYS_sendfile ? 0 : argument(task, 3);
	struct event source = { 0 };

	descriptor_facts(task, (int)argument(task, event->known->file), event);
	if (place)
		read_memory(task, place, &event->offset, 8);
	if (nr != SYS_copy_file_range || !file_in_mount(task, (int)argument(task, 0), &source, false))
		return;
	descriptor_facts(task, (int)argument(task, 0), &source);
	if (argument(task, 1))
		read_memory(task, argument(task, 1), &source.offset, 8);
	event->at = source.offset;
	event->flags |= source.flags & O_SYNC;
	snprintf(event->path2, sizeof(event->path2), "%s", source.path);
}

static bool enter_control(struct task *task, struct event *event)
{
	unsigned int request = argument(task, 1);
	struct event source = { 0 };

	bool known = false;

	for (size_t i = 0; i < CONTROL_COUNT; i++)
		known |= controls[i] == request;
	event->mode = request;
	if (!known || !file_in_mount(task, (int)argument(task, 0), event, true))
		return false;
	if (request == FICLONE || request == FICLONERANGE) {
		struct file_clone_range range = { .src_fd = (int)argument(task, 2) };

		if (request == FICLONERANGE)
			read_memory(task, argument(task, 2), &range, sizeof(range));
		if (!file_in_mount(task, range.src_fd, &source, false))
			return false;
		snprintf(event->path2, sizeof(event->path2), "%s", source.path);
		event->flags = sync_flags(task, (int)argument(task, 0)) | sync_flags(task, range.src_fd);
		event->offset = range.src_offset;
		event->length = range.src_length;
		event->at = range.dest_offset;
	} else if (request == FIDEDUPERANGE) {
		struct {
			struct file_dedupe_range range;
			struct file_dedupe_range_info info;
		} both = { 0 };

		read_memory(task, argument(task, 2), &both, sizeof(both));
		if (!file_in_mount(task, both.info.dest_fd, &source, false))
			return false;
		snprintf(event->path2, sizeof(event->path2), "%s", source.path);
		event->flags = sync_flags(task, (int)argument(task, 0)) | sync_flags(task, both.info.dest_fd);
		event->offset = both.range.src_offset;
		event->length = both.range.src_length;
		event->at = both.info.dest_offset;
	} else if (request == FS_IOC_SETFLAGS) {
		int flags = 0, before = 0, file = open(event->where, O_RDONLY | O_NONBLOCK);

		read_memory(task, argument(task, 2), &flags, sizeof(flags));
		if (file >= 0)
			ioctl(file, FS_IOC_GETFLAGS, &before);
		if (file >= 0)
			close(file);
		event->offset = flags;
		event->at = before;
	} else if (request == BTRFS_IOC_SUBVOL_CREATE || request == BTRFS_IOC_SNAP_DESTROY ||
		   request == BTRFS_IOC_SNAP_CREATE) {
		long long source_file = -1;

		if (request == BTRFS_IOC_SNAP_CREATE) {
			read_memory(task, argument(task, 2), &source_file, sizeof(source_file));
			if (file_in_mount(task, source_file, &source, false))
				snprintf(event->path2, sizeof(event->path2), "%s", source.path);
		}
		read_text(task, argument(task, 2) + offsetof(struct btrfs_ioctl_vol_args, name), event->target,
			  sizeof(event->target));
	} else if (request == BTRFS_IOC_SUBVOL_CREATE_V2 || request == BTRFS_IOC_SNAP_CREATE_V2 ||
		   request == BTRFS_IOC_SNAP_DESTROY_V2) {
		long long source_file = -1;

		read_memory(task, argument(task, 2), &source_file, sizeof(source_file));
		read_text(task, argument(task, 2) + offsetof(struct btrfs_ioctl_vol_args_v2, name), event->target,
			  sizeof(event->target));
		if (request == BTRFS_IOC_SNAP_CREATE_V2 && file_in_mount(task, source_file, &source, false))
			snprintf(event->path2, sizeof(event->path2), "%s", source.path);
	}
	return true;
}

static bool enter_bind(struct task *task, struct event *event)
{
	struct sockaddr_un address = { 0 };
	size_t length = argument(task, 2) < sizeof(address) ? argument(task, 2) : sizeof(address);

	read_memory(task, argument(task, 1), &address, length);
	return address.sun_family == AF_UNIX && address.sun_path[0] &&
	       path_in_mount(task, AT_FDCWD, address.sun_path, false, event->path, true);
}

/* seconds of a utimes, -1 for a clock's; nothing but a time before 2001 can be told from a clock's. */
static void enter_times(struct task *task, struct event *event)
{
	int nr = event->known->nr;
	uint64_t place = argument(task, nr == SYS_utime || nr == SYS_utimes ? 1 : 2);
	struct timespec times[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

	event->at = 1; /* its mtime is set */
	event->length = ~0ULL;
	if (!place)
		return;
	read_memory(task, place, times, nr == SYS_utime ? 16 : sizeof(times));
	if (nr == SYS_utime)
		event->length = times[0].tv_nsec; /* struct utimbuf: actime, modtime */
	else if (nr != SYS_utimensat || (times[1].tv_nsec != UTIME_NOW && times[1].tv_nsec != UTIME_OMIT))
		event->length = times[1].tv_sec;
	event->at = nr != SYS_utimensat || times[1].tv_nsec != UTIME_OMIT;
}

static bool says(struct task *task, struct event *event)
{
	return file_in_mount(task, (int)argument(task, event->known->file), event, true) || event->says;
}

/* Whether the call is on the filesystem under test; then the event holds all that is to be known before it. */
static bool enter_call(struct task *task, struct event *event)
{
	switch (event->known->what) {
	case OPEN:
		return enter_open(task, event);
	case NAME:
	case NAMES:
	case LINK:
		return enter_names(task, event);
	case SYMLINK:
		read_text(task, argument(task, 0), event->target, sizeof(event->target));
		return enter_names(task, event);
	case NODE:
		event->mode = argument(task, event->known->path + 1);
		event->at = argument(task, event->known->path + 2);
		if (!enter_names(task, event))
			return false;
		return true;
	case CHMOD:
	case CHOWN:
	case ATTRIBUTE:
		return enter_object(task, event);
	case TIMES:
		enter_times(task, event);
		return enter_object(task, event);
	case XATTR:
		if (!enter_object(task, event))
			return false;
		enter_xattr(task, event);
		return true;
	case TRUNCATE:
		event->length = argument(task, 1);
		return enter_object(task, event);
	case ALLOCATE:
		event->mode = argument(task, 1);
		event->offset = argument(task, 2);
		event->length = argument(task, 3);
		if (!enter_object(task, event))
			return false;
		event->at = event->offset;
		descriptor_facts(task, (int)argument(task, 0), event);
		event->offset = event->at;
		event->at = 0;
		return true;
	case WRITE:
		if (!says(task, event))
			return false;
		if (!event->says)
			enter_write(task, event);
		return true;
	case COPY:
		if (!says(task, event))
			return false;
		if (!event->says)
			enter_copy(task, event);
		return true;
	case RANGE:
		event->offset = argument(task, 1);
		event->length = argument(task, 2);
		return file_in_mount(task, (int)argument(task, 0), event, false);
	case SYNC_FILE:
		return file_in_mount(task, (int)argument(task, 0), event, false);
	case SYNC_ALL:
		return true;
	case MSYNC:
		if (!(argument(task, 2) & MS_SYNC))
			return false;
		event->at = argument(task, 0);
		event->length = argument(task, 1);
		return mapped_count > 0;
	case MAP:
		event->offset = argument(task, 5);
		event->length = argument(task, 1);
		if (argument(task, 3) & MAP_ANONYMOUS || !(argument(task, 3) & MAP_SHARED) ||
		    !(argument(task, 2) & PROT_WRITE))
			return false;
		if (!file_in_mount(task, (int)argument(task, 4), event, true))
			return false;
		look_before(event, true);
		return !strcmp(event->kind, "file");
	case CONTROL:
		return enter_control(task, event);
	case FLAGS:
		if (event->known->nr == SYS_open_by_handle_at || argument(task, 2) & TOLD_BY_WRITES)
			flags_plain = false;
		return false;
	case BIND:
		return enter_bind(task, event);
	case REFUSED:
		break;
	}
	return false;
}

/* Which file of the mount lies at an address: /proc/TID/maps; where in the file the address is. */
static bool find_mapping(struct task *task, struct event *event)
{
	char line[PATH_BYTES + 128], name[PATH_BYTES];
	FILE *maps = fopen(proc(task, "maps", -1), "r");
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long long first, end, offset;

		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %4095[^\n]", &first, &end, &offset, name) != 4)
			continue;
		if (event->at < first || event->at >= end || !in_mount(name, event->path))
			continue;
		event->offset = offset + (event->at - first);
		found = true;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* --- the exit of a call ---------------------------------------------------------------------------- */

static void put_call(const char *name, int of, long result)
{
	put(&report, "%s{\"number\":%d,\"call\":\"%s\",\"result\":%ld", first_call ? "" : ",", of, name, result);
	first_call = false;
}

static void put_text(const char *key, const char *text)
{
	if (!text[0])
		return;
	put(&report, ",\"%s\":", key);
	put_string(&report, text, strlen(text));
}

static void put_number(const char *key, uint64_t value)
{
	if (value)
		put(&report, ",\"%s\":%lld", key, (long long)value);
}

static void put_after(struct event *event, long result)
{
	const char *object = event->path2[0] && event->known->what != COPY ? event->path2 : event->path;
	enum what what = event->known->what;
	bool follow = event->by_file && !event->path2[0];
	struct stat status;
	uint64_t inode = 0;

	if (event->by_file && (!event->path2[0] || what == COPY))
		object = event->where, follow = true;
	char made[PATH_BYTES];

	if (what == CONTROL)
		object = event->where, follow = true;
	if (what == CONTROL && event->target[0]) {
		snprintf(made, sizeof(made), "%.2000s/%.1000s", event->path, event->target);
		object = made, follow = false;
	}

	if (what == OPEN && result >= 0 && event->nameless) {
		snprintf(made, sizeof(made), "%s", event->where);
		object = made, follow = true;
	}
	if (object[0] && status_of(object, follow, &status, &inode))
		put(&report,
		    ",\"inode\":%llu,\"kind\":\"%s\",\"blocks\":%lld,\"times\":[%lld,%lld],\"permissions\":%u,"
		    "\"owner\":[%u,%u],\"links\":%u",
		    (unsigned long long)inode, kind_name(status.st_mode), (long long)status.st_blocks,
		    nanoseconds(&status.st_mtim), nanoseconds(&status.st_ctim), status.st_mode & 07777, status.st_uid,
		    status.st_gid, (unsigned)status.st_nlink);
	if (what == NAMES && status_of(event->path, false, &status, &inode))
		put_number("left", inode);
}

/* A call that failed half-way may have left its file as nobody knows. */
static void put_left(struct event *event, long result)
{
	enum what what = event->known->what;

	if (result != -ENOSPC && result != -EDQUOT && result != -EIO && result != -EINTR)
		return;
	if (what == WRITE || what == COPY || what == TRUNCATE || what == ALLOCATE)
		put_left_file(&report, event->by_file ? event->where : event->path);
}

static void put_event(struct event *event, long result)
{
	enum what what = event->known->what;

	put_call(event->known->name, event->number, result);
	put_text("path", event->path);
	put_text("path2", event->path2);
	put_text("name", event->name);
	put_text("target", event->target);
	put_text("before_kind", event->kind ? event->kind : "");
	put_number("before", event->before);
	put_number("size", event->size);
	put_number("flags", event->flags);
	put_number("mode", event->mode);
	put_number("offset", event->offset);
	if ((what == WRITE || what == COPY) && result > 0)
		event->length = result; /* of what was asked for, so much */
	put_number("length", event->length);
	put_number("at", event->at);
	if (event->by_file)
		put(&report, ",\"by_file\":true");
	if (event->value) {
		put(&report, ",\"value\":");
		put_hex(&report, (unsigned char *)event->value, event->value_length);
	}
	if (what == COPY && result > 0) {
		event->data = data_end;
		data_from_file(event->where, event->offset, result);
		event->data_length = data_end - event->data;
	} else if (what == WRITE) {
		event->data_length = event->length;
	}
	if (event->data_length)
		put(&report, ",\"data\":[%llu,%llu]", (unsigned long long)event->data,
		    (unsigned long long)event->data_length);
	put_after(event, result);
	put_left(event, result);
	put(&report, "}");
}

/* A line of output has its place when the call that wrote it has returned. */
static void put_said_place(void)
{
	struct stat status;
	char text[32];

	if (!running || stat(PROGRAM_SAID, &status))
		return;
	snprintf(text, sizeof(text), "said-%d", said_marks);
	log_writes_mark(text);
	put(&said_places, "%s[%d,%lld]", said_marks ? "," : "", said_marks, (long long)status.st_size);
	said_marks++;
}

/*
 * Whether the mark of its end may stand where the next call begins. Then a state between the two is taken for one while
 * the call was being done, which asks the same of it: only a call that persists something promises more by its end.
 */
static bool mark_can_wait(const struct event *event)
{
	switch (event->known->what) {
	case OPEN:
	case NAME:
	case NAMES:
	case LINK:
	case SYMLINK:
	case NODE:
	case CHMOD:
	case CHOWN:
	case TIMES:
	case XATTR:
	case TRUNCATE:
	case ALLOCATE:
		return true;
	case WRITE:
		return flags_plain && event->known->nr != SYS_pwritev2;
	default:
		return false;
	}
}

static void exit_call(struct task *task)
{
	struct event *event = task->event;
	long result;

	ptrace(PTRACE_GETREGS, task->tid, NULL, &task->registers);
	result = (long)task->registers.rax;
	if (event->says) {
		put_said_place();
	} else {
		ends = event->number;
		if (!mapped_count && !mark_can_wait(event))
			mark(-1);
		if (event->known->what == OPEN && result >= 0) {
			/* Where a symlink or a race led; a file without a name has no other path than this. */
			event->nameless = (event->flags & O_TMPFILE) == O_TMPFILE;
			snprintf(event->where, sizeof(event->where), "/proc/%d/fd/%ld", task->tid, result);
		}
		if (event->known->what == MAP)
			event->mode = result < 0 && result > -4096 ? 0 : !follow_mapping(event->where, event->path, event->before);
		if (event->known->what == MAP && result > 0)
			result = 0;
		if (result > -RESTARTS || result < -RESTARTS - 32)
			put_event(event, result);
	}
	if (report.length > REPORT_BYTES_MAX || number >= CALLS_MAX)
		calls_full = true;
	refresh_mappings();
	free(event->value);
	event->value = NULL;
	task->standing = RUNNING;
	busy = NULL;
}

/* --- stops ----------------------------------------------------------------------------------------- */

static void go_on(struct task *task, int signal)
{
	ptrace(filtered ? PTRACE_CONT : PTRACE_SYSCALL, task->tid, NULL, signal);
}

static void begin_run(void)
{
	sync();
	log_writes_mark("run");
	running = true;
}

static bool is_begin_of_run(struct task *task, const struct known *known)
{
	char path[32];

	return !running && known->what == NAME && !strncmp(known->name, "mkdir", 5) &&
	       read_text(task, argument(task, known->path), path, sizeof(path)) && !strcmp(path, BEGIN_OF_RUN);
}

/* The call that a task stands before is done now. */
static void do_call_of(struct task *task)
{
	struct event *event = task->event;
	const struct known *known = event->known;

	memset(event, 0, sizeof(*event));
	event->known = known;
	if (is_begin_of_run(task, known)) {
		begin_run();
		go_on(task, 0);
		return;
	}
	if (!enter_call(task, event) || (known->what == MSYNC && !find_mapping(task, event)) || calls_full || data_full) {
		free(event->value);
		event->value = NULL;
		task->standing = RUNNING;
		go_on(task, 0);
		return;
	}
	look_at_mappings();
	busy = task;
	task->standing = IN_CALL;
	if (!event->says) {
		event->number = number++;
		mark(event->number);
	}
	ptrace(PTRACE_SYSCALL, task->tid, NULL, 0);
}

static void next_waiting(void)
{
	while (!busy) {
		struct task *next = NULL;

		for (int i = 0; i < TASKS_MAX; i++)
			if (tasks[i].tid && tasks[i].standing == WAITING && (!next || tasks[i].turn < next->turn))
				next = &tasks[i];
		if (!next)
			return;
		next->standing = RUNNING;
		do_call_of(next);
	}
}

static void refuse(struct task *task, const struct known *known)
{
	refused_uring |= known->nr == SYS_io_uring_setup;
	refused_aio |= known->nr == SYS_io_submit;
	/* No call has this number: ENOSYS, which the kernel has put there before (seccomp(2), SECCOMP_RET_TRACE). */
	ptrace(PTRACE_POKEUSER, task->tid, offsetof(struct user_regs_struct, orig_rax), -1L);
	go_on(task, 0);
}

static void entry_stop(struct task *task)
{
	ptrace(PTRACE_GETREGS, task->tid, NULL, &task->registers);
	const struct known *known = known_call(task->registers.orig_rax);

	if (!known) {
		go_on(task, 0);
		return;
	}
	if (known->what == REFUSED) {
		refuse(task, known);
		return;
	}
	if (!task->event)
		task->event = calloc(1, sizeof(struct event));
	if (!task->event)
		die("malloc");
	task->event->known = known;
	if (busy) {
		task->standing = WAITING;
		task->turn = turns++;
		return;
	}
	do_call_of(task);
}

static void call_stop(struct task *task)
{
	if (task->standing == IN_CALL) {
		exit_call(task);
		task->inside = false;
		go_on(task, 0);
		next_waiting();
	} else if (!filtered) {
		task->inside = !task->inside;
		if (task->inside)
			entry_stop(task);
		else
			go_on(task, 0);
	} else {
		go_on(task, 0);
	}
}

static void ended(struct task *task)
{
	forget_memory(task);
	if (busy == task)
		busy = NULL;
	task->tid = 0;
	task->standing = RUNNING;
	next_waiting();
}

static void signal_stop(struct task *task, int signal)
{
	siginfo_t info;
	bool first = !task->begun;

	task->begun = true;
	if (first && signal == SIGSTOP) /* how ptrace(2) shows a new one */
		signal = 0;
	else if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
		if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info))
			signal = 0; /* it is stopped: nobody would wake it */
	go_on(task, signal);
}

static void stopped(pid_t tid, int status)
{
	struct task *task = task_of(tid);
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_SECCOMP) {
		task->begun = true;
		entry_stop(task);
	} else if (signal == (SIGTRAP | 0x80)) {
		task->begun = true;
		call_stop(task);
	} else if (event == PTRACE_EVENT_EXEC) {
		forget_memory(task);
		task->begun = true;
		task->inside = true;
		if (task->standing == IN_CALL || busy == task)
			busy = NULL;
		task->standing = RUNNING;
		go_on(task, 0);
	} else if (event) {
		go_on(task, 0);
	} else {
		signal_stop(task, signal);
	}
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms = signal;
}

static void set_timer(long microseconds)
{
	struct itimerval every = { { 0, microseconds }, { 0, microseconds } };

	setitimer(ITIMER_REAL, &every, NULL);
}

/* Until the first process has ended: its exit status as a shell tells it, -1 when its time was over. */
static int follow(pid_t first, double deadline_ms)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (alarms) { /* the clock is a system call: it is not asked at each stop */
			alarms = 0;
			if (now_ms() > deadline_ms)
				return -1;
		}
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return -1;
		if (WIFSTOPPED(status)) {
			stopped(tid, status);
			continue;
		}
		ended(task_of(tid));
		if (tid == first)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

static pid_t start_traced(const struct start *start)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork");
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		if (filtered && !add_filter())
			_exit(126);
		program_become((char **)start->arguments, (char **)start->environment);
	}
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;

	if (waitpid(child, &status, __WALL) != child || ptrace(PTRACE_SETOPTIONS, child, NULL, options))
		die("ptrace");
	task_of(child)->begun = true;
	go_on(task_of(child), 0);
	return child;
}

static int run_traced(const struct start *start)
{
	struct sigaction action = { .sa_handler = on_alarm };

	for (int i = 0; i < MAPPED_MAX; i++)
		mapped[i].file = -1;
	for (int i = 0; i < TASKS_MAX; i++) /* of the program before */
		tasks[i].tid = 0, tasks[i].standing = RUNNING;
	mapped_count = 0;
	reserved = ends = -1;
	number = said_marks = outside_count = 0;
	first_call = flags_plain = true;
	alarms = 0;
	data_full = calls_full = refused_uring = refused_aio = false;
	data_end = 0;
	busy = NULL;
	filtered = has_filters();
	sigaction(SIGALRM, &action, NULL);
	pid_t child = start_traced(start);

	set_timer(TIMER_US);
	int status = follow(child, now_ms() + start->seconds * 1e3);

	set_timer(0);
	for (int i = 0; i < TASKS_MAX; i++)
		if (tasks[i].tid)
			forget_memory(&tasks[i]);
	programs_kill_all();
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
	if (mapped_count)
		look_at_mappings();
	mark(-1);
	for (int i = 0; i < MAPPED_MAX; i++)
		if (mapped[i].file >= 0)
			unmap(&mapped[i]);
	return status;
}

static void put_notes(void)
{
	bool first = true;
	const struct {
		bool is;
		const char *text;
	} notes[] = {
		{ refused_uring, "io_uring" },
		{ refused_aio, "aio" },
		{ data_full, "data" },
		{ calls_full, "calls" },
		{ !filtered, "unfiltered" },
	};

	put(&report, ",\"notes\":[");
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		if (!notes[i].is)
			continue;
		put(&report, "%s\"%s\"", first ? "" : ",", notes[i].text);
		first = false;
	}
	put(&report, "],\"outside\":[");
	for (int i = 0; i < outside_count; i++) {
		put(&report, i ? "," : "");
		put_string(&report, outside[i], strlen(outside[i]));
	}
	put(&report, "]");
}

void trace_record(char *text)
{
	static struct start start;

	start = program_parse(text);
	if (!data_buffer) {
		data_buffer = aligned_alloc(BLOCK_BYTES, DATA_BUFFER);
		text_start(&said_places, 4096);
	}
	if (!data_buffer)
		die("malloc");
	said_places.length = 0;
	report.length = 0;
	clear_kernel_log();
	kernel_log_lines();
	console_level(CONSOLE_WARNINGS);
	answer("stage mount");
	log_writes_create(start.mount.sectors, false);
	int error = enter(log_writes_device, &start.mount) ? errno : 0;
	int setup_status = 0, status = -1;
	struct stat top;

	put(&report, "{\"mount_errno\":%d,\"root_inode\":%llu", error, (unsigned long long)(error ? 0 : root_inode()));
	put_queue(log_writes_device);
	mount_device = error || stat(".", &top) ? 0 : top.st_dev;
	running = false;
	if (!error && start.setup_count) {
		answer("stage setup");
		setup_status = program_plain(start.setup, start.environment, start.seconds);
		put(&report, ",\"setup\":{\"status\":%d", setup_status);
		program_put_output(&report);
		put(&report, "}");
	}
	if (!error && !setup_status) {
		sync();
		put(&report, ",\"tree\":");
		walk_asks = (struct walk_asks){ .hashes = start.hashes };
		walk(&report);
		put(&report, ",\"calls\":[");
		answer("stage program");
		if (!start.within)
			begin_run();
		double began_ms = now_ms();

		status = start.untraced ? program_plain(start.arguments, start.environment, start.seconds) : run_traced(&start);
		double took_ms = now_ms() - began_ms;

		put(&report, "],\"places\":[");
		put_bytes(&report, said_places.bytes, said_places.length);
		put(&report, "],\"status\":%d,\"took_ms\":%.3f,\"data_bytes\":%llu", status, took_ms,
		    (unsigned long long)data_end);
		put_notes();
		program_put_output(&report);
		data_flush();
	}
	log_writes_mark("end");
	answer("stage unmount");
	int left = error ? 0 : leave() ? errno : 0;

	if (left)
		log_writes_detach(start.mount.sectors);
	else
		log_writes_remove();
	console_level(CONSOLE_QUIET);
	put(&report, ",\"setup_status\":%d,\"umount_errno\":%d,\"kernel_log\":", setup_status, left);
	put_kernel_log(&report);
	put(&report, "}");
}

#endif
