// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record: run a workload on the log-writes device, with a mark before and after each operation, and
 * report each result. The program is text, made by harness/record.py:
 *
 *   filesystem TAB options TAB sectors
 *   phase TAB index TAB word TAB path TAB path2 TAB target TAB offset TAB length TAB mode TAB name TAB value
 *     TAB major TAB minor
 *
 * with phase "setup" or "run". Setup ends in a sync, and the mark "run" is where the log of the
 * workload starts; the mark "end" is where the power fails.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CELL_BYTES 8 /* workloads/history.py: stamped() */
#define CELL_MAGIC 0xC5B7

struct operation {
	bool run;
	int index;
	char *word, *path, *path2, *target, *mode, *name, *value;
	uint64_t offset, length;
	unsigned int major, minor;
};

static const char *filesystem, *options;

static bool is(const struct operation *operation, const char *word)
{
	return !strcmp(operation->word, word);
}

static void stamp(unsigned char *buffer, int index, uint64_t offset, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		uint64_t at = offset + i;
		uint64_t cell = at / CELL_BYTES << 32 | (uint64_t)CELL_MAGIC << 16 | (index + 1);

		buffer[i] = cell >> 8 * (at % CELL_BYTES);
	}
}

static int write_stamped(const struct operation *operation, int flags)
{
	static unsigned char buffer[1 << 16];
	int file = open(operation->path, O_WRONLY | O_CREAT | flags, 0644);
	struct stat status;

	if (file < 0 || fstat(file, &status))
		return -1;
	uint64_t offset = flags & O_APPEND ? (uint64_t)status.st_size : operation->offset;
	uint64_t end = offset + operation->length;
	int result = 0;

	while (offset < end && !result) {
		size_t length = end - offset < sizeof(buffer) ? end - offset : sizeof(buffer);

		stamp(buffer, operation->index, offset, length);
		ssize_t done = flags & O_APPEND ? write(file, buffer, length) : pwrite(file, buffer, length, offset);

		if (done <= 0)
			result = -1;
		else
			offset += done;
	}
	int error = errno;

	close(file);
	errno = error;
	return result;
}

static int with_open(const char *path, int (*call)(int))
{
	int file = open(path, O_RDONLY | O_NONBLOCK); /* a fifo would wait for a writer */

	if (file < 0)
		return -1;
	int result = call(file);
	int error = errno;

	close(file);
	errno = error;
	return result;
}

static int fallocate_mode(const struct operation *operation)
{
	static const struct {
		const char *name;
		int flags;
	} modes[] = { /* workloads/workload.py: FALLOCATE_MODES */
		{ "alloc", 0 },
		{ "keep-size", FALLOC_FL_KEEP_SIZE },
		{ "punch-hole", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
		{ "zero-range", FALLOC_FL_ZERO_RANGE },
		{ "zero-range-keep-size", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE },
		{ "collapse-range", FALLOC_FL_COLLAPSE_RANGE },
		{ "insert-range", FALLOC_FL_INSERT_RANGE },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(operation->mode, modes[i].name))
			continue;
		int file = open(operation->path, O_RDWR);

		if (file < 0)
			return -1;
		int result = fallocate(file, modes[i].flags, operation->offset, operation->length);
		int error = errno;

		close(file);
		errno = error;
		return result;
	}
	errno = EINVAL;
	return -1;
}

static int rename_mode(const struct operation *operation)
{
	unsigned int flags = 0;

	if (!strcmp(operation->mode, "exchange"))
		flags = RENAME_EXCHANGE;
	if (!strcmp(operation->mode, "noreplace"))
		flags = RENAME_NOREPLACE;
	if (!strcmp(operation->mode, "whiteout"))
		flags = RENAME_WHITEOUT;
	return renameat2(AT_FDCWD, operation->path, AT_FDCWD, operation->path2, flags);
}

static int make_node(const struct operation *operation)
{
	mode_t type = strcmp(operation->mode, "blk") ? S_IFCHR : S_IFBLK;

	return mknod(operation->path, type | 0644, makedev(operation->major, operation->minor));
}

static int create(const char *path)
{
	int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);

	return file < 0 ? -1 : close(file);
}

/*
 * Drop what can be dropped of pages, dentries and inodes: only what is clean and unused goes. Pages, too:
 * the kernel drops no inode that has some (include/linux/pagemap.h, mapping_shrinkable()).
 */
static int evict(void)
{
	int file = open("/proc/sys/vm/drop_caches", O_WRONLY);
	int result = file < 0 || write(file, "3", 1) != 1 ? -1 : 0;

	close(file);
	return result;
}

static int leave(void)
{
	if (chdir("/"))
		return -1;
	return umount2(MOUNT_POINT, 0);
}

static int enter(void)
{
	if (mount(log_writes_device, MOUNT_POINT, filesystem, 0, options))
		return -1;
	return chdir(MOUNT_POINT);
}

static int whole_sync(void)
{
	sync();
	return 0;
}

static int do_operation(const struct operation *operation)
{
	const char *path = operation->path;

	if (is(operation, "creat"))
		return create(path);
	if (is(operation, "mkdir"))
		return mkdir(path, 0755);
	if (is(operation, "symlink"))
		return symlink(operation->target, path);
	if (is(operation, "link"))
		return link(path, operation->path2);
	if (is(operation, "unlink"))
		return unlink(path);
	if (is(operation, "rmdir"))
		return rmdir(path);
	if (is(operation, "rename"))
		return rename_mode(operation);
	if (is(operation, "mknod"))
		return make_node(operation);
	if (is(operation, "mkfifo"))
		return mkfifo(path, 0644);
	if (is(operation, "write"))
		return write_stamped(operation, 0);
	if (is(operation, "append"))
		return write_stamped(operation, O_APPEND);
	if (is(operation, "truncate"))
		return truncate(path, operation->length);
	if (is(operation, "fallocate"))
		return fallocate_mode(operation);
	if (is(operation, "setxattr"))
		return lsetxattr(path, operation->name, operation->value, strlen(operation->value), 0);
	if (is(operation, "removexattr"))
		return lremovexattr(path, operation->name);
	if (is(operation, "fsync"))
		return with_open(path, fsync);
	if (is(operation, "fdatasync"))
		return with_open(path, fdatasync);
	if (is(operation, "sync"))
		return whole_sync();
	if (is(operation, "evict"))
		return evict();
	if (is(operation, "remount"))
		return leave() || enter();
	if (is(operation, "umount"))
		return leave();
	die("unknown word in the program");
}

static char *field(char **rest)
{
	char *text = strsep(rest, "\t");

	if (!text)
		die("program: too few fields");
	return text;
}

static struct operation parse(char *line)
{
	struct operation operation = { 0 };

	operation.run = !strcmp(field(&line), "run");
	operation.index = atoi(field(&line));
	operation.word = field(&line);
	operation.path = field(&line);
	operation.path2 = field(&line);
	operation.target = field(&line);
	operation.offset = strtoull(field(&line), NULL, 10);
	operation.length = strtoull(field(&line), NULL, 10);
	operation.mode = field(&line);
	operation.name = field(&line);
	operation.value = field(&line);
	operation.major = atoi(field(&line));
	operation.minor = atoi(field(&line));
	return operation;
}

static void perform(const struct operation *operation, bool first)
{
	static struct stat status, left;
	const char *object = operation->path2[0] ? operation->path2 : operation->path;
	char mark[32];

	if (operation->run) {
		snprintf(mark, sizeof(mark), "begin-%d", operation->index);
		log_writes_mark(mark);
	}
	int result = do_operation(operation) ? -errno : 0;

	if (operation->run) {
		snprintf(mark, sizeof(mark), "done-%d", operation->index);
		log_writes_mark(mark);
	}
	memset(&status, 0, sizeof(status));
	if (object[0] && lstat(object, &status))
		memset(&status, 0, sizeof(status));
	if (!is(operation, "rename") || lstat(operation->path, &left))
		memset(&left, 0, sizeof(left));
	put(&report, "%s{\"index\":%d,\"result\":%d,\"inode\":%llu,\"blocks\":%lld,\"left\":%llu}",
	    first ? "" : ",", operation->index, result, (unsigned long long)status.st_ino,
	    (long long)status.st_blocks, (unsigned long long)left.st_ino);
}

static void put_queue(void)
{
	static const char *const names[] = { "write_cache", "fua", "logical_block_size", "discard_max_bytes" };
	char path[128], value[64];
	struct stat status;

	if (stat(log_writes_device, &status))
		die("stat the recorded device");
	put(&report, ",\"device\":{");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/sys/block/dm-%d/queue/%s", (int)(status.st_rdev & 0xff), names[i]);
		int file = open(path, O_RDONLY);
		ssize_t length = file < 0 ? 0 : read(file, value, sizeof(value));

		if (length > 0 && value[length - 1] == '\n')
			length--;
		put(&report, "%s\"%s\":", i ? "," : "", names[i]);
		put_string(&report, value, length > 0 ? length : 0);
		close(file);
	}
	put(&report, "}");
}

static uint64_t root_inode(void)
{
	struct stat status;

	return stat(MOUNT_POINT, &status) ? 0 : status.st_ino;
}

void record(char *program)
{
	char *line = strsep(&program, "\n");
	bool running = false, first = true;

	filesystem = field(&line);
	options = field(&line);
	uint64_t sectors = strtoull(field(&line), NULL, 10);

	report.length = 0;
	clear_kernel_log();
	log_writes_create(sectors);
	int error = enter() ? errno : 0;

	put(&report, "{\"mount_errno\":%d,\"root_inode\":%llu", error, (unsigned long long)(error ? 0 : root_inode()));
	put_queue();
	put(&report, ",\"steps\":[");
	while (!error && (line = strsep(&program, "\n")) && *line) {
		struct operation operation = parse(line);

		if (operation.run && !running) {
			sync();
			log_writes_mark("run");
			running = true;
		}
		perform(&operation, first);
		first = false;
	}
	log_writes_mark("end");
	leave(); /* fails after umount as the last word: then there is nothing to leave */
	log_writes_remove();
	put(&report, "],\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, "}");
}
