"""
The page of a run of fstests.

In:       a FstestsRun.
Out:      report/index.html of the run, whole or not at all.
Not here: its words (reports/fstests/lines.py), CI files (reports/ci/fstests.py).
"""

from pathlib import Path

from reports.fstests.lines import by_filesystem, count_words, headline, life_words, notrun_reasons
from reports.fstests.results import DIED, FAIL, KNOWN, NOTRUN, PASS, FstestsRun
from reports.pages.html import environment, whole_folder, write_glossary, write_page

# The classes of the report's style sheet.
MARKS = {PASS: "HOLDS", FAIL: "BROKEN", DIED: "UNKNOWN", NOTRUN: "none", KNOWN: "none"}
ORDER = (FAIL, DIED, KNOWN, NOTRUN, PASS)


def write_fstests_page(run: Path, found: FstestsRun) -> Path:
    """Write run/report/ and return its index. Errors: OSError."""
    with whole_folder(run / "report") as folder:
        pages = environment()
        write_page(
            pages,
            folder / "index.html",
            "fstests.html",
            run=run.resolve().name,
            f=found,
            headline=headline(found),
            mood={0: "HOLDS", 1: "BROKEN"}.get(found.exit, "UNKNOWN"),
            sections={
                name: sorted(results, key=lambda one: ORDER.index(one.result))
                for name, results in by_filesystem(found).items()
            },
            count_words=count_words,
            notrun=notrun_reasons(found.results),
            marks=MARKS,
            life_words=life_words,
        )
        write_glossary(pages, folder, run)
    return run / "report" / "index.html"
