"""
A small program that counts what it executes, as a kernel of the config variant gcov does.

In:       its source.
Out:      a folder with the notes of the compiler and the source, fs/a.gcno and fs/a.c; its counters after a
          run.
Not here: what is made of them (test_gcov.py, test_counters.py).
"""

import subprocess
from pathlib import Path


def compiled(folder: Path, source: str) -> Path:
    (folder / "fs").mkdir()
    (folder / "fs/a.c").write_text(source)
    flags = ["-O2", "-fprofile-arcs", "-ftest-coverage", "-fno-early-inlining"]
    subprocess.run(["gcc", *flags, "-c", "fs/a.c", "-o", "fs/a.o"], cwd=folder, check=True)
    subprocess.run(["gcc", "--coverage", "fs/a.o", "-o", "a"], cwd=folder, check=True)
    return folder


def counters_after(folder: Path, *words: str) -> bytes:
    """Of this run alone. The exit status is the program's own affair."""
    subprocess.run(["./a", *words], cwd=folder, check=False)
    counters = (folder / "fs/a.gcda").read_bytes()
    (folder / "fs/a.gcda").unlink()
    return counters
