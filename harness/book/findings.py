"""
FINDINGS.md, the table of all findings on stock kernels; and the table at the top of the page of each.

In:       the front matter of docs/findings/ID.md.
Out:      generated(): FINDINGS.md and the pages, whole.
Not here: the rest of the pages, which is written by hand; how a finding shows (harness/evidence/known.py).
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import table as table_of
from harness.evidence.bugs import NEEDS, BugPage, bug_pages
from harness.local.root import ROOT
from reports.text.known import upstream_words

PAGE = Path("FINDINGS.md")
FOLDER = "docs/findings"
FACTS = "facts"
SERIES = "kernel/series"
HEAD = """# Findings on stock kernels

This table is generated from the front matter of the pages in `docs/findings/`;
`.venv/bin/python -m harness.book` writes it.

Each finding is a promise that a kernel breaks as Debian ships it. Each has a page with the shortest
workload, the mechanism, the versions, a fix if there is one, the commands that reproduce it, and its status
upstream. The ID of a finding is stable. Nothing is muted: a run that meets a known finding reports it as
BROKEN, names its ID, and ends with exit status 1. The tests require that a stock kernel shows exactly the
findings in [known.py](harness/evidence/known.py), no more and no fewer.

What was run: the whole library of that time, 248 workloads, on Debian's kernels 5.10.262-1, 6.1.192-2,
6.12.117-1~deb12u1 and 7.2.13-1, in User Mode Linux, crash model O, tier fs, on six profiles of btrfs, ext4
and xfs: 1,488 experiments on each kernel, with 31,282, 31,135, 31,238 and 32,220 states. Other profiles,
f2fs, generated workloads and devices that fail were run besides.
[docs/findings/index.md](docs/findings/index.md) says what each run showed, and where an oracle or our own
method was wrong.

{counts}

| upstream | meaning |
| --- | --- |
| fixed | A fix is in a release or in the tree of the maintainers. The page names it. |
| reported | A report, or a fix that was not taken, is known. The page links it. |
| no report found | The searches on the page found neither. |
| not searched | Nobody has searched yet. |

We have not sent any of these findings to the maintainers yet.

The column *needs* says what a finding needs beside the filesystem's defaults, one thread and a device without
errors. `default` means nothing more.

{needs}
"""


def generated(root: Path) -> dict[Path, str]:
    """Errors: BadBugPage, BadRegions."""
    pages = bug_pages()
    needs = table_of(("needs", "what it is"), list(NEEDS.items()))
    parts = [HEAD.format(counts=counts(pages), needs=needs)]
    for filesystem, ones in groupby(pages, key=heading):
        parts += [f"\n## {filesystem}\n\n", *table(ones)]
    places = {page.id: Path(FOLDER) / f"{page.id}.md" for page in pages}
    tops = {places[page.id]: filled(root / places[page.id], {FACTS: facts(page)}) for page in pages}
    return {PAGE: "".join(parts), **tops}


def heading(page: BugPage) -> str:
    """A bug of overlayfs shows above a filesystem, and is not one of it."""
    return "overlayfs" if "overlayfs" in page.needs else page.filesystem


def counts(pages: tuple[BugPage, ...]) -> str:
    """ "35 findings: 12 of btrfs, 15 of ext4, ... Upstream: 3 fixed, ..." """
    by_filesystem = [
        f"{len(list(ones))} of {name}" for name, ones in groupby(heading(page) for page in pages)
    ]
    order = ("fixed", "reported", "not found", "not searched")
    numbers = {status: sum(page.upstream == status for page in pages) for status in order}
    upstream = ", ".join(count_words(number, status) for status, number in numbers.items() if number)
    return f"{len(pages)} findings: {', '.join(by_filesystem)}. Upstream: {upstream}."


def count_words(number: int, status: str) -> str:
    return f"{number} without a report that we found" if status == "not found" else f"{number} {status}"


def table(pages: Iterator[BugPage]) -> Iterator[str]:
    yield "| ID | finding | kernels | needs | fix series | upstream |\n"
    yield "| --- | --- | --- | --- | --- | --- |\n"
    for page in pages:
        kernels = ", ".join(page.kernels)
        needs = ", ".join(page.needs) or "default"
        fixes = fix_links(page, "")
        link = f"[{page.id}]({FOLDER}/{page.id}.md)"
        upstream = upstream_words(page.upstream)
        yield f"| {link} | {page.title} | {kernels} | {needs} | {fixes} | {upstream} |\n"


def fix_links(page: BugPage, to_root: str) -> str:
    """Each series, with a link to its file or folder. to_root: from the document that has the link."""
    links = []
    for name in page.fix:
        found = sorted((ROOT / SERIES).glob(f"{name}*"))
        place = next((path for path in found if path.stem == Path(name).name), None)
        assert place is not None, f"{page.id}: no file of series {name}"
        links.append(f"[`{name}`]({to_root}{place.relative_to(ROOT)})")
    return ", ".join(links) or "none"


def facts(page: BugPage) -> str:
    """The front matter, for readers."""
    rows = {
        "filesystem": page.filesystem,
        "kernels": ", ".join(page.kernels),
        "profiles": ", ".join(page.profiles) or f"of {page.filesystem}, see Versions",
        "oracles": ", ".join(f"`{one}`" for one in page.oracles),
        "needs": ", ".join(page.needs) or "default",
        "fix series": fix_links(page, "../../"),
        "upstream": upstream_words(page.upstream),
    }
    (first, value), *others = rows.items()
    return "\n".join(
        [f"| {first} | {value} |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in others)]
    )
