// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a filesystem is used for after its recovery, before the power fails again: in its directories files are made,
 * written and synced, files that came back get a block more, or are written again with the bytes that they have, and are
 * synced, and some of the new files are removed. oracles/kept.py knows what of that has to be there then.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NEW_NAME ".powercut-after" /* oracles/kept.py: NAME_OF_NEW */
#define DIRECTORIES 12 /* that get a file, at most */
#define FILES 12 /* that are changed, at most */
#define STAMPS 60000 /* of the new files, above those of any workload */
#define STAMPS_GROWN 61000
#define GROWN_MAX (1 << 30)
#define CELL_BYTES 8 /* workloads/history.py: stamped() */

static int steps;
/* ext4: a fast commit with a new directory has wrong counts (docs/findings/EXT4-5.md), which would hide all else. */
static bool whole_commits;

/* A step that has ended: the mark stands behind all that it made durable. failed: of what must not fail. */
static void tell(const char *word, const char *path, uint64_t bytes, int stamp, const char *failed)
{
	int error = errno;
	char mark[32];

	path = strlen(path) < sizeof(MOUNT_POINT) ? "." : path + sizeof(MOUNT_POINT);
	put(&report, "%s[\"%s\",", steps++ ? "," : "", word);
	put_string(&report, path, strlen(path));
	put(&report, ",%llu,%d,\"", (unsigned long long)bytes, stamp);
	if (failed)
		put(&report, "%s: %s", failed, errno_name(error));
	put(&report, "\"]");
	if (failed)
		return;
	snprintf(mark, sizeof(mark), "after-%d", steps);
	log_writes_mark(mark);
}

static bool no_room(void)
{
	return errno == ENOSPC || errno == EDQUOT;
}

/* A time that the workload set would be lost. */
static bool is_dated(const struct stat *status)
{
	return status->st_mtim.tv_sec < CLOCK_STARTS;
}

/* In every second directory the new file has a new directory of its own. */
static void new_path(char *path, const char *directory, int number)
{
	snprintf(path, PATH_BYTES, number % 2 ? "%s/" NEW_NAME "/" NEW_NAME : "%s/" NEW_NAME, directory);
}

/* Whether to go on. */
static bool make(const char *directory, int number)
{
	static const size_t sizes[] = { 24, 5000, 65536 };
	static unsigned char bytes[65536];
	static char path[PATH_BYTES];
	size_t size = sizes[number % 3];
	struct stat status;

	if (lstat(directory, &status) || is_dated(&status) || !strcmp(directory, MOUNT_POINT "/lost+found"))
		return true;
	if (number % 2) {
		new_path(path, directory, 0);
		if (mkdir(path, 0700))
			return true;
		if (whole_commits)
			sync();
	}
	new_path(path, directory, number);
	int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (file < 0)
		return true; /* what a new file needs, usable.py asks */
	stamp(bytes, STAMPS + number, 0, size);
	errno = ENOSPC;
	bool written = write(file, bytes, size) == (ssize_t)size, synced = written && !fsync(file), full = no_room();

	if (synced)
		tell("make", path, size, STAMPS + number + 1, NULL);
	else
		tell("make", path, size, STAMPS + number + 1, written ? full ? "room" : "fsync" : "room");
	close(file);
	return synced;
}

static bool change(const char *path, int number)
{
	static unsigned char bytes[BLOCK_BYTES];
	struct stat status;

	if (lstat(path, &status) || !S_ISREG(status.st_mode) || is_dated(&status) || status.st_mode & (S_ISUID | S_ISGID) ||
	    lgetxattr(path, "security.capability", NULL, 0) >= 0) /* a write takes these away */
		return true;
	int file = open(path, O_RDWR);

	if (file < 0)
		return true;
	bool grows = number % 2 && !(status.st_size % CELL_BYTES) && status.st_size < GROWN_MAX, going_on = true;
	off_t offset = grows ? (status.st_size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES : 0;
	ssize_t size = grows ? BLOCK_BYTES : lseek(file, 0, SEEK_DATA) ? 0 : pread(file, bytes, sizeof(bytes), 0);

	if (grows)
		stamp(bytes, STAMPS_GROWN + number, offset, size);
	if (size > 0 && pwrite(file, bytes, size, offset) == size) {
		going_on = !fsync(file);
		tell(grows ? "grow" : "again", path, offset + size, grows ? STAMPS_GROWN + number + 1 : 0,
		     going_on ? NULL : no_room() ? "room" : "fsync");
	}
	close(file);
	return going_on;
}

static bool take_away(const char *directory, int number)
{
	static char path[PATH_BYTES];

	new_path(path, directory, number);
	if (unlink(path))
		return true; /* there was none */
	new_path(path, directory, 0);
	if (number % 2 && rmdir(path))
		return true;
	int file = open(directory, O_RDONLY | O_DIRECTORY);
	bool synced = file >= 0 && !fsync(file), full = !synced && no_room();

	new_path(path, directory, number);
	tell("remove", path, 0, 0, synced ? NULL : full ? "room" : "fsync");
	if (file >= 0)
		close(file);
	return synced;
}

/* Of what the last walk saw. */
static void use(void)
{
	int directories = 0, files = 0, taken = 0;
	bool going_on = true;

	steps = 0;
	for (int i = 0; i < walked.count && going_on; i++) {
		if (walked.locked[i])
			continue;
		if (walked.directory[i] && directories < DIRECTORIES)
			going_on = make(walked.path[i], directories++);
		else if (!walked.directory[i] && files < FILES)
			going_on = change(walked.path[i], files++);
	}
	for (int i = 0; i < walked.count && going_on; i++) {
		if (!walked.directory[i] || walked.locked[i] || taken == DIRECTORIES)
			continue;
		if (taken % 4 < 2)
			going_on = take_away(walked.path[i], taken);
		taken++;
	}
}

/*
 * The recovery of a disk that the host wrote there, and what it is used for then, recorded. The report is
 * oracles/observation.py's Observation with `use`.
 */
void record_afterwards(uint64_t sectors, const char *filesystem, const char *options)
{
	whole_commits = !strcmp(filesystem, "ext4");
	clear_kernel_log();
	report.length = 0;
	log_writes_create(sectors, false);
	int error = mount_filesystem(log_writes_device, filesystem, options);

	put(&report, "{\"mount_errno\":%d", error);
	if (!error) {
		if (!strcmp(filesystem, "btrfs"))
			await_balance();
		put(&report, ",\"tree\":");
		walk(&report);
		log_writes_mark("mounted");
		put(&report, ",\"use\":{\"steps\":[");
		use();
		put(&report, "]}");
		log_writes_mark("after");
		if (leave())
			die("an unmount failed: the recorded disk stays busy");
	}
	log_writes_remove();
	put(&report, ",\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, "}");
}
