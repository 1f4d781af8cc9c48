// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters of a kernel with CONFIG_GCOV_KERNEL (Documentation/dev-tools/gcov.rst): set to zero when the
 * run part of a workload or the recovery of a state begins, copied when it ends, told when the host asks. Other
 * kernels have none.
 *
 * What is told: for each file "PATH BYTES\n" and its bytes, PATH as the compiler wrote it.
 */
#include "agent.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug"
#define COUNTERS DEBUGFS "/gcov"

static struct text kept;
static char own[64]; /* the folder of the filesystem under test; other filesystems count, too */

void counters_start(void)
{
	mount("debug", DEBUGFS, "debugfs", 0, NULL);
	text_start(&kept, 1 << 12);
}

void counters_reset(void)
{
	int file = open(COUNTERS "/reset", O_WRONLY);

	if (file < 0)
		return;
	if (write(file, "0", 1) != 1)
		die(COUNTERS "/reset");
	close(file);
}

static bool is_wanted(const char *path)
{
	return strstr(path, own) || strstr(path, "/fs/iomap/") ||
	       (!strcmp(own, "/fs/ext4/") && strstr(path, "/fs/jbd2/"));
}

/* Whether this folder is that of a filesystem that is not asked for: fs/xfs of a kernel whose fs/btrfs is. */
static bool is_of_another(const char *path, int type, const struct FTW *place)
{
	static const char *const counted[] = { "btrfs", "ext4", "f2fs", "iomap", "jbd2", "xfs" };
	char folder[32];

	if (type != FTW_D || place->base < 4 || strncmp(path + place->base - 4, "/fs/", 4))
		return false;
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		snprintf(folder, sizeof(folder), "/fs/%s/", counted[i]);
		if (!strcmp(path + place->base, counted[i]) && !is_wanted(folder))
			return true;
	}
	return false;
}

static int keep_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	static char bytes[1 << 20];
	size_t length = strlen(path), size = 0;
	ssize_t got;

	(void)status;
	if (is_of_another(path, type, place))
		return FTW_SKIP_SUBTREE;
	if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".gcda") || !is_wanted(path))
		return FTW_CONTINUE;
	int file = open(path, O_RDONLY);

	while (file >= 0 && (got = read(file, bytes + size, sizeof(bytes) - size)) > 0)
		size += got;
	if (file < 0 || got < 0 || size == sizeof(bytes))
		die(path);
	close(file);
	put(&kept, "%s %zu\n", path + strlen(COUNTERS), size);
	put_bytes(&kept, bytes, size);
	return FTW_CONTINUE;
}

void counters_keep(const char *filesystem)
{
	kept.length = 0;
	snprintf(own, sizeof(own), "/fs/%s/", filesystem);
	nftw(COUNTERS, keep_one, 16, FTW_PHYS | FTW_ACTIONRETVAL);
}

const struct text *counters_kept(void)
{
	return &kept;
}
