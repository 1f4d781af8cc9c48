"""
Part of the build of a package: the commit that it is built from goes into it.

In:       POWERCUT_COMMIT; else git, in a checkout; else the file that an sdist has already.
Out:      the file harness/local/commit in the wheel and in the sdist.
Not here: reading it (harness/local/version.py); what else is in a package (pyproject.toml).
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "harness/local/commit"


class CommitHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if (root / PLACE).is_file():  # of an sdist: it is packed as it is
            return
        self.folder = tempfile.TemporaryDirectory(prefix="powercut-build-")
        file = Path(self.folder.name) / "commit"
        file.write_text(f"{os.environ.get('POWERCUT_COMMIT') or described(root)}\n")
        build_data["force_include"][str(file)] = PLACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


def described(root: Path) -> str:
    """A repository further up is another project's."""
    if not (root / ".git").exists():
        return "unknown"
    command = ["git", "-c", f"safe.directory={root}", "-C", str(root), "describe", "--always", "--dirty=+"]
    try:
        return (
            subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
        )
    except FileNotFoundError:
        return "unknown"
