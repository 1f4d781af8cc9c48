// SPDX-License-Identifier: GPL-2.0-only
/*
 * One state: mount (recovery), walk, unmount; mount and walk again; probe; unmount. Where the profile asks for
 * it, the first of these mounts is read-only, and two come before it: of the device when it cannot be written, and
 * one that must not recover. The report is
 * oracles/observation.py's Observation.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROBE_NAME ".powercut-probe"
#define LITTLE_ROOM 16 /* one part in so many of the device free, or less, as in oracles/usable.py */
#define DROP_MS 10000
#define BALANCE_MS 10000

/*
 * On a machine somebody else may have the device open: what was read of the last state stays in memory then, and would
 * be mounted in place of what the disk has now.
 */
static void forget_read(const char *device)
{
	int file = open(device, O_RDONLY | O_CLOEXEC);

	if (file >= 0) {
		ioctl(file, BLKFLSBUF, 0);
		close(file);
	}
}

int mount_filesystem(const char *device, const char *filesystem, const char *options)
{
	if (on_machine)
		forget_read(device);
	return disk_mount(device, filesystem, 0, options) ? errno : 0;
}

/*
 * A mount that is told not to recover must leave the disk as it is (ext4(5), xfs(5): norecovery; btrfs(5):
 * rescue=nologreplay), though it may refuse: what it would show is not consistent.
 */
static int mount_without_recovery(const struct recovery *recovery)
{
	const char *how = strcmp(recovery->filesystem, "btrfs") ? "norecovery" : "rescue=nologreplay";
	char options[600];

	snprintf(options, sizeof(options), "%s%s%s", recovery->options, recovery->options[0] ? "," : "", how);
	int error = disk_mount(recovery->device, recovery->filesystem, MS_RDONLY, options) ? errno : 0;

	if (!error && umount2(MOUNT_POINT, 0))
		die("unmount without recovery");
	return error;
}

static void set_read_only(const char *device, int value)
{
	int file = open(device, O_RDONLY | O_CLOEXEC);

	if (file < 0 || ioctl(file, BLKROSET, &value))
		die("BLKROSET");
	close(file);
}

/* Of a device that cannot be written: the errno of the mount, and in `tree` what it shows. */
static int mount_read_only_device(const struct recovery *recovery, struct text *tree)
{
	set_read_only(recovery->device, 1);
	int error = disk_mount(recovery->device, recovery->filesystem, MS_RDONLY, recovery->options) ? errno : 0;

	tree->length = 0;
	if (!error) {
		walk(tree);
		if (umount2(MOUNT_POINT, 0))
			die("unmount of a read-only device");
	} else {
		clear_kernel_log(); /* that it refuses, and why, is no trouble */
	}
	set_read_only(recovery->device, 0);
	return error;
}

static int unmount(void)
{
	return umount2(MOUNT_POINT, 0) ? errno : 0;
}

/* --- the probe --------------------------------------------------------------------------------- */

static int probe_steps;
static bool probe_failed;
static bool probe_full; /* a call of this probe found no room */

static bool step(bool done, const char *call, const char *path)
{
	int error = errno;

	probe_steps++;
	if (done)
		return true;
	if (!strncmp(path, MOUNT_POINT "/", sizeof(MOUNT_POINT)))
		path += sizeof(MOUNT_POINT);
	else if (!strcmp(path, MOUNT_POINT))
		path = ".";
	put(&report, "%s\"%s ", probe_failed ? "," : "", call);
	put_escaped(&report, path, strlen(path));
	put(&report, ": %s\"", errno_name(error));
	probe_failed = true;
	probe_full = probe_full || error == ENOSPC;
	return false;
}

static void probe_directory(const char *directory)
{
	static const char bytes[16] = "powercut-probe\n";
	static char whole[PATH_BYTES];
	bool root = !strcmp(directory, MOUNT_POINT);

	snprintf(whole, sizeof(whole), "%s/" PROBE_NAME, directory);
	const char *path = at_page_end(whole, strlen(whole));
	int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (!step(file >= 0, "create", path))
		return;
	step(write(file, bytes, sizeof(bytes)) == sizeof(bytes), "write", path);
	if (root)
		step(!fsync(file), "fsync", path);
	close(file);
	step(!unlink(path), "unlink", path);
}

static void probe_empty(void)
{
	char buffer[4096];
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY);
	long length = root < 0 ? -1 : syscall(SYS_getdents64, root, buffer, sizeof(buffer));
	int error = length < 0 ? errno : ENOTEMPTY;

	if (root >= 0)
		close(root);
	errno = error;
	/* "." and ".." take 24 bytes each; btrfs, ext4 and xfs all list them. */
	step(length >= 0 && length <= 48, "empty", MOUNT_POINT);
}

/*
 * Where a call found no room before everything was deleted: now there is room, for a file of a quarter of the
 * device.
 */
static void probe_again(void)
{
	static const char bytes[16] = "powercut-probe\n";
	static const char path[] = MOUNT_POINT "/" PROBE_NAME;
	struct statfs room;

	sync(); /* what was deleted is free for sure once that is committed */
	int file = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);

	if (!step(file >= 0, "create-again", path))
		return;
	step(write(file, bytes, sizeof(bytes)) == sizeof(bytes), "write-again", path);
	step(!fsync(file), "fsync-again", path);
	if (step(!fstatfs(file, &room), "statfs", path))
		step(!fallocate(file, 0, 0, room.f_blocks * room.f_bsize / 4), "fallocate-again", path);
	close(file);
	step(!unlink(path), "unlink-again", path);
}

/* Whether a subvolume is deleted and its blocks are not all free: its item is among the orphans of the tree of roots. */
static bool subvolume_is_being_dropped(int root)
{
	struct btrfs_ioctl_search_args search = {
		.key = {
			.tree_id = BTRFS_ROOT_TREE_OBJECTID,
			.min_objectid = BTRFS_ORPHAN_OBJECTID,
			.max_objectid = BTRFS_ORPHAN_OBJECTID,
			.min_type = BTRFS_ORPHAN_ITEM_KEY,
			.max_type = BTRFS_ORPHAN_ITEM_KEY,
			.max_offset = -1ULL,
			.max_transid = -1ULL,
			.nr_items = 1,
		},
	};

	return !ioctl(root, BTRFS_IOC_TREE_SEARCH, &search) && search.key.nr_items;
}

/*
 * btrfs frees the blocks of a deleted subvolume in a thread, in its own time. That is waited for, as `btrfs subvolume sync`
 * does; BTRFS_IOC_SYNC wakes the thread.
 */
static void await_dropped_subvolumes(void)
{
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY);

	for (int waited_ms = 0; root >= 0 && subvolume_is_being_dropped(root) && waited_ms < DROP_MS; waited_ms++) {
		ioctl(root, BTRFS_IOC_SYNC, 0);
		usleep(1000);
	}
	if (root >= 0) {
		syncfs(root); /* what was freed can be used once that is committed */
		close(root);
	}
}

/*
 * A balance that the power failure ended goes on after the mount, in a thread (fs/btrfs/volumes.c
 * btrfs_resume_balance_async()). It is part of the recovery, and what a walk sees must not depend on how far it is.
 */
void await_balance(void)
{
	struct btrfs_ioctl_balance_args progress;
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY);

	for (int waited_ms = 0; root >= 0 && waited_ms < BALANCE_MS; waited_ms++) {
		if (ioctl(root, BTRFS_IOC_BALANCE_PROGRESS, &progress))
			break; /* ENOTCONN: there is none */
		usleep(1000);
	}
	if (root >= 0)
		close(root);
}

/* XFS frees the blocks of removed files in a thread, too. A freeze waits for it. */
static void await_removed_files(void)
{
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY);

	if (root < 0)
		return;
	if (!ioctl(root, FIFREEZE, 0) && ioctl(root, FITHAW, 0))
		die("thaw");
	close(root);
}

static bool room_when_empty(struct statfs *room)
{
	if (statfs(MOUNT_POINT, room))
		return false;
	if (room->f_type == XFS_SUPER_MAGIC)
		await_removed_files();
	else
		await_dropped_subvolumes();
	return !statfs(MOUNT_POINT, room);
}

/* A device that a deleted subvolume filled is full until its blocks are free. */
static void await_room(void)
{
	struct statfs room;

	if (!statfs(MOUNT_POINT, &room) && room.f_type == BTRFS_SUPER_MAGIC &&
	    room.f_bavail <= room.f_blocks / LITTLE_ROOM)
		await_dropped_subvolumes();
}

/* How much of the filesystem is in use, in bytes. */
static void put_room(const char *name, const struct statfs *room)
{
	put(&report, ",\"%s\":{\"total_bytes\":%llu,\"free_bytes\":%llu,\"available_bytes\":%llu}", name,
	    (unsigned long long)room->f_blocks * room->f_bsize, (unsigned long long)room->f_bfree * room->f_bsize,
	    (unsigned long long)room->f_bavail * room->f_bsize);
}

/* Clear the flags that forbid changes, as chattr -i -a does. */
static bool unlock(const char *path)
{
	int file = open(path, O_RDONLY), flags = 0;
	bool done = file >= 0 && !ioctl(file, FS_IOC_GETFLAGS, &flags);

	flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
	done = done && !ioctl(file, FS_IOC_SETFLAGS, &flags);
	int error = errno; /* of the call that failed: step() reports it */

	if (file >= 0)
		close(file);
	errno = error;
	return done;
}

static void probe(void)
{
	struct statfs room;

	probe_steps = 0;
	probe_failed = probe_full = false;
	await_room();
	if (!statfs(MOUNT_POINT, &room))
		put_room("room", &room);
	put(&report, ",\"probe\":[");
	for (int i = 0; i < walked.count; i++)
		if (walked.locked[i])
			step(unlock(walked.path[i]), "unlock", walked.path[i]);
	for (int i = 0; i < walked.count; i++)
		if (walked.directory[i])
			probe_directory(walked.path[i]);
	for (int i = walked.count - 1; i > 0; i--) {
		const char *path = at_page_end(walked.path[i], strlen(walked.path[i]));

		if (walked.directory[i])
			step(!rmdir(path), "rmdir", path);
		else
			step(!unlink(path), "unlink", path);
	}
	if (!walked.truncated)
		probe_empty();
	if (probe_full)
		probe_again();
}

/*
 * The mount that replayed a log goes on being used, with what replay left in memory: the next inode number,
 * the free space. So one new file is made, filled and synced before the first unmount, without a name: the
 * tree stays as it was. Its block comes from the free space, where no replayed extent may be. Left out where
 * the mount wrote nothing, that is where there was nothing to replay, where the host does not ask for it, and
 * where the root directory is immutable.
 */
static void probe_first_mount(void)
{
	static const char bytes[BLOCK_BYTES] = "powercut-probe\n";
	int file;

	probe_failed = false;
	put(&report, ",\"first_probe\":[");
	if (walked.count && walked.locked[0]) {
		put(&report, "]");
		return;
	}
	await_room();
	file = open(MOUNT_POINT, O_TMPFILE | O_WRONLY, 0600);
	if (file < 0 && errno == EOPNOTSUPP) { /* nilfs2 has no files without a name */
		put(&report, "]");
		return;
	}
	if (step(file >= 0, "create", MOUNT_POINT)) {
		step(write(file, bytes, sizeof(bytes)) == sizeof(bytes), "write", MOUNT_POINT);
		step(!fsync(file), "fsync", MOUNT_POINT);
		close(file);
	}
	put(&report, "]");
}

/* --- one state --------------------------------------------------------------------------------- */

static void stage(const struct recovery *recovery, const char *name)
{
	if (recovery->verbose)
		answer("stage %s", name);
}

/* Another walk, told under this name where it finds another tree than the first one did. */
static void walk_again(const char *name, size_t tree, size_t tree_length)
{
	static struct text again;

	if (!again.bytes)
		text_start(&again, 1 << 20);
	again.length = 0;
	walk(&again);
	if (again.length != tree_length || memcmp(again.bytes, report.bytes + tree, tree_length)) {
		put(&report, ",\"%s\":", name);
		put_bytes(&report, again.bytes, again.length);
	}
}

/* Of what recovery and the first unmount left on the disk. */
static void second_walk(const struct recovery *recovery, size_t tree, size_t tree_length)
{
	stage(recovery, "second walk");
	walk_again("second_tree", tree, tree_length);
}

/*
 * What the devices hold that are left when one is taken away. This mount is read-only: it leaves them alike. Whether
 * nothing is mounted any more at its end.
 */
static bool mount_without(const struct recovery *recovery, size_t tree, size_t tree_length)
{
	if (!slices_without(recovery->lost, true))
		return true;
	stage(recovery, "mount without a device");
	int error = disk_mount(recovery->device, recovery->filesystem, MS_RDONLY, recovery->options) ? errno : 0;

	put(&report, ",\"without\":%d,\"without_errno\":%d", recovery->lost, error);
	if (!error) {
		walk_again("without_tree", tree, tree_length);
		if (unmount())
			return false;
	}
	slices_without(recovery->lost, false);
	return true;
}

/* In a mounted filesystem, which is mounted again at the end; false where an unmount failed. */
static bool scrub_and_mount_without(const struct recovery *recovery, size_t tree, size_t tree_length, int *error)
{
	*error = 0;
	stage(recovery, "scrub");
	put_scrub(&report);
	if (recovery->lost < 0)
		return true;
	stage(recovery, "unmount after the scrub");
	if (unmount() || !mount_without(recovery, tree, tree_length))
		return false;
	stage(recovery, "mount with all devices");
	*error = mount_filesystem(recovery->device, recovery->filesystem, recovery->options);
	put(&report, ",\"returned_errno\":%d", *error);
	return true;
}

/* The probe, in whatever mount there is, and its unmount: whether that succeeded. */
static bool probe_and_unmount(const struct recovery *recovery)
{
	struct statfs empty;
	int error;

	stage(recovery, "probe");
	probe();
	bool room_known = recovery->empty_room && room_when_empty(&empty);

	stage(recovery, "unmount after the probe");
	error = unmount();
	errno = error;
	step(!error, "umount", MOUNT_POINT);
	put(&report, "],\"probe_steps\":%d", probe_steps);
	if (room_known)
		put_room("empty_room", &empty);
	return !error;
}

/* Whether nothing is mounted any more at its end. */
static bool second_mount(const struct recovery *recovery, size_t tree, size_t tree_length)
{
	int error;

	stage(recovery, "second mount");
	error = mount_filesystem(recovery->device, recovery->filesystem, recovery->options);
	put(&report, ",\"second_mount_errno\":%d", error);
	if (error)
		return true;
	second_walk(recovery, tree, tree_length);
	if (recovery->scrub && !scrub_and_mount_without(recovery, tree, tree_length, &error))
		return false;
	return error || probe_and_unmount(recovery);
}

/*
 * Whether the mount wrote nothing and has nothing left to write: what it put off, as the removal of orphans,
 * syncfs brings out. Then a second mount would get the very bytes that this one got, and only repeat it.
 */
static bool untouched(const struct recovery *recovery)
{
	if (state_device_written() != WRITTEN_NOTHING)
		return false;
	stage(recovery, "sync");
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY);
	bool synced = root >= 0 && !syncfs(root);

	if (root >= 0)
		close(root);
	return synced && state_device_written() == WRITTEN_NOTHING;
}

static bool counters_left;

/* The probes write what a workload writes: what they execute is not of the recovery. */
static void count_until_here(const struct recovery *recovery)
{
	if (counters_left)
		counters_keep(recovery->filesystem);
	counters_left = false;
}

/*
 * Whether the filesystem is unmounted again. When an unmount fails, the report ends there and says so
 * ("used_up"): the device stays busy, so this guest can recover no other state.
 */
bool recover(const struct recovery *recovery, struct changed_blocks *changed)
{
	bool unmounted = true;
	int error;

	report.length = 0;
	counters_left = recovery->counters;
	if (counters_left)
		counters_reset();
	if (recovery->reads)
		reads_start();
	int without = 0, of_device = 0;
	bool wrote = false, wrote_device = false;
	static struct text device_tree;

	if (recovery->read_only_first) {
		if (!device_tree.bytes)
			text_start(&device_tree, 1 << 20);
		stage(recovery, "mount of the read-only device");
		of_device = mount_read_only_device(recovery, &device_tree);
		wrote_device = state_device_written() != WRITTEN_NOTHING;
		stage(recovery, "mount without recovery");
		without = mount_without_recovery(recovery);
		wrote = state_device_written() != WRITTEN_NOTHING;
	}
	stage(recovery, "mount");
	if (recovery->read_only_first)
		error = disk_mount(recovery->device, recovery->filesystem, MS_RDONLY, recovery->options) ? errno : 0;
	else
		error = mount_filesystem(recovery->device, recovery->filesystem, recovery->options);
	if (!error && !recovery->read_only_first && !strcmp(recovery->filesystem, "btrfs"))
		await_balance();
	put(&report, "{\"mount_errno\":%d", error);
	if (recovery->read_only_first) {
		put(&report, ",\"norecovery_errno\":%d,\"norecovery_wrote\":%s", without, wrote ? "true" : "false");
		put(&report, ",\"device_errno\":%d,\"device_wrote\":%s", of_device, wrote_device ? "true" : "false");
	}
	if (recovery->reads)
		reads_end(&report);
	if (!error) {
		put(&report, ",\"tree\":");
		size_t tree = report.length;

		stage(recovery, "walk");
		walk(&report);
		size_t tree_length = report.length - tree;

		if (recovery->quota) {
			stage(recovery, "quota");
			if (!strcmp(recovery->filesystem, "xfs"))
				await_removed_files();
			put_quota(&report, recovery->device);
		}
		if (recovery->read_only_first && !of_device &&
		    (device_tree.length != tree_length || memcmp(device_tree.bytes, report.bytes + tree, tree_length))) {
			put(&report, ",\"device_tree\":");
			put_bytes(&report, device_tree.bytes, device_tree.length);
		}
		if (!recovery->plain && !recovery->read_only_first && !recovery->scrub && untouched(recovery)) {
			put(&report, ",\"untouched\":true");
			count_until_here(recovery);
			if (changed)
				changed->count = 0;
			unmounted = probe_and_unmount(recovery);
		} else {
			if (recovery->first_probe && !recovery->read_only_first) {
				count_until_here(recovery);
				stage(recovery, "probe of the first mount");
				probe_first_mount();
			}
			stage(recovery, "unmount");
			error = unmount();
			put(&report, ",\"umount_errno\":%d", error);
			if (recovery->reads)
				reads_put_writes(&report);
			count_until_here(recovery);
			unmounted = !error;
			if (changed) /* of a disk that is still mounted they are not all there is */
				changed->count = unmounted ? changes_read(changed->bytes, changed->capacity,
									  changed->numbers) : 0;
			if (unmounted)
				unmounted = second_mount(recovery, tree, tree_length);
		}
	}
	count_until_here(recovery);
	put(&report, ",\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, unmounted ? "}" : ",\"used_up\":true}");
	return unmounted;
}

/*
 * A block of the disk that cannot be read, or written, for as long as the filesystem recovers and is mounted for the
 * first time, or for some seconds; then the disk is sound, and is mounted as the first mount left it. Where the kernel
 * has no such fault, that is told as trouble.
 */
bool recover_failing(const struct recovery *recovery, uint64_t sectors, uint64_t block, bool on_write)
{
	size_t tree = 0, tree_length = 0;
	bool unmounted = true;
	int error;

	report.length = 0;
	if (!failing_start(sectors, block, on_write)) {
		put(&report, "{\"trouble\":\"this kernel has no dm-flakey with error_reads and error_writes\"}");
		failing_end();
		return true;
	}
	stage(recovery, "mount");
	error = mount_filesystem(FAULTY_DEVICE, recovery->filesystem, recovery->options);
	put(&report, "{\"mount_errno\":%d", error);
	if (!error) {
		put(&report, ",\"tree\":");
		tree = report.length;
		stage(recovery, "walk");
		walk(&report);
		tree_length = report.length - tree;
		stage(recovery, "unmount");
		error = unmount();
		put(&report, ",\"umount_errno\":%d", error);
		unmounted = !error;
	}
	if (unmounted) {
		failing_over();
		stage(recovery, "second mount");
		error = mount_filesystem(FAULTY_DEVICE, recovery->filesystem, recovery->options);
		put(&report, ",\"second_mount_errno\":%d", error);
		if (!error) {
			second_walk(recovery, tree, tree_length);
			unmounted = probe_and_unmount(recovery);
		}
	}
	put(&report, ",\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, unmounted ? "}" : ",\"used_up\":true}");
	if (unmounted)
		failing_end();
	return unmounted;
}
