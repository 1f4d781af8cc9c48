"""
Where our code is: a checkout, or an installation made by pipx, uv or pip.

In:       nothing.
Out:      ROOT, the folder of the five rooms; IS_CHECKOUT; COMMAND, what a user types to start us;
          executable(), its path.
Not here: the user's cache (kernel/cache.py), the results (evidence/store.py), the version (version.py).

In an installation the five rooms lie in the folder of Python's packages, which may be read-only. Nothing is
written there.
"""

import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IS_CHECKOUT = (ROOT / "pyproject.toml").is_file()  # left out of an installation
COMMAND = "./powercut" if IS_CHECKOUT else "powercut"


def executable() -> Path:
    """What a script that we leave in a run's folder calls. The path need not exist any more by then."""
    return ROOT / "powercut" if IS_CHECKOUT else Path(sysconfig.get_path("scripts")) / "powercut"
