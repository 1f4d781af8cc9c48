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

static int keep_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	static char bytes[1 << 20];
	size_t length = strlen(path), size = 0;
	ssize_t got;

	(void)status;
	(void)place;
	if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".gcda") || !is_wanted(path))
		return 0;
	int file = open(path, O_RDONLY);

	while (file >= 0 && (got = read(file, bytes + size, sizeof(bytes) - size)) > 0)
		size += got;
	if (file < 0 || got < 0 || size == sizeof(bytes))
		die(path);
	close(file);
	put(&kept, "%s %zu\n", path + strlen(COUNTERS), size);
	put_bytes(&kept, bytes, size);
	return 0;
}

void counters_keep(const char *filesystem)
{
	kept.length = 0;
	snprintf(own, sizeof(own), "/fs/%s/", filesystem);
	nftw(COUNTERS, keep_one, 16, FTW_PHYS);
}

const struct text *counters_kept(void)
{
	return &kept;
}
