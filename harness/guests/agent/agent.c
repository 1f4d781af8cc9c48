// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands and answers, lines on LINE. The agent starts with `ready`; an empty line is no command.
 *
 *   record BYTES                                report BYTES      program in the inbox, report in the outbox
 *   counters                                    counters BYTES    those of the last record, in the outbox
 *   count                                       counting          the counters are set to zero
 *   counted FS                                  counters BYTES    those of a filesystem since then, in the outbox
 *   faults WANTS BYTES                          stage NAME, report BYTES     a run on a device that fails,
 *                                               above the disk of the state as it stands (faults.c)
 *   late SEED BYTES                             the same as record, on a disk that is late (device.c)
 *   drop BYTES                                  report BYTES      a recording whose device drops writes at its end
 *   dropped WANTS FS OPTIONS                    report BYTES      what a mount of that disk finds
 *   clear                                       cleared
 *   check OFFSET BYTES SECTORS FS OPTIONS       one a state: told SEQUENCE REPORT; same SEQUENCE for the
 *                                               report told last; done SEQUENCE BYTES for one in the outbox;
 *                                               proven SEQUENCE EARLIER where nothing differs of what the
 *                                               recovery of an earlier one read.
 *                                               built, one a request that only moves the disk forward;
 *                                               stage NAME when verbose
 *   ondisk WANTS SECTORS FS OPTIONS             report BYTES      the disk of the state, copied to the recorded
 *                                               disk and recovered there
 *   recovery SECTORS FS OPTIONS                 recovery ERRNO    of the recorded disk; its log is the log device
 *   afterwards ASKS SECTORS FS OPTIONS          report LENGTH     of the recorded disk, which is used after its recovery
 *   fresh SECTORS                               fresh: the disk of the state, as before its recovery
 *   digest SECTORS                              digest CRC32
 *   bare DEVICE FS OPTIONS COUNT                bare MILLISECONDS
 *   restart FS OPTIONS FIRST COUNT              restart MILLISECONDS
 *   programs                                    programs: the host's, in the guest
 *   enter FS OPTIONS                            entered ERRNO MILLISECONDS: the plain disk is mounted
 *   execute BYTES SECONDS                       executed BYTES      script in the inbox, report in the outbox
 *   leave                                       left ERRNO MILLISECONDS
 *   program BYTES                               report BYTES      program in the inbox, report in the outbox, and
 *                                               behind it what the program wrote (tracer.c)
 *   application BYTES                           report BYTES      program in the inbox: its script, on the disk of
 *                                               the state as it stands (application.c)
 *   off
 *
 * OPTIONS is "-" for none. A state in the inbox is a struct request, its writes, padding to a
 * sector, and the data of each write in turn. An answer in the outbox is a struct reply, the
 * report, the numbers of the changed blocks, padding to a block, the blocks, and the counters (counters.c) of a
 * request that wants them.
 */
#include "agent.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MAGIC 0x50435251 /* "PCRQ" */
#define REPLY_MAGIC 0x50435250 /* "PCRP" */
#define BUFFER_BYTES (16 << 20)
#define LINE_REPORT_BYTES 8192 /* a longer report goes through the outbox */
#define LINE_WAIT_MS 5000

enum {
	WANT_CHANGES = 1,
	VERBOSE = 2,
	BUILD_ONLY = 4,
	WANT_FLAGS = 8,
	FIRST_PROBE = 16,
	WANT_EXTENTS = 32,
	WANT_TIMES = 64,
	WANT_READS = 128,
	WANT_DIRECTORY_TIMES = 256,
	WANT_HASHES = 512,
	READ_ONLY_FIRST = 1024,
	WANT_ATTRIBUTE_HASHES = 2048,
	WANT_COUNTERS = 4096,
	WANT_PROOFS = 8192,
	FORGET_PROOFS = 16384, /* of another log */
	NO_READAHEAD = 32768,
	AUDIT = 65536, /* what is proven is recovered all the same */
	READ_FAILS = 131072, /* of the block `failing`, until recovery has ended */
	WRITE_FAILS = 262144,
	WANT_EMPTY_ROOM = 524288,
	WANT_SCRUB = 1048576, /* and then do without the device `lost` */
	WANT_QUOTA = 2097152,
};

struct write { /* kind 0: data follows; 1: zeros */
	uint64_t offset;
	uint32_t length;
	uint32_t kind;
};

struct request {
	uint32_t magic;
	uint32_t sequence;
	uint32_t flags;
	uint32_t write_count;
	uint64_t outbox_offset;
	uint64_t outbox_bytes;
	uint64_t failing; /* a block of 4 KiB */
	uint64_t lost; /* -1: none */
};

struct reply {
	uint32_t magic;
	uint32_t sequence;
	uint32_t report_bytes;
	uint32_t change_count;
	uint32_t counter_bytes;
	uint32_t proven; /* 1: an audit of what the recovery of `earlier` proves */
	uint32_t earlier;
	uint32_t unused;
};

static int line_out = 2;
static char *in, *out;

double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void write_line(const char *line, size_t length)
{
	while (length) {
		ssize_t done = write(line_out, line, length);

		if (done <= 0)
			_exit(1);
		line += done;
		length -= done;
	}
}

void answer(const char *format, ...)
{
	static char line[1024];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line) - 1, format, arguments);

	va_end(arguments);
	if (length > (int)sizeof(line) - 2)
		length = sizeof(line) - 2;
	line[length++] = '\n';
	write_line(line, length);
}

/* The guest's names, from the kernel's command line (init gets what the kernel does not know); else UML's. */
static const char *own_name(const char *variable, const char *of_uml)
{
	const char *name = getenv(variable);

	return name ? name : of_uml;
}

/* x86 has no power button without ACPI, and QEMU ends at a reboot; UML would begin anew at one. */
static __attribute__((noreturn)) void end(void)
{
	if (on_machine)
		_exit(0);
	reboot(getenv("POWERCUT_LINE") ? RB_AUTOBOOT : RB_POWER_OFF);
	_exit(1);
}

void die(const char *what)
{
	answer("trouble %s: %s", what, errno_name(errno));
	end();
}

static int inbox = -1, outbox = -1;

static void read_file(int file, void *buffer, size_t bytes, uint64_t offset)
{
	bytes = (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
	if (file < 0 || bytes > BUFFER_BYTES || pread(file, buffer, bytes, offset) != (ssize_t)bytes)
		die("read a device");
}

static void write_outbox(size_t bytes, uint64_t offset)
{
	bytes = (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
	if (pwrite(outbox, out, bytes, offset) != (ssize_t)bytes)
		die(OUTBOX);
}

/* From a buffer that is aligned to blocks; length and offset are sectors. */
void outbox_put(const void *bytes, size_t length, uint64_t offset)
{
	if (pwrite(outbox, bytes, length, offset) != (ssize_t)length)
		die(OUTBOX);
}

static void report_by_outbox(void)
{
	if (report.length > BUFFER_BYTES)
		die("report too long");
	memcpy(out, report.bytes, report.length);
	write_outbox(report.length, 0);
	answer("report %zu", report.length);
}

/* Something that is done with a program in the inbox, and reports. */
static void command_program(void (*perform)(char *), size_t bytes)
{
	if (bytes >= BUFFER_BYTES)
		die("program too long");
	read_file(inbox, in, bytes, 0);
	in[bytes] = 0;
	perform(in);
	report_by_outbox();
}

static void command_execute(size_t bytes, double seconds)
{
	if (bytes >= BUFFER_BYTES)
		die("execute: script too long");
	read_file(inbox, in, bytes, 0);
	programs_execute(in, bytes, seconds);
	if (report.length > BUFFER_BYTES)
		die("execute: report too long");
	memcpy(out, report.bytes, report.length);
	write_outbox(report.length, 0);
	answer("executed %zu", report.length);
}

static void command_counters(void)
{
	const struct text *kept = counters_kept();

	if (kept->length > BUFFER_BYTES)
		die("counters: too many");
	memcpy(out, kept->bytes, kept->length);
	write_outbox(kept->length, 0);
	answer("counters %zu", kept->length);
}

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static char *apply(const struct request *request, char *at)
{
	static char zeros[1 << 16] __attribute__((aligned(BLOCK_BYTES)));
	const struct write *writes = (const void *)(request + 1);

	for (uint32_t i = 0; i < request->write_count; i++) {
		if (writes[i].kind == 0) {
			origin_write(at, writes[i].offset, writes[i].length);
			at += writes[i].length;
			continue;
		}
		for (uint32_t done = 0; done < writes[i].length;) {
			uint32_t length = writes[i].length - done;

			length = length < sizeof(zeros) ? length : sizeof(zeros);
			origin_write(zeros, writes[i].offset + done, length);
			done += length;
		}
	}
	return at;
}

/* The answer to a request that wants the changed blocks, or whose report is long. */
static void reply_by_outbox(const struct request *request, const struct changed_blocks *changed, int64_t earlier)
{
	const struct text *counters = counters_kept();
	size_t counter_bytes = request->flags & WANT_COUNTERS ? counters->length : 0;
	struct reply reply = { REPLY_MAGIC, request->sequence, report.length, changed->count, counter_bytes,
			       earlier >= 0, earlier >= 0 ? earlier : 0, 0 };
	size_t head = round_up(sizeof(reply) + report.length + changed->count * sizeof(uint64_t), BLOCK_BYTES);
	size_t blocks_end = head + (size_t)changed->count * BLOCK_BYTES;
	size_t bytes = blocks_end + counter_bytes;

	if (bytes > request->outbox_bytes || bytes > BUFFER_BYTES)
		die("the answer is larger than its place in the outbox");
	memcpy(out, &reply, sizeof(reply));
	memcpy(out + sizeof(reply), report.bytes, report.length);
	memcpy(out + sizeof(reply) + report.length, changed->numbers, changed->count * sizeof(uint64_t));
	memcpy(out + head, changed->bytes, (size_t)changed->count * BLOCK_BYTES);
	memcpy(out + blocks_end, counters->bytes, counter_bytes);
	write_outbox(bytes, request->outbox_offset);
	answer("done %u %zu", request->sequence, bytes);
}

/* The report of the last state: neighbours often come back alike, and then a word says it. */
static struct text told;

static void reply_by_line(const struct request *request)
{
	static char line[LINE_REPORT_BYTES + 64];

	if (report.length == told.length && !memcmp(report.bytes, told.bytes, report.length)) {
		answer("same %u", request->sequence);
		return;
	}
	int head = sprintf(line, "told %u ", request->sequence);

	memcpy(line + head, report.bytes, report.length);
	line[head + report.length] = '\n';
	told.length = 0;
	put_bytes(&told, report.bytes, report.length);
	write_line(line, head + report.length + 1);
}

static void set_walk_asks(uint32_t flags)
{
	walk_asks = (struct walk_asks){ flags & WANT_FLAGS, flags & WANT_EXTENTS, flags & WANT_TIMES,
					flags & WANT_DIRECTORY_TIMES, flags & WANT_HASHES,
					flags & WANT_ATTRIBUTE_HASHES };
}

static void check_state(const struct request *request, uint64_t sectors, const char *filesystem,
			const char *options)
{
	bool first_probe = request->flags & FIRST_PROBE, scrub = request->flags & WANT_SCRUB;
	/* What a scrub finds is of all that is on the disk. */
	bool proofs = request->flags & WANT_PROOFS && !scrub;
	int64_t earlier = proofs ? proofs_find(&first_probe) : -1;
	static uint64_t numbers[BUFFER_BYTES / BLOCK_BYTES + 256]; /* a last area may go past */
	/* The report and the numbers go before the blocks, but how long they are is known after. */
	static char *blocks;

	if (!blocks && posix_memalign((void **)&blocks, BLOCK_BYTES, BUFFER_BYTES))
		die("blocks");
	struct changed_blocks changed = { 0, numbers, blocks, BUFFER_BYTES };
	bool want_changes = request->flags & WANT_CHANGES;
	enum store store = want_changes ? STORE_TELLS : STORE_SMALL;
	struct recovery recovery = { .device = STATE_DEVICE,
				     .filesystem = filesystem,
				     .options = options,
				     .verbose = request->flags & VERBOSE,
				     .first_probe = first_probe,
				     .reads = request->flags & WANT_READS,
				     .read_only_first = request->flags & READ_ONLY_FIRST,
				     .empty_room = request->flags & WANT_EMPTY_ROOM,
				     .quota = request->flags & WANT_QUOTA,
				     .scrub = scrub,
				     .lost = request->lost,
				     .counters = request->flags & WANT_COUNTERS };

	if (earlier >= 0 && !(request->flags & AUDIT)) {
		answer("proven %u %u", request->sequence, (uint32_t)earlier);
		return;
	}
	set_walk_asks(request->flags);
	state_device_readahead(!(request->flags & NO_READAHEAD));
	if (request->flags & (READ_FAILS | WRITE_FAILS)) {
		bool unmounted = recover_failing(&recovery, sectors, request->failing, request->flags & WRITE_FAILS);

		reply_by_outbox(request, &changed, -1);
		if (!unmounted)
			die("an unmount failed: the disk of the state stays busy");
		return;
	}
	state_device(sectors, store);
	bool unmounted = recover(&recovery, want_changes ? &changed : NULL);

	/* What a full store makes the kernel say; its own status decides. */
	if (unmounted && store == STORE_SMALL && memmem(report.bytes, report.length, "device-mapper: snapshots", 24) &&
	    state_device_written() == WRITTEN_TOO_MUCH) {
		state_device(sectors, STORE_WHOLE);
		unmounted = recover(&recovery, NULL);
	}
	if (unmounted && state_device_failed())
		die("memory for what a recovery wrote");
	if (unmounted && proofs)
		proofs_add(request->sequence, first_probe);
	if (want_changes || recovery.counters || earlier >= 0 || report.length > LINE_REPORT_BYTES)
		reply_by_outbox(request, &changed, earlier);
	else
		reply_by_line(request);
	if (!unmounted)
		die("an unmount failed: the disk of the state stays busy");
}

static void command_check(uint64_t offset, size_t bytes, uint64_t sectors, const char *filesystem,
			  const char *options)
{
	read_file(inbox, in, bytes, offset);
	for (char *at = in; at < in + bytes;) {
		struct request *request = (void *)at;

		if (request->magic != REQUEST_MAGIC)
			die("inbox: no request");
		char *data = at + round_up(sizeof(*request) + request->write_count * sizeof(struct write), SECTOR_BYTES);

		if (request->flags & FORGET_PROOFS)
			proofs_forget();
		at = apply(request, data);
		if (request->flags & BUILD_ONLY)
			answer("built");
		else
			check_state(request, sectors, filesystem, options);
	}
}

/* The state in memory on the recorded disk, and recovered there. */
static void command_on_disk(uint32_t flags, uint64_t sectors, const char *filesystem, const char *options)
{
	struct recovery recovery = { .device = RECORDED_DISK, .filesystem = filesystem, .options = options, .plain = true };

	set_walk_asks(flags);
	origin_copy(RECORDED_DISK, sectors);
	bool unmounted = recover(&recovery, NULL);

	report_by_outbox();
	if (!unmounted)
		die("an unmount failed: the recorded disk stays busy");
}

/* CRC-32 of IEEE 802.3, as zlib.crc32 gives it. */
uint32_t crc_of(const char *device, uint64_t sectors)
{
	uint32_t table[256], crc = ~0U;
	uint64_t bytes = sectors * SECTOR_BYTES;
	int file = open(device, O_RDONLY | O_DIRECT);

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (uint64_t at = 0; at < bytes;) {
		size_t length = bytes - at < 1 << 20 ? bytes - at : 1 << 20;

		read_file(file, in, length, at);
		for (size_t i = 0; i < length; i++)
			crc = crc >> 8 ^ table[(crc ^ in[i]) & 0xff];
		at += length;
	}
	close(file);
	return ~crc;
}

static const char *or_none(const char *options)
{
	return strcmp(options, "-") ? options : "";
}

static void obey(char *line)
{
	char word[32] = "", first[64] = "", filesystem[32] = "", options[512] = "";
	unsigned long long a = 0, b = 0, c = 0;
	double seconds = 0;
	int count = 0;

	sscanf(line, "%31s", word);
	if (!word[0])
		return; /* the host nudges a line that may have lost an edge (guest.py) */
	if (sscanf(line, "record %llu", &a) == 1)
		command_program(record, a);
	else if (sscanf(line, "late %llu %llu", &a, &b) == 2)
		late_want(a), command_program(record, b);
	else if (sscanf(line, "faults %d %llu", &count, &a) == 2)
		set_walk_asks(count), command_program(fault_run, a);
	else if (sscanf(line, "drop %llu", &a) == 1)
		command_program(drop_run, a);
	else if (sscanf(line, "dropped %d %31s %511s", &count, filesystem, options) == 3)
		set_walk_asks(count), drop_walk(filesystem, or_none(options)), report_by_outbox();
	else if (!strcmp(word, "counters"))
		command_counters();
	else if (!strcmp(word, "count"))
		counters_reset(), answer("counting");
	else if (sscanf(line, "counted %31s", filesystem) == 1)
		counters_keep(filesystem), command_counters();
	else if (!strcmp(word, "clear"))
		origin_clear(), told.length = 0, answer("cleared");
	else if (sscanf(line, "check %llu %llu %llu %31s %511s", &a, &b, &c, filesystem, options) == 5)
		command_check(a, b, c, filesystem, or_none(options));
	else if (sscanf(line, "ondisk %d %llu %31s %511s", &count, &a, filesystem, options) == 4)
		command_on_disk(count, a, filesystem, or_none(options));
	else if (sscanf(line, "recovery %llu %31s %511s", &a, filesystem, options) == 3)
		answer("recovery %d", record_recovery(a, filesystem, or_none(options)));
	else if (sscanf(line, "afterwards %d %llu %31s %511s", &count, &a, filesystem, options) == 4)
		set_walk_asks(count), record_afterwards(a, filesystem, or_none(options)), report_by_outbox();
	else if (sscanf(line, "fresh %llu", &a) == 1)
		state_device(a, STORE_SMALL), answer("fresh");
	else if (sscanf(line, "digest %llu", &a) == 1)
		answer("digest %u", crc_of(ORIGIN, a));
	else if (sscanf(line, "bare %63s %31s %511s %d", first, filesystem, options, &count) == 4)
		bare_loop(first, filesystem, or_none(options), count);
	else if (sscanf(line, "restart %31s %511s %llu %d", filesystem, options, &a, &count) == 4)
		restart_loop(filesystem, or_none(options), a, count);
	else if (!strcmp(word, "programs"))
		programs_mount();
	else if (sscanf(line, "enter %31s %511s", filesystem, options) == 2)
		programs_enter(filesystem, or_none(options));
	else if (sscanf(line, "execute %llu %lf", &a, &seconds) == 2)
		command_execute(a, seconds);
	else if (sscanf(line, "program %llu", &a) == 1)
		command_program(trace_record, a);
	else if (sscanf(line, "application %llu", &a) == 1)
		command_program(application, a);
	else if (!strcmp(word, "leave"))
		programs_leave();
	else if (!strcmp(word, "off"))
		end();
	else
		die("unknown command");
}

static void name_devices(void)
{
	static const char *const names[] = { RECORDED_DISK, RECORDED_LOG, INBOX, OUTBOX };
	const char *prefix = own_name("POWERCUT_BLOCK", "/dev/ubd");
	char own[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(own, sizeof(own), "%s%c", prefix, (char)('a' + i));
		symlink(own, names[i]);
	}
	symlink(own_name("POWERCUT_LINE", "/dev/ttyS0"), LINE);
}

/* A port of virtio-serial comes a little after init: it is announced by a message of its own. */
static int open_when_there(const char *path)
{
	int file = -1;

	for (int i = 0; i < LINE_WAIT_MS && file < 0; i++) {
		file = open(path, O_RDWR | O_NOCTTY);
		if (file < 0)
			usleep(1000);
	}
	return file;
}

static int open_line(void)
{
	int line = open_when_there(LINE);
	struct termios raw;

	if (line < 0)
		_exit(1);
	if (!tcgetattr(line, &raw)) { /* a tty, and no port */
		cfmakeraw(&raw);
		tcsetattr(line, TCSANOW, &raw);
	}
	return line;
}

static void mount_own(void)
{
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
}

/* A machine without a clock of its own begins in 1970: what time it is stands on its kernel's command line. */
static void set_clock(void)
{
	const char *seconds = getenv("POWERCUT_TIME");
	struct timespec now = { .tv_sec = seconds ? strtoll(seconds, NULL, 10) : 0 };

	if (seconds)
		clock_settime(CLOCK_REALTIME, &now);
}

void agent_start(void)
{
	umask(0);
	in = aligned_alloc(BLOCK_BYTES, BUFFER_BYTES);
	out = aligned_alloc(BLOCK_BYTES, BUFFER_BYTES);
	if (!in || !out)
		_exit(1);
	memset(in, 0, 1 << 20);
	memset(out, 0, 1 << 20);
	text_start(&report, 1 << 20);
	text_start(&told, 1 << 16);
	counters_start();
}

/* Commands from now on, until the line ends. */
void obey_lines(int line)
{
	static char text[2048];
	/* tmpfs has no O_DIRECT before e88e0d366f9c ("tmpfs: trivial support for direct IO") (in v6.6) */
	int direct = on_machine ? 0 : O_DIRECT;
	FILE *lines = fdopen(line, "r");

	line_out = line;
	inbox = open(INBOX, O_RDONLY | direct);
	outbox = open(OUTBOX, O_WRONLY | direct);
	if (inbox < 0 || outbox < 0)
		die(INBOX " " OUTBOX);
	device_start();
	clear_kernel_log();
	answer("ready");
	while (fgets(text, sizeof(text), lines))
		obey(text);
	end();
}

int main(int count, char **words)
{
	if (count > 1 && !strcmp(words[1], "machine"))
		return machine_main();
	if (count > 1 && !strcmp(words[1], "claim"))
		return claim_main(count, words);
	mount_own();
	set_clock();
	name_devices();
	agent_start();
	obey_lines(open_line());
}
