// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workload on a device that fails.
 *
 * Its program is that of a recording (operations.c) with operations of the word `fault` in it, in the phase
 * "run" where the workload has them and "fault" where the host put them:
 *
 *   mode    what fails: drop-writes error-writes error-reads corrupt delay bad-sector, or off; probe
 *   name    error-writes: "flush" for FLUSH alone, "all" for FLUSH, too
 *   target  which sectors, START+COUNT joined by commas; "" for all
 *   offset  corrupt: the byte of each write, from 1; bad-sector: which
 *   length  corrupt: its value; delay: milliseconds
 *
 * Devices, each above the next:
 *
 *   /dev/faulty  what is mounted: pieces of the state's disk, those under the fault by way of `bad`. Behind its
 *                end lies a piece of a disk with a write cache, since a ram disk has none and the block layer
 *                then sends no FLUSH (blk-core.c, submit_bio_noacct()); `error-writes flush` fails that piece,
 *                for device mapper sends a FLUSH to every target.
 *   bad          the state's disk through the target that fails: dm-flakey, dm-dust, dm-delay. As it has no
 *                write cache it never sees a FLUSH, so an error of one write is no error of a FLUSH.
 *   /dev/state   the state's disk, a snapshot: the next run drops it (device.c)
 *
 * Afterwards the same disk is mounted on a sound device, walked and probed as a state is (recover.c).
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define BAD_DEVICE "/dev/bad"
#define FLUSHED RECORDED_LOG /* lends its write cache; nothing is written there */
#define FLUSHED_SECTORS 8
#define SEGMENTS_MAX 512

static uint64_t sectors; /* of the filesystem */
static int bad_minor;
static bool refused;

/* --- the devices ------------------------------------------------------------------------------- */

static bool bad_table(const char *type, const char *format, unsigned int a, unsigned int b)
{
	struct segment all = { 0, sectors, type, "" };

	snprintf(all.parameters, sizeof(all.parameters), format, a, b);
	return device_table("bad", &all, 1);
}

static bool bad_sound(void)
{
	return bad_table("linear", STATE_DEVICE " 0", 0, 0);
}

static struct segment *add(struct segment *end, uint64_t start, uint64_t length, const char *device)
{
	*end = (struct segment){ start, length, "linear", "" };
	snprintf(end->parameters, sizeof(end->parameters), "%s %llu", device, (unsigned long long)start);
	return end + !!length;
}

/* Which sectors lead through `bad`, in ascending order, and whether a FLUSH fails. */
static void faulty_table(char *ranges, bool everything, bool flush_fails)
{
	static struct segment segments[SEGMENTS_MAX];
	struct segment *end = segments;
	uint64_t at = 0;
	char *range;

	while ((range = strsep(&ranges, ",")) && *range) {
		unsigned long long start, count;

		if (sscanf(range, "%llu+%llu", &start, &count) != 2 || start < at || start + count > sectors ||
		    end > segments + SEGMENTS_MAX - 4)
			die("ranges of a fault");
		end = add(end, at, start - at, STATE_DEVICE);
		end = add(end, start, count, BAD_DEVICE);
		at = start + count;
	}
	end = add(end, at, sectors - at, everything ? BAD_DEVICE : STATE_DEVICE);
	*end = (struct segment){ sectors, FLUSHED_SECTORS, flush_fails ? "flakey" : "linear", FLUSHED " 0" };
	if (flush_fails)
		strcpy(end->parameters, FLUSHED " 0 " DOWN_ALWAYS " 1 error_writes");
	if (!device_table("faulty", segments, end + 1 - segments))
		die("the faulty device's table");
}

/* The same disk, sound from now on. */
static void fault_off(void)
{
	if (!bad_sound())
		die("the bad device's table");
	faulty_table(NULL, false, false);
}

static void devices_start(void)
{
	struct stat status;

	state_device(sectors, STORE_WHOLE);
	if (!bad_minor) {
		device_create("bad", BAD_DEVICE);
		device_create("faulty", FAULTY_DEVICE);
		if (stat(BAD_DEVICE, &status))
			die(BAD_DEVICE);
		bad_minor = minor(status.st_rdev);
	}
	fault_off();
}

/* They let go of the state's disk, which the next state needs for itself. */
static void devices_end(void)
{
	struct segment nothing = { 0, sectors, "error", "" };

	if (!device_table("faulty", &nothing, 1) || !device_table("bad", &nothing, 1))
		die("the end of the faulty device");
}

/* Completed reads and writes of `bad`: Documentation/block/stat.rst. */
static void bad_count(unsigned long long *reads, unsigned long long *writes)
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/sys/block/dm-%d/stat", bad_minor);
	int file = open(path, O_RDONLY);
	ssize_t length = file < 0 ? -1 : read(file, line, sizeof(line) - 1);

	close(file);
	line[length < 0 ? 0 : length] = 0;
	if (sscanf(line, "%llu %*u %*u %*u %llu", reads, writes) != 2)
		die(path);
}

/* --- faults ------------------------------------------------------------------------------------ */

static bool is(const struct operation *operation, const char *mode)
{
	return !strcmp(operation->mode, mode);
}

static bool fail_sector(uint64_t sector)
{
	char message[64];

	if (!bad_table("dust", STATE_DEVICE " 0 512", 0, 0) || !device_message("bad", "quiet"))
		return false;
	snprintf(message, sizeof(message), "addbadblock %llu", (unsigned long long)sector);
	return device_message("bad", message) && device_message("bad", "enable");
}

static bool make_bad(const struct operation *operation)
{
#define FLAKEY STATE_DEVICE " 0 " DOWN_ALWAYS " "
	if (is(operation, "drop-writes"))
		return bad_table("flakey", FLAKEY "1 drop_writes", 0, 0);
	if (is(operation, "error-writes"))
		return bad_table("flakey", FLAKEY "1 error_writes", 0, 0);
	if (is(operation, "error-reads"))
		return bad_table("flakey", FLAKEY "1 error_reads", 0, 0);
	if (is(operation, "corrupt")) {
		/*
		 * Before 1d9a94389853 ("dm flakey: clone pages on write before corrupting them") (in v6.5) the
		 * page cache was corrupted, too. The same series brought random_write_corrupt, which tells.
		 */
		if (!bad_table("flakey", FLAKEY "2 random_write_corrupt 0", 0, 0))
			return false;
		return bad_table("flakey", FLAKEY "5 corrupt_bio_byte %u w %u 0", operation->offset,
				 operation->length);
	}
	if (is(operation, "delay"))
		return bad_table("delay", STATE_DEVICE " 0 %u", operation->length, 0);
	return is(operation, "bad-sector") && fail_sector(operation->offset);
}

static void change_fault(const struct operation *operation)
{
	bool flush_alone = !strcmp(operation->name, "flush");

	if (is(operation, "off")) {
		fault_off();
		return;
	}
	if (!flush_alone && !make_bad(operation)) {
		refused = true;
		return;
	}
	faulty_table(operation->target, !operation->target[0] && !flush_alone,
		     flush_alone || !strcmp(operation->name, "all"));
}

/* Whether the filesystem still takes what it is given: a file without a name, written and synced. */
static void put_after(struct text *out)
{
	static const char bytes[BLOCK_BYTES] = "powercut-probe\n";
	struct statvfs status;
	const char *failed = "";
	int error = 0;
	int file = open(MOUNT_POINT, O_TMPFILE | O_WRONLY, 0600);

	if (file < 0)
		failed = "create", error = errno;
	else if (write(file, bytes, sizeof(bytes)) != sizeof(bytes))
		failed = "write", error = errno;
	else if (fsync(file))
		failed = "fsync", error = errno;
	close(file);
	put(out, "\"readonly\":%s,", !statvfs(MOUNT_POINT, &status) && status.f_flag & ST_RDONLY ? "true" : "false");
	if (file >= 0 || error != EOPNOTSUPP) /* nilfs2 has no files without a name */
		put(out, "\"after_call\":\"%s\",\"after_errno\":%d,", failed, error);
}

/* --- one run ----------------------------------------------------------------------------------- */

static void perform(const struct operation *operation, bool first)
{
	unsigned long long reads_before, writes_before, reads, writes;

	bad_count(&reads_before, &writes_before);
	/* A device that fails and code that does are two experiments: this one is about the device. */
	bool of_code = !strcmp(operation->word, "errortag");
	int result = of_code ? -EOPNOTSUPP : do_operation(operation) ? -errno : 0;
	uint64_t left = left_by_rename(operation);

	if (!strcmp(operation->word, "fault"))
		change_fault(operation);
	bad_count(&reads, &writes);
	put(&report, first ? "" : ",");
	put_step(operation, result, left);
	put(&report, ",\"bad_reads\":%llu,\"bad_writes\":%llu}", reads - reads_before, writes - writes_before);
}

static void perform_all(struct program *program, struct text *after)
{
	struct operation operation;
	bool running = false, first = true;

	while (!refused && next_operation(program, &operation)) {
		bool of_host = !operation.run && !strcmp(operation.word, "fault");

		if ((operation.run || of_host) && !running) {
			sync();
			running = true;
		}
		if (of_host && is(&operation, "probe")) {
			if (is_mounted())
				put_after(after);
		} else if (of_host) {
			change_fault(&operation);
		} else {
			perform(&operation, first);
			first = false;
		}
	}
}

/* The fault, and then what came back: {"fault":{...},"mount_errno":0,...}. As recover(), whether it is
 * unmounted again. */
static bool put_recovered(struct text *fault, const struct program *program)
{
	struct recovery recovery = { .device = FAULTY_DEVICE, .filesystem = program->filesystem,
				     .options = program->options, .verbose = true };

	bool unmounted = recover(&recovery, NULL);

	put(fault, "},");
	put_bytes(fault, report.bytes + 1, report.length - 1);
	report.length = 0;
	put_bytes(&report, fault->bytes, fault->length);
	return unmounted;
}

void fault_run(char *text)
{
	static struct text fault, after;
	struct program program = program_start(text);

	if (!fault.bytes)
		text_start(&fault, 1 << 16), text_start(&after, 1 << 10);
	sectors = program.sectors;
	refused = false;
	report.length = fault.length = after.length = 0;
	devices_start();
	clear_kernel_log();
	int error = enter(FAULTY_DEVICE, &program) ? errno : 0;

	put(&report, "{\"fault\":{\"mount_errno\":%d,\"root_inode\":%llu", error,
	    (unsigned long long)(error ? 0 : root_inode()));
	put_queue(FAULTY_DEVICE);
	put(&report, ",\"steps\":[");
	answer("stage run");
	if (!error)
		perform_all(&program, &after);
	put(&report, "],");
	put_bytes(&report, after.bytes, after.length);
	close_all_kept();
	answer("stage unmount of the failing device");
	error = leave() ? errno : 0; /* EINVAL after umount as the last word */
	answer("stage fault off");
	fault_off();
	put(&report, "\"refused\":%s,\"umount_errno\":%d,\"open_count\":%d,\"kernel_log\":", refused ? "true" : "false",
	    error, device_open_count("faulty"));
	put_kernel_log(&report);
	put_bytes(&fault, report.bytes, report.length);
	bool unmounted = !error || error == EINVAL;

	if (unmounted && !refused)
		unmounted = put_recovered(&fault, &program);
	else
		put(&report, unmounted ? "}}" : "},\"used_up\":true}");
	if (unmounted)
		devices_end();
}

/* --- a block that fails while a state is recovered ------------------------------------------------ */

/*
 * XFS tries a write of metadata that failed again, forever (Documentation/admin-guide/xfs.rst, "Error handling"), so a mount
 * waits as long as its block fails. A thread makes the device sound after FAILS_S: who still waits then hangs.
 */
#define FAILS_S 5

static pthread_t healer;
static pthread_mutex_t healer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t healer_told;
static bool healer_runs, needed_no_more;

static void *heal(void *nothing)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FAILS_S;
	pthread_mutex_lock(&healer_lock);
	while (!needed_no_more && pthread_cond_timedwait(&healer_told, &healer_lock, &until) != ETIMEDOUT)
		;
	if (!needed_no_more)
		fault_off();
	pthread_mutex_unlock(&healer_lock);
	return nothing;
}

static void healer_start(void)
{
	pthread_condattr_t clock;

	needed_no_more = false;
	if (pthread_condattr_init(&clock) || pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) ||
	    pthread_cond_init(&healer_told, &clock) || pthread_create(&healer, NULL, heal, NULL))
		die("a thread for a failing device");
	pthread_condattr_destroy(&clock);
	healer_runs = true;
}

/* From here on the device is sound, and nobody else changes it. */
void failing_over(void)
{
	if (healer_runs) {
		pthread_mutex_lock(&healer_lock);
		needed_no_more = true;
		pthread_cond_signal(&healer_told);
		pthread_mutex_unlock(&healer_lock);
		if (pthread_join(healer, NULL))
			die("the end of a failing device");
		pthread_cond_destroy(&healer_told);
		healer_runs = false;
	}
	fault_off();
}

/* The disk of the state, made new, by way of FAULTY_DEVICE. False where the kernel has no such fault. */
bool failing_start(uint64_t all_sectors, uint64_t block, bool on_write)
{
	char where[32];
	struct operation fault = { .word = "fault", .mode = on_write ? "error-writes" : "error-reads", .name = "",
				   .target = where };

	snprintf(where, sizeof(where), "%llu+%d", (unsigned long long)block * (BLOCK_BYTES / SECTOR_BYTES),
		 BLOCK_BYTES / SECTOR_BYTES);
	sectors = all_sectors;
	refused = false;
	devices_start();
	change_fault(&fault);
	if (!refused)
		healer_start();
	return !refused;
}

void failing_end(void)
{
	devices_end();
}

/* --- dropped writes under a recording, to hold the two against each other -------------------------- */

/*
 * A recording, but from the mark "cut" on, which stands where the program ends, the device under it drops all
 * that is written: the recorded disk keeps what had reached it then. The log goes on, to the mark "end".
 */
void drop_run(char *text)
{
	struct program program = program_start(text);
	struct operation operation;
	bool running = false, first = true;

	report.length = 0;
	clear_kernel_log();
	log_writes_create(program.sectors, true);
	int error = enter(log_writes_device, &program) ? errno : 0;

	put(&report, "{\"mount_errno\":%d,\"root_inode\":%llu", error, (unsigned long long)(error ? 0 : root_inode()));
	put_queue(log_writes_device);
	put(&report, ",\"steps\":[");
	while (!error && next_operation(&program, &operation)) {
		if (operation.run && !running) {
			sync();
			log_writes_mark("run");
			running = true;
		}
		int result = do_operation(&operation) ? -errno : 0;

		put(&report, first ? "" : ",");
		put_step(&operation, result, left_by_rename(&operation));
		put(&report, "}");
		first = false;
	}
	struct timespec clock;

	log_writes_mark("cut");
	clock_gettime(CLOCK_REALTIME_COARSE, &clock); /* as the kernel stamps inodes */
	under_table(program.sectors, "flakey", RECORDED_DISK " 0 " DOWN_ALWAYS " 1 drop_writes");
	log_writes_mark("dropped");
	close_all_kept();
	leave();
	log_writes_flush(); /* what never was gets into the log all the same, and explains what it did to the disk */
	log_writes_mark("end");
	log_writes_remove();
	put(&report, "],\"cut_ns\":%lld,\"kernel_log\":", nanoseconds(&clock));
	put_kernel_log(&report);
	put(&report, "}");
}

/* What a mount of that disk finds, under the name by which btrfs knows it. */
void drop_walk(const char *filesystem, const char *options)
{
	int disk = open(RECORDED_DISK, O_RDONLY);
	struct segment all = { 0, lseek(disk, 0, SEEK_END) / SECTOR_BYTES, "linear", RECORDED_DISK " 0" };

	close(disk);
	report.length = 0;
	device_create("recorded", log_writes_device);
	if (!device_table("recorded", &all, 1))
		die("linear");
	int error = mount_filesystem(log_writes_device, filesystem, options);

	put(&report, "{\"mount_errno\":%d", error);
	if (!error) {
		put(&report, ",\"tree\":");
		walk(&report);
		if (umount2(MOUNT_POINT, 0))
			die("unmount");
	}
	device_remove("recorded");
	put(&report, ",\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, "}");
}
