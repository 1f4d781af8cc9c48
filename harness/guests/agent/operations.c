// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record: run a workload on the log-writes device, with a mark before and after each operation, and
 * report each result. The program is text, made by harness/stages/record.py:
 *
 *   filesystem TAB options TAB sectors TAB threads TAB milliseconds of a write in a parallel block TAB counts ("-":
 *   none; else "+", and behind it functions with commas between them, as stops_count() takes them)
 *   phase TAB index TAB word TAB path TAB path2 TAB target TAB mode TAB name TAB value TAB descriptor
 *     TAB offset TAB length TAB at TAB major TAB minor TAB beside TAB thread
 *
 * with phase "setup" or "run", and value in hex. The operations of a parallel block follow each other, with
 * their number as `beside`, and are done by threads (threads.c). Setup ends in a sync, and the mark "run" is where the log
 * of the workload starts; the mark "end" is where the power fails.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *mounted; /* the device of the workload, for remount */
static struct program mounted_as;
static bool frozen;
static bool lost; /* a remount that could not mount: nothing is there to work on */

/* FIFREEZE and FITHAW: fs/super.c freeze_super(), thaw_super(). */
static int set_frozen(bool freeze)
{
	int root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY);
	int result = root < 0 ? -1 : ioctl(root, freeze ? FIFREEZE : FITHAW, 0);
	int error = errno;

	if (root >= 0)
		close(root);
	if (!result)
		frozen = freeze;
	errno = error;
	return result;
}

static int mount_anew(bool read_only)
{
	return mount(NULL, MOUNT_POINT, NULL, MS_REMOUNT | (read_only ? MS_RDONLY : 0), NULL);
}

int leave(void)
{
	if (frozen)
		set_frozen(false);
	if (chdir("/") || umount2(MOUNT_POINT, 0))
		return -1;
	slices_remove();
	return 0;
}

int enter(const char *device, const struct program *program)
{
	mounted = device;
	mounted_as = *program;
	lost = disk_mount(device, program->filesystem, 0, program->options);
	return lost ? -1 : chdir(MOUNT_POINT);
}

bool is_mounted(void)
{
	return !lost;
}

/* Of a workload: where the unmount fails, what follows works on the filesystem that is still there. */
static int leave_or_stay(void)
{
	int result = leave(), error = errno;

	if (result && is_mounted() && chdir(MOUNT_POINT))
		die(MOUNT_POINT);
	errno = error;
	return result;
}

/* What the setup made is in a lower layer from now on; not where it left a descriptor open. */
static void end_setup(void)
{
	if (!layers_wanted(mounted_as.options) || !is_mounted() || leave_or_stay())
		return;
	layers_add(mounted, mounted_as.filesystem, mounted_as.options);
	if (enter(mounted, &mounted_as))
		die("mount after the setup");
}

/*
 * What the disk has in its cache reaches it. All that is written later gets lost, also what the unmount writes; the
 * filesystem does not learn of it and reports nothing. What recovery writes reaches the disk, too, though nobody flushes
 * it: the next power failure may come long after.
 */
static int crash(void)
{
	if (strcmp(mounted, GATE_DEVICE)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	log_writes_flush();
	gate_drop(mounted_as.sectors, true);
	close_all_kept();
	int result = leave_or_stay(), error = errno;

	gate_drop(mounted_as.sectors, false);
	errno = error;
	if (result || enter(mounted, &mounted_as))
		return -1;
	log_writes_flush();
	return 0;
}

int do_operation(const struct operation *operation)
{
	bool freeze = !strcmp(operation->word, "freeze"), thaw = !strcmp(operation->word, "thaw");

	if (frozen && !freeze && !thaw && strcmp(operation->word, "wait")) {
		errno = EBUSY; /* or this process would sleep until somebody thaws it, and that is this process */
		return -1;
	}
	if (is_mounted() && (freeze || thaw))
		return set_frozen(freeze);
	if (is_mounted() && !strcmp(operation->word, "remount") && operation->mode[0])
		return mount_anew(!strcmp(operation->mode, "ro"));
	if (!strcmp(operation->word, "remount"))
		return leave_or_stay() || enter(mounted, &mounted_as);
	if (is_mounted() && !strcmp(operation->word, "crash"))
		return crash();
	if (!strcmp(operation->word, "umount"))
		return leave_or_stay();
	if (!strcmp(operation->word, "fault"))
		return 0; /* of faults.c; a recording shows the device without it */
	if (!is_mounted()) {
		errno = ENODEV;
		return -1;
	}
	int result = do_call(operation);

	if (result == NOT_MINE)
		die("unknown word in the program");
	return result;
}

static char *field(char **rest)
{
	char *text = strsep(rest, "\t");

	if (!text)
		die("program: too few fields");
	return text;
}

static struct operation parse(char *line)
{
	struct operation operation = { 0 };

	operation.run = !strcmp(field(&line), "run");
	operation.index = atoi(field(&line));
	operation.word = field(&line);
	operation.path = field(&line);
	operation.path2 = field(&line);
	operation.target = field(&line);
	operation.mode = field(&line);
	operation.name = field(&line);
	operation.value = field(&line);
	operation.value_bytes = from_hex(operation.value);
	operation.descriptor = field(&line);
	operation.offset = strtoull(field(&line), NULL, 10);
	operation.length = strtoull(field(&line), NULL, 10);
	operation.at = strtoull(field(&line), NULL, 10);
	operation.major = atoi(field(&line));
	operation.minor = atoi(field(&line));
	operation.beside = atoi(field(&line));
	operation.thread = atoi(field(&line));
	return operation;
}

struct program program_start(char *text)
{
	struct program program = { .rest = text };
	char *line = strsep(&program.rest, "\n");

	program.filesystem = field(&line);
	program.options = field(&line);
	program.sectors = strtoull(field(&line), NULL, 10);
	program.threads = atoi(field(&line));
	program.block_ms = atoi(field(&line));
	const char *counts = field(&line);

	program.near = counts[0] == '+' ? counts + 1 : NULL;
	return program;
}

bool next_operation(struct program *program, struct operation *operation)
{
	char *line = strsep(&program->rest, "\n");

	if (!line || !*line)
		return false;
	*operation = parse(line);
	return true;
}

uint64_t left_by_rename(const struct operation *operation)
{
	struct stat status;
	uint64_t left = 0;

	if (!strcmp(operation->word, "rename"))
		object_status(operation->path, false, &status, &left);
	return left;
}

struct outcome look(const struct operation *operation, int result)
{
	const char *object = operation->path2[0] ? operation->path2 : operation->path;
	struct outcome outcome = { .result = result };
	struct stat status;

	if (operation->descriptor[0])
		object = operation->descriptor;
	if (!object[0] || !object_status(object, follows(operation), &status, &outcome.number))
		return outcome;
	outcome.blocks = status.st_blocks;
	outcome.modified = nanoseconds(&status.st_mtim);
	outcome.changed = nanoseconds(&status.st_ctim);
	return outcome;
}

/* Without its closing brace. */
void put_outcome(const struct operation *operation, const struct outcome *outcome)
{
	put(&report, "{\"index\":%d,\"result\":%d,\"inode\":%llu,\"blocks\":%lld,\"left\":%llu,\"times\":[%lld,%lld]",
	    operation->index, outcome->result, (unsigned long long)outcome->number, outcome->blocks,
	    (unsigned long long)outcome->left, outcome->modified, outcome->changed);
}

void put_step(const struct operation *operation, int result, uint64_t left)
{
	struct outcome outcome = look(operation, result);

	outcome.left = left;
	put_outcome(operation, &outcome);
}

static void mark(const char *what, const struct operation *operation)
{
	char text[32];

	snprintf(text, sizeof(text), "%s-%d", what, operation->index);
	log_writes_mark(text);
}

void mark_begin(const struct operation *operation)
{
	mark("begin", operation);
}

void mark_between(int done, const struct operation *operation)
{
	char text[64];

	if (done < 0) {
		mark_begin(operation);
		return;
	}
	snprintf(text, sizeof(text), "done-%d,begin-%d", done, operation->index);
	log_writes_mark(text);
}

void mark_done(const struct operation *operation)
{
	mark("done", operation);
}

static void perform(const struct operation *operation, bool first, const char *near)
{
	if (operation->run)
		mark_begin(operation);
	bool counts = near && operation->run && stops_count(near);
	int result = do_operation(operation) ? -errno : 0;

	if (operation->run)
		mark_done(operation);
	put(&report, first ? "" : ",");
	put_step(operation, result, left_by_rename(operation));
	const char *left = file_left_by(operation, result);

	if (left && is_mounted())
		put_left_file(&report, left);
	if (counts)
		stops_put_counts(&report);
	put(&report, ",\"log_lines\":%d}", kernel_log_lines());
}

void put_queue(const char *device)
{
	static const char *const names[] = { "write_cache", "fua", "logical_block_size", "discard_max_bytes" };
	char path[128], value[64];
	struct stat status;

	if (stat(device, &status))
		die("stat the recorded device");
	put(&report, ",\"device\":{");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/sys/block/dm-%d/queue/%s", (int)(status.st_rdev & 0xff), names[i]);
		int file = open(path, O_RDONLY);
		ssize_t length = file < 0 ? 0 : read(file, value, sizeof(value));

		if (length > 0 && value[length - 1] == '\n')
			length--;
		put(&report, "%s\"%s\":", i ? "," : "", names[i]);
		put_string(&report, value, length > 0 ? length : 0);
		close(file);
	}
	put(&report, "}");
}

uint64_t root_inode(void)
{
	struct stat status;

	return stat(MOUNT_POINT, &status) ? 0 : status.st_ino;
}

void record(char *text)
{
	struct program program = program_start(text);
	struct operation operation;
	bool running = false, first = true, unmounted = false;

	report.length = 0;
	clear_kernel_log();
	kernel_log_lines();
	console_level(CONSOLE_WARNINGS); /* of a kernel that dies the console is all that is left */
	answer("stage mount");
	log_writes_create(program.sectors, program.threads);
	bool crashes = strstr(program.rest, "\tcrash\t"); /* as a word, or as a name, where the gate does no harm */

	if (crashes)
		gate_create(program.sectors);
	int error = enter(crashes ? GATE_DEVICE : log_writes_device, &program) ? errno : 0;

	uint64_t root = error ? 0 : root_inode();

	put(&report, "{\"mount_errno\":%d", error);
	put_queue(log_writes_device);
	put(&report, ",\"steps\":[");
	while (!error && next_operation(&program, &operation)) {
		if (operation.run && !running) {
			end_setup();
			root = is_mounted() ? root_inode() : root;
			sync();
			late_begin(program.sectors);
			queue_start();
			log_writes_mark("run");
			counters_reset();
			running = true;
		}
		answer("stage operation %d", operation.index);
		if (operation.beside)
			perform_block(&program, &operation, first);
		else
			perform(&operation, first, program.near);
		first = false;
		unmounted = !strcmp(operation.word, "umount");
	}
	counters_keep(program.filesystem);
	log_writes_mark("end");
	late_end(program.sectors);
	put(&report, "],\"root_inode\":%llu", (unsigned long long)root);
	queue_end();
	if (program.threads && !error && !unmounted) { /* which of the orders that the results allow it can have been */
		put(&report, ",\"tree\":");
		walk(&report);
	}
	close_all_kept();
	answer("stage unmount");
	int left = leave() ? errno : 0;

	if (left == EINVAL)
		left = 0; /* after umount as the last word there is nothing to leave */
	if (left)
		log_writes_detach(program.sectors);
	else
		log_writes_remove();
	console_level(CONSOLE_QUIET);
	put(&report, ",\"umount_errno\":%d,\"kernel_log\":", left);
	put_kernel_log(&report);
	put(&report, "}");
}

/* The mount and unmount of a disk that the host wrote there, recorded: what recovery writes, in its order. */
int record_recovery(uint64_t sectors, const char *of_filesystem, const char *with_options)
{
	clear_kernel_log();
	log_writes_create(sectors, false);
	int error = mount_filesystem(log_writes_device, of_filesystem, with_options);

	log_writes_mark("mounted");
	if (!error)
		leave();
	log_writes_remove(); /* the mark "dm-log-writes-end" follows whatever no flush had reached */
	clear_kernel_log();
	return error;
}
