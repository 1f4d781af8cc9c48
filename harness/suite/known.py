"""
Bugs of stock kernels that the suite finds, triaged in FINDINGS.md.

In:       nothing.
Out:      KNOWN; expected_findings().
Not here: muting. A run reports these as BROKEN and ends 1. The suite asks that a stock kernel gives
          exactly these and nothing else, so a new finding fails it, and so does one that went away.
"""

import msgspec


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
