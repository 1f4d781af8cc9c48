"""
Which Powercut this is: its version, and the commit that it was built from.

In:       this checkout's git, or the file that the build left in an installation (hatch_build.py).
Out:      VERSION, the one place where the number stands; commit(); title() of both.
Not here: the release (docs/releasing.md), the format versions of files (reports/formats.py).
"""

import functools
import subprocess

from harness.local.root import IS_CHECKOUT, ROOT

VERSION = "0.2.0.dev0"  # pyproject.toml reads it from here
COMMIT_FILE = ROOT / "harness" / "local" / "commit"
UNKNOWN = "unknown"


@functools.cache
def commit() -> str:
    """Of this checkout, with "+" when it was changed; of an installation, the one it was built from;
    "unknown" outside git."""
    if not IS_CHECKOUT:  # a git repository around an installation is another project's
        return COMMIT_FILE.read_text().strip() if COMMIT_FILE.is_file() else UNKNOWN
    try:
        done = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "describe", "--always", "--dirty=+"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return UNKNOWN
    return done.stdout.strip() or UNKNOWN


def title() -> str:
    """As `powercut --version` prints it."""
    return f"powercut {VERSION} ({commit()})"
