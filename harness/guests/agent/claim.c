// SPDX-License-Identifier: GPL-2.0-only
/*
 * The claim of a device of a real machine: nothing is written to one that does not pass here.
 *
 * A claimed area begins with 1 MiB of ours: one block with the token, then zeros. Its last 1 MiB is zeros.
 * So whatever another program wrote there to call the device its own (GPT, MBR, LUKS, LVM, md, bcache, swap,
 * a filesystem) is a byte that is not zero.
 *
 * As a program of its own, on the machine, as root, over ssh:
 *
 *   agent claim verify | write | remove
 *
 * with the claim on standard input, a field a line as in claim_read(), and an empty line behind it. It answers
 *
 *   held MAJOR:MINOR       the device may be written, and is open with O_EXCL until the program ends
 *   refused REASON         and exit status 2, before anything is written
 *   trouble REASON         and exit status 3: something failed while it was written
 *   written, removed       at the end of write and remove
 *
 * verify holds the device until its standard input ends. write and remove wait for the line "go" there, look at
 * everything again, and then do it.
 */
#include "agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BY_ID "/dev/disk/by-id/"
#define BLOCKS "/sys/dev/block"
#define USED_MAX 1024
#define DEPTH_MAX 16 /* of devices above each other */
#define BYTES_MIN (4ULL << 20) /* something is left between the areas */
#define NO_DEVICE makedev(0, 0)

/* --- reasons --- */

static char reason[512];

static __attribute__((format(printf, 1, 2))) const char *refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	return reason;
}

/* --- small files --- */

/* Its first line without spaces at both ends; whether there is one. VPD page 80h begins with 4 bytes of head. */
static bool read_line(const char *path, size_t skip, char *line, size_t size)
{
	char raw[512];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, raw, sizeof(raw));
	size_t length = 0;

	if (file >= 0)
		close(file);
	if (got < (ssize_t)skip)
		return false;
	for (ssize_t i = skip; i < got && raw[i] != '\n' && length < size - 1; i++)
		if (raw[i] && (length || raw[i] != ' '))
			line[length++] = raw[i] == '\t' ? ' ' : raw[i];
	while (length && line[length - 1] == ' ')
		length--;
	line[length] = 0;
	return length > 0;
}

static __attribute__((format(printf, 4, 5))) bool read_of(dev_t device, char *line, size_t size,
							   const char *format, ...)
{
	char path[PATH_MAX];
	int head = snprintf(path, sizeof(path), BLOCKS "/%u:%u/", major(device), minor(device));
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path + head, sizeof(path) - head, format, arguments);
	va_end(arguments);
	return read_line(path, 0, line, size);
}

static dev_t number_in(const char *line)
{
	unsigned int high, low;

	return sscanf(line, "%u:%u", &high, &low) == 2 ? makedev(high, low) : NO_DEVICE;
}

/* The block device that a path leads to. */
static dev_t block_at(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISBLK(status.st_mode) ? status.st_rdev : NO_DEVICE;
}

static const char *name_of(dev_t device)
{
	static char path[PATH_MAX], target[PATH_MAX];

	snprintf(path, sizeof(path), BLOCKS "/%u:%u", major(device), minor(device));
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0)
		return path + strlen(BLOCKS) + 1;
	target[length] = 0;
	return strrchr(target, '/') + 1;
}

/* --- what is made of what --- */

static bool is_partition(dev_t device)
{
	char line[16];

	return read_of(device, line, sizeof(line), "partition");
}

/* The disk of a partition; another device itself. */
static dev_t disk_of(dev_t device)
{
	char line[32], path[PATH_MAX], real[PATH_MAX];

	if (!is_partition(device))
		return device;
	snprintf(path, sizeof(path), BLOCKS "/%u:%u", major(device), minor(device));
	if (!realpath(path, real))
		return NO_DEVICE;
	strcpy(strrchr(real, '/'), "/dev");
	return read_line(real, 0, line, sizeof(line)) ? number_in(line) : NO_DEVICE;
}

/* Calls `each` for every entry of a folder of the device: holders, slaves, "" for its partitions. */
static void each_of(dev_t device, const char *folder, void (*each)(dev_t, const char *, void *), void *with)
{
	char path[PATH_MAX], line[32];
	struct dirent *entry;

	snprintf(path, sizeof(path), BLOCKS "/%u:%u/%s", major(device), minor(device), folder);
	DIR *entries = opendir(path);

	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.')
			continue;
		if (!folder[0] && !read_of(device, line, sizeof(line), "%s/partition", entry->d_name))
			continue;
		if (read_of(device, line, sizeof(line), "%s/%s/dev", folder[0] ? folder : ".", entry->d_name))
			each(number_in(line), entry->d_name, with);
	}
	if (entries)
		closedir(entries);
}

/* --- what is in use --- */

static struct used {
	dev_t device;
	char how[160];
} used[USED_MAX];
static int used_count;
static bool used_too_many;

static void add_used(dev_t device, const char *how, int depth);

struct above {
	const char *how;
	int depth;
};

static void add_slave(dev_t slave, const char *name, void *with)
{
	const struct above *above = with;

	(void)name;
	add_used(slave, above->how, above->depth + 1);
}

/* With all that it is made of. */
static void add_used(dev_t device, const char *how, int depth)
{
	if (!major(device)) /* of a filesystem without a block device */
		return;
	for (int i = 0; i < used_count; i++)
		if (used[i].device == device && !strcmp(used[i].how, how))
			return;
	if (used_count == USED_MAX || depth > DEPTH_MAX) {
		used_too_many = true;
		return;
	}
	used[used_count].device = device;
	snprintf(used[used_count++].how, sizeof(used[0].how), "%s", how);
	each_of(device, "slaves", add_slave, &(struct above){ how, depth });
}

/* "\040" is a space: proc(5), /proc/pid/mountinfo. */
static void unescape(char *text)
{
	char *to = text;

	for (unsigned int code; *text; to++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
			*to = code;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = 0;
}

/* Of the machine's first process: a mount is seen wherever we are. A btrfs has a number that is no block
 * device's there, so the source counts as well as the number. */
static const char *find_mounts(void)
{
	static char line[1 << 16];
	FILE *mounts = fopen("/proc/1/mountinfo", "re");
	struct stat root;

	if (!mounts)
		return refuse("/proc/1/mountinfo cannot be read: %s", errno_name(errno));
	while (fgets(line, sizeof(line), mounts)) {
		char point[PATH_MAX], source[PATH_MAX], how[160];
		unsigned int high, low;
		char *behind = strstr(line, " - ");

		if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &high, &low, point) != 3 || !behind)
			continue;
		unescape(point);
		snprintf(how, sizeof(how), "mounted on %.120s", point);
		add_used(makedev(high, low), how, 0);
		if (sscanf(behind, " - %*s %4095s", source) == 1 && source[0] == '/') {
			unescape(source);
			add_used(block_at(source), how, 0);
		}
	}
	fclose(mounts);
	if (!stat("/proc/1/root/.", &root))
		add_used(root.st_dev, "mounted on /", 0);
	return NULL;
}

/* mountinfo names one device of a btrfs. */
static void find_btrfs(void)
{
	char path[PATH_MAX], line[32];
	DIR *systems = opendir("/sys/fs/btrfs");
	struct dirent *system, *device;

	while (systems && (system = readdir(systems))) {
		if (system->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/fs/btrfs/%s/devices", system->d_name);
		DIR *devices = opendir(path);

		while (devices && (device = readdir(devices))) {
			snprintf(path, sizeof(path), "/sys/fs/btrfs/%s/devices/%s/dev", system->d_name, device->d_name);
			if (device->d_name[0] != '.' && read_line(path, 0, line, sizeof(line)))
				add_used(number_in(line), "a part of a btrfs that is mounted", 0);
		}
		if (devices)
			closedir(devices);
	}
	if (systems)
		closedir(systems);
}

static const char *find_swaps(void)
{
	char line[PATH_MAX + 64], path[PATH_MAX];
	FILE *swaps = fopen("/proc/swaps", "re");

	if (!swaps)
		return errno == ENOENT ? NULL : refuse("/proc/swaps cannot be read: %s", errno_name(errno));
	while (fgets(line, sizeof(line), swaps))
		if (sscanf(line, "%4095s", path) == 1 && path[0] == '/') {
			unescape(path);
			add_used(block_at(path), "swap that is in use", 0);
		}
	fclose(swaps);
	return NULL;
}

/* A loop device on a block device holds it, and sysfs does not list it as a holder. */
static void find_loops(void)
{
	DIR *blocks = opendir("/sys/class/block");
	struct dirent *entry;
	char path[PATH_MAX], line[PATH_MAX], how[160];

	while (blocks && (entry = readdir(blocks))) {
		snprintf(path, sizeof(path), "/sys/class/block/%s/loop/backing_file", entry->d_name);
		if (entry->d_name[0] == '.' || !read_line(path, 0, line, sizeof(line)))
			continue;
		snprintf(how, sizeof(how), "the disk of %.32s", entry->d_name);
		add_used(block_at(line), how, 0);
	}
	if (blocks)
		closedir(blocks);
}

struct disks {
	dev_t disk[USED_MAX];
	int count;
};

static void add_disk(dev_t device, const char *name, void *with)
{
	struct disks *disks = with;
	int before = disks->count;

	(void)name;
	each_of(disk_of(device), "slaves", add_disk, disks);
	if (disks->count == before && disks->count < USED_MAX)
		disks->disk[disks->count++] = disk_of(device);
}

/* Mounts, swaps and loop devices on it, or beside it on the same disk. */
static const char *in_use(const struct claim *claim, dev_t device)
{
	static struct disks disks;
	const char *why;
	bool whole = !is_partition(device);

	used_count = 0;
	used_too_many = false;
	if ((why = find_mounts()) || (why = find_swaps()))
		return why;
	find_btrfs();
	find_loops();
	if (used_too_many)
		return refuse("more than %d devices are in use there", USED_MAX);
	for (int i = 0; i < used_count; i++)
		if (used[i].device == device)
			return refuse("it is in use: %s", used[i].how);
	for (int i = 0; i < used_count; i++)
		if (whole && disk_of(used[i].device) == device)
			return refuse("its partition %s is in use: %s", name_of(used[i].device), used[i].how);
	disks.count = 0;
	add_disk(device, "", &disks);
	for (int i = 0; i < used_count && !claim->beside_mounted; i++)
		for (int j = 0; j < disks.count; j++)
			if (disk_of(used[i].device) == disks.disk[j])
				return refuse("it is on the same disk as %s, which is %s. --beside-mounted allows that",
					      name_of(used[i].device), used[i].how);
	return NULL;
}

/* --- holders, partitions --- */

struct others {
	dev_t allowed; /* as a holder */
	char names[256];
	int count;
};

static void add_other(dev_t device, const char *name, void *with)
{
	struct others *others = with;
	size_t length = strlen(others->names);
	char title[128] = "";

	if (device == others->allowed)
		return;
	read_of(device, title, sizeof(title), "dm/name");
	snprintf(others->names + length, sizeof(others->names) - length, "%s%s%s%s%s", length ? ", " : "", name,
		 title[0] ? " (" : "", title, title[0] ? ")" : "");
	others->count++;
}

static void add_holders(dev_t device, const char *name, void *with)
{
	(void)name;
	each_of(device, "holders", add_other, with);
}

static const char *held(dev_t device, dev_t holder)
{
	struct others others = { .allowed = holder };

	add_holders(device, "", &others);
	each_of(device, "", add_holders, &others);
	return others.count ? refuse("it is a part of %s", others.names) : NULL;
}

static const char *partitioned(dev_t device)
{
	struct others others = { .allowed = NO_DEVICE };

	each_of(device, "", add_other, &others);
	return others.count ? refuse("it has partitions: %s", others.names) : NULL;
}

/* --- which device it is --- */

/* Of NVMe and MMC, of virtio, of SCSI and SATA (VPD page 80h, behind its head of 4 bytes). */
static bool serial_of(dev_t disk, char *serial, size_t size)
{
	char path[PATH_MAX];

	if (read_of(disk, serial, size, "device/serial") || read_of(disk, serial, size, "serial"))
		return true;
	snprintf(path, sizeof(path), BLOCKS "/%u:%u/device/vpd_pg80", major(disk), minor(disk));
	return read_line(path, 4, serial, size);
}

static const char *identified(const struct claim *claim, dev_t device)
{
	char found[256], machine[64];
	unsigned int part = 0;
	bool volume = read_of(device, found, sizeof(found), "dm/uuid");

	if (!read_line("/etc/machine-id", 0, machine, sizeof(machine)))
		return refuse("this machine has no /etc/machine-id");
	if (strcmp(machine, claim->machine))
		return refuse("the claim was made on the machine %s, and this is %s", claim->machine, machine);
	if (claim->number != NO_DEVICE && claim->number != device)
		return refuse("%s led to %u:%u and leads to %u:%u now", claim->device, major(claim->number),
			      minor(claim->number), major(device), minor(device));
	if (volume && strncmp(found, "LVM-", 4))
		return refuse("it is of device mapper, and no LVM volume: %s", found);
	if (!volume && read_of(device, found, sizeof(found), "partition"))
		part = strtoul(found, NULL, 10);
	if (part != claim->part)
		return refuse("it is the partition %u, and %u was claimed (0 is the whole disk)", part, claim->part);
	if (!volume && !serial_of(disk_of(device), found, sizeof(found)))
		return refuse("it has no serial number");
	if (strcmp(found, claim->serial))
		return refuse("its serial number is %s, and %s was claimed", found, claim->serial);
	if (read_of(disk_of(device), found, sizeof(found), "queue/zoned") && strcmp(found, "none"))
		return refuse("it is a zoned device (%s)", found);
	return NULL;
}

/* As the kernel says now, of the device that is open. */
static const char *sized(const struct claim *claim)
{
	uint64_t bytes = 0;
	int read_only = 1;

	if (ioctl(claim->file, BLKGETSIZE64, &bytes) || ioctl(claim->file, BLKROGET, &read_only))
		return refuse("it is gone: %s", errno_name(errno));
	if (!bytes)
		return refuse("it is gone: its size is 0");
	if (read_only)
		return refuse("it is read-only");
	if (bytes != claim->bytes)
		return refuse("its size is %llu bytes, and %llu were claimed", (unsigned long long)bytes,
			      (unsigned long long)claim->bytes);
	if (bytes < BYTES_MIN)
		return refuse("its size is %llu bytes, and at least %llu are needed", (unsigned long long)bytes,
			      BYTES_MIN);
	return NULL;
}

/* Everything but the bytes on it. It is open behind this: with O_EXCL unless `holder` holds it. */
static const char *device_refusal(struct claim *claim, dev_t holder)
{
	char path[sizeof(BY_ID) + sizeof(claim->device)];
	const char *why;
	struct stat status;

	snprintf(path, sizeof(path), BY_ID "%s", claim->device);
	if (!claim->device[0] || strchr(claim->device, '/'))
		return refuse("a device is named by a link in " BY_ID ", not by %s", claim->device);
	dev_t device = block_at(path);

	if (device == NO_DEVICE)
		return refuse("%s is not there, or leads to no block device", path);
	if ((why = identified(claim, device)) || (why = held(device, holder)) || (why = in_use(claim, device)))
		return why;
	if (claim->file < 0) {
		/* O_EXCL: in Linux, with a mount, swap, md, LVM and others like us (open(2), bd_prepare_to_claim). */
		int exclusive = holder == NO_DEVICE ? O_RDWR | O_EXCL : O_RDONLY;

		claim->file = open(path, exclusive | O_DIRECT | O_CLOEXEC);
		if (claim->file < 0 && errno == EBUSY)
			return refuse("it is held by another program: a mount, md, LVM, or another run of Powercut");
		if (claim->file < 0)
			return refuse("it cannot be opened: %s", errno_name(errno));
	}
	if (fstat(claim->file, &status) || status.st_rdev != device || block_at(path) != device)
		return refuse("%s leads to another device now", path);
	claim->number = device;
	return sized(claim);
}

/* --- the token --- */

static uint32_t crc32_of(const char *bytes, size_t length)
{
	uint32_t crc = ~0U;

	while (length--) {
		crc ^= (unsigned char)*bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* harness/hosts/token.py has the same. */
static void token_block(const struct claim *claim, char *block)
{
	memset(block, 0, BLOCK_BYTES);
	int length = snprintf(block, BLOCK_BYTES,
			      "powercut-claim 1\nidentity %s\nmachine %s\ndevice %s\nserial %s\nbytes %llu\nrole %s\n",
			      claim->identity, claim->machine, claim->device, claim->serial,
			      (unsigned long long)claim->bytes, claim->role);

	snprintf(block + length, BLOCK_BYTES - length, "crc32 %08x\n", crc32_of(block, length));
}

static const char *differs(const char *found, const char *wanted)
{
	static char a[300], b[300];

	if (strncmp(found, "powercut-claim ", 15))
		return refuse("there is no token of Powercut on it");
	while (*found && *wanted) {
		size_t found_length = strcspn(found, "\n"), wanted_length = strcspn(wanted, "\n");

		snprintf(a, sizeof(a), "%.*s", (int)found_length, found);
		snprintf(b, sizeof(b), "%.*s", (int)wanted_length, wanted);
		if (strcmp(a, b))
			return refuse("its token says `%.200s` where the claim has `%.200s`", a, b);
		found += found_length + (found[found_length] == '\n');
		wanted += wanted_length + (wanted[wanted_length] == '\n');
	}
	return refuse("its token is damaged");
}

static char *area(void)
{
	static char *bytes;

	if (!bytes && posix_memalign((void **)&bytes, BLOCK_BYTES, CLAIM_EDGE_BYTES))
		return NULL;
	return bytes;
}

/* The device without its edges is nobody's but ours. */
static const char *token_refusal(const struct claim *claim)
{
	char wanted[BLOCK_BYTES], *bytes = area();

	token_block(claim, wanted);
	for (int end = 0; end < 2; end++) {
		uint64_t offset = end ? claim->bytes - CLAIM_EDGE_BYTES : 0;
		size_t at = end ? 0 : BLOCK_BYTES;

		if (!bytes || pread(claim->file, bytes, CLAIM_EDGE_BYTES, offset) != CLAIM_EDGE_BYTES)
			return refuse("it cannot be read at %llu: %s", (unsigned long long)offset, errno_name(errno));
		if (!end && memcmp(bytes, wanted, BLOCK_BYTES)) {
			bytes[BLOCK_BYTES - 1] = 0;
			return differs(bytes, wanted);
		}
		for (; at < CLAIM_EDGE_BYTES; at++)
			if (bytes[at])
				return refuse("somebody wrote at byte %llu, which a claim leaves zero",
					      (unsigned long long)(offset + at));
	}
	return NULL;
}

/* NULL when the device may be written between its edges; else the reason. It is open in claim->file then:
 * with O_EXCL, or for reading when `holder`, a device of ours made of it, holds it for us. Call it again to
 * look again. /proc, /sys, /etc/machine-id and /dev/disk must be the machine's. */
const char *claim_refusal(struct claim *claim, dev_t holder)
{
	const char *why = device_refusal(claim, holder);

	if (!why && !(why = partitioned(claim->number)))
		why = token_refusal(claim);
	return why;
}

/* --- what is told --- */

static bool text_field(const char *line, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	if (strncmp(line, name, length) || line[length] != ' ' || strlen(line + length + 1) >= size)
		return false;
	strcpy(value, line + length + 1);
	return true;
}

/* A line into the claim: identity, machine, device, serial, bytes, role, part, beside_mounted 0|1, number
 * MAJOR:MINOR of the device that the user has seen. Whether it is one. */
bool claim_line(struct claim *claim, const char *line)
{
	char value[64];

	if (text_field(line, "identity", claim->identity, sizeof(claim->identity)) ||
	    text_field(line, "machine", claim->machine, sizeof(claim->machine)) ||
	    text_field(line, "device", claim->device, sizeof(claim->device)) ||
	    text_field(line, "serial", claim->serial, sizeof(claim->serial)) ||
	    text_field(line, "role", claim->role, sizeof(claim->role)))
		return true;
	if (text_field(line, "bytes", value, sizeof(value)))
		claim->bytes = strtoull(value, NULL, 10);
	else if (text_field(line, "part", value, sizeof(value)))
		claim->part = strtoul(value, NULL, 10);
	else if (text_field(line, "beside_mounted", value, sizeof(value)))
		claim->beside_mounted = !strcmp(value, "1");
	else if (text_field(line, "number", value, sizeof(value)))
		claim->number = number_in(value);
	else
		return false;
	return true;
}

/* --- the program --- */

static __attribute__((noreturn)) void refused(const char *why)
{
	printf("refused %s\n", why);
	exit(2);
}

static __attribute__((noreturn)) void trouble(const char *what)
{
	printf("trouble %s: %s\n", what, errno_name(errno));
	exit(3);
}

/* Whether there was one; without its end. */
static bool next_line(char *line, size_t size)
{
	if (!fgets(line, size, stdin))
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

static struct claim claim_told(void)
{
	struct claim claim = { .file = -1 };
	char line[512];

	while (next_line(line, sizeof(line)) && line[0])
		if (!claim_line(&claim, line)) {
			fprintf(stderr, "agent claim: what is `%s`?\n", line);
			exit(3);
		}
	return claim;
}

static void write_at(const struct claim *claim, const char *bytes, size_t length, uint64_t offset)
{
	if (pwrite(claim->file, bytes, length, offset) != (ssize_t)length)
		trouble("write");
}

static void sync_device(const struct claim *claim)
{
	if (fsync(claim->file))
		trouble("fsync");
}

/* The token comes last: half a claim is none. */
static void claim_write(struct claim *claim)
{
	char *bytes = area();
	const char *why;

	if (!bytes)
		trouble("memory");
	memset(bytes, 0, CLAIM_EDGE_BYTES);
	write_at(claim, bytes, CLAIM_EDGE_BYTES, claim->bytes - CLAIM_EDGE_BYTES);
	write_at(claim, bytes, CLAIM_EDGE_BYTES, 0);
	sync_device(claim);
	if (partitioned(claim->number) && ioctl(claim->file, BLKRRPART))
		trouble("the partitions of a disk without a partition table");
	token_block(claim, bytes);
	write_at(claim, bytes, BLOCK_BYTES, 0);
	sync_device(claim);
	if ((why = claim_refusal(claim, NO_DEVICE)))
		refused(why);
}

static void claim_remove(struct claim *claim)
{
	char *bytes = area();

	memset(bytes, 0, BLOCK_BYTES);
	write_at(claim, bytes, BLOCK_BYTES, 0);
	sync_device(claim);
}

/* claim write: everything but what is on it, which the user has seen. The others: that, too. */
static const char *refusal_of(struct claim *claim, bool to_write)
{
	return to_write ? device_refusal(claim, NO_DEVICE) : claim_refusal(claim, NO_DEVICE);
}

int claim_main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[2] : "", *why;
	bool to_write = !strcmp(what, "write"), to_remove = !strcmp(what, "remove");
	char line[64];

	if (!to_write && !to_remove && strcmp(what, "verify")) {
		fprintf(stderr, "usage: agent claim verify|write|remove\n");
		return 3;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct claim claim = claim_told();

	if (machine_in_use())
		refused(MACHINE_IN_USE);
	if ((why = refusal_of(&claim, to_write)))
		refused(why);
	printf("held %u:%u\n", major(claim.number), minor(claim.number));
	while (next_line(line, sizeof(line)))
		if (!strcmp(line, "go") && (to_write || to_remove)) {
			if ((why = refusal_of(&claim, to_write)))
				refused(why);
			(to_write ? claim_write : claim_remove)(&claim);
			puts(to_write ? "written" : "removed");
			return 0;
		}
	return 0;
}
