// SPDX-License-Identifier: GPL-2.0-only
/*
 * Overlayfs above the filesystem of the disk. The host says so by the first of the mount options, "overlay=OPTIONS:"; the
 * others are of the filesystem below. OPTIONS are separated by commas, too.
 *
 * The disk has a folder for each layer: an empty one, that of the setup, and, once the setup has ended, that of what comes
 * after it. So all that the setup made is in a lower layer, and is copied up when the workload changes it.
 */
#include "agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define OVERLAY "overlay="
#define BELOW "/tmp/layers"
#define EMPTY BELOW "/empty"
#define SETUP BELOW "/setup"
#define LATER BELOW "/later" /* becomes RUN after the setup, which may have filled the device */
#define RUN BELOW "/run"
#define WORK ".work" /* behind the name of the upper layer */

/* Of the filesystem below, by which the layers are reached until the overlay has them. */
static int mount_below(const char *device, const char *filesystem, unsigned long flags, const char *options)
{
	mkdir("/tmp", 01777);
	mkdir(BELOW, 0700);
	if (slices_mount(device, filesystem, flags, options))
		return -1;
	return mount(MOUNT_POINT, BELOW, NULL, MS_MOVE, NULL);
}

static int make(const char *layer)
{
	char work[64];

	snprintf(work, sizeof(work), "%s" WORK, layer);
	return mkdir(layer, 0755) || mkdir(work, 0755);
}

bool layers_wanted(const char *options)
{
	return options && !strncmp(options, OVERLAY, strlen(OVERLAY));
}

static int mount_overlay(const char *options, int length, unsigned long flags)
{
	char text[600];
	struct stat status;
	bool running = !stat(RUN, &status);

	if (!running && stat(SETUP, &status) && (mkdir(EMPTY, 0755) || make(SETUP) || make(LATER)))
		return -1;
	snprintf(text, sizeof(text), "lowerdir=%s,upperdir=%s,workdir=%s" WORK "%s%.*s", running ? SETUP ":" EMPTY : EMPTY,
		 running ? RUN : SETUP, running ? RUN : SETUP, length ? "," : "", length, options);
	return mount("overlay", MOUNT_POINT, "overlay", flags, text);
}

static const char *options_below(const char *options)
{
	const char *end = strchr(options, ':');

	if (!end)
		die("overlay: no colon");
	return end + 1;
}

/*
 * The overlay keeps the filesystem below it by mounts of its own, so one unmount ends both: the mount that is made here is
 * taken away at once.
 */
static int mount_both(const char *device, const char *filesystem, unsigned long flags, const char *options)
{
	const char *below = options_below(options), *own = options + strlen(OVERLAY);

	if (mount_below(device, filesystem, flags, below))
		return -1;
	int error = mount_overlay(own, below - 1 - own, flags) ? errno : 0;

	if (umount2(BELOW, error ? 0 : MNT_DETACH))
		die(BELOW);
	errno = error;
	return error ? -1 : 0;
}

/* As mount(2), of a device that may be cut, and of a filesystem that may have an overlay above it. */
int disk_mount(const char *device, const char *filesystem, unsigned long flags, const char *options)
{
	return (layers_wanted(options) ? mount_both : slices_mount)(device, filesystem, flags, options);
}

/* The setup has ended, and nothing is mounted. */
void layers_add(const char *device, const char *filesystem, const char *options)
{
	if (mount_below(device, filesystem, 0, options_below(options)) || rename(LATER WORK, RUN WORK) ||
	    rename(LATER, RUN) || umount2(BELOW, 0))
		die(RUN);
}
