"""
usable: what was recovered can be read, added to and removed.

In:       a Case (Observation.probe, and what the first walk could not read).
Out:      a Verdict; none where nothing was mounted to be used.
Not here: what the probe does (harness/agent).
"""

from collections.abc import Iterable, Iterator

from oracles.case import Case
from oracles.observation import Observation
from oracles.verdict import Tier, Verdict, Violation

NAME = "usable"
CHECKS = (
    "Every file can be read. In every directory a new file can be made, written and "
    "removed, and in the root also fsynced. Everything can be deleted until the root is "
    "empty. If there is no room for a new file, the existing files do fill the "
    "filesystem, and after they are deleted there is room for a file of a quarter of the "
    "device. In the mount that replayed a log, a new file without a name can be made, "
    "filled and fsynced."
)
NOT_CHECKED = (
    "New files on a profile that is made nearly full. The content of files, and use by "
    "several processes at the same time. In the mount that replayed a log, use is tested "
    "only in states whose last write had FUA or is followed by a FLUSH."
)

MAKING = ("create", "write", "fsync")  # the probe's calls that need space
# How much of the device its files hold at least, and how much of it is free at most, when it is full.
# Journals, second copies and reserves take the rest: of 64 MiB f2fs gives 16 to a file.
FILES_HOLD = 1 / 5
LITTLE = 1 / 16
SECTOR_BYTES = 512
AGAIN = "-again"  # of its calls in the emptied filesystem
PROBE_STAGE = "probe"  # what Observation.death_during says of the probe


def judge(case: Case) -> Verdict | None:
    seen = case.observation
    failures = (*unreadable(seen), *seen.first_probe, *seen.probe)
    if case.profile.overlay and _lacks_room(seen, failures):
        failures = tuple(unreadable(seen))
    full = is_full(case)
    violations = [
        _violation(case, failure)
        for failure in failures
        if case.asks_for(key := key_of(failure)) and not (full and key == "room" and AGAIN not in failure)
    ]
    if seen.death and PROBE_STAGE in seen.death_during:
        violations.append(
            Violation(
                "kernel died",
                "filesystem",
                ".",
                "the recovered filesystem can be used",
                f"{seen.death} during {seen.death_during}",
                case.promise("usable"),
                Tier.POSIX,
            )
        )
    if not violations and not (seen.probe_steps and not seen.death):
        return None
    return case.verdict(NAME, seen.probe_steps, violations)


def _lacks_room(seen: Observation, failures: Iterable[str]) -> bool:
    """Of overlayfs. What a lower layer has is removed by a whiteout; and a mount that cannot make its
    directory for unfinished work is read-only (fs/overlayfs/super.c ovl_workdir_create())."""
    return any(failure.endswith(": ENOSPC") for failure in failures) or any(
        "(errno: 28); mounting read-only" in line for line in seen.kernel_log
    )


def unreadable(seen: Observation) -> Iterator[str]:
    """Files that the first walk could not open or read, written as the probe writes."""
    for node in seen.tree or ():
        for error in node.errors:
            call, _, errno = error.partition(": ")
            if node.kind == "file" and call in ("open", "read"):
                yield f"{call} {node.path}: {errno}"


def is_full(case: Case) -> bool:
    """Whether what the files hold leaves no room: then new ones may find none. A filesystem that has few
    blocks free although its files hold little has lost them."""
    seen, device_bytes = case.observation, case.profile.size_bytes
    held = {node.ino: node.blocks for node in seen.tree or () if node.kind == "file"}
    if sum(held.values()) * SECTOR_BYTES < device_bytes * FILES_HOLD:
        return False
    return seen.room is None or seen.room.available_bytes < device_bytes * LITTLE


def key_of(failure: str) -> str:
    """The promise: whether it only wants for room."""
    wanting = failure.endswith(": ENOSPC") and failure.partition(" ")[0].removesuffix(AGAIN) in MAKING
    return "room" if wanting else "usable"


def _violation(case: Case, failure: str) -> Violation:
    """failure: "unlink A/foo: EIO"."""
    call, _, rest = failure.partition(" ")
    path, _, error = rest.rpartition(": ")
    kind = f"{call} failed"
    return Violation(
        kind,
        "recovered tree",
        path or ".",
        f"{call} succeeds",
        error or failure,
        case.promise(key_of(failure)),
        Tier.POSIX,
    )
