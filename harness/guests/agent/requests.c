// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words for which each filesystem has a request of its own: each returns 0, or -1 with errno set.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/f2fs.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

/* fs/ext4/ext4.h (include/uapi/linux/ext4.h from 6.0 on), fs/xfs/libxfs/xfs_fs.h. */
#define EXT4_MOVE _IOWR('f', 15, struct ext4_move)
#define EXT4_RESIZE _IOW('f', 16, uint64_t)
#define XFS_STAT_ONE _IOWR('X', 102, struct xfs_stat_one)
#define XFS_SWAP _IOWR('X', 109, struct xfs_swap)
#define XFS_GROW _IOW('X', 110, struct xfs_grow)
#define XFS_INODE_PERCENT 25 /* mkfs.xfs(8), imaxpct, below 1 TB: another one would change it */
#define BTRFS_BALANCE_TYPE_MASK (BTRFS_BALANCE_DATA | BTRFS_BALANCE_SYSTEM | BTRFS_BALANCE_METADATA)
#define F2FS_SECTIONS_MAX 256 /* 512 MiB: more than a device of ours has */
#define ATOMICALLY 0x40 /* include/uapi/linux/fs.h: RWF_ATOMIC, from 6.11 on */

struct ext4_move {
	uint32_t reserved, donor;
	uint64_t start, donor_start, blocks, moved;
};

struct xfs_grow {
	uint64_t blocks;
	uint32_t inode_percent;
};

struct xfs_about { /* struct xfs_bstat */
	uint64_t inode;
	uint16_t mode, links;
	uint32_t user, group, device;
	int32_t block_bytes;
	int64_t bytes;
	struct {
		int64_t seconds;
		int32_t nanoseconds;
	} accessed, modified, changed;
	char more[48];
};

struct xfs_stat_one {
	uint64_t *inode;
	int32_t count;
	struct xfs_about *about;
	int32_t *found;
};

struct xfs_swap {
	int64_t version, target, donor, offset, length;
	char pad[16];
	struct xfs_about about;
};

_Static_assert(sizeof(struct xfs_about) == 136, "struct xfs_bstat of fs/xfs/libxfs/xfs_fs.h");

static long filesystem_of(int file)
{
	struct statfs about;

	return fstatfs(file, &about) ? -1 : (long)about.f_type;
}

/* --- the filesystem on its device -------------------------------------------------------------- */

/* "../../devices/virtual/block/dm-0": the last part is the name by which the kernel knows the device. */
static int device_link(char *device, size_t capacity)
{
	char link[64];
	struct stat status;

	if (stat(".", &status))
		return -1;
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(status.st_dev), minor(status.st_dev));
	ssize_t length = readlink(link, device, capacity - 1);

	if (length < 0)
		return -1;
	device[length] = 0;
	return 0;
}

/*
 * An error tag of XFS (fs/xfs/xfs_error.c), there with CONFIG_XFS_DEBUG: 1 makes the code of that name fail each
 * time it is come by, until it is 0 again or the filesystem is unmounted.
 */
int set_errortag(const char *tag, bool on)
{
	char device[PATH_BYTES], path[2 * PATH_BYTES];

	if (device_link(device, sizeof(device)))
		return -1;
	const char *slash = strrchr(device, '/');

	snprintf(path, sizeof(path), "/sys/fs/xfs/%s/errortag/%s", slash ? slash + 1 : device, tag);
	int file = open(path, O_WRONLY);
	int result = file < 0 || write(file, on ? "1" : "0", 1) != 1 ? -1 : 0;

	release("", file);
	return result;
}

static int64_t device_bytes(void)
{
	char device[PATH_BYTES], path[2 * PATH_BYTES], text[32] = "";

	if (device_link(device, sizeof(device)))
		return -1;
	snprintf(path, sizeof(path), "/sys/block/%s/size", strrchr(device, '/') + 1);
	int file = open(path, O_RDONLY);
	ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);

	release("", file);
	return length <= 0 ? -1 : strtoll(text, NULL, 10) * SECTOR_BYTES;
}

int grow(void)
{
	struct statfs about;
	int root = open(".", O_RDONLY | O_DIRECTORY);
	int result = root < 0 ? -1 : fstatfs(root, &about);

	if (!result && about.f_type == BTRFS_SUPER_MAGIC) {
		struct btrfs_ioctl_vol_args arguments = { .name = "max" };

		result = ioctl(root, BTRFS_IOC_RESIZE, &arguments);
	} else if (!result) {
		int64_t bytes = device_bytes();
		uint64_t blocks = bytes < 0 ? 0 : bytes / about.f_bsize;
		struct xfs_grow request = { blocks, XFS_INODE_PERCENT };

		errno = EOPNOTSUPP;
		if (blocks && about.f_type == EXT4_SUPER_MAGIC)
			result = ioctl(root, EXT4_RESIZE, &blocks);
		else
			result = blocks && about.f_type == XFS_SUPER_MAGIC ? ioctl(root, XFS_GROW, &request) : -1;
	}
	release("", root);
	return result;
}

/* Foreground garbage collection moves a section a call. Segments that are full have nothing to gain, and those that
 * are written to are left out (fs/f2fs/gc.c f2fs_get_victim()): in the end there is no victim. */
static int collect_garbage(int root)
{
	uint32_t foreground = 1;

	for (int i = 0; i < F2FS_SECTIONS_MAX; i++)
		if (ioctl(root, F2FS_IOC_GARBAGE_COLLECT, &foreground))
			return errno == ENODATA || errno == EAGAIN ? 0 : -1;
	return 0;
}

/*
 * On several devices of the size that guests have, a balance runs out of room in the middle of a commit, and the kernel
 * aborts the transaction (6.12.117, two devices of 128 MiB, raid1). When it does is chance.
 */
static int balance(int root)
{
	struct btrfs_ioctl_fs_info_args about = { 0 };
	struct btrfs_ioctl_balance_args everything = { .flags = BTRFS_BALANCE_TYPE_MASK };

	if (ioctl(root, BTRFS_IOC_FS_INFO, &about))
		return -1;
	if (about.num_devices > 1) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return ioctl(root, BTRFS_IOC_BALANCE_V2, &everything);
}

int relocate(void)
{
	int root = open(".", O_RDONLY | O_DIRECTORY);
	long filesystem = root < 0 ? -1 : filesystem_of(root);
	int result = -1;

	if (filesystem == BTRFS_SUPER_MAGIC)
		result = balance(root);
	else if (filesystem == F2FS_SUPER_MAGIC)
		result = collect_garbage(root);
	else if (filesystem >= 0)
		errno = EOPNOTSUPP;
	release("", root);
	return result;
}

/* f2fs discards in a thread, unless it is told not to (discard_unit=, nodiscard); the others before they return. */
int trim(void)
{
	struct fstrim_range everything = { .len = UINT64_MAX };
	int root = open(".", O_RDONLY | O_DIRECTORY);
	int result = root < 0 ? -1 : ioctl(root, FITRIM, &everything);

	release("", root);
	return result;
}

/* --- a write that is not torn ------------------------------------------------------------------ */

static int write_whole(int file, const struct operation *operation, const unsigned char *bytes, int flags)
{
	struct iovec part = { (void *)bytes, operation->length };
	ssize_t done = pwritev2(file, &part, 1, operation->offset, flags);

	if (done == (ssize_t)operation->length)
		return 0;
	errno = done < 0 ? errno : EIO; /* of a part: nobody says why */
	return -1;
}

/* fs/f2fs/file.c: of what is written in between all is there, or nothing. */
static int commit_whole(int file, const struct operation *operation, const unsigned char *bytes)
{
	if (ioctl(file, F2FS_IOC_START_ATOMIC_WRITE))
		return -1;
	if (!write_whole(file, operation, bytes, 0) && !ioctl(file, F2FS_IOC_COMMIT_ATOMIC_WRITE))
		return 0;
	int error = errno;

	ioctl(file, F2FS_IOC_ABORT_ATOMIC_WRITE);
	errno = error;
	return -1;
}

int write_atomically(const struct operation *operation)
{
	const char *path = operation->path;
	int flags = ATOMICALLY | (operation->mode[0] ? RWF_DSYNC : 0);
	int file = file_of(path, O_WRONLY);
	bool by_request = file >= 0 && filesystem_of(file) == F2FS_SUPER_MAGIC;
	unsigned char *bytes = NULL;

	if (!by_request && file >= 0) {
		release(path, file);
		file = file_of(path, O_WRONLY | O_DIRECT);
	}
	int result = file < 0 || posix_memalign((void **)&bytes, BLOCK_BYTES, operation->length) ? -1 : 0;

	if (!result) {
		stamp(bytes, operation->index, operation->offset, operation->length);
		result = by_request ? commit_whole(file, operation, bytes) :
				      write_whole(file, operation, bytes, flags);
	}
	int error = errno;

	free(bytes);
	errno = error;
	release(path, file);
	return result;
}

/* --- other blocks for the same bytes ------------------------------------------------------------ */

#define EXTENTS_MAX 512

/* A file without a name that has blocks where this one has, and if asked for the same bytes in them. */
static int donor_of(int file, const struct stat *status, bool bytes_too)
{
	static _Thread_local struct {
		struct fiemap map;
		struct fiemap_extent extents[EXTENTS_MAX];
	} asked;
	static _Thread_local char buffer[1 << 16];
	int donor = open(".", O_TMPFILE | O_RDWR, 0600);

	memset(&asked.map, 0, sizeof(asked.map));
	asked.map.fm_length = FIEMAP_MAX_OFFSET;
	asked.map.fm_flags = FIEMAP_FLAG_SYNC;
	asked.map.fm_extent_count = EXTENTS_MAX;
	int result = donor < 0 || ioctl(file, FS_IOC_FIEMAP, &asked.map) || ftruncate(donor, status->st_size) ? -1 : 0;

	if (!result && asked.map.fm_mapped_extents == EXTENTS_MAX) {
		errno = EFBIG; /* there may be more */
		result = -1;
	}
	for (uint32_t i = 0; !result && i < asked.map.fm_mapped_extents; i++) {
		const struct fiemap_extent *extent = &asked.extents[i];
		uint64_t end = MIN(extent->fe_logical + extent->fe_length, (uint64_t)status->st_size);

		result = fallocate(donor, FALLOC_FL_KEEP_SIZE, extent->fe_logical, extent->fe_length);
		if (!bytes_too || extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
			continue;
		for (uint64_t at = extent->fe_logical; !result && at < end;) {
			ssize_t got = pread(file, buffer, MIN(sizeof(buffer), end - at), at);

			result = got > 0 && pwrite(donor, buffer, got, at) == got ? 0 : -1;
			at += got > 0 ? got : 0;
		}
	}
	if (!result)
		return donor;
	release("", donor);
	return -1;
}

/* As e4defrag(8): the kernel copies block by block, and exchanges the maps of the two files. */
static int move_of_ext4(int file, const struct stat *status)
{
	uint64_t blocks = howmany((uint64_t)status->st_size, (uint64_t)status->st_blksize), done = 0;
	int donor = donor_of(file, status, false);
	int result = donor < 0 ? -1 : 0;

	while (!result && done < blocks) {
		struct ext4_move move = { 0, donor, done, done, blocks - done, 0 };

		result = ioctl(file, EXT4_MOVE, &move);
		if (!result && !move.moved)
			break; /* a hole to the end */
		done += move.moved;
	}
	release("", donor);
	return result;
}

/* As xfs_fsr(8): a copy, and then the kernel exchanges the blocks of the two files, if the file's times are still
 * those from before the copy. */
static int swap_of_xfs(int file, const struct stat *status)
{
	struct xfs_swap swap = { .target = file, .length = status->st_size };
	uint64_t inode = status->st_ino;
	int32_t found = 0;
	struct xfs_stat_one one = { &inode, 1, &swap.about, &found };

	if (ioctl(file, XFS_STAT_ONE, &one))
		return -1;
	int donor = donor_of(file, status, true);

	swap.donor = donor;
	int result = donor < 0 || fsync(donor) ? -1 : ioctl(file, XFS_SWAP, &swap);

	release("", donor);
	return result;
}

int defragment(const char *path)
{
	int file = file_of(path, O_RDWR);
	struct stat status;
	int result = file < 0 || fstat(file, &status) ? -1 : 0;

	if (!result && status.st_size) {
		struct btrfs_ioctl_defrag_range_args of_btrfs = { .len = UINT64_MAX,
								  .flags = BTRFS_DEFRAG_RANGE_START_IO,
								  .extent_thresh = UINT32_MAX };
		struct f2fs_defragment of_f2fs = { 0, roundup((uint64_t)status.st_size, BLOCK_BYTES) };

		switch (filesystem_of(file)) {
		case EXT4_SUPER_MAGIC:
			result = move_of_ext4(file, &status);
			break;
		case XFS_SUPER_MAGIC:
			result = swap_of_xfs(file, &status);
			break;
		case BTRFS_SUPER_MAGIC:
			result = ioctl(file, BTRFS_IOC_DEFRAG_RANGE, &of_btrfs) < 0 ? -1 : 0;
			break;
		case F2FS_SUPER_MAGIC:
			result = ioctl(file, F2FS_IOC_DEFRAGMENT, &of_f2fs);
			break;
		default:
			errno = EOPNOTSUPP;
			result = -1;
		}
	}
	release(path, file);
	return result;
}

/* --- verified content --------------------------------------------------------------------------- */

/* Its blocks are the filesystem's, which they may not exceed. */
int enable_verity(const char *path)
{
	struct fsverity_enable_arg how = { .version = 1, .hash_algorithm = FS_VERITY_HASH_ALG_SHA256 };
	int file = file_of(path, O_RDONLY);
	struct stat status;
	int result = file < 0 || fstat(file, &status) ? -1 : 0;

	if (!result) {
		how.block_size = status.st_blksize;
		result = ioctl(file, FS_IOC_ENABLE_VERITY, &how);
	}
	release(path, file);
	return result;
}
