"""
A program as a workload: what is run, with which files, and for how long.

In:       nothing; the command line and the readers of program files make these.
Out:      Program, frozen.
Not here: what it did (trace.py), how it is run (harness/stages/trace.py, harness/guests/agent/start.c).
"""

import msgspec

FILES_BYTES_MAX = 6 << 20  # they go to the guest as hex, in an inbox that the agent reads as 16 MiB


class ProgramFile(msgspec.Struct, frozen=True):
    """A file that the guest has as /program/NAME.

    name: NAME. content: its bytes. executable: whether it may be run.
    """

    name: str
    content: bytes
    executable: bool = True


class Program(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is run, with which files, and for how long.

    arguments:   its own name first, which is looked up in the guest's PATH.
    setup:       the same of what is run before it, not traced and not recorded; empty for nothing.
    oracle:      the same of the script that judges a recovered tree; empty for none.
    files:       FILES_BYTES_MAX bytes together, with stdin.
    stdin:       what it reads from its standard input.
    environment: beside ours, or in place of ours.
    timeout_s:   of the program, and of its setup.
    promise:     one line: what its oracle expects, for a reader.
    oracle_timeout_s: of the oracle, for one tree.
    content:     whether the content of files is judged; where it is not, only its hash is told, and the tree
                 may be large.
    config:      variants of the kernel's config that it needs beside `programs`.
    within:      its setup is a part of it, and ends with mkdir("/powercut/run"), which the tracer swallows.
    """

    arguments: tuple[str, ...]
    setup: tuple[str, ...] = ()
    oracle: tuple[str, ...] = ()
    files: tuple[ProgramFile, ...] = ()
    stdin: bytes = b""
    environment: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 60.0
    promise: str = ""
    oracle_timeout_s: float = 20.0
    content: bool = True
    config: tuple[str, ...] = ()
    within: bool = False


ENVIRONMENT = (
    ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("LC_ALL", "C"),
    ("USER", "root"),
    ("LOGNAME", "root"),
    ("MNT", "/mnt"),
    ("PROGRAM", "/program"),
)


def environment_of(program: Program) -> dict[str, str]:
    return dict((*ENVIRONMENT, *program.environment))
