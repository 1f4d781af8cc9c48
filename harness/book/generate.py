"""
The generated parts of the documents, all of them.

In:       the checkout: parser, words, oracles, profiles, series, records; the documents around them.
Out:      each document that has a generated part, whole; those that are stale.
Not here: the parts, a module each with generated(root).
"""

from collections.abc import Callable
from pathlib import Path

from harness.book import (
    campaign,
    command_line,
    faults_and_damage,
    findings,
    fstests,
    fstests_audit,
    kernels,
    man_page,
    models,
    nightly,
    oracles,
    profiles,
    programs,
    promises,
    run_files,
    words,
)

COMMAND = ".venv/bin/python -m harness.book"
Generator = Callable[[Path], dict[Path, str]]
GENERATORS: tuple[Generator, ...] = (
    command_line.generated,
    words.generated,
    models.generated,
    oracles.generated,
    promises.generated,
    faults_and_damage.generated,
    kernels.generated,
    profiles.generated,
    programs.generated,
    run_files.generated,
    nightly.generated,
    campaign.generated,
    findings.generated,
    fstests_audit.generated,
    fstests.generated,
    man_page.generated,
)


def generated(root: Path) -> dict[Path, str]:
    """By path relative to the root, the text that belongs there."""
    return {path: text for generator in GENERATORS for path, text in generator(root).items()}


def stale(root: Path) -> list[str]:
    """A sentence for each document that its generator makes otherwise, with the command that mends it."""
    return [
        f"{path} is stale; write it again: {COMMAND}"
        for path, text in generated(root).items()
        if not (root / path).is_file() or (root / path).read_text() != text
    ]


def write(root: Path) -> list[Path]:
    """Every stale document, written; which they were."""
    written = []
    for path, text in generated(root).items():
        place = root / path
        if not place.is_file() or place.read_text() != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            written.append(path)
    return written
