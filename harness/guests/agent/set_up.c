// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the agent sets up on a machine, and removes again: a root on tmpfs, loop devices, claimed devices below dm-linear;
 * where they are asked for, the machine's own programs. A line of the configuration is one of
 *
 *   device TAB NAME TAB BYTES TAB memory                 or claim, and the lines of the claim, each a field
 *   ram TAB BYTES
 *   programs                                             /usr and /etc of the machine, read-only
 *   file TAB NAME TAB HEX                                PROGRAM_FILES/NAME
 */
#include "machine.h"

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define RAM_DISKS 3
#define NO_DEVICE makedev(0, 0)
#define CONTROL_MINOR 236 /* MAPPER_CTRL_MINOR, LOOP_CTRL_MINOR: Documentation/admin-guide/devices.txt */
#define LOOP_MINOR 237

const char *const machine_device_names[DEVICES] = { "disk", "log", "inbox", "outbox" };
struct machine_device machine_devices[DEVICES];
static uint64_t ram_bytes;

/* --- what was there before, and what is left --- */

static bool our_name(char *name, size_t size, int number)
{
	static union {
		struct dm_ioctl header;
		char bytes[1 << 16];
	} list;
	struct dm_name_list *at = (void *)(list.bytes + sizeof(list.header));
	int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	bool found = false;

	memset(&list, 0, sizeof(list)); /* where there is no device, nothing is written behind the header */
	list.header.version[0] = 4;
	list.header.data_size = sizeof(list);
	list.header.data_start = sizeof(list.header);
	if (control >= 0 && !ioctl(control, DM_LIST_DEVICES, &list) && at->dev) {
		for (;; at = (void *)((char *)at + at->next)) {
			if (!strncmp(at->name, PREFIX, strlen(PREFIX)) && !number--) {
				snprintf(name, size, "%s", at->name + strlen(PREFIX));
				found = true;
				break;
			}
			if (!at->next)
				break;
		}
	}
	if (control >= 0)
		close(control);
	return found;
}

/* Those that stand on others go first, so whatever can go goes, again and again. Returns a name that stays, or NULL. */
const char *remove_devices(void)
{
	static char name[128];
	double deadline = now_ms() + END_S * 1e3;

	for (int i = 0; i < DEVICES; i++) {
		if (machine_devices[i].bytes && !machine_devices[i].memory)
			close(machine_devices[i].file);
		machine_devices[i].bytes = 0;
	}
	for (;;) {
		bool removed = false;
		int kept = 0;

		while (our_name(name, sizeof(name), kept)) {
			if (device_try_remove(name))
				removed = true;
			else
				kept++;
		}
		if (!kept)
			return NULL;
		if (removed)
			continue;
		if (now_ms() > deadline) {
			our_name(name, sizeof(name), 0);
			return name;
		}
		usleep(20000);
	}
}

/* --- setting up --- */

void load_modules(void)
{
	/* Where one is built in, or missing, modprobe says so and that is all; who needs it will fail by name. */
	static const char *const modules[] = { "loop", "dm_mod", "dm_log_writes", "dm_snapshot", "dm_delay", NULL };

	for (int i = 0; modules[i]; i++) {
		pid_t child = fork();

		if (!child) {
			int null = open("/dev/null", O_RDWR);

			dup2(null, 0), dup2(null, 1), dup2(null, 2);
			execl("/sbin/modprobe", "modprobe", "-q", modules[i], NULL);
			execl("/usr/sbin/modprobe", "modprobe", "-q", modules[i], NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}

void need_targets(void)
{
	static const char *const wanted[] = { "log-writes", "snapshot", "linear" };
	static union {
		struct dm_ioctl header;
		char bytes[1 << 14];
	} list;
	int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		refuse_all(TROUBLE, "device mapper is missing in this kernel: /dev/mapper/control: %s", errno_name(errno));
	list.header.version[0] = 4;
	list.header.data_size = sizeof(list);
	list.header.data_start = sizeof(list.header);
	if (ioctl(control, DM_LIST_VERSIONS, &list))
		refuse_all(TROUBLE, "the targets of device mapper: %s", errno_name(errno));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct dm_target_versions *at = (void *)(list.bytes + sizeof(list.header));

		while (strcmp(at->name, wanted[i])) {
			if (!at->next)
				refuse_all(TROUBLE, "the kernel has no target %s of device mapper (module dm_%s)", wanted[i],
				       i ? wanted[i] : "log_writes");
			at = (void *)((char *)at + at->next);
		}
	}
	close(control);
}

static void make_node(const char *path, mode_t type, unsigned int major, unsigned int minor)
{
	char whole[128];

	snprintf(whole, sizeof(whole), ROOT "%s", path);
	if (mknod(whole, type | 0600, makedev(major, minor)))
		refuse_all(TROUBLE, "%s: %s", whole, errno_name(errno));
}

void make_root(void)
{
	static const char *const folders[] = { "/dev", "/dev/mapper", "/proc", "/sys", "/mnt", "/tmp", "/old" };

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		refuse_all(TROUBLE, "a mount namespace: %s", errno_name(errno));
	mkdir(ROOT, 0700);
	if (mount("powercut", ROOT, "tmpfs", 0, "mode=755,size=75%"))
		refuse_all(TROUBLE, "tmpfs on " ROOT ": %s", errno_name(errno));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char whole[128];

		snprintf(whole, sizeof(whole), ROOT "%s", folders[i]);
		mkdir(whole, 0755);
	}
	if (mount("sys", ROOT "/sys", "sysfs", 0, NULL))
		refuse_all(TROUBLE, "sysfs: %s", errno_name(errno));
	make_node("/dev/null", S_IFCHR, 1, 3);
	make_node("/dev/zero", S_IFCHR, 1, 5);
	make_node("/dev/urandom", S_IFCHR, 1, 9);
	make_node("/dev/kmsg", S_IFCHR, 1, 11);
	make_node("/dev/mapper/control", S_IFCHR, 10, CONTROL_MINOR);
	make_node("/dev/loop-control", S_IFCHR, 10, LOOP_MINOR);
}

/* A file of tmpfs of so many bytes, all zeros and taking no room. */
static int memory_file(const char *name, uint64_t bytes)
{
	char path[128];

	snprintf(path, sizeof(path), ROOT "%s", name);
	int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (file < 0 || ftruncate(file, bytes))
		refuse_all(TROUBLE, "%s: %s", path, errno_name(errno));
	return file;
}

/*
 * A block device of a file, with the node `path` of the inner root. It goes by itself when nobody has it open any
 * more, and our descriptor, which stays open, is the first.
 */
static void make_loop(const char *path, int file)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	for (int tries = 0; control >= 0 && tries < 20; tries++) {
		struct loop_config config = { .fd = file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		char own[32];

		snprintf(own, sizeof(own), "/dev/loop%d", number);
		int loop = number < 0 ? -1 : open(own, O_RDWR | O_CLOEXEC);

		if (loop >= 0 && !ioctl(loop, LOOP_CONFIGURE, &config)) {
			struct stat status;

			fstat(loop, &status);
			make_node(path, S_IFBLK, major(status.st_rdev), minor(status.st_rdev));
			close(control);
			return;
		}
		if (loop >= 0)
			close(loop); /* somebody was faster */
		usleep(10000);
	}
	refuse_all(TROUBLE, "no loop device for %s: %s", path, errno_name(errno));
}

/* Read-only there, as much of it as is one filesystem. */
static void show_folder(const char *folder)
{
	char at[64];

	snprintf(at, sizeof(at), ROOT "%s", folder);
	mkdir(at, 0755);
	if (mount(folder, at, NULL, MS_BIND, NULL) || mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		refuse_all(TROUBLE, "%s cannot be shown to a script: %s", folder, errno_name(errno));
}

static void show_programs(void)
{
	static const char *const beside[] = { "/bin", "/sbin", "/lib", "/lib64" };

	show_folder("/usr");
	show_folder("/etc");
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		char leads[64], at[64];
		ssize_t length = readlink(beside[i], leads, sizeof(leads) - 1);

		snprintf(at, sizeof(at), ROOT "%s", beside[i]);
		if (length > 0) {
			leads[length] = 0;
			if (symlink(leads, at))
				refuse_all(TROUBLE, "%s: %s", at, errno_name(errno));
		} else if (!access(beside[i], F_OK)) {
			show_folder(beside[i]);
		}
	}
}

static char *next_field(char **rest)
{
	char *field = strsep(rest, "\t");

	return field ? field : "";
}

/*
 * The claimed device below dm-linear, which leaves out what the claim has for itself (claim.c). Device mapper holds
 * it as O_EXCL would; so the claim is verified twice, before it is held and once nobody else can take it.
 */
static int claimed_device(const char *name, uint64_t bytes, struct claim *claim)
{
	struct segment all = { 0, bytes / SECTOR_BYTES, "linear", "" };
	const char *refusal = claim_refusal(claim, NO_DEVICE);
	struct stat status;
	char node[128];

	if (!refusal && claim->bytes < bytes + 2 * CLAIM_EDGE_BYTES)
		refuse_all(REFUSED, "%s has %llu MiB, and %llu MiB are needed", claim->device,
		       (unsigned long long)claim->bytes >> 20, (unsigned long long)(bytes + 2 * CLAIM_EDGE_BYTES) >> 20);
	/* By its number: what the link means may change from now on. */
	snprintf(all.parameters, sizeof(all.parameters), "%u:%u %d", major(claim->number), minor(claim->number),
		 CLAIM_EDGE_BYTES / SECTOR_BYTES);
	snprintf(node, sizeof(node), ROOT "/dev/%s", name);
	if (!refusal) {
		close(claim->file);
		claim->file = -1;
		device_create(name, node);
		if (!device_table(name, &all, 1))
			refusal = errno == EBUSY ? "somebody took it just now" : "device mapper does not take it";
		else
			refusal = stat(node, &status) ? "it is gone" : claim_refusal(claim, status.st_rdev);
		if (claim->file >= 0)
			close(claim->file);
		if (refusal)
			device_try_remove(name);
	}
	if (refusal)
		refuse_all(REFUSED, "%s: %s", claim->device, refusal);
	int file = open(node, O_RDWR | O_DIRECT | O_CLOEXEC);

	if (file < 0)
		refuse_all(TROUBLE, "%s: %s", node, errno_name(errno));
	return file;
}

static void set_device(char *fields)
{
	const char *name = next_field(&fields);
	uint64_t bytes = strtoull(next_field(&fields), NULL, 10);
	const char *kind = next_field(&fields);
	char path[64];
	int at = 0;

	while (at < DEVICES && strcmp(name, machine_device_names[at]))
		at++;
	if (at == DEVICES || !bytes || bytes % BLOCK_BYTES)
		refuse_all(TROUBLE, "the device %s of %llu bytes", name, (unsigned long long)bytes);
	machine_devices[at].bytes = bytes;
	machine_devices[at].memory = !strcmp(kind, "memory");
	if (!machine_devices[at].memory) {
		struct claim claim = { .file = -1 };

		while (fields)
			if (!claim_line(&claim, next_field(&fields)))
				refuse_all(TROUBLE, "the claim of %s cannot be read", name);
		machine_devices[at].file = claimed_device(name, bytes, &claim);
		if (!strcmp(name, "disk"))
			queue_of(claim.number);
		return;
	}
	/* The inbox and the outbox are files for the inner process, too. */
	bool boxes = !strcmp(name, "inbox") || !strcmp(name, "outbox");

	snprintf(path, sizeof(path), boxes ? "/dev/%s" : "/tmp/%s", name);
	machine_devices[at].file = memory_file(path, bytes);
	if (!boxes) {
		snprintf(path, sizeof(path), "/dev/%s", name);
		make_loop(path, machine_devices[at].file);
	}
}

static void set_file(char *fields)
{
	const char *name = next_field(&fields);
	char path[256];

	mkdir(ROOT PROGRAM_FILES, 0755);
	snprintf(path, sizeof(path), ROOT PROGRAM_FILES "/%s", name);
	if (!*name || strchr(name, '/') || !fields)
		refuse_all(TROUBLE, "a file of the configuration without a name or a content");
	write_file(path, 0644, fields, from_hex(fields));
}

void set_up(char *config)
{
	for (char *line; (line = strsep(&config, "\n"));) {
		const char *word = next_field(&line);

		if (!strcmp(word, "device"))
			set_device(line);
		else if (!strcmp(word, "ram"))
			ram_bytes = strtoull(next_field(&line), NULL, 10);
		else if (!strcmp(word, "programs"))
			show_programs();
		else if (!strcmp(word, "file"))
			set_file(line);
		else if (*word)
			refuse_all(TROUBLE, "the word %s of the configuration is unknown", word);
	}
	for (int i = 0; i < DEVICES; i++)
		if (!machine_devices[i].bytes)
			refuse_all(TROUBLE, "the configuration has no device %s", machine_device_names[i]);
	for (int i = 0; i < RAM_DISKS; i++) {
		char file[32], node[32];

		snprintf(file, sizeof(file), "/tmp/ram%d", i);
		snprintf(node, sizeof(node), "/dev/ram%d", i);
		make_loop(node, memory_file(file, ram_bytes));
	}
}

/*
 * From here on the root is ours, and what others mount and unmount is not held by us. The loop devices and the lock
 * stay open.
 */
void enter_root(void)
{
	if (syscall(SYS_pivot_root, ROOT, ROOT "/old") || chdir("/") || umount2("/old", MNT_DETACH))
		refuse_all(TROUBLE, "pivot_root to " ROOT ": %s", errno_name(errno));
}
