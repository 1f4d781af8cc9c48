"""
The generated parts of reference/kernels.md: sources, series and variants of the configuration.

In:       the headers of kernel/series/, the comments of kernel/config/*.config.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand.
"""

from collections.abc import Iterator
from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import code, table
from kernel.build import series
from kernel.fragments import FOLDER, known_variants
from kernel.kernel import Series
from kernel.word import RELEASES

PAGE = Path("docs/reference/kernels.md")
GROUPS = ("before", "fix", "planted")


def generated(root: Path) -> dict[Path, str]:
    parts = {
        "releases": f"The releases are {', '.join(map(code, RELEASES))}.",
        "configs": configs(),
        **{group: of_group(group) for group in GROUPS},
    }
    return {PAGE: filled(root / PAGE, parts)}


def configs() -> str:
    return table(
        ("variant", "what it is for"),
        [(code(name), first_sentences(FOLDER / f"{name}.config")) for name in known_variants()],
    )


def first_sentences(path: Path) -> str:
    """The comment that the file opens with; an option that is switched off looks like a comment, too."""
    lines: list[str] = []
    for line in path.read_text().splitlines():
        if not line.startswith("# ") or line.startswith("# CONFIG_"):
            break
        lines.append(line.removeprefix("# "))
    return " ".join(lines)


def of_group(group: str) -> str:
    listed = [one for one in series() if one.name.startswith(f"{group}/")]
    planted = group == "planted"
    places = ("profiles", "detected by") if planted else ()
    return table(("series", "what it changes", *places, "notes"), [row(one, planted) for one in listed])


def row(one: Series, planted: bool) -> tuple[str, ...]:
    facts = one.facts
    cells = [code(one.name), one.about]
    if planted:
        cells += [", ".join(facts.profiles or ("btrfs",)), ", ".join(facts.oracles)]
    return (*cells, "; ".join(notes(one)))


def notes(one: Series) -> Iterator[str]:
    facts = one.facts
    if facts.upstream:
        yield f"upstream: {facts.upstream}"
    if facts.models:
        yield f"models: {', '.join(facts.models)}"
    if facts.config:
        yield f"needs the configuration {', '.join(facts.config)}"
    if facts.faults:
        yield "needs `--faults`"
    if facts.damage:
        yield "needs `--failing-blocks`" if facts.failing else "needs `--damage`"
    for version, reason in facts.absent.items():
        yield f"not for {version}: {reason}"
