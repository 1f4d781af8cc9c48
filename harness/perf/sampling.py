"""
Where a guest's kernel spends its time: perf on the process that a User Mode Linux guest is.

In:       a running guest.
Out:      Samples of what ran meanwhile, by kernel function.
Not here: shares and their change (reports/perf/profiles.py).

cpu-clock:u samples the guest's kernel, which is a program of the host, while it runs; the host's own work
for it (writing its disk's file, switching its processes) is not in it. The stack is walked by frame
pointers, which the config variant perf has.
"""

import contextlib
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.perf.boot import NotMeasured
from reports.perf.results import Samples

HERTZ = 4999  # no divisor of the guest's ticks
PERF_TIMEOUT_S = 120


@contextlib.contextmanager
def sampling(pid: int, output: Path) -> Iterator[None]:
    """Errors: NotMeasured when perf does not start or gives nothing."""
    command = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(HERTZ), "-g", "-i"]
    process = subprocess.Popen(
        [*command, "-p", str(pid), "-o", str(output)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(output.parent)},
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PERF_TIMEOUT_S)[1].decode(errors="replace").strip()
    if not output.exists() or not output.stat().st_size:
        raise NotMeasured(f"perf record wrote no samples: {said.splitlines()[-1] if said else 'no word'}")


def samples(
    output: Path, program: str, functions: Sequence[str], side: str, number: int, case: str
) -> Samples:
    """program: the file name of the guest's kernel; what is not in it is not counted. Errors: NotMeasured."""
    done = subprocess.run(
        ["perf", "script", "-i", str(output), "-F", "ip,sym,dso"],
        capture_output=True,
        check=False,
        timeout=PERF_TIMEOUT_S,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(output.parent)},
    )
    if done.returncode:
        raise NotMeasured(f"perf script failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    own: Counter[str] = Counter()
    under: Counter[str] = Counter()
    total = 0
    for stack in stacks(done.stdout.decode(errors="replace").splitlines(), program):
        total += 1
        own[stack[0]] += 1
        under.update(set(stack).intersection(functions))
    return Samples(side, number, case, HERTZ, total, dict(own), {name: under[name] for name in functions})


def stacks(lines: Iterable[str], program: str) -> Iterator[list[str]]:
    """The functions of each sample that was taken in that program, the innermost first. A sample is its
    frames, "ADDRESS SYMBOL (FILE)" a line, and an empty line."""
    frames: list[tuple[str, str]] = []
    for line in [*lines, ""]:
        if line.strip():
            _, _, rest = line.strip().partition(" ")
            symbol, _, place = rest.rpartition(" (")
            frames.append((symbol.partition("+0x")[0].strip(), place.rstrip(")")))
        elif frames:
            if Path(frames[0][1]).name == program:
                yield [symbol for symbol, _ in frames]
            frames = []
