// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection of the agent on a machine: frames on standard input and output.
 *
 * A frame is a struct frame and, for kinds that have one, `length` bytes:
 *
 *   to us     CONFIG text       lines of fields with TABs, once, at first:
 *                                 device NAME BYTES memory                      a file on tmpfs
 *                                 device NAME BYTES claim LINES...              on a claimed device, lines of claim.c
 *                                 ram BYTES                                     each of the three ram disks
 *             LINE text         a command for the inner process
 *             WRITE data        to device, at offset
 *             ZERO              length bytes of device, at offset
 *             READ              the same; DATA for each run that is not zero, then END
 *             BEAT, STOP
 *   from us   LINE text, DATA data, END, BEAT
 *             CONSOLE text      of the kernel log
 *             REFUSED text      a device is not what was claimed, or the machine is in use; nothing was written
 *             TROUBLE text
 *             GONE              the inner process ended
 *             LEFT text         last of all; what could not be undone, nothing when all was
 */
#include "machine.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAME_MAGIC 0x5043524d /* "PCRM" */

bool connected = true;

void connection_start(void)
{
	signal(SIGPIPE, SIG_IGN);
	fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
}

/* Whether a descriptor is ready before the connection counts as dead: a network that was cut says nothing. */
static bool ready(int file, short events)
{
	struct pollfd one = { file, events, 0 };

	return poll(&one, 1, SILENCE_S * 1000) > 0;
}

/* Standard output does not block (machine_main()). */
static void send_all(const void *bytes, size_t length)
{
	while (connected && length) {
		ssize_t done = write(STDOUT_FILENO, bytes, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN) {
			connected = ready(STDOUT_FILENO, POLLOUT);
			continue;
		}
		if (done <= 0)
			connected = false;
		else
			length -= done;
		bytes = (const char *)bytes + (done > 0 ? done : 0);
	}
}

void send_frame(enum kind kind, int device, uint64_t offset, const void *bytes, size_t length)
{
	struct frame frame = { FRAME_MAGIC, kind, device, offset, length };

	send_all(&frame, sizeof(frame));
	send_all(bytes, length);
}

void send_text(enum kind kind, const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);

	va_end(arguments);
	send_frame(kind, 0, 0, text, length < (int)sizeof(text) ? length : (int)sizeof(text) - 1);
}

bool receive_all(void *bytes, size_t length)
{
	while (length) {
		ssize_t done = ready(STDIN_FILENO, POLLIN) ? read(STDIN_FILENO, bytes, length) : 0;

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return connected = false;
		bytes = (char *)bytes + done;
		length -= done;
	}
	return true;
}

bool receive_frame(struct frame *frame)
{
	if (!receive_all(frame, sizeof(*frame)))
		return false;
	if (frame->magic == FRAME_MAGIC)
		return true;
	send_text(TROUBLE, "no frame in what came over the connection");
	return connected = false;
}

/* What stops us before the inner process is there. */
void refuse_all(enum kind kind, const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	send_text(kind, "%s", text);
	exit(1);
}
