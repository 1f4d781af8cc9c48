"""
A known bug in words, as terminal, pages and CI files say it.

In:       KnownAs, of a finding; FindingCounts, of a run.
Out:      one line for each bug; the IDs of several; how many findings are known, and by what; the fixes.
Not here: which bug a finding is (harness/evidence/known.py), the pages of the bugs (docs/findings/).
"""

from collections.abc import Iterable

from reports.results import Finding, FindingCounts, KnownAs


def known_words(one: KnownAs) -> str:
    """ "BTRFS-1 (docs/findings/BTRFS-1.md): TITLE; upstream: no report found"."""
    upstream = f"; upstream: {upstream_words(one.upstream)}" if one.upstream else ""
    return f"{one.id} ({one.page}): {one.title}{upstream}"


def upstream_words(status: str) -> str:
    """The status for a reader: "not found" alone reads as if the bug were not there upstream."""
    return "no report found" if status == "not found" else status


def ids_of(known: Iterable[KnownAs]) -> str:
    """ "BTRFS-1, BTRFS-4"."""
    return ", ".join(one.id for one in known)


def counts_words(counts: FindingCounts) -> str:
    """ "known by fix 2, known by signature 3, new 1"; "" where there is none, as in older runs."""
    if counts == FindingCounts():
        return ""
    return f"known by fix {counts.by_fix:,}, known by signature {counts.by_signature:,}, new {counts.new:,}"


def fixes_of(finding: Finding) -> str:
    """The series that remove it, "" where it is not known by a fix."""
    return ", ".join(dict.fromkeys(one.series for one in finding.after.attributed)) if finding.by_fix else ""
