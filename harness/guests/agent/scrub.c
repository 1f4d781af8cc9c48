// SPDX-License-Identifier: GPL-2.0-only
/*
 * btrfs keeps everything on two devices. A scrub reads all copies, and mends those that are wrong; what it leaves must be
 * whole on either. So a scrub is asked for, and then another one, which must find nothing; then a device is
 * taken away. The report is oracles/observation.py's Scrub.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct found {
	unsigned long long errors, unrepaired;
	int error; /* 0, or a positive errno */
};

/* All devices that are there, one after another: what each counts is of its own copies. */
static struct found scrub(int root)
{
	struct btrfs_ioctl_fs_info_args whole = { 0 };
	struct found found = { 0 };

	syncfs(root); /* a commit meanwhile would change the superblocks that a scrub compares */
	if (ioctl(root, BTRFS_IOC_FS_INFO, &whole))
		die("BTRFS_IOC_FS_INFO");
	for (unsigned long long id = 1; id <= whole.max_id && !found.error; id++) {
		struct btrfs_ioctl_dev_info_args device = { .devid = id };
		struct btrfs_ioctl_scrub_args asked = { .devid = id, .end = -1ULL };
		const struct btrfs_scrub_progress *of = &asked.progress;

		if (ioctl(root, BTRFS_IOC_DEV_INFO, &device) || !device.path[0])
			continue; /* missing */
		if (ioctl(root, BTRFS_IOC_SCRUB, &asked))
			found.error = errno;
		found.errors += of->read_errors + of->csum_errors + of->verify_errors + of->super_errors;
		found.unrepaired += of->uncorrectable_errors;
	}
	return found;
}

/* Of the filesystem that is mounted. */
void put_scrub(struct text *out)
{
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		die("scrub: " MOUNT_POINT);
	struct found first = scrub(root), again = first.error ? first : scrub(root);

	close(root);
	put(out, ",\"scrub\":{\"error\":%d,\"found\":%llu,\"unrepaired\":%llu,\"found_again\":%llu}",
	    first.error ? first.error : again.error, first.errors, first.unrepaired, again.errors);
}
