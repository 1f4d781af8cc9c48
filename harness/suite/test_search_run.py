"""
A search on a real guest: what it keeps, what it finds, and that it goes on.

In:       the stock kernel, its build that counts, a planted bug.
Out:      the corpus, the findings, the files of the run.
Not here: which workloads are kept (harness/tests/search/), guided against sampled (harness/search/versus.py).
"""

from pathlib import Path

import pytest

from harness.commands.main import main
from harness.evidence.sweep import bug_of
from harness.local.progress import Progress
from harness.search.corpus import numbers_of, read_corpus
from harness.search.features import RECORDED, RECOVERED, ROLES
from harness.search.search import CORPUS, GUIDED, SAMPLED, SearchSpec, search
from harness.search.versus import Judge, Trial, trial, without_the_bug
from kernel.build import find, series
from kernel.profiling import VARIANT
from oracles.profiles import profile
from reports.results import read_question, read_summary
from reports.search.results import read_search
from workloads.library import select

EASY = "planted/ext4-size-unknown-to-fdatasync"
SEEDS = ("rename-over-synced-file", "replace-by-rename", "append-fsync-repeated")


def spec_of(kernel: str, mode: str, workloads: int) -> SearchSpec:
    return SearchSpec(
        kernel,
        profile("btrfs"),
        select(SEEDS),
        mode,
        seed=1,
        workloads=workloads,
        jobs=1,
        attribute=False,
        command=(
            "powercut",
            "search",
            *SEEDS,
            "--kernel",
            kernel,
            f"--{mode}",
            "--workloads",
            f"{workloads}",
        ),
    )


@pytest.mark.smoke
def test_a_guided_search_keeps_what_is_new_and_goes_on(tmp_path, kernel_word, capsys):
    """A known bug is found; its evidence is of the kernel that does not count; --resume examines more."""
    if find(kernel_word, (VARIANT,)) is None:
        pytest.skip(
            f"the build that counts is missing: powercut kernel build {kernel_word} --config {VARIANT}"
        )
    with Progress() as progress:
        folder, report, summary = search(spec_of(kernel_word, GUIDED, 12), tmp_path, progress)
    assert (report.number, report.undone) == (12, 0)
    assert report.states > 12
    corpus = read_corpus(folder / CORPUS)
    assert {one.name for one in report.corpus} == {entry.workload.name for entry in corpus.entries}
    assert all(len(numbers_of(entry.features[RECOVERED])) > 1000 for entry in corpus.entries)
    assert min(corpus.seen(kind) for kind in (RECORDED, RECOVERED, ROLES)) > 0
    assert "BTRFS-1" in {bug.id for one in summary.findings for bug in one.known}
    assert read_question(folder).kernels[kernel_word]
    assert all(one.kernel == kernel_word for one in summary.findings)
    assert (folder / "report" / "search.html").exists()
    words = [
        "search",
        "--resume",
        str(folder),
        "--workloads",
        "15",
        "--no-attribute",
        "--no-minimize",
        "--quiet",
    ]
    assert main(words) == 1
    assert "15 workloads" in capsys.readouterr().out
    again = read_search(folder)
    assert again.number == 15
    assert len(read_summary(folder).findings) >= len(summary.findings)


@pytest.mark.search
@pytest.mark.timeout(3600)
def test_same_seed_same_search_on_one_guest_and_two(tmp_path, kernel_word):
    """Of a sampled one all workloads; which signatures are shown first, too."""
    folders = []
    for jobs in (1, 2):
        spec = spec_of(kernel_word, SAMPLED, 40)
        with Progress() as progress:
            _, report, _ = search(
                SearchSpec(
                    **{**{name: getattr(spec, name) for name in spec.__struct_fields__}, "jobs": jobs}
                ),
                tmp_path / f"{jobs}",
                progress,
            )
        folders.append({(one.signature, one.workload) for one in report.first})
    assert folders[0] == folders[1]


@pytest.mark.search
@pytest.mark.timeout(7200)
def test_both_modes_find_an_easy_planted_bug(tmp_path):
    """From workloads that do not show it, within ten minutes."""
    bug = next(bug_of(one) for one in series() if one.name == EASY)
    one, shows = profile("ext4"), set(bug.workloads)
    found: list[Trial] = []
    with Progress() as progress, Judge(bug, one, progress) as judge:
        chosen = without_the_bug(bug, one, 1, shows, judge, tmp_path, progress)
        assert not {workload.name for workload in chosen} & shows
        for mode in (GUIDED, SAMPLED):
            found.append(trial(bug, one, mode, 1, chosen, 600.0, judge, Path(tmp_path), progress))
    assert all(each.found for each in found), found
