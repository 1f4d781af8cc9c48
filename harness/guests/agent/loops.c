// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two loops that the benchmark compares with. They share no code with the recovery of a state, so
 * whatever makes that faster leaves them as they are: what anyone would write with the C library.
 */
#include "agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define BARE_FILE MOUNT_POINT "/bare-loop"

static void bare_read(const char *path)
{
	static char buffer[1 << 16];
	int file = open(path, O_RDONLY);
	ssize_t got;

	if (file < 0)
		die("bare loop: open");
	do {
		got = read(file, buffer, sizeof(buffer));
	} while (got > 0);
	if (got < 0)
		die("bare loop: read");
	close(file);
}

/* Every name looked at, every file read. */
static void bare_walk(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (!directory)
		die("bare loop: opendir");
	while ((entry = readdir(directory))) {
		char below[PATH_BYTES];
		struct stat status;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= (int)sizeof(below))
			die("bare loop: path too long");
		if (lstat(below, &status))
			die("bare loop: lstat");
		if (S_ISDIR(status.st_mode))
			bare_walk(below);
		else if (S_ISREG(status.st_mode))
			bare_read(below);
	}
	closedir(directory);
}

/* Mount, walk, create, unlink, unmount: nothing restored, nothing judged. */
void bare_loop(const char *device, const char *filesystem, const char *options, int count)
{
	double start = now_ms();

	for (int i = 0; i < count; i++) {
		if (disk_mount(device, filesystem, 0, options))
			die("bare loop: mount");
		bare_walk(MOUNT_POINT);
		int file = creat(BARE_FILE, 0600);

		if (file < 0 || close(file) || unlink(BARE_FILE) || umount(MOUNT_POINT))
			die("bare loop");
	}
	answer("bare %.3f", now_ms() - start);
}

struct log_entry { /* drivers/md/dm-log-writes.c, struct log_write_entry */
	uint64_t sector;
	uint64_t sectors;
	uint64_t flags;
	uint64_t data_length;
};

enum { LOG_DISCARD = 4, LOG_MARK = 8 };

/* Replay entries 0 to `limit` of the recorded log on the recorded disk, as replay-log does. */
static void replay_from_start(uint64_t limit)
{
	static char data[4 << 20] __attribute__((aligned(BLOCK_BYTES)));
	static char sector[SECTOR_BYTES];
	int log = open(RECORDED_LOG, O_RDONLY);
	int disk = open(RECORDED_DISK, O_WRONLY | O_DIRECT);
	uint64_t at = SECTOR_BYTES;

	if (log < 0 || disk < 0)
		die("replay");
	for (uint64_t i = 0; i < limit; i++) {
		struct log_entry entry;

		if (pread(log, sector, SECTOR_BYTES, at) != SECTOR_BYTES)
			die("replay: log");
		memcpy(&entry, sector, sizeof(entry));
		at += SECTOR_BYTES;
		uint64_t bytes = entry.sectors * SECTOR_BYTES;

		if (entry.flags & (LOG_MARK | LOG_DISCARD) || !bytes)
			continue;
		if (bytes > sizeof(data) || pread(log, data, bytes, at) != (ssize_t)bytes ||
		    pwrite(disk, data, bytes, entry.sector * SECTOR_BYTES) != (ssize_t)bytes)
			die("replay: data");
		at += bytes;
	}
	close(disk);
	close(log);
}

/* The fstests way: for each crash point, the log from its start, mount, unmount. */
void restart_loop(const char *filesystem, const char *options, uint64_t first, int count)
{
	double start = now_ms();

	for (int i = 0; i < count; i++) {
		replay_from_start(first + i);
		if (!mount(RECORDED_DISK, MOUNT_POINT, filesystem, 0, options) && umount(MOUNT_POINT))
			die("restart loop");
	}
	answer("restart %.3f", now_ms() - start);
}
