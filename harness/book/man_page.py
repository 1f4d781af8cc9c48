"""
The manual page powercut(1), made from the parser by argparse-manpage.

In:       harness/commands/main.py's parser; what is said here of files and surroundings.
Out:      generated(): docs/powercut.1.
Not here: the pages of the book (the other modules); where the manual page is installed (pyproject.toml).
"""

import os
from pathlib import Path

from argparse_manpage.manpage import Manpage

from harness.commands.main import parser
from harness.local.version import VERSION

PAGE = Path("docs/powercut.1")
ORIGIN = '.\\" Made by python -m harness.book. Do not edit.\n'
COLUMNS = "80"  # argparse breaks the lines of a usage at the width of the terminal
SECTIONS = {
    "EXIT STATUS": """\
.TP
.B 0
Every verdict is HOLDS. Of
.BR "run \\-\\-planted" :
every planted bug is found, and the stock kernel has no finding that is not known.
.TP
.B 1
Something is BROKEN.
.TP
.B 2
Wrong usage, or bad input.
.TP
.B 3
A state stays UNKNOWN, or the experiment could not be done.""",
    "ENVIRONMENT": """\
.TP
.B POWERCUT_CACHE
The folder for kernel sources, kernels and the program that runs in a guest. The default is
.IR ~/.cache/powercut .
.TP
.B POWERCUT_CACHE_LIMIT
The size that this folder may have, as
.IR 20G .
.TP
.BR POWERCUT_MAINLINE ", " POWERCUT_LINUX_NEXT ", " POWERCUT_STABLE
The git repository, a URL or a folder, that the kernels mainline, linux-next and stable@REV come from. The
default is that of kernel.org.""",
    "FILES": """\
.TP
.I results/
In the working directory: a folder for each run, and
.I latest
for the newest one. Its pages begin at
.IR report/index.html .
.TP
.I ~/.cache/powercut/
Kernel sources, kernels and the program that runs in a guest.""",
    "EXAMPLES": """\
.TP
.B powercut run
The demonstration set on btrfs: build the kernel, record, replay, judge, report.
.TP
.B powercut run replace\\-by\\-rename \\-\\-fs ext4,xfs
One workload on two profiles.
.TP
.B powercut run \\-\\-kernel 6.12+my\\-fix.patch
Your patch on Debian's 6.12.
.TP
.B powercut repro results/latest F1
Show a finding again.""",
}


def generated(_root: Path) -> dict[Path, str]:
    return {PAGE: man_page()}


def man_page() -> str:
    """Without a date: equal for equal parsers."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        top = parser()
        data = {
            "description": "crash consistency tests for Linux filesystems",
            "version": VERSION,
            "manual_title": "User Commands",
        }
        top.epilog = None  # its exit statuses have a section of their own
        page = Manpage(top, data, format="single-commands-section")
        page.date = ""  # argparse-manpage takes today's
        for heading, content in SECTIONS.items():
            page.add_section(heading, "=", content)
        return ORIGIN + str(page)
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
