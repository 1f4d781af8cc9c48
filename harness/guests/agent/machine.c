// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent on a machine that is reached by ssh, started as root by `agent machine`. Other programs run beside it.
 *
 * Two processes. The outer one holds the devices and relays: its standard input and output are the connection, in
 * frames. The inner one obeys commands as in a guest (agent.c), in namespaces of its own: init of a PID
 * namespace, so that what it kills and reboots is itself alone; a mount namespace, so that its mounts end with it; a
 * root on tmpfs, whose /dev has our devices and no other.
 *
 * When the connection ends, is silent for SILENCE_S, or says STOP, the outer process ends the inner one, removes each
 * device of device mapper whose name begins with PREFIX, and lets its loop devices go. What it could not undo it says.
 * What an agent left that was itself killed, the next one removes before it begins.
 *
 * Not here: frames (frames.c), what is set up (set_up.c), claims (claim.c), the queue of the disk (queue.c).
 */
#include "machine.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK FOLDER "/lock"
#define TAKE_TRIES 300 /* 30 s */
#define BEAT_MS 5000
#define CONFIG_BYTES (64 << 10)

bool on_machine;

static char *buffer; /* RUN_BYTES, aligned to blocks */

/* --- the inner process --- */

static __attribute__((noreturn)) void inner(int line)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) || mount("proc", "/proc", "proc", 0, NULL))
		_exit(1);
	agent_start();
	obey_lines(line);
}

/* Its process, and our end of its line. */
static pid_t start_inner(int *line)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || unshare(CLONE_NEWPID))
		refuse_all(TROUBLE, "a PID namespace: %s", errno_name(errno));
	pid_t child = fork();

	if (child < 0)
		refuse_all(TROUBLE, "fork: %s", errno_name(errno));
	if (!child) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0), dup2(null, 1), dup2(null, 2);
		inner(ends[1]);
	}
	close(ends[1]);
	*line = ends[0];
	return child;
}

/* Whether it is gone. */
static bool end_inner(pid_t child)
{
	double deadline = now_ms() + END_S * 1e3;

	kill(child, SIGKILL);
	while (waitpid(child, NULL, WNOHANG) == 0) {
		if (now_ms() > deadline)
			return false;
		usleep(5000);
	}
	return true;
}

/* --- ranges of devices --- */

static bool in_device(const struct frame *frame)
{
	return frame->device < DEVICES && frame->offset <= machine_devices[frame->device].bytes &&
	       frame->length <= machine_devices[frame->device].bytes - frame->offset;
}

/* Of a device with O_DIRECT, whole sectors are read and written. */
static bool move(int file, bool memory, bool to_device, uint64_t offset, size_t length)
{
	size_t before = memory ? 0 : offset % BLOCK_BYTES;
	size_t whole = memory ? length : (before + length + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;

	if (!to_device) {
		if (pread(file, buffer, whole, offset - before) != (ssize_t)whole)
			return false;
		memmove(buffer, buffer + before, length);
		return true;
	}
	if (whole == length)
		return pwrite(file, buffer, length, offset) == (ssize_t)length;
	static char around[RUN_BYTES + 2 * BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));

	if (pread(file, around, whole, offset - before) != (ssize_t)whole)
		return false;
	memcpy(around + before, buffer, length);
	return pwrite(file, around, whole, offset - before) == (ssize_t)whole;
}

static void take_data(const struct frame *frame)
{
	bool fits = in_device(frame), done = fits;

	for (uint64_t at = 0, length; at < frame->length; at += length) {
		length = frame->length - at < RUN_BYTES ? frame->length - at : RUN_BYTES;
		if (!receive_all(buffer, length))
			return;
		done = done && move(machine_devices[frame->device].file, machine_devices[frame->device].memory, true,
				    frame->offset + at, length);
	}
	if (!done)
		send_text(TROUBLE, "write to the device %s: %s", fits ? machine_device_names[frame->device] : "?",
			  fits ? errno_name(errno) : "outside of it");
}

static void make_zeros(const struct frame *frame)
{
	uint64_t range[2] = { frame->offset, frame->length };
	bool done = in_device(frame);

	if (done && machine_devices[frame->device].memory)
		done = !fallocate(machine_devices[frame->device].file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range[0],
				  range[1]);
	else if (done)
		done = !ioctl(machine_devices[frame->device].file, BLKZEROOUT, range);
	if (!done)
		send_text(TROUBLE, "zeros to a device: %s", errno_name(errno));
}

static bool is_zero(const char *bytes, size_t length)
{
	return !length || (!bytes[0] && !memcmp(bytes, bytes + 1, length - 1));
}

static void give_data(const struct frame *frame)
{
	bool fits = in_device(frame);

	for (uint64_t at = 0, length; fits && connected && at < frame->length; at += length) {
		int file = machine_devices[frame->device].file;
		uint64_t offset = frame->offset + at;

		length = frame->length - at < RUN_BYTES ? frame->length - at : RUN_BYTES;
		if (machine_devices[frame->device].memory) { /* what is a hole is not read */
			off_t data = lseek(file, offset, SEEK_DATA);

			if (data < 0 || (uint64_t)data >= frame->offset + frame->length)
				break;
			if ((uint64_t)data > offset) {
				length = data - offset;
				continue;
			}
		}
		if (!move(file, machine_devices[frame->device].memory, false, offset, length)) {
			send_text(TROUBLE, "read the device %s: %s", machine_device_names[frame->device], errno_name(errno));
			break;
		}
		for (size_t start = 0, stop; start < length; start = stop) {
			size_t unit;

			for (stop = start; stop < length; stop += unit) {
				unit = length - stop < BLOCK_BYTES ? length - stop : BLOCK_BYTES;
				if (is_zero(buffer + stop, unit))
					break;
			}
			if (stop > start)
				send_frame(DATA, frame->device, offset + start, buffer + start, stop - start);
			else
				stop = start + unit;
		}
	}
	send_frame(END, frame->device, fits, NULL, 0);
}

/* --- relaying --- */

static void pass_line(int line, uint64_t length)
{
	while (length) {
		size_t part = length < RUN_BYTES ? length : RUN_BYTES;

		if (!receive_all(buffer, part))
			return;
		for (size_t done = 0; done < part;) {
			ssize_t wrote = write(line, buffer + done, part - done);

			if (wrote <= 0)
				break; /* it is gone, and that is told when its end of the line closes */
			done += wrote;
		}
		length -= part;
	}
}

static void pass_console(int log)
{
	const char *text;
	int level;

	while ((text = kernel_record(log, &level)))
		send_text(CONSOLE, "%s", text);
}

/* Until the connection ends or says STOP. */
static void relay(int line)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	double heard = now_ms(), told = heard;
	struct pollfd polls[] = { { STDIN_FILENO, POLLIN, 0 }, { line, POLLIN, 0 }, { log, POLLIN, 0 } };
	struct frame frame;

	lseek(log, 0, SEEK_END);
	while (connected && now_ms() - heard < SILENCE_S * 1e3) {
		poll(polls, 3, BEAT_MS);
		if (now_ms() - told >= BEAT_MS) {
			send_frame(BEAT, 0, 0, NULL, 0);
			told = now_ms();
		}
		if (polls[2].revents)
			pass_console(log);
		if (polls[1].revents) {
			ssize_t length = read(line, buffer, RUN_BYTES);

			if (length > 0) {
				send_frame(LINE_TEXT, 0, 0, buffer, length);
			} else {
				send_frame(GONE, 0, 0, NULL, 0);
				polls[1].fd = -1;
			}
		}
		if (!polls[0].revents)
			continue;
		if (!receive_frame(&frame) || frame.kind == STOP)
			break;
		heard = now_ms();
		if (frame.kind == LINE_TEXT)
			pass_line(line, frame.length);
		else if (frame.kind == WRITE)
			take_data(&frame);
		else if (frame.kind == ZERO)
			make_zeros(&frame);
		else if (frame.kind == READ)
			give_data(&frame);
	}
	close(log);
}

static char *read_config(void)
{
	static char config[CONFIG_BYTES + 1];
	struct frame frame;

	if (!receive_frame(&frame) || frame.kind != CONFIG || frame.length > CONFIG_BYTES ||
	    !receive_all(config, frame.length))
		refuse_all(TROUBLE, "the connection began without a configuration");
	return config;
}

/* By another agent than this process. */
bool machine_in_use(void)
{
	int lock = open(LOCK, O_RDWR | O_CLOEXEC);
	bool used = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB);

	if (lock >= 0)
		close(lock);
	return used;
}

/* One controller at a time; the lock goes with us, however we end. */
static void take_machine(void)
{
	mkdir(FOLDER, 0700);
	int lock = open(LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (lock < 0)
		refuse_all(TROUBLE, LOCK ": %s", errno_name(errno));
	for (int tries = 0; flock(lock, LOCK_EX | LOCK_NB); tries++) {
		if (tries == TAKE_TRIES) /* one whose connection was cut is about to end */
			refuse_all(REFUSED, MACHINE_IN_USE);
		usleep(100000);
	}
}

static void undo(void)
{
	static bool done;

	if (!done)
		remove_devices();
	done = true;
}

int machine_main(void)
{
	int line;

	connection_start();
	on_machine = true;
	device_prefix = PREFIX;
	umask(0);
	if (posix_memalign((void **)&buffer, BLOCK_BYTES, RUN_BYTES + 2 * BLOCK_BYTES))
		return 1;
	if (geteuid())
		refuse_all(TROUBLE, "the agent must be started as root");
	char *config = read_config();

	take_machine();
	load_modules();
	need_targets();
	device_mapper_start();
	const char *left = remove_devices();

	if (left)
		refuse_all(TROUBLE, "the device " PREFIX "%s of an earlier run cannot be removed: reset the machine", left);
	atexit(undo); /* where something is refused half way */
	make_root();
	set_up(config);
	enter_root();
	pid_t child = start_inner(&line);

	relay(line);
	if (!end_inner(child)) {
		send_text(LEFT, "the process that tests the filesystem does not end: reset the machine");
		_exit(1);
	}
	queue_forget();
	left = remove_devices();
	if (left)
		send_text(LEFT, "the device " PREFIX "%s stays busy: reset the machine", left);
	else
		send_text(LEFT, "%s", "");
	_exit(left != NULL);
}
