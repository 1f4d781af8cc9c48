// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the queue of a real disk did while a workload was recorded: each request, when it was given to the device and
 * when it completed, by the tracepoints block_rq_issue and block_rq_complete (include/trace/events/block.h) in an
 * instance of tracefs of our own. Only on a machine, which names the disk in QUEUE_VARIABLE, and only where its kernel
 * has them.
 *
 * What is told: "queue":{"write_cache":"...","fua":"...","requests":[[WHAT,MICROSECONDS,"RWBS",SECTOR,COUNT],...]},
 * WHAT 0 for given, 1 for completed; a FLUSH is completed at no sector. RWBS as blk_fill_rwbs() writes it: F for FLUSH in
 * front, then W, R, D, F or N, F
 * behind it for FUA, and more.
 */
#include "agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"
#define INSTANCE TRACEFS "/instances/powercut"
#define EVENTS INSTANCE "/events/block"
#define BUFFER_KIB "4096" /* of each processor */
#define REQUESTS_MAX 50000

static bool on, prepared; /* prepared: the instance is there, and its events are enabled */
enum { ISSUE, COMPLETE, EVENTS_COUNT };
static const char *const events[EVENTS_COUNT] = { "block_rq_issue", "block_rq_complete" };

static bool set(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_TRUNC);
	bool done = file >= 0 && write(file, value, strlen(value)) == (ssize_t)strlen(value);

	if (file >= 0)
		close(file);
	return done;
}

/*
 * Once, and not for each recording: enabling an event changes the kernel's text while it runs, which emulators have
 * trouble with (Oops: int3 in blk_update_request(), seen in QEMU's TCG with a thread for each processor).
 */
static bool prepare(const char *number)
{
	unsigned int major, minor;
	char filter[64], path[128];

	if (sscanf(number, "%u:%u", &major, &minor) != 2)
		return false;
	if (access(TRACEFS "/events", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	mkdir(INSTANCE, 0700);
	if (!set(INSTANCE "/tracing_on", "0") || !set(INSTANCE "/buffer_size_kb", BUFFER_KIB))
		return false;
	snprintf(filter, sizeof(filter), "dev == %u", major << 20 | minor); /* MKDEV() of the kernel */
	for (int i = 0; i < EVENTS_COUNT; i++) {
		snprintf(path, sizeof(path), EVENTS "/%s/filter", events[i]);
		if (!set(path, filter))
			return false;
		snprintf(path, sizeof(path), EVENTS "/%s/enable", events[i]);
		if (!set(path, "1"))
			return false;
	}
	return true;
}

/* Of the outer process, at its end; the events are disabled with the instance. */
void queue_forget(void)
{
	if (access(TRACEFS "/events", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	rmdir(INSTANCE);
}

/* The disk whose queue has the requests of a claimed device, as "MAJOR:MINOR": a partition's, a volume's first. */
void queue_of(dev_t device)
{
	char path[PATH_BYTES], number[32];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(device), minor(device));
	for (int depth = 0; depth < 8; depth++) {
		char below[PATH_BYTES + 16];

		snprintf(below, sizeof(below), "%s/slaves", path);
		DIR *slaves = opendir(below);
		struct dirent *one = NULL;

		while (slaves && (one = readdir(slaves)) && one->d_name[0] == '.')
			;
		if (one)
			snprintf(path + strlen(path), sizeof(path) - strlen(path), "/slaves/%s", one->d_name);
		if (slaves)
			closedir(slaves);
		if (!one)
			break;
	}
	size_t end = strlen(path);

	snprintf(path + end, sizeof(path) - end, "/partition");
	snprintf(path + end, sizeof(path) - end, access(path, F_OK) ? "/dev" : "/../dev");
	int file = open(path, O_RDONLY);
	ssize_t length = file < 0 ? 0 : read(file, number, sizeof(number) - 1);

	if (file >= 0)
		close(file);
	if (length <= 0)
		return;
	number[length] = 0;
	number[strcspn(number, "\n")] = 0;
	setenv(QUEUE_VARIABLE, number, 1);
}

void queue_start(void)
{
	const char *number = getenv(QUEUE_VARIABLE);

	if (number && !prepared)
		prepared = prepare(number);
	on = prepared && set(INSTANCE "/trace", "") && set(INSTANCE "/tracing_on", "1");
}

/* One line of the trace, or nothing: "TASK-PID [CPU] FLAGS SECONDS: EVENT: MAJOR,MINOR RWBS ... SECTOR + COUNT ...". */
static void put_request(const char *line, int *count)
{
	const char *event = strstr(line, ": block_"), *time = event, *range;
	double seconds;
	char name[32], rwbs[16];
	unsigned long long sector;
	unsigned int sectors;
	int what = 0, length;

	if (!event || *count >= REQUESTS_MAX)
		return;
	while (time > line && *time != ' ')
		time--;
	if (sscanf(time, "%lf", &seconds) != 1 ||
	    sscanf(event, ": %31[^:]: %*u,%*u %15s%n", name, rwbs, &length) != 2)
		return;
	while (what < EVENTS_COUNT && strcmp(name, events[what]))
		what++;
	/* "BYTES (COMMAND) SECTOR + COUNT": issue; "(COMMAND) SECTOR + COUNT": complete */
	range = strchr(event + length, ')');
	if (what == EVENTS_COUNT || !range || sscanf(range + 1, " %llu + %u", &sector, &sectors) != 2)
		return;
	put(&report, "%s[%d,%.0f,", (*count)++ ? "," : "", what, seconds * 1e6);
	put_string(&report, rwbs, strlen(rwbs));
	put(&report, ",%llu,%u]", sector, sectors);
}

/* Of the disk itself, not of the recorded device above it. */
static void put_attribute(const char *name)
{
	char path[128], value[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%s/queue/%s", getenv(QUEUE_VARIABLE), name);
	int file = open(path, O_RDONLY);
	ssize_t length = file < 0 ? 0 : read(file, value, sizeof(value));

	if (file >= 0)
		close(file);
	if (length > 0 && value[length - 1] == '\n')
		length--;
	put(&report, "\"%s\":", name);
	put_string(&report, value, length > 0 ? length : 0);
	put(&report, ",");
}

void queue_end(void)
{
	static char line[4096];
	int count = 0;

	if (!on)
		return;
	set(INSTANCE "/tracing_on", "0");
	FILE *trace = fopen(INSTANCE "/trace", "r");

	put(&report, ",\"queue\":{");
	put_attribute("write_cache");
	put_attribute("fua");
	put(&report, "\"requests\":[");
	while (trace && fgets(line, sizeof(line), trace))
		put_request(line, &count);
	put(&report, "]}");
	if (trace)
		fclose(trace);
}
