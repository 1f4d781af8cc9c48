// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device mapper, and the disk of a state.
 *
 * The disk of a state lies in ram0 and only moves forward from state to state. Its recovery works above it, and what
 * it writes is dropped afterwards. Kernels that Powercut built have a target for that (kernel/dm-powercut.c): writes
 * stay in memory until a message, and what is read of ram0 is known.
 *
 * In others the recovery sees a
 * dm-snapshot of it whose exception store is another ram disk: what recovery writes goes there and is
 * dropped by loading a new table. The new table takes another store than the old one, because two tables
 * that share a store hand its exceptions over (dm-snap.c, __find_snapshots_sharing_cow), so ram1 and ram2
 * take turns. Measured for btrfs under UML: 0.3 ms for the reload, mount and unmount as on ram0 alone and
 * twice as fast as on ubd. The exception table of a persistent
 * store ("P") tells which blocks recovery changed (Documentation/admin-guide/device-mapper/snapshot.rst;
 * the layout is in drivers/md/dm-snap-persistent.c).
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static int control = -1;
static int origin = -1;
static int changes[2] = { -1, -1 }, turn;

static union {
	struct dm_ioctl header;
	char bytes[4096];
} request;

/* On a machine the names of our devices stand beside those of others (machine.c). */
const char *device_prefix = "";

static void name_in(struct dm_ioctl *header, const char *name)
{
	snprintf(header->name, sizeof(header->name), "%s%s", device_prefix, name);
}

static int dm(unsigned long command, const char *name, unsigned int flags)
{
	request.header.version[0] = 4;
	request.header.data_size = sizeof(request);
	request.header.data_start = sizeof(request.header);
	request.header.flags = flags;
	name_in(&request.header, name);
	return ioctl(control, command, &request);
}

/*
 * Each resume is an event to udev, which would look into the device and for a moment hold it. The flags of its first
 * event keep udev's rules away, and it remembers them for those that follow (libdevmapper.h, DM_UDEV_*_FLAG;
 * rules.d/55-dm.rules). Guests have no udev.
 */
#define UDEV_FLAGS_SHIFT 16
enum { UDEV_NO_DM_RULES = 1, UDEV_NO_SUBSYSTEM_RULES = 2, UDEV_NO_DISK_RULES = 4, UDEV_NO_OTHER_RULES = 8, UDEV_PRIMARY = 64 };

/* Devices that were created and had no event yet: several may be, before the first of them has a table. */
static char without_event[8][DM_NAME_LEN];

static void expect_event(const char *name)
{
	for (size_t i = 0; i < sizeof(without_event) / sizeof(without_event[0]); i++) {
		if (!without_event[i][0] || !strcmp(without_event[i], name)) {
			snprintf(without_event[i], sizeof(without_event[i]), "%s", name);
			return;
		}
	}
	die("dm create: too many devices without a table");
}

static bool is_first_event(const char *name)
{
	for (size_t i = 0; i < sizeof(without_event) / sizeof(without_event[0]); i++) {
		if (!strcmp(without_event[i], name)) {
			without_event[i][0] = 0;
			return true;
		}
	}
	return false;
}

static int dm_resume(const char *name, unsigned int flags)
{
	memset(&request, 0, sizeof(request));
	if (is_first_event(name) && device_prefix[0])
		request.header.event_nr = (UDEV_NO_DM_RULES | UDEV_NO_SUBSYSTEM_RULES | UDEV_NO_DISK_RULES |
					   UDEV_NO_OTHER_RULES | UDEV_PRIMARY) << UDEV_FLAGS_SHIFT;
	return dm(DM_DEV_SUSPEND, name, flags); /* without DM_SUSPEND_FLAG */
}

static void dm_load(const char *name, uint64_t sectors, const char *type, const char *parameters)
{
	struct dm_target_spec *target = (void *)(request.bytes + sizeof(request.header));
	char *text = (char *)(target + 1);

	memset(&request, 0, sizeof(request));
	request.header.target_count = 1;
	target->length = sectors;
	snprintf(target->target_type, sizeof(target->target_type), "%s", type);
	strcpy(text, parameters);
	target->next = (sizeof(*target) + strlen(parameters) + 1 + 7) & ~7UL;
	if (dm(DM_TABLE_LOAD, name, 0))
		die(type);
	if (dm_resume(name, 0))
		die("dm resume");
}

static void dm_create(const char *name, const char *node)
{
	memset(&request, 0, sizeof(request));
	if (dm(DM_DEV_CREATE, name, 0))
		die("dm create");
	dev_t device = makedev(major(request.header.dev), minor(request.header.dev));

	expect_event(name);
	unlink(node);
	if (mknod(node, S_IFBLK | 0600, device))
		die("mknod");
}

/*
 * A snapshot sizes its hash tables by its store (dm-snap.c, init_hash_tables) and fills them anew at every
 * load: 0.1 ms for the whole ram disk. So a recovery first gets a store of 16 MiB, and the whole one
 * should it need more.
 */
#define SMALL_STORE_SECTORS (16 << 11)
#define SMALL_0 "/dev/small0"
#define SMALL_1 "/dev/small1"

static void small_store(const char *name, const char *node, const char *where)
{
	dm_create(name, node);
	dm_load(name, SMALL_STORE_SECTORS, "linear", where);
}

void device_mapper_start(void)
{
	control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		die("/dev/mapper/control");
}

static bool has_target; /* powercut */

bool device_has_target(const char *wanted)
{
	static union {
		struct dm_ioctl header;
		char bytes[16384];
	} list;

	list.header.version[0] = 4;
	list.header.data_size = sizeof(list);
	list.header.data_start = sizeof(list.header);
	if (ioctl(control, DM_LIST_VERSIONS, &list))
		return false;
	for (char *at = list.bytes + list.header.data_start;;) {
		struct dm_target_versions *one = (void *)at;

		if (!strcmp(one->name, wanted))
			return true;
		if (!one->next)
			return false;
		at += one->next;
	}
}

void device_start(void)
{
	device_mapper_start();
	has_target = device_has_target("powercut");
	origin = open(ORIGIN, O_RDWR | O_DIRECT);
	changes[0] = open(CHANGES_0, O_RDWR | O_DIRECT);
	changes[1] = open(CHANGES_1, O_RDWR | O_DIRECT);
	if (origin < 0 || changes[0] < 0 || changes[1] < 0)
		die("ram disks");
	if (has_target)
		return;
	small_store("small0", SMALL_0, CHANGES_0 " 0");
	small_store("small1", SMALL_1, CHANGES_1 " 0");
}

/* --- tables of several segments ----------------------------------------------------------------- */

void device_create(const char *name, const char *node)
{
	dm_create(name, node);
}

static union {
	struct dm_ioctl header;
	char bytes[4 << 20];
} table;
static size_t table_at;
static unsigned int table_count;

static void table_start(void)
{
	table_at = sizeof(table.header);
	table_count = 0;
}

static void table_add(uint64_t start, uint64_t length, const char *type, const char *parameters)
{
	struct dm_target_spec *target = (void *)(table.bytes + table_at);
	size_t bytes = sizeof(*target) + strlen(parameters) + 1;

	bytes = (bytes + 7) & ~7UL;
	if (table_at + bytes > sizeof(table.bytes))
		die("a table with too many segments");
	memset(target, 0, bytes);
	target->sector_start = start;
	target->length = length;
	target->next = bytes;
	snprintf(target->target_type, sizeof(target->target_type), "%s", type);
	strcpy((char *)(target + 1), parameters);
	table_at += bytes;
	table_count++;
}

/*
 * A table in place of the one there is, without freezing the filesystem above it, which would write out what
 * it has; what is under way completes first. False, with errno, where the kernel has no such target or feature.
 */
static bool table_load(const char *name)
{
	memset(&table.header, 0, sizeof(table.header));
	table.header.version[0] = 4;
	table.header.data_size = table_at;
	table.header.data_start = sizeof(table.header);
	table.header.target_count = table_count;
	name_in(&table.header, name);
	if (ioctl(control, DM_TABLE_LOAD, &table))
		return false;
	if (dm_resume(name, DM_SKIP_LOCKFS_FLAG))
		die("dm resume");
	return true;
}

bool device_table(const char *name, const struct segment *segments, size_t count)
{
	table_start();
	for (size_t i = 0; i < count; i++)
		table_add(segments[i].start, segments[i].length, segments[i].type, segments[i].parameters);
	return table_load(name);
}

/* To its one target. */
bool device_message(const char *name, const char *text)
{
	struct dm_target_msg *message = (void *)(request.bytes + sizeof(request.header));

	memset(&request, 0, sizeof(request));
	strcpy(message->message, text);
	return !dm(DM_TARGET_MSG, name, 0);
}

/* A message and its answer, in a request of so many bytes; "" where it has none, NULL with errno where it failed. */
static const char *asked_in(char *bytes, size_t size, const char *name, const char *text)
{
	struct dm_ioctl *header = (void *)bytes;
	struct dm_target_msg *message = (void *)(bytes + sizeof(*header));

	memset(header, 0, sizeof(*header));
	header->version[0] = 4;
	header->data_size = size;
	header->data_start = sizeof(*header);
	name_in(header, name);
	message->sector = 0;
	strcpy(bytes + sizeof(*header) + sizeof(*message), text); /* message->message */
	if (ioctl(control, DM_TARGET_MSG, header))
		return NULL;
	if (header->flags & DM_BUFFER_FULL_FLAG) {
		errno = EOVERFLOW;
		return NULL;
	}
	return header->flags & DM_DATA_OUT_FLAG ? bytes + header->data_start : "";
}

/* The same of a message that answers, as those of device mapper itself do, which begin with @; NULL, with errno. */
const char *device_asked(const char *name, const char *text)
{
	static union {
		struct dm_ioctl header;
		char bytes[1 << 20];
	} long_request;

	return asked_in(long_request.bytes, sizeof(long_request), name, text);
}

bool device_try_remove(const char *name)
{
	memset(&request, 0, sizeof(request));
	return !dm(DM_DEV_REMOVE, name, 0);
}

void device_remove(const char *name)
{
	memset(&request, 0, sizeof(request));
	if (dm(DM_DEV_REMOVE, name, 0))
		die("dm remove");
}

#define OPENED_BY_OTHERS_MS 20000

/* How many have it open. On a machine others may for a moment, to see what is on it; udev is kept away above. */
int device_open_count(const char *name)
{
	double deadline = now_ms() + (on_machine ? OPENED_BY_OTHERS_MS : 0);

	for (;;) {
		memset(&request, 0, sizeof(request));
		int count = dm(DM_DEV_STATUS, name, 0) ? -1 : (int)request.header.open_count;

		if (count <= 0 || now_ms() >= deadline)
			return count;
		usleep(20000);
	}
}

/* --- recording --------------------------------------------------------------------------------- */

const char *log_writes_device = RECORDED_DEVICE;

static bool has_under;

static void whole_table(const char *name, uint64_t sectors, const char *type, const char *parameters)
{
	struct segment all = { 0, sectors, type, "" };

	snprintf(all.parameters, sizeof(all.parameters), "%s", parameters);
	if (!device_table(name, &all, 1))
		die("a table of one segment");
}

/* What the recorded device writes to, once it has something under it. */
void under_table(uint64_t sectors, const char *type, const char *parameters)
{
	whole_table("under", sectors, type, parameters);
}

/*
 * A disk that completes writes late and out of order. Each piece of it leads through one of several devices that
 * hold a write back for their own time and let reads and FLUSH pass at once, or through none. Device mapper sends
 * the FLUSH of a write with data before that write, and by itself. So a write that nobody waited for is still on
 * its way when the FLUSH comes that should have covered it, and the log has it behind that FLUSH.
 *
 * dm-delay counts in ticks of the guest's clock (1 ms in our kernels, kernel/uml.py): times are what is left of the
 * tick that the write comes in, and whole ticks after it. The pieces are as small as a node of btrfs, and their
 * devices are drawn: what lies side by side is written together, and is to complete in any order. One device for each
 * piece would be slower: dm-delay has a thread for each of its targets.
 */
static const struct {
	const char *name, *node;
	int ticks;
} late_devices[] = {
	{ "late1", "/dev/late1", 1 },
	{ "late2", "/dev/late2", 2 },
};

#define LATE_COUNT (sizeof(late_devices) / sizeof(late_devices[0]))
#define LATE_UNIT 8 /* sectors: 4 KiB; a piece has 1 to LATE_UNITS_MAX of them */
#define LATE_UNITS_MAX 4
#define LATE_UNITS_IN_ALL 100000 /* of a larger disk the unit is larger: what a table of 4 MiB holds */

static struct {
	bool wanted, on;
	uint64_t random; /* never 0 */
} late;

/* Of the next recording. */
void late_want(uint64_t seed)
{
	late.wanted = true;
	late.random = seed * 0x9e3779b97f4a7c15 | 1;
}

bool late_now(void)
{
	return late.on;
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016) */
static unsigned int late_draw(unsigned int count)
{
	late.random ^= late.random >> 12;
	late.random ^= late.random << 25;
	late.random ^= late.random >> 27;
	return (late.random * 0x2545f4914f6cdd1d >> 33) % count;
}

/* The coarse clock moves once a tick. A kernel of another configuration or architecture has longer ones. */
static int tick_ms(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		die("the resolution of the clock");
	return tick.tv_nsec < 1000000 ? 1 : tick.tv_nsec / 1000000;
}

static void late_create(uint64_t sectors)
{
	for (size_t i = 0; i < LATE_COUNT; i++) {
		char parameters[128];

		/* Reads and FLUSH without. */
		snprintf(parameters, sizeof(parameters), "%s 0 0 %s 0 %d %s 0 0", RECORDED_DISK, RECORDED_DISK,
			late_devices[i].ticks * tick_ms(), RECORDED_DISK);
		dm_create(late_devices[i].name, late_devices[i].node);
		dm_load(late_devices[i].name, sectors, "delay", parameters);
	}
}

static void late_remove(void)
{
	for (size_t i = 0; i < LATE_COUNT; i++)
		device_remove(late_devices[i].name);
	late.wanted = false;
}

/* As device mapper finds it at once: it would look a path up for each piece. */
static dev_t number_of(const char *node)
{
	struct stat status;

	if (stat(node, &status))
		die(node);
	return status.st_rdev;
}

void late_begin(uint64_t sectors)
{
	uint64_t unit = LATE_UNIT;
	dev_t devices[LATE_COUNT + 1];

	if (!late.wanted)
		return;
	while (sectors / unit > LATE_UNITS_IN_ALL)
		unit *= 2;
	devices[0] = number_of(RECORDED_DISK);
	for (size_t i = 0; i < LATE_COUNT; i++)
		devices[i + 1] = number_of(late_devices[i].node);
	table_start();
	for (uint64_t at = 0, length; at < sectors; at += length) {
		dev_t device = devices[late_draw(LATE_COUNT + 1)];
		char where[64];

		length = unit * (1 + late_draw(LATE_UNITS_MAX));
		if (length > sectors - at)
			length = sectors - at;
		snprintf(where, sizeof(where), "%u:%u %llu", major(device), minor(device), (unsigned long long)at);
		table_add(at, length, "linear", where);
	}
	if (!table_load("under"))
		die("the table of a late disk");
	late.on = true;
}

/* What is under way completes. */
void late_end(uint64_t sectors)
{
	if (late.on)
		under_table(sectors, "linear", RECORDED_DISK " 0");
	late.on = false;
}

/* with_under: above a device whose table may be changed meanwhile. */
void log_writes_create(uint64_t sectors, bool with_under)
{
	with_under |= late.wanted;
	has_under = with_under;
	if (late.wanted)
		late_create(sectors);
	if (with_under) {
		dm_create("under", UNDER_DEVICE);
		under_table(sectors, "linear", RECORDED_DISK " 0");
	}
	dm_create("recorded", log_writes_device);
	dm_load("recorded", sectors, "log-writes",
		with_under ? UNDER_DEVICE " " RECORDED_LOG : RECORDED_DISK " " RECORDED_LOG);
}

/* With a request of its own: threads set marks, too. */
void log_writes_mark(const char *mark)
{
	union {
		struct dm_ioctl header;
		char bytes[sizeof(struct dm_ioctl) + sizeof(struct dm_target_msg) + 64];
	} own = { 0 };
	struct dm_target_msg *message = (void *)(own.bytes + sizeof(own.header));

	own.header.version[0] = 4;
	own.header.data_size = sizeof(own);
	own.header.data_start = sizeof(own.header);
	name_in(&own.header, "recorded");
	snprintf(message->message, 64, "mark %s", mark);
	if (ioctl(control, DM_TARGET_MSG, &own))
		die("dm mark");
}

/*
 * log_writes_dtr() puts what was never flushed at the head of its queue (list_splice_init() where a tail is due),
 * so before entries that its thread has not written yet: a write of the unmount then stands in the log before
 * our marks. Seen on a busy machine, as a copy of the btrfs superblock: of 980 recordings held against the
 * disk itself 88 disagreed, and 42 with a FLUSH before it goes, after which nothing is left unflushed; those
 * had another cause (faults.c, drop_run()).
 */
void log_writes_flush(void)
{
	int file = open(log_writes_device, O_RDONLY);

	if (file < 0 || fsync(file))
		die("flush the recorded device");
	close(file);
}

/*
 * Of a device that a mount still holds. Its writes no longer come into the log, and the log is whole: the old table's
 * log_writes_dtr() waits for the thread that writes it. With a FLUSH alone the last entries could still be on their way,
 * and their places held zeros.
 */
void log_writes_detach(uint64_t sectors)
{
	log_writes_flush();
	whole_table("recorded", sectors, "linear", has_under ? UNDER_DEVICE " 0" : RECORDED_DISK " 0");
}

/* --- a power failure within a recording ---------------------------------------------------------- */

static bool has_gate;

void gate_create(uint64_t sectors)
{
	dm_create("gate", GATE_DEVICE);
	gate_drop(sectors, false);
	has_gate = true;
}

/* Whether what is written from here on gets lost. What is under way completes first. */
void gate_drop(uint64_t sectors, bool drops)
{
	whole_table("gate", sectors, drops ? "flakey" : "linear",
		    drops ? RECORDED_DEVICE " 0 " DOWN_ALWAYS " 1 drop_writes" : RECORDED_DEVICE " 0");
}

static void gate_remove(void)
{
	if (has_gate)
		device_remove("gate");
	has_gate = false;
}

void log_writes_remove(void)
{
	slices_remove(); /* they stay where a mount failed */
	gate_remove();
	log_writes_flush();
	memset(&request, 0, sizeof(request));
	if (dm(DM_DEV_REMOVE, "recorded", 0))
		die("dm remove recorded");
	if (has_under)
		device_remove("under");
	if (late.wanted)
		late_remove();
}

/* --- the disk of a state ----------------------------------------------------------------------- */

#define ORIGIN_BLOCKS (1 << 20) /* 4 GiB, more than any profile */
static unsigned char written[ORIGIN_BLOCKS / 8];
static uint64_t written_end; /* blocks */

void origin_write(const void *data, uint64_t offset, uint32_t length)
{
	for (uint64_t block = offset / BLOCK_BYTES; block * BLOCK_BYTES < offset + length; block++) {
		written[block / 8] |= 1 << block % 8;
		if (block >= written_end)
			written_end = block + 1;
	}
	proofs_written(data, offset, length);
	if (pwrite(origin, data, length, offset) != (ssize_t)length)
		die("write to the state's disk");
}

static bool is_written(uint64_t block)
{
	return block < written_end && written[block / 8] & 1 << block % 8;
}

/* Zero what was written since the last time: a ram disk starts as zeros and knows no discard. */
void origin_clear(void)
{
	static char zeros[64 * BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));

	for (uint64_t block = 0, length; block < written_end; block += length ? length : 1) {
		for (length = 0; length < 64 && is_written(block + length); length++)
			;
		if (length && pwrite(origin, zeros, length * BLOCK_BYTES, block * BLOCK_BYTES) !=
				      (ssize_t)(length * BLOCK_BYTES))
			die("clear the state's disk");
	}
	memset(written, 0, written_end / 8 + 1);
	written_end = 0;
	proofs_zeros();
}

/* What is in memory, on another device. */
void origin_copy(const char *path, uint64_t sectors)
{
	static char blocks[64 * BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));
	uint64_t all[2] = { 0, sectors * SECTOR_BYTES };
	int device = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);

	if (device < 0 || ioctl(device, BLKZEROOUT, all))
		die(path);
	for (uint64_t block = 0, length; block < written_end; block += length ? length : 1) {
		for (length = 0; length < 64 && is_written(block + length); length++)
			;
		ssize_t bytes = length * BLOCK_BYTES;

		if (bytes && (pread(origin, blocks, bytes, block * BLOCK_BYTES) != bytes ||
			      pwrite(device, blocks, bytes, block * BLOCK_BYTES) != bytes))
			die("copy the state's disk");
	}
	if (fsync(device))
		die(path);
	close(device);
}

static const char *read_option = "";

/* Whether the disk of the states to come reads ahead for those who ask it to; in other kernels it always does. */
void state_device_readahead(bool wanted)
{
	read_option = wanted ? "" : " no_readahead";
}

/*
 * What the target answers; it stands until the next answer. Device mapper copies a request whole, so a short one is tried
 * first.
 */
static const char *target_asked(const char *text)
{
	static union {
		struct dm_ioctl header;
		char bytes[1 << 14];
	} short_request;
	const char *found = asked_in(short_request.bytes, sizeof(short_request), "state", text);

	if (!found && errno == EOVERFLOW)
		found = device_asked("state", text);
	if (!found)
		die(text);
	return found;
}

/*
 * The sectors that were read of the state's disk since state_device(), as runs FIRST+COUNT in hexadecimal; NULL where the
 * kernel cannot tell.
 */
const char *state_device_read(void)
{
	return has_target ? target_asked("read") : NULL;
}

/* The same of the blocks that were written, as target_changes() reads them. */
const char *state_device_wrote(void)
{
	return has_target ? target_asked("written") : NULL;
}

static const char *target_device(uint64_t sectors)
{
	static uint64_t of_sectors;
	static const char *of_option;
	char parameters[64];

	if (of_sectors == sectors && of_option == read_option) {
		target_asked("reset");
		return STATE_DEVICE;
	}
	snprintf(parameters, sizeof(parameters), ORIGIN "%s", read_option);
	dm_load("state", sectors, "powercut", parameters);
	of_sectors = sectors;
	of_option = read_option;
	return STATE_DEVICE;
}

/*
 * The state's disk, its bytes untouched by any earlier recovery. STORE_TELLS is persistent, to learn what
 * was changed; the others are not, which spares recovery a write of metadata for each of its writes.
 */
const char *state_device(uint64_t sectors, enum store store)
{
	static const char *const small[2] = { SMALL_0, SMALL_1 }, *const whole[2] = { CHANGES_0, CHANGES_1 };
	static char zeros[BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));
	static bool created;
	char parameters[64];

	if (!created)
		dm_create("state", STATE_DEVICE);
	created = true;
	if (has_target)
		return target_device(sectors);
	turn = !turn;
	/* No header, no exceptions: the snapshot starts anew. */
	if (store == STORE_TELLS && pwrite(changes[turn], zeros, BLOCK_BYTES, 0) != BLOCK_BYTES)
		die("reset the exception store");
	snprintf(parameters, sizeof(parameters), ORIGIN " %s %c 8", (store == STORE_SMALL ? small : whole)[turn],
		 store == STORE_TELLS ? 'P' : 'N');
	dm_load("state", sectors, "snapshot", parameters);
	return STATE_DEVICE;
}

/*
 * What was written to it: USED/TOTAL METADATA in the snapshot's status, in sectors, counted when a chunk is
 * given away, that is before it is written. A store that tells counts its metadata among the used ones.
 * A full store says "Invalid" or "Overflow", and the snapshot fails all that comes (dm-snap.c).
 */
enum written state_device_written(void)
{
	struct dm_target_spec *target = (void *)(request.bytes + sizeof(request.header));
	const char *status = (char *)(target + 1);
	unsigned long long used, total, metadata;

	memset(&request, 0, sizeof(request.header));
	if (dm(DM_TABLE_STATUS, "state", 0))
		die("dm status");
	if (has_target)
		return strcmp(status, "0") ? strcmp(status, "Overflow") ? WRITTEN_SOMETHING : WRITTEN_TOO_MUCH :
					     WRITTEN_NOTHING;
	if (sscanf(status, "%llu/%llu %llu", &used, &total, &metadata) != 3)
		return WRITTEN_TOO_MUCH;
	return used == metadata ? WRITTEN_NOTHING : WRITTEN_SOMETHING;
}

/* Whether the target had no memory for a write: what the filesystem made of that is nothing to judge. */
bool state_device_failed(void)
{
	return has_target && state_device_written() == WRITTEN_TOO_MUCH;
}

struct disk_exception { /* drivers/md/dm-snap-persistent.c */
	uint64_t old_chunk;
	uint64_t new_chunk;
};

#define EXCEPTIONS_PER_AREA (BLOCK_BYTES / sizeof(struct disk_exception))

/* The same of the target. What it has of whole blocks it reads from memory alone. */
static uint32_t target_changes(char *buffer, size_t capacity, uint64_t *numbers)
{
	const char *run = target_asked("written");
	int device = open(STATE_DEVICE, O_RDONLY | O_DIRECT | O_CLOEXEC);
	unsigned long first, length;
	uint32_t count = 0;
	char kind;
	int used;

	if (device < 0)
		die(STATE_DEVICE);
	for (; sscanf(run, "%lx%c%lx %n", &first, &kind, &length, &used) == 3; run += used) {
		uint64_t sectors = kind == ':' ? length : 0;

		length = sectors ? 1 : length;
		if ((count + length) * BLOCK_BYTES > capacity)
			die("recovery wrote more than the outbox holds");
		if (pread(device, buffer + (size_t)count * BLOCK_BYTES, length * BLOCK_BYTES, first * BLOCK_BYTES) !=
		    (ssize_t)(length * BLOCK_BYTES))
			die("read the changed blocks");
		for (unsigned long i = 0; i < length; i++)
			numbers[count++] = (first + i) | sectors << CHANGED_SECTORS_SHIFT;
	}
	close(device);
	return count;
}

/*
 * Of STORE_TELLS: the blocks that recovery changed, their numbers, and their bytes in `buffer`. Area a of the store
 * is one block of exceptions followed by the blocks they lead to; chunk 0 is its header.
 */
uint32_t changes_read(char *buffer, size_t capacity, uint64_t *numbers)
{
	static struct disk_exception table[EXCEPTIONS_PER_AREA] __attribute__((aligned(BLOCK_BYTES)));
	uint32_t count = 0;

	if (has_target)
		return target_changes(buffer, capacity, numbers);
	for (uint64_t area = 0;; area++) {
		uint64_t chunk = 1 + area * (EXCEPTIONS_PER_AREA + 1);
		uint32_t in_area = 0;

		if (pread(changes[turn], table, BLOCK_BYTES, chunk * BLOCK_BYTES) != BLOCK_BYTES)
			die("read the exception store");
		while (in_area < EXCEPTIONS_PER_AREA && table[in_area].new_chunk)
			in_area++;
		for (uint32_t i = 0; i < in_area; i++) {
			if (table[i].new_chunk != chunk + 1 + i) /* ours alone: chunks come in order */
				die("exception store out of order");
			numbers[count + i] = table[i].old_chunk;
		}
		if ((size_t)(count + in_area) * BLOCK_BYTES > capacity)
			die("recovery wrote more than the outbox holds");
		ssize_t length = in_area * BLOCK_BYTES;

		if (length && pread(changes[turn], buffer + (size_t)count * BLOCK_BYTES, length,
				    (chunk + 1) * BLOCK_BYTES) != length)
			die("read the changed blocks");
		count += in_area;
		if (in_area < EXCEPTIONS_PER_AREA)
			return count;
	}
}
