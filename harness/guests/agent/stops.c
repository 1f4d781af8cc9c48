// SPDX-License-Identifier: GPL-2.0-only
/*
 * The word `stop`: the next call of the thread stops where it enters or leaves a function of the kernel, or threads of
 * the kernel do. kernel/powercut-stops.c does it; other kernels do not have the file.
 *
 * Who has stopped goes on when no other thread of the block can run any more, because they have ended, have
 * stopped too or await, and else after STOP_MS: what the others do may need a lock that he holds.
 */
#include "agent.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONTROL "/proc/powercut-stops"
#define STOP_MS 150 /* a sync of the guest's disk takes some milliseconds */

static bool asked; /* something was, since the last "off" */

static int say(const char *command)
{
	int control = open(CONTROL, O_WRONLY | O_CLOEXEC);
	int result = control < 0 || write(control, command, strlen(command)) < 0 ? -1 : 0;
	int error = errno;

	if (control >= 0)
		close(control);
	asked |= !result;
	errno = error;
	return result;
}

/* What the kernel says, from its beginning. */
static void heard(char *text, size_t capacity)
{
	int control = open(CONTROL, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t more;

	while (control >= 0 && length < capacity - 1 &&
	       (more = read(control, text + length, capacity - 1 - length)) > 0)
		length += more;
	if (control >= 0)
		close(control);
	text[length] = 0;
}

static unsigned int number_of(const char *name)
{
	char text[64], *found;
	unsigned int number = 0;

	heard(text, sizeof(text));
	found = strstr(text, name);
	if (found)
		sscanf(found + strlen(name), " %u", &number);
	return number;
}

/* Whether it is for threads of the kernel. */
bool stops_of_kernel(const struct operation *operation)
{
	return strstr(operation->mode, "workers");
}

int stops_ask(const struct operation *operation)
{
	char command[320];

	snprintf(command, sizeof(command), "%s %s %s %llu %d", stops_of_kernel(operation) ? "workers" : "stop", operation->name,
		 strstr(operation->mode, "return") ? "leave" : "enter", (unsigned long long)operation->length,
		 STOP_MS);
	return say(command);
}

/* Tasks of ours that have stopped and not gone on. */
unsigned int stops_now(void)
{
	return number_of("stopped");
}

/* How many have stopped so far, threads of the kernel included, since the block began. */
unsigned int stops_hit(void)
{
	return number_of("hit");
}

/* The call of this thread has returned. */
void stops_forget(void)
{
	say("mine");
}

void stops_go_on(void)
{
	say("go");
}

void stops_end(void)
{
	if (asked)
		say("off");
	asked = false;
}

/* From here on, within the functions of `near`, too, which have commas between them; false where the kernel cannot.
 * A function that it does not have is within nothing: it was inlined, or is one of another filesystem. */
bool stops_count(const char *near)
{
	char names[4096], command[160];

	snprintf(names, sizeof(names), "%s", near);
	for (char *rest = names, *name; (name = strsep(&rest, ","));) {
		snprintf(command, sizeof(command), "near %s", name);
		if (name[0])
			say(command);
	}
	return !say("count");
}

/* What was counted: of this task, and of threads of the kernel. */
void stops_put_counts(struct text *out)
{
	static char text[1 << 20];

	heard(text, sizeof(text));
	put(out, ",\"entries\":[");
	bool first = true;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		char name[256], which[8];
		unsigned int times, called;
		int task;

		if (sscanf(line, "%d %255s %7s %u %u", &task, name, which, &times, &called) != 5 ||
		    (task && task != gettid()))
			continue;
		put(out, "%s[\"%s\",%s,%u,%s,%u]", first ? "" : ",", name, strcmp(which, "leave") ? "false" : "true", times,
		    task ? "false" : "true", called);
		first = false;
	}
	put(out, "]");
	stops_end();
}
