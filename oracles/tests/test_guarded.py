"""The table of fstests cases (guarded.toml): it is whole, and the oracles ask what it says they ask."""

import re

import pytest

from oracles.tests.guarded import asked, facts, table
from workloads.library import ROOT, SUFFIX, library

CASE = re.compile(r"\b(?:generic|btrfs|ext4|xfs)/\d{3}\b")
# That f2fs passes the cases of renames in strict mode only stands in Documentation/filesystems/f2fs.rst.
EVERYWHERE = ("btrfs", "ext4", "xfs", "f2fs-strict")
ROWS = [(case, workload, tuple(words)) for case, workload, *words in table()["cases"]]
REFUSED = {
    (workload, fact, name) for workload, fact, names, _ in table()["refused"] for name in names.split()
}


def profiles_of(case):
    return EVERYWHERE if case.startswith("generic") else (case.partition("/")[0],)


def header(workload, word):
    """The comment lines that begin with it."""
    text = (ROOT / workload.theme / (workload.name + SUFFIX)).read_text()
    return [line for line in text.splitlines() if line.startswith(f"# {word}: ")]


def named():
    """(case, workload) of every header."""
    for workload in library():
        for line in header(workload, "guards"):
            yield from ((case, workload.name) for case in CASE.findall(line))


def test_each_fstests_case_that_a_workload_names_has_a_row():
    """And no row is left of a workload that names it no more."""
    rows = [(case, workload) for case, workload, _ in ROWS]
    rows += [(case, workload) for case, workload, _ in table()["elsewhere"]]
    assert sorted(rows) == sorted(set(named()))


@pytest.mark.parametrize(("case", "workload", "words"), ROWS, ids=[f"{row[0]} {row[1]}" for row in ROWS])
def test_what_the_case_compares_is_asked_or_refused(case, workload, words):
    """Of a recovered tree in which it is untrue, on each filesystem that the case is for."""
    for name in profiles_of(case):
        for fact in facts(workload, name, words):
            assert asked(workload, name, fact) is ((workload, fact, name) not in REFUSED), (name, fact)


def test_each_refusal_is_of_a_fact_that_is_compared():
    """And has its reason."""
    compared = {
        (workload, fact, name)
        for case, workload, words in ROWS
        for name in profiles_of(case)
        for fact in facts(workload, name, words)
    }
    assert not REFUSED - compared
    assert all(reason for *_, reason in table()["refused"])


def test_the_page_on_reliability_has_the_counts_of_the_table():
    """docs/reliability.md is written by hand."""
    mutants = table()["mutants"]
    shown = sum(bool(mutant["shown"]) for mutant in mutants)
    text = (ROOT.parent.parent / "docs/reliability.md").read_text()
    assert f"{len(ROWS)} pairs of an fstests case and a workload" in text
    assert f"{len(mutants)} fixes or parts of fixes were taken out" in text
    assert f"{shown} of them are shown, and each of the other {len(mutants) - shown} has its reason" in text


def test_each_fix_that_was_taken_out_was_shown_or_has_its_reason():
    """By a workload of the library, or in the header of one that guards it."""
    names = {workload.name for workload in library()}
    for mutant in table()["mutants"]:
        if mutant["shown"]:
            assert set(mutant["shown"].partition(": ")[2].split(", ")) <= names, mutant
        else:
            assert mutant["why"]
            assert any(
                header(workload, "Not shown")
                for workload in library()
                if any(mutant["guarded"] in line for line in header(workload, "guards"))
            ), mutant
