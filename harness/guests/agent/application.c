// SPDX-License-Identifier: GPL-2.0-only
/*
 * The script of a program, asked what it makes of a recovered tree. The disk of the state is the one that stands
 * (recover.c moved it there); what recovery and the script write goes into a store of its own and is dropped.
 * The text is that of start.c.
 */
#include "agent.h"

#include <sys/mount.h>
#include <unistd.h>

void application(char *text)
{
	struct start start = program_parse(text);
	const struct program *as = &start.mount;

	report.length = 0;
	clear_kernel_log();
	int error = mount_filesystem(state_device(as->sectors, STORE_WHOLE), as->filesystem, as->options);

	put(&report, "{\"mount_errno\":%d", error);
	if (!error) {
		if (chdir(MOUNT_POINT))
			die(MOUNT_POINT);
		put(&report, ",\"status\":%d", program_plain(start.arguments, start.environment, start.seconds));
		program_put_output(&report);
		put(&report, ",\"umount_errno\":%d", leave() ? errno : 0);
	}
	put(&report, ",\"kernel_log\":");
	put_kernel_log(&report);
	put(&report, "}");
}
