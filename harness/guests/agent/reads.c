// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks of the state's disk are read. Our own target knows. In kernels without it, by device mapper's statistics with an area for each block
 * (Documentation/admin-guide/device-mapper/statistics.rst). They belong to the device and not to its table, so the
 * reads are those of the filesystem above the snapshot. Making them costs 250 bytes a block and telling them a line a
 * block: 0.1 s for 256 MiB, so only a few states are asked.
 */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_AT_ONCE 8192 /* of up to 128 bytes: device_asked() has room for 1 MiB */

static char region[32];

static void put_run(struct text *out, unsigned long long first, unsigned long long count, bool *some)
{
	put(out, "%s[%llu,%llu]", *some ? "," : "", first, count);
	*some = true;
}

/* Since the disk of the state was made. */
static bool told_by_target(struct text *out)
{
	const char *run = state_device_read();
	unsigned long sector, sectors, first = 0, count = 0;
	bool some = false;
	int used;

	if (!run)
		return false;
	put(out, ",\"reads\":[");
	for (; sscanf(run, "%lx+%lx %n", &sector, &sectors, &used) == 2; run += used) {
		unsigned long block = sector / 8, end = (sector + sectors + 7) / 8;

		if (count && block <= first + count) { /* in the block of the run before, or next to it */
			count = end - first;
			continue;
		}
		if (count)
			put_run(out, first, count, &some);
		first = block;
		count = end - block;
	}
	if (count)
		put_run(out, first, count, &some);
	put(out, "]");
	return true;
}

void reads_start(void)
{
	if (state_device_read())
		return;
	const char *id = device_asked("state", "@stats_create - 8");

	if (!id)
		die("@stats_create");
	snprintf(region, sizeof(region), "%s", id);
}

/*
 * The blocks that were written since the disk of the state was made, in whole or in part, as runs; nothing in kernels
 * without our target.
 */
void reads_put_writes(struct text *out)
{
	const char *run = state_device_wrote();
	unsigned long first, length;
	bool some = false;
	char kind;
	int used;

	put(out, ",\"writes\":[");
	for (; run && sscanf(run, "%lx%c%lx %n", &first, &kind, &length, &used) == 3; run += used)
		put_run(out, first, kind == ':' ? 1 : length, &some);
	put(out, "]");
}

/* Runs of blocks, [[first,count],...]; counts begin anew. */
void reads_end(struct text *out)
{
	unsigned long long sector, reads, first = 0, count = 0;
	const char *line;
	char message[96];

	if (told_by_target(out))
		return;
	put(out, ",\"reads\":[");
	bool some = false;

	for (unsigned long at = 0;; at += LINES_AT_ONCE) {
		snprintf(message, sizeof(message), "@stats_print %s %lu %d", region, at, LINES_AT_ONCE);
		line = device_asked("state", message);
		if (!line)
			die("@stats_print");
		if (!*line)
			break;
		for (; *line; line = strchr(line, '\n') + 1) {
			if (sscanf(line, "%llu+%*u %llu", &sector, &reads) != 2)
				die("a line of @stats_print");
			if (!reads)
				continue;
			if (count && sector / 8 == first + count) {
				count++;
				continue;
			}
			if (count)
				put_run(out, first, count, &some);
			first = sector / 8;
			count = 1;
		}
	}
	if (count)
		put_run(out, first, count, &some);
	put(out, "]");
	snprintf(message, sizeof(message), "@stats_delete %s", region);
	if (!device_asked("state", message))
		die("@stats_delete");
}
