"""
Bugs of stock kernels that the library finds, triaged in FINDINGS.md.

In:       nothing.
Out:      KNOWN; expected_findings(), known_heading().
Not here: muting. A run reports these as BROKEN, says where they are told, and ends 1. The suite asks that a
          stock kernel gives exactly these and nothing else, so a new finding fails it, and so does one that
          went away.
"""

from collections.abc import Iterable

import msgspec

from oracles.profiles import profile


class KnownBug(msgspec.Struct, frozen=True):
    """A bug of a stock kernel. heading: in FINDINGS.md. signatures: without the profile's name."""

    heading: str
    kernels: tuple[str, ...]
    filesystem: str
    workload: str
    signatures: tuple[str, ...]


BOTH = ("6.1", "6.12")  # 6.1.192 and 6.12.117
REPLACED = "A fsynced file replaced by rename is lost when another file is fsynced"
REPLACED_SIGNATURES = ("atomic: replaced name gone (renamed file)", "durable: name lost (fsynced file)")

KNOWN = (
    KnownBug(REPLACED, BOTH, "btrfs", "replace-synced-fsync-other", REPLACED_SIGNATURES),
    KnownBug(REPLACED, BOTH, "btrfs", "rename-over-synced-file", REPLACED_SIGNATURES),
    KnownBug(
        heading="A renamed file keeps its old name when its logged directory left the cache",
        kernels=("6.1",),
        filesystem="btrfs",
        workload="rename-evicted-file",
        signatures=("atomic: both names (renamed file)", "durable: name came back (fsynced file)"),
    ),
    KnownBug(
        heading="A renamed symlink keeps its old name although its directory was fsynced",
        kernels=BOTH,
        filesystem="btrfs",
        workload="synced-symlink-renamed",
        signatures=(
            "durable: name came back (entry of fsynced directory)",
            "durable: name lost (entry of fsynced directory)",
        ),
    ),
    KnownBug(
        heading="Space reserved across the end of a file is lost by rename and fsync",
        kernels=BOTH,
        filesystem="btrfs",
        workload="reserved-tail-then-rename",
        signatures=(
            "durable: preallocation lost (fsynced file)",
            "durable: preallocation lost (synced file)",
        ),
    ),
    KnownBug(
        heading="A removed file that is fsynced through its last descriptor comes back",
        kernels=BOTH,
        filesystem="btrfs",
        workload="unlinked-open-file-fsync",
        signatures=("durable: name came back (fsynced file)",),
    ),
    KnownBug(
        heading="A removed file that is fsynced through its last descriptor comes back",
        kernels=BOTH,
        filesystem="btrfs",
        workload="unlinked-synced-open-file-fsync",
        signatures=("durable: name came back (fsynced file)",),
    ),
    KnownBug(
        heading="What was fsynced before the file had a name is lost when only its directory is fsynced",
        kernels=BOTH,
        filesystem="btrfs",
        workload="tmpfile-fsynced-then-linked",
        signatures=(
            "durable: preallocation lost (fsynced file)",
            "durable: size lost (fsynced file)",
        ),
    ),
)


def expected_findings(kernel: str, filesystem: str, profile: str) -> set[tuple[str, str]]:
    """(signature, workload) of every finding that the stock kernel is known for."""
    return {
        (f"{profile} {signature}", known.workload)
        for known in KNOWN
        if kernel in known.kernels and known.filesystem == filesystem
        for signature in known.signatures
    }


def known_heading(kernel: str, profile_name: str, signature: str, workloads: Iterable[str]) -> str:
    """Where FINDINGS.md tells this finding, or "" when one of its workloads is news. kernel: a KERNEL word;
    a series on top of a source takes none of the source's own bugs away."""
    headings = {
        (f"{profile_name} {one}", bug.workload): bug.heading
        for bug in KNOWN
        if kernel.partition("+")[0] in bug.kernels and bug.filesystem == profile(profile_name).filesystem
        for one in bug.signatures
    }
    found = [headings.get((signature, workload), "") for workload in workloads]
    return found[0] if found and all(found) else ""
