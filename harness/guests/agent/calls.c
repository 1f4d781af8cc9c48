// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words of a workload as system calls: each returns 0, or -1 with errno set.
 *
 * A path that starts with @ is a descriptor that `open` or `tmpfile` kept. Calls that take a descriptor get
 * that very one; calls that take a path get it through /proc/self/fd, which reaches a file without a name.
 *
 * Threads of a parallel block call these side by side (threads.c): what is written here is a thread's own, or
 * under the lock of the kept descriptors.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CELL_BYTES 8 /* workloads/history.py: stamped() */
#define CELL_MAGIC 0xC5B7
#define MAGIC_EVERY 1024 /* the smallest block of ext4 */

_Thread_local int thread_number;
_Thread_local struct called called;

static uint64_t tree_of_file(int file);

/* In a thread: after the call its path may be another's. */
static void note(int file)
{
	struct stat status, top;

	if (!thread_number || file < 0 || fstat(file, &status) || stat(".", &top))
		return;
	called.known = true;
	called.number = status.st_ino;
	if (status.st_dev != top.st_dev)
		called.number |= tree_of_file(file) << TREE_SHIFT;
}

/* --- kept descriptors -------------------------------------------------------------------------- */

#define KEPT_MAX 64
#define MAPPED_BYTES (64 << 20)

static struct kept {
	char name[64];
	int file;
	unsigned char *map; /* MAPPED_BYTES of it from its begin; NULL before the first mmapwrite */
} kept[KEPT_MAX];

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static struct kept *find_locked(const char *name)
{
	for (int i = 0; i < KEPT_MAX; i++)
		if (!strcmp(kept[i].name, name))
			return &kept[i];
	return NULL;
}

static struct kept *find_kept(const char *name)
{
	pthread_mutex_lock(&kept_lock);
	struct kept *held = find_locked(name);

	pthread_mutex_unlock(&kept_lock);
	return held;
}

static int keep(const char *name, int file)
{
	if (file < 0)
		return -1;
	pthread_mutex_lock(&kept_lock);
	struct kept *free_place = find_locked("");

	if (!free_place)
		die("too many kept descriptors");
	snprintf(free_place->name, sizeof(free_place->name), "%s", name);
	free_place->file = file;
	free_place->map = NULL;
	pthread_mutex_unlock(&kept_lock);
	return 0;
}

static int close_kept(const char *name)
{
	struct kept *held = find_kept(name);

	if (!held) {
		errno = EBADF;
		return -1;
	}
	int file = held->file;

	if (held->map)
		munmap(held->map, MAPPED_BYTES);
	pthread_mutex_lock(&kept_lock);
	held->name[0] = 0;
	pthread_mutex_unlock(&kept_lock);
	return close(file);
}

void close_all_kept(void)
{
	for (int i = 0; i < KEPT_MAX; i++)
		if (kept[i].name[0])
			close_kept(kept[i].name);
}

static bool is_kept(const char *path)
{
	return path[0] == '@';
}

int file_of(const char *path, int flags)
{
	int file;

	if (is_kept(path)) {
		struct kept *held = find_kept(path);

		file = held ? held->file : -1;
		errno = EBADF;
	} else {
		file = open(path, flags | O_NONBLOCK, 0644); /* a fifo would wait for its other end */
	}
	int error = errno;

	note(file);
	errno = error;
	return file;
}

void release(const char *path, int file)
{
	int error = errno;

	if (!is_kept(path) && file >= 0)
		close(file);
	errno = error;
}

static const char *path_of(const char *path)
{
	static _Thread_local char link[64];
	struct kept *held = is_kept(path) ? find_kept(path) : NULL;

	if (!held)
		return path;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", held->file);
	return link;
}

static int open_and_keep(const struct operation *operation)
{
	static const struct {
		const char *name;
		int flags;
	} known[] = { { "creat", O_CREAT }, { "trunc", O_TRUNC }, { "dsync", O_DSYNC }, { "sync", O_SYNC } };
	struct stat status;
	int flags = O_RDWR;

	if (!stat(operation->path, &status) && S_ISDIR(status.st_mode))
		flags = O_RDONLY | O_DIRECTORY;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		/* names joined by commas, none of which is part of another but dsync of sync */
		const char *at = strstr(operation->mode, known[i].name);

		while (at && at != operation->mode && at[-1] != ',')
			at = strstr(at + 1, known[i].name);
		if (at)
			flags |= known[i].flags;
	}
	return keep(operation->descriptor, open(operation->path, flags, 0644));
}

static int make_tmpfile(const struct operation *operation)
{
	return keep(operation->descriptor, open(operation->path, O_TMPFILE | O_RDWR, 0644));
}

static bool is(const struct operation *operation, const char *word)
{
	return !strcmp(operation->word, word);
}

/* --- content ----------------------------------------------------------------------------------- */

void stamp(unsigned char *buffer, int index, uint64_t offset, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		uint64_t at = offset + i;
		uint64_t cell = at / CELL_BYTES << 32 | (uint64_t)CELL_MAGIC << 16 | (index + 1);

		buffer[i] = cell >> 8 * (at % CELL_BYTES);
	}
}

/* workloads/history.py: with_magic() */
static void mark_blocks(unsigned char *buffer, uint64_t offset, size_t length)
{
	static const unsigned char magic[] = { 0xc0, 0x3b, 0x39, 0x98 }; /* include/linux/jbd2.h: JBD2_MAGIC_NUMBER */

	for (size_t i = 0; i < length; i++)
		if ((offset + i) % MAGIC_EVERY < sizeof(magic))
			buffer[i] = magic[(offset + i) % MAGIC_EVERY];
}

static int write_stamped(const struct operation *operation, bool append)
{
	static unsigned char buffers[1 + THREADS_MAX][1 << 16] __attribute__((aligned(BLOCK_BYTES)));
	unsigned char *buffer = buffers[thread_number];
	int flags = O_WRONLY | (append ? O_APPEND : 0); /* with which pwrite(2) appends */

	/* In a thread it does one thing: to make the file and to write it are two. */
	if (!thread_number)
		flags |= O_CREAT;
	if (strstr(operation->mode, "direct"))
		flags |= O_DIRECT;
	if (strstr(operation->mode, "dsync"))
		flags |= O_DSYNC;
	else if (strstr(operation->mode, "sync"))
		flags |= O_SYNC;
	int file = file_of(operation->path, flags);
	struct stat status;

	if (file < 0 || fstat(file, &status)) {
		release(operation->path, file);
		return -1;
	}
	uint64_t offset = append ? (uint64_t)status.st_size : operation->offset;
	uint64_t end = offset + operation->length;
	int result = 0;

	while (offset < end && !result) {
		size_t length = end - offset < sizeof(buffers[0]) ? end - offset : sizeof(buffers[0]);

		stamp(buffer, operation->index, offset, length);
		if (!strcmp(operation->mode, "jbd2-magic"))
			mark_blocks(buffer, offset, length);
		errno = ENOSPC; /* of a write that writes nothing and says no more */
		ssize_t done = pwrite(file, buffer, length, offset);

		if (done <= 0)
			result = -1;
		else
			offset += done;
	}
	release(operation->path, file);
	return result;
}

/* mmap(2) begins where a page does. aarch64 has them of 4, 16 or 64 KiB, as its kernel was configured. */
static uint64_t page_begin(uint64_t offset)
{
	uint64_t page_bytes = sysconf(_SC_PAGESIZE);

	return offset / page_bytes * page_bytes;
}

/* The signal comes to the thread that stored. */
static _Thread_local sigjmp_buf no_page;
static _Thread_local volatile sig_atomic_t storing; /* read by the handler alone */

static void page_failed(int number)
{
	if (storing)
		siglongjmp(no_page, number);
	signal(number, SIG_DFL); /* the same access raises it again */
}

/*
 * A kept descriptor is mapped once, so that later stores find their pages mapped. As much as any file has: what lies behind
 * the end may be mapped, and comes when the file grows. Else what is asked for.
 */
static unsigned char *map_of(struct kept *held, int file, uint64_t first, uint64_t end)
{
	if (!held || end > MAPPED_BYTES)
		return mmap(NULL, end - first, PROT_READ | PROT_WRITE, MAP_SHARED, file, first);
	pthread_mutex_lock(&kept_lock);
	if (!held->map)
		held->map = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	unsigned char *map = held->map;

	if (map == MAP_FAILED)
		held->map = NULL;
	pthread_mutex_unlock(&kept_lock);
	return map == MAP_FAILED ? map : map + first;
}

/* What lies behind the end of file cannot be reached (SIGBUS), nor a page that the filesystem has no space for. */
static int store(unsigned char *at, const struct operation *operation)
{
	volatile int result = -1;

	signal(SIGBUS, page_failed);
	if (!sigsetjmp(no_page, 1)) {
		storing = true;
		stamp(at, operation->index, operation->offset, operation->length);
		result = 0;
	}
	storing = false;
	return result;
}

static int write_mapped(const struct operation *operation)
{
	uint64_t first = page_begin(operation->offset);
	uint64_t end = operation->offset + operation->length;
	int file = file_of(operation->path, O_RDWR);
	struct stat status;

	errno = ENXIO;
	if (file < 0 || fstat(file, &status) || end > (uint64_t)status.st_size) {
		release(operation->path, file);
		return -1;
	}
	struct kept *held = is_kept(operation->path) ? find_kept(operation->path) : NULL;
	unsigned char *map = map_of(held, file, first, end);
	int result = map == MAP_FAILED ? -1 : store(map + (operation->offset - first), operation);

	if (map != MAP_FAILED && (!held || end > MAPPED_BYTES))
		munmap(map, end - first);
	if (map != MAP_FAILED && result)
		errno = ENOSPC;
	release(operation->path, file);
	return result;
}

static int sync_mapped(const struct operation *operation)
{
	uint64_t first = page_begin(operation->offset);
	uint64_t end = operation->offset + operation->length;
	int file = file_of(operation->path, O_RDWR);
	struct stat status;

	if (file < 0 || fstat(file, &status)) {
		release(operation->path, file);
		return -1;
	}
	if (!operation->length)
		end = status.st_size;
	if (end <= first) {
		release(operation->path, file);
		errno = EINVAL; /* as mmap(2) of no bytes */
		return -1;
	}
	void *map = mmap(NULL, end - first, PROT_READ | PROT_WRITE, MAP_SHARED, file, first);
	int result = map == MAP_FAILED ? -1 : msync(map, end - first, MS_SYNC);
	int error = errno;

	if (map != MAP_FAILED)
		munmap(map, end - first);
	errno = error;
	release(operation->path, file);
	return result;
}

/*
 * More than 0 is no error to a program that asks as the manual pages say, "On error, -1 is returned": f2fs returned an internal
 * number before 43ba56a043b1 ("f2fs: fix to return correct error number in f2fs_sync_node_pages()") (in v6.16).
 */
static int with_open(const char *path, int (*call)(int))
{
	int file = file_of(path, O_RDONLY);
	int result = file < 0 ? -1 : call(file);

	release(path, file);
	return result < 0 ? -1 : 0;
}

static int sync_range(const struct operation *operation)
{
	unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	int file = file_of(operation->path, O_RDONLY);
	int result = file < 0 ? -1 : sync_file_range(file, operation->offset, operation->length, flags);

	release(operation->path, file);
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
		int file = file_of(operation->path, O_RDWR);
		int result = file < 0 ? -1 :
				fallocate(file, modes[i].flags, operation->offset, operation->length);

		release(operation->path, file);
		return result;
	}
	errno = EINVAL;
	return -1;
}

/*
 * All the space there is: pieces half as large whenever one does not fit, to the smallest block there is. What
 * a piece that does not fit leaves allocated (ext4, f2fs: and the file longer) counts, too. Then LEAVE bytes are
 * given back.
 */
#define FILL_LARGEST (256 << 20)
#define FILL_SMALLEST 1024

static int fill_up(const struct operation *operation)
{
	int file = file_of(operation->path, O_RDWR | O_CREAT);
	uint64_t piece = FILL_LARGEST;
	struct stat status;
	int result = file < 0 ? -1 : fstat(file, &status);

	while (!result && piece >= FILL_SMALLEST) {
		if (fallocate(file, 0, status.st_size, piece)) {
			result = errno == ENOSPC ? 0 : -1;
			piece /= 2;
		}
		result = result || fstat(file, &status) ? -1 : 0;
	}
	if (!result && operation->length)
		result = ftruncate(file, status.st_size - MIN((uint64_t)status.st_size, operation->length));
	release(operation->path, file);
	return result;
}

/* --- from one file to another ------------------------------------------------------------------ */

static int clone_range(const struct operation *operation, int from, int to)
{
	struct file_clone_range range = { from, operation->offset, operation->length, operation->at };

	return ioctl(to, FICLONERANGE, &range);
}

static int dedupe_range(const struct operation *operation, int from, int to)
{
	static _Thread_local char space[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)];
	struct file_dedupe_range *range = (void *)space;

	memset(space, 0, sizeof(space));
	range->src_offset = operation->offset;
	range->src_length = operation->length;
	range->dest_count = 1;
	range->info[0].dest_fd = to;
	range->info[0].dest_offset = operation->at;
	if (ioctl(from, FIDEDUPERANGE, range))
		return -1;
	if (!range->info[0].status && range->info[0].bytes_deduped == operation->length)
		return 0;
	/* Contents that differ, or less than was asked: EBADE says so, as no filesystem does. */
	errno = range->info[0].status < 0 ? -range->info[0].status : EBADE;
	return -1;
}

static int copy_range(const struct operation *operation, int from, int to)
{
	off_t source = operation->offset, target = operation->at;
	off_t end = source + operation->length;

	while (source < end) {
		ssize_t done = copy_file_range(from, &source, to, &target, end - source, 0);

		if (done <= 0) {
			errno = done ? errno : ENODATA; /* the source ends here */
			return -1;
		}
	}
	return 0;
}

static int between_files(const struct operation *operation,
			 int (*call)(const struct operation *operation, int from, int to))
{
	int from = file_of(operation->path, O_RDONLY);
	int to = from < 0 ? -1 : file_of(operation->path2, O_RDWR);
	int result = to < 0 ? -1 : call(operation, from, to);

	release(operation->path2, to);
	release(operation->path, from);
	return result;
}

/* --- names ------------------------------------------------------------------------------------- */

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

static int link_file(const struct operation *operation)
{
	int flags = is_kept(operation->path) ? AT_SYMLINK_FOLLOW : 0;

	return linkat(AT_FDCWD, path_of(operation->path), AT_FDCWD, operation->path2, flags);
}

/* --- attributes -------------------------------------------------------------------------------- */

static int set_xattr(const struct operation *operation)
{
	int (*set)(const char *, const char *, const void *, size_t, int) = is_kept(operation->path) ? setxattr : lsetxattr;

	return set(path_of(operation->path), operation->name, operation->value, operation->value_bytes, 0);
}

static int remove_xattr(const struct operation *operation)
{
	const char *path = path_of(operation->path);

	return is_kept(operation->path) ? removexattr(path, operation->name) : lremovexattr(path, operation->name);
}

static int change_owner(const struct operation *operation)
{
	unsigned int user = 0, group = 0;

	sscanf(operation->value, "%u:%u", &user, &group);
	return chown(path_of(operation->path), user, group);
}

static int set_times(const struct operation *operation)
{
	struct timespec times[2] = { { .tv_sec = operation->length }, { .tv_sec = operation->length } };

	return utimensat(AT_FDCWD, path_of(operation->path), times, 0);
}

const struct inode_flag inode_flags[] = { /* workloads/workload.py: INODE_FLAGS, VERITY_FLAG */
	{ 'A', FS_NOATIME_FL }, { 'C', FS_NOCOW_FL },  { 'D', FS_DIRSYNC_FL },	 { 'S', FS_SYNC_FL },
	{ 'V', FS_VERITY_FL },	{ 'a', FS_APPEND_FL }, { 'd', FS_NODUMP_FL },	 { 'i', FS_IMMUTABLE_FL },
	{ 'j', FS_JOURNAL_DATA_FL }, { 0, 0 },
};

/* f2fs accepts +C and leaves it out (f2fs_fileattr_set() masks by F2FS_SETTABLE_FS_FL): then nothing was done. */
static int change_flag(const struct operation *operation)
{
	int file = file_of(operation->path, O_RDONLY);
	int flags = 0, now;
	int result = file < 0 ? -1 : ioctl(file, FS_IOC_GETFLAGS, &flags);

	for (const struct inode_flag *flag = inode_flags; !result && flag->letter; flag++) {
		if (flag->letter != operation->mode[1])
			continue;
		flags = operation->mode[0] == '+' ? flags | flag->bit : flags & ~flag->bit;
		result = ioctl(file, FS_IOC_SETFLAGS, &flags) || ioctl(file, FS_IOC_GETFLAGS, &now) ? -1 : 0;
		if (!result && (now ^ flags) & flag->bit) {
			errno = EOPNOTSUPP;
			result = -1;
		}
	}
	release(operation->path, file);
	return result;
}

/* --- subvolumes -------------------------------------------------------------------------------- */

/* The directory above a path, opened, and the name in it. */
static int open_parent(const char *path, const char **name)
{
	char parent[PATH_BYTES];
	const char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	return open(parent, O_RDONLY | O_DIRECTORY);
}

static int change_subvolume(const char *path, unsigned long request)
{
	struct btrfs_ioctl_vol_args arguments = { 0 };
	const char *name;
	int parent = open_parent(path, &name);

	if (parent < 0)
		return -1;
	snprintf(arguments.name, sizeof(arguments.name), "%s", name);
	int result = ioctl(parent, request, &arguments);

	release("", parent);
	return result;
}

static int subvolume(const struct operation *operation)
{
	bool create = !strcmp(operation->mode, "create");

	return change_subvolume(operation->path, create ? BTRFS_IOC_SUBVOL_CREATE : BTRFS_IOC_SNAP_DESTROY);
}

static int snapshot(const struct operation *operation)
{
	struct btrfs_ioctl_vol_args_v2 arguments = { 0 };
	const char *name;
	int parent = open_parent(operation->path2, &name);

	arguments.fd = parent < 0 ? -1 : open(operation->path, O_RDONLY | O_DIRECTORY);
	snprintf(arguments.name, sizeof(arguments.name), "%s", name);
	int result = arguments.fd < 0 ? -1 : ioctl(parent, BTRFS_IOC_SNAP_CREATE_V2, &arguments);

	release("", arguments.fd);
	release("", parent);
	return result;
}

static uint64_t tree_of_file(int file)
{
	static _Thread_local struct btrfs_ioctl_ino_lookup_args arguments;

	arguments.treeid = 0;
	arguments.objectid = BTRFS_FIRST_FREE_OBJECTID;
	if (file < 0 || ioctl(file, BTRFS_IOC_INO_LOOKUP, &arguments))
		return 0;
	return arguments.treeid;
}

/* The id of the btrfs tree that a file or directory lies in: BTRFS_IOC_INO_LOOKUP. */
uint64_t tree_of(const char *path)
{
	int file = open(path, O_RDONLY | O_NOATIME);
	uint64_t tree = tree_of_file(file);

	release("", file);
	return tree;
}

/* --- everything -------------------------------------------------------------------------------- */

/*
 * Drop what can be dropped of pages, dentries and inodes: only what is clean and unused goes. Pages, too:
 * the kernel drops no inode that has some (include/linux/pagemap.h, mapping_shrinkable()). More than once:
 * a dentry or inode that was used since the last time stays for one more (fs/dcache.c, dentry_lru_isolate();
 * fs/inode.c, inode_lru_isolate()), and a directory's can only go after its children's.
 */
#define EVICT_ROUNDS 8

static int evict(void)
{
	int file = open("/proc/sys/vm/drop_caches", O_WRONLY);
	int result = file < 0 ? -1 : 0;

	for (int round = 0; round < EVICT_ROUNDS && result == 0; round++)
		result = write(file, "3", 1) == 1 ? 0 : -1;
	close(file);
	return result;
}

static int whole_sync(void)
{
	sync();
	return 0;
}

static int wait_ms(uint64_t milliseconds)
{
	return usleep(milliseconds * 1000);
}

/* Whether a symlink at the end of its path is followed. */
bool follows(const struct operation *operation)
{
	static const char *const words[] = { /* those whose own object may be a symlink, and evict, which has none */
		"creat",  "mkdir",  "mknod",  "mkfifo", "symlink",  "link",	   "unlink",  "rmdir",
		"rename", "subvol", "setxattr", "setfacl", "removexattr", "snapshot", "evict",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is(operation, words[i]))
			return false;
	return true;
}

/* What an operation worked on, as it is then; false when there is nothing. */
bool object_status(const char *path, bool follow, struct stat *status, uint64_t *number)
{
	struct stat top;
	int (*look)(const char *, struct stat *) = follow ? stat : lstat;

	if (is_kept(path) ? find_kept(path) == NULL || fstat(find_kept(path)->file, status) : look(path, status))
		return false;
	*number = status->st_ino;
	if (stat(".", &top) || status->st_dev == top.st_dev)
		return true;
	const char *slash = strrchr(path, '/');
	char directory[PATH_BYTES];

	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	bool itself = is_kept(path) || S_ISDIR(status->st_mode) || (follow && S_ISREG(status->st_mode));

	*number |= tree_of(itself ? path_of(path) : directory) << TREE_SHIFT;
	return true;
}

static int do_named(const struct operation *operation)
{
	const char *path = operation->path;

	if (is(operation, "creat"))
		return create(path);
	if (is(operation, "mkdir"))
		return mkdir(path, 0755);
	if (is(operation, "mknod"))
		return make_node(operation);
	if (is(operation, "mkfifo"))
		return mkfifo(path, 0644);
	if (is(operation, "symlink"))
		return symlink(operation->target, path);
	if (is(operation, "link"))
		return link_file(operation);
	if (is(operation, "unlink"))
		return unlink(path);
	if (is(operation, "rmdir"))
		return rmdir(path);
	if (is(operation, "rename"))
		return rename_mode(operation);
	if (is(operation, "open"))
		return open_and_keep(operation);
	if (is(operation, "tmpfile"))
		return make_tmpfile(operation);
	if (is(operation, "close"))
		return close_kept(path);
	if (is(operation, "subvol"))
		return subvolume(operation);
	if (is(operation, "snapshot"))
		return snapshot(operation);
	return NOT_MINE;
}

static int do_content(const struct operation *operation)
{
	if (is(operation, "write") || is(operation, "pwrite"))
		return write_stamped(operation, false);
	if (is(operation, "append"))
		return write_stamped(operation, true);
	if (is(operation, "mmapwrite"))
		return write_mapped(operation);
	if (is(operation, "atomicwrite"))
		return write_atomically(operation);
	if (is(operation, "defragment"))
		return defragment(operation->path);
	if (is(operation, "verity"))
		return enable_verity(operation->path);
	if (is(operation, "truncate"))
		return truncate(path_of(operation->path), operation->length);
	if (is(operation, "fallocate"))
		return fallocate_mode(operation);
	if (is(operation, "fill"))
		return fill_up(operation);
	if (is(operation, "clone"))
		return between_files(operation, clone_range);
	if (is(operation, "dedupe"))
		return between_files(operation, dedupe_range);
	if (is(operation, "copyrange"))
		return between_files(operation, copy_range);
	return NOT_MINE;
}

/* The file whose size and content the operation decided in a way that only the file itself can tell: NULL for
 * none. A call that failed may have done part of its work. */
const char *file_left_by(const struct operation *operation, int result)
{
	static const char *const of_path[] = { "write",	"pwrite",    "append", "mmapwrite",  "truncate",
					       "fallocate", "open",	 "fill",   "atomicwrite" };
	static const char *const of_path2[] = { "clone", "copyrange" };

	if (!result && !is(operation, "fill"))
		return NULL;
	for (size_t i = 0; i < sizeof(of_path) / sizeof(of_path[0]); i++)
		if (is(operation, of_path[i]))
			return path_of(operation->path);
	for (size_t i = 0; i < sizeof(of_path2) / sizeof(of_path2[0]); i++)
		if (is(operation, of_path2[i]))
			return path_of(operation->path2);
	return NULL;
}

static int do_attribute(const struct operation *operation)
{
	if (is(operation, "setxattr") || is(operation, "setfacl"))
		return set_xattr(operation);
	if (is(operation, "removexattr"))
		return remove_xattr(operation);
	if (is(operation, "chmod"))
		return chmod(path_of(operation->path), strtoul(operation->mode, NULL, 8));
	if (is(operation, "chown"))
		return change_owner(operation);
	if (is(operation, "utimes"))
		return set_times(operation);
	if (is(operation, "chattr"))
		return change_flag(operation);
	return NOT_MINE;
}

static int do_persist(const struct operation *operation)
{
	const char *path = operation->path;

	if (is(operation, "fsync"))
		return with_open(path, fsync);
	if (is(operation, "fdatasync"))
		return with_open(path, fdatasync);
	if (is(operation, "msync"))
		return sync_mapped(operation);
	if (is(operation, "sync_file_range"))
		return sync_range(operation);
	if (is(operation, "syncfs"))
		return with_open(".", syncfs);
	if (is(operation, "sync"))
		return whole_sync();
	if (is(operation, "evict"))
		return evict();
	if (is(operation, "wait"))
		return wait_ms(operation->length);
	if (is(operation, "grow"))
		return grow();
	if (is(operation, "relocate"))
		return relocate();
	if (is(operation, "trim"))
		return trim();
	if (is(operation, "errortag"))
		return set_errortag(operation->name, !operation->mode[0]);
	if (is(operation, "await"))
		return await_writes(operation->length, operation->offset);
	if (is(operation, "stop"))
		return stops_ask(operation);
	return NOT_MINE;
}

int do_call(const struct operation *operation)
{
	static int (*const kinds[])(const struct operation *) = { do_named, do_content, do_attribute, do_persist };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int result = kinds[i](operation);

		if (result != NOT_MINE)
			return result;
	}
	return NOT_MINE;
}
