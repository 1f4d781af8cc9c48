// SPDX-License-Identifier: GPL-2.0-only
/*
 * A filesystem on several devices: its disk is cut into slices, and each is a device of its own. The host says so by the
 * first of the mount options, "slices=SECTORS+SECTORS...", and names the devices from 0 on in the others: "logdev=%1".
 * Device 0 is what is mounted.
 *
 * Of btrfs a device may be missing: one without a superblock. Then the others are mounted with "degraded", the first of
 * them in place of device 0.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#define SLICES "slices="
#define SLICES_MAX (BLOCK_BYTES / SECTOR_BYTES) /* as many sectors as there are to tell of a FLUSH */
#define BTRFS_MAGIC_AT (65536 + 64)
#define BTRFS_MAGIC "_BHRfS_M"

static struct {
	const char *below; /* the device that is cut; NULL while there are no slices */
	uint64_t sectors[SLICES_MAX];
	int count;
} slices;

static void name_of(int slice, char *name, size_t size)
{
	snprintf(name, size, "slice%d", slice);
}

static void node_of(int slice, char *node, size_t size)
{
	snprintf(node, size, "/dev/slice%d", slice);
}

void slices_remove(void)
{
	char name[16];

	for (int i = 0; slices.below && i < slices.count; i++) {
		name_of(i, name, sizeof(name));
		device_remove(name);
	}
	slices.below = NULL;
}

/* "SECTORS+SECTORS", up to a comma or the end; what follows it. */
static const char *sizes_of(const char *text, uint64_t *sectors, int *count)
{
	char *end;

	for (*count = 0; *count < SLICES_MAX; text = end + 1) {
		sectors[(*count)++] = strtoull(text, &end, 10);
		if (*end != '+')
			return *end ? end + 1 : end;
	}
	die("too many slices");
}

static void create(const char *device, const uint64_t *sectors, int count)
{
	uint64_t all = 0, start = 0;
	/* Only a log has to tell whose a FLUSH is. */
	bool told = device == log_writes_device && device_has_target("powercut-slice");

	for (int i = 0; i < count; i++)
		all += sectors[i];
	for (int i = 0; i < count; i++) {
		struct segment whole = { 0, sectors[i], told ? "powercut-slice" : "linear", "" };
		char name[16], node[32];

		name_of(i, name, sizeof(name));
		node_of(i, node, sizeof(node));
		if (told)
			snprintf(whole.parameters, sizeof(whole.parameters), "%s %llu %llu", device,
				 (unsigned long long)start, (unsigned long long)all + i);
		else
			snprintf(whole.parameters, sizeof(whole.parameters), "%s %llu", device,
				 (unsigned long long)start);
		device_create(name, node);
		if (!device_table(name, &whole, 1))
			die(node);
		start += sectors[i];
	}
	slices.below = device;
	slices.count = count;
	memcpy(slices.sectors, sectors, count * sizeof(*sectors));
}

static bool has_superblock(const char *node)
{
	char magic[sizeof(BTRFS_MAGIC) - 1];
	int file = open(node, O_RDONLY | O_CLOEXEC);
	bool found = file >= 0 && pread(file, magic, sizeof(magic), BTRFS_MAGIC_AT) == sizeof(magic) &&
		     !memcmp(magic, BTRFS_MAGIC, sizeof(magic));

	if (file >= 0)
		close(file);
	return found;
}

/* What btrfs remembers of devices that are not mounted: those of an earlier disk, by the same names. */
static void forget_devices(void)
{
	struct btrfs_ioctl_vol_args all = { 0 };
	int file = open("/dev/btrfs-control", O_RDWR | O_CLOEXEC);

	if (file < 0)
		return;
	ioctl(file, BTRFS_IOC_FORGET_DEV, &all);
	close(file);
}

/* Whether this one was there. Only its magic number is taken away, and put back. */
bool slices_without(int slice, bool without)
{
	static const char gone[sizeof(BTRFS_MAGIC) - 1];
	char node[32];

	node_of(slice, node, sizeof(node));
	if (without && !has_superblock(node))
		return false;
	int file = open(node, O_WRONLY | O_CLOEXEC);

	if (file < 0 || pwrite(file, without ? gone : BTRFS_MAGIC, sizeof(gone), BTRFS_MAGIC_AT) != sizeof(gone) ||
	    fsync(file))
		die("the superblock of a device that is taken away");
	close(file);
	return true;
}

static void add(char *options, size_t size, const char *word, const char *node)
{
	size_t length = strlen(options);

	if (snprintf(options + length, size - length, "%s%s%s", length ? "," : "", word, node) >= (int)(size - length))
		die("the mount options are too long");
}

/* The options with nodes for names; the device to mount. */
static int options_of(const char *filesystem, const char *text, char *options, size_t size)
{
	char words[512], *rest = words, *word, node[32];
	bool missing[SLICES_MAX] = { 0 }, degraded = false;
	int first = 0;

	if (!strcmp(filesystem, "btrfs")) {
		forget_devices();
		for (int i = 0; i < slices.count; i++) {
			node_of(i, node, sizeof(node));
			missing[i] = !has_superblock(node);
			degraded |= missing[i];
		}
		while (first < slices.count - 1 && missing[first])
			first++;
	}
	options[0] = 0;
	snprintf(words, sizeof(words), "%s", text);
	while ((word = strsep(&rest, ","))) {
		char *name = strchr(word, '%');
		int slice = name ? atoi(name + 1) : -1;

		if (!*word || (name && (missing[slice] || slice == first)))
			continue;
		node[0] = 0;
		if (name) {
			*name = 0;
			node_of(slice, node, sizeof(node));
		}
		add(options, size, word, node);
	}
	if (degraded)
		add(options, size, "degraded", "");
	return first;
}

/* As mount(2), of a device that may be cut. */
int slices_mount(const char *device, const char *filesystem, unsigned long flags, const char *options)
{
	uint64_t sectors[SLICES_MAX];
	char whole[600], node[32];
	int count;

	if (!options || strncmp(options, SLICES, strlen(SLICES)))
		return mount(device, MOUNT_POINT, filesystem, flags, options);
	const char *others = sizes_of(options + strlen(SLICES), sectors, &count);

	if (slices.below && (strcmp(slices.below, device) || slices.count != count ||
			     memcmp(slices.sectors, sectors, count * sizeof(*sectors))))
		slices_remove();
	if (!slices.below)
		create(device, sectors, count);
	node_of(options_of(filesystem, others, whole, sizeof(whole)), node, sizeof(node));
	return mount(node, MOUNT_POINT, filesystem, flags, whole);
}
