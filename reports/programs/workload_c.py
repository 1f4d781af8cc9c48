"""
A workload as a C program that does nothing else: for the tracer, in a mounted filesystem.

In:       a Workload, and where its appends begin.
Out:      the program; its setup ends with mkdir("/powercut/run"), which the tracer swallows.
Not here: a finding as a program (export_c.py), whose calls these are; the tracer
          (harness/guests/agent/tracer.c).
"""

import re
from collections.abc import Mapping

from reports.programs.export import Reproducer
from reports.programs.export_c import HELPERS, call, variables
from workloads.text import format_operation
from workloads.workload import Workload

# Words that a program on a mounted filesystem cannot do, or that no program outside the agent does alike.
LEFT_OUT = {
    "remount": "a program cannot unmount the filesystem that it runs on",
    "umount": "a program cannot unmount the filesystem that it runs on",
    "crash": "a program does not go on after a power failure",
    "fault": "the device fails, and not the program",
    "freeze": "a program must not freeze the filesystem that its tracer writes to",
    "grow": "which request makes a filesystem grow depends on the filesystem",
    "relocate": "which request moves what a filesystem holds depends on the filesystem",
    "errortag": "the filesystem's own code fails, and not the program",
    "fill": "how much there is to have only its run tells",
    "setfacl": "an access control list is told as bytes, which no word says",
}
PARALLEL = "the tracer does one call at a time"

HEAD = """\
// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define unused __attribute__((unused))

static unused void must(const char *line)
{
	if (system(line)) {
		fprintf(stderr, "%s failed\\n", line);
		exit(2);
	}
}

static unused void check(int result, const char *what)
{
	if (result < 0)
		fprintf(stderr, "%s: %s\\n", what, strerror(errno));
}
"""
MAIN = """
int main(void)
{{
	umask(0);
	setenv("M", ".", 1);
{operations}
	return 0;
}}
"""


def reason_against(workload: Workload) -> str:
    """Why it cannot be such a program; "" when it can."""
    if workload.parallel:
        return PARALLEL
    words = {operation.word for operation in (*workload.setup, *workload.run)}
    return next((why for word, why in LEFT_OUT.items() if word in words), "")


def workload_program(workload: Workload, offsets: Mapping[int, int]) -> str:
    """offsets: of appends, where each begins, by index over setup and run."""
    one = reproducer(workload, dict(offsets))
    lines = [f"\tint {name} unused;" for name in variables(one)]
    for index, operation in enumerate((*workload.setup, *workload.run)):
        if index == len(workload.setup):
            lines += ['\tmkdir("/powercut/run", 0);']
        lines += [f"\t/* {format_operation(operation).replace('*/', '* /')} */"]
        lines += [f"\t{line}" for line in call(operation, index, one)]
    body = "\n".join(lines)
    used = [text for name, text in HELPERS.items() if re.search(rf"\b{name}\(", body)]
    return HEAD + "".join(used) + MAIN.format(operations=body)


def reproducer(workload: Workload, offsets: dict[int, int]) -> Reproducer:
    """As much of one as its calls ask for."""
    return Reproducer(
        title=workload.name,
        about=(),
        expected="",
        found="",
        filesystem="",
        mkfs=(),
        mount_options="",
        fsck=(),
        size_bytes=0,
        setup=workload.setup,
        run=workload.run,
        way="flakey",
        returned=True,
        checks=(),
        offsets=offsets,
    )
