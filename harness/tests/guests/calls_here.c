// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent's calls and its walk without a guest: the program on standard input (operations.c), done below MOUNT_POINT
 * as it stands. On standard output: {"results":[0 or -ERRNO, ...],"tree":[...]}.
 *
 * With PAGE_BYTES in the environment pages seem to have that size: sysconf(3) says so, and mmap(2) refuses what a kernel
 * with such pages refuses. The linker puts both in place (--wrap), and main() of the agent has another name (-Dmain).
 */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#undef main

long __real_sysconf(int name);
void *__real_mmap(void *at, size_t length, int protection, int flags, int file, off_t offset);

long __wrap_sysconf(int name)
{
	const char *page_bytes = getenv("PAGE_BYTES");

	return page_bytes && name == _SC_PAGESIZE ? atol(page_bytes) : __real_sysconf(name);
}

void *__wrap_mmap(void *at, size_t length, int protection, int flags, int file, off_t offset)
{
	if (offset % __wrap_sysconf(_SC_PAGESIZE)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return __real_mmap(at, length, protection, flags, file, offset);
}

int main(void)
{
	static char text[1 << 16];
	struct operation operation;

	agent_start();
	if (!fread(text, 1, sizeof(text) - 1, stdin) || chdir(MOUNT_POINT))
		return 1;
	struct program program = program_start(text);

	put(&report, "{\"results\":[");
	for (bool first = true; next_operation(&program, &operation); first = false)
		put(&report, "%s%d", first ? "" : ",", do_operation(&operation) ? -errno : 0);
	close_all_kept();
	put(&report, "],\"tree\":");
	walk_asks = (struct walk_asks){ .flags = true, .extents = true };
	walk(&report);
	put(&report, "}");
	return fwrite(report.bytes, 1, report.length, stdout) != report.length;
}
