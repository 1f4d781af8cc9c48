// SPDX-License-Identifier: GPL-2.0-only
/* The report: JSON in one buffer. A page fault costs 60 us under UML, so buffers are touched once. */
#include "agent.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

struct text report;
static bool log_cleared;

void text_start(struct text *text, size_t capacity)
{
	text->bytes = malloc(capacity);
	if (!text->bytes)
		die("malloc");
	memset(text->bytes, 0, capacity < (1 << 18) ? capacity : (1 << 18));
	text->capacity = capacity;
	text->length = 0;
}

/*
 * User Mode Linux copies a path as strncpy does, up to the end of its page and with zeros behind the path
 * (arch/um/kernel/skas/uaccess.c): some 2 us a call, but for a path that ends where its page does.
 * Valid until the next call. length: without the zero behind it, less than PATH_BYTES.
 */
const char *at_page_end(const char *path, size_t length)
{
	static char page[PATH_BYTES] __attribute__((aligned(PATH_BYTES)));
	char *copy = page + sizeof(page) - length - 1;

	memcpy(copy, path, length + 1);
	return copy;
}

static void reserve(struct text *text, size_t more)
{
	if (text->length + more + 1 <= text->capacity)
		return;
	text->capacity = (text->length + more) * 2;
	text->bytes = realloc(text->bytes, text->capacity);
	if (!text->bytes)
		die("realloc");
}

void put(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	reserve(text, 512);
	va_start(arguments, format);
	length = vsnprintf(text->bytes + text->length, 512, format, arguments);
	va_end(arguments);
	if (length < 0 || length >= 512)
		die("put: too long");
	text->length += length;
}

void put_bytes(struct text *text, const void *bytes, size_t length)
{
	reserve(text, length);
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

/* Any bytes, as the inside of a JSON string; what is not printable ASCII is read as Latin-1. */
void put_escaped(struct text *text, const char *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	reserve(text, 6 * length);
	char *end = text->bytes + text->length;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = bytes[i];

		if (c == '"' || c == '\\') {
			*end++ = '\\';
			*end++ = c;
		} else if (c < 0x20 || c >= 0x7f) {
			memcpy(end, "\\u00", 4);
			end[4] = digits[c >> 4];
			end[5] = digits[c & 15];
			end += 6;
		} else {
			*end++ = c;
		}
	}
	text->length = end - text->bytes;
}

void put_string(struct text *text, const char *bytes, size_t length)
{
	put_bytes(text, "\"", 1);
	put_escaped(text, bytes, length);
	put_bytes(text, "\"", 1);
}

void put_hex(struct text *text, const unsigned char *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	reserve(text, 2 * length + 2);
	char *end = text->bytes + text->length;

	*end++ = '"';
	for (size_t i = 0; i < length; i++) {
		*end++ = digits[bytes[i] >> 4];
		*end++ = digits[bytes[i] & 15];
	}
	*end++ = '"';
	text->length = end - text->bytes;
}

enum { SYSLOG_READ_CLEAR = 4, SYSLOG_CLEAR = 5, SYSLOG_CONSOLE_LEVEL = 8 }; /* syslog(2) */

/*
 * The kernel log of a machine is not ours to clear: what came since the last time is read as records of /dev/kmsg
 * (Documentation/ABI/testing/dev-kmsg), "PRIORITY,SEQUENCE,TIME,FLAGS;TEXT" each. Those of programs (a facility other
 * than 0) are left out.
 */
static int records = -1;

static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		char digits[3] = { from[0] == '\\' && from[1] == 'x' ? from[2] : 0, 0, 0 };

		if (digits[0] && from[3]) {
			digits[1] = from[3];
			*to++ = strtoul(digits, NULL, 16);
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = 0;
}

const char *kernel_record(int file, int *level)
{
	static char record[8192];
	ssize_t length;

	while ((length = read(file, record, sizeof(record) - 1)) > 0 || (length < 0 && errno == EPIPE)) {
		if (length < 0)
			continue; /* the oldest were overwritten: the next read goes on behind them */
		record[length] = 0;
		char *text = strchr(record, ';');
		int priority = atoi(record);

		if (!text || priority >> 3)
			continue;
		text[1 + strcspn(text + 1, "\n")] = 0;
		unescape(text + 1);
		*level = priority & 7;
		return text + 1;
	}
	return NULL;
}

static void put_records(struct text *text)
{
	const char *line;
	bool first = true;
	int level;

	put(text, "[");
	while (records >= 0 && (line = kernel_record(records, &level))) {
		do {
			size_t length = strcspn(line, "\n");

			put(text, "%s\"%d ", first ? "" : ",", level);
			put_escaped(text, line, length);
			put(text, "\"");
			first = false;
			line += length + (line[length] == '\n');
		} while (*line);
	}
	put(text, "]");
}

/* "<6>text" lines since the last call become "6 text"; one system call for all of them. */
void put_kernel_log(struct text *text)
{
	if (on_machine) {
		put_records(text);
		return;
	}
	static char log[1 << 18];
	int length = klogctl(SYSLOG_READ_CLEAR, log, sizeof(log) - 1);
	bool first = true;

	put(text, "[");
	for (char *line = log; length > 0 && line < log + length;) {
		char *end = memchr(line, '\n', log + length - line);

		if (!end)
			end = log + length;
		if (line[0] == '<' && end - line >= 3) {
			int level = 0;
			char *body = line + 1;

			while (body < end && *body >= '0' && *body <= '9')
				level = level * 10 + *body++ - '0';
			body += body < end;
			put(text, first ? "" : ",");
			body[-1] = ' ';
			body[-2] = '0' + (level & 7);
			put_string(text, body - 2, end - body + 2);
			first = false;
		}
		line = end + 1;
	}
	put(text, "]");
}

void clear_kernel_log(void)
{
	if (on_machine && records < 0)
		records = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (on_machine)
		lseek(records, 0, SEEK_END);
	else
		klogctl(SYSLOG_CLEAR, NULL, 0);
	log_cleared = true;
}

/*
 * How many lines the kernel has logged since the first call after clear_kernel_log(), as put_kernel_log() will
 * tell them. A record of /dev/kmsg holds a line break of its text as \x0a
 * (Documentation/ABI/testing/dev-kmsg).
 */
int kernel_log_lines(void)
{
	static int file = -1, lines;
	char record[8192];
	ssize_t length;

	if (file < 0)
		file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log_cleared) {
		lseek(file, 0, on_machine ? SEEK_END : SEEK_DATA); /* behind what was cleared last */
		lines = 0;
		log_cleared = false;
	}
	while ((length = read(file, record, sizeof(record) - 1)) > 0 || (length < 0 && errno == EPIPE)) {
		if (length < 0)
			continue; /* the oldest were overwritten: the next read goes on behind them */
		char *end = memchr(record, '\n', length);

		*(end ? end : record + length) = 0;
		lines++;
		for (char *at = strstr(record, "\\x0a"); at; at = strstr(at + 1, "\\x0a"))
			lines++;
	}
	return lines;
}

void console_level(int level)
{
	if (on_machine)
		return;
	klogctl(SYSLOG_CONSOLE_LEVEL, NULL, level);
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* In place; a zero byte ends it, for calls that want text. Lower case, as Python writes it. */
size_t from_hex(char *text)
{
	size_t bytes = strlen(text) / 2;

	for (size_t i = 0; i < bytes; i++)
		text[i] = digit(text[2 * i]) << 4 | digit(text[2 * i + 1]);
	text[bytes] = 0;
	return bytes;
}

const char *errno_name(int error)
{
	static char number[16];
	const char *name = strerrorname_np(error);

	if (name)
		return name;
	snprintf(number, sizeof(number), "E%d", error);
	return number;
}
