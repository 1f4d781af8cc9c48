"""Which workloads a search examines, and which it keeps; no guest is asked."""

import zlib

import msgspec
import pytest

from harness.evidence.store import NoResults, new_run, write_question
from harness.experiments.plan import Plan
from harness.runs.pool import Lost, Said
from harness.search.corpus import Corpus, bytes_of, read_corpus
from harness.search.examine import Seen
from harness.search.features import FINDINGS, RECORDED, RECOVERED, ROLES, hashed
from harness.search.search import CORPUS, FEW, GUIDED, SAMPLED, Search, SearchSpec
from oracles.profiles import profile
from oracles.verdict import Tier
from reports import formats
from reports.results import Question
from reports.search.results import FILE, SearchReport
from workloads.library import select
from workloads.text import format_operation

EDGES = 5000
SEEDS = select(("rename-*",))[:8]


class MadeUp:
    """A pool whose kernel takes an edge for each word and length of a line; flaky: one more, another each
    time. dies: the worker does, at this number."""

    def __init__(self, flaky: bool = False, dies: int = 0) -> None:
        self.asked: list[str] = []
        self._flaky, self._dies = flaky, dies

    def perform(self, tasks):
        for task in reversed(tasks):
            if task.plan.number == self._dies:
                yield task, Lost(task, "killed by signal 9")
                continue
            yield task, Said("done", self._seen(task))

    def _seen(self, task):
        self.asked.append(task.workload.name)
        words = [format_operation(op) for op in (*task.workload.setup, *task.workload.run)]
        edges = {zlib.crc32(f"{word.split(' ')[0]} {len(word)}".encode()) % EDGES for word in words}
        if self._flaky:
            edges.add(len(self.asked) % EDGES)
        signatures = (
            ("btrfs durable: data lost (fsynced file)",) if any("exchange" in one for one in words) else ()
        )
        features = {
            RECORDED: bytes_of(sorted(edges)),
            RECOVERED: bytes_of(sorted(edges)[:2]),
            ROLES: b"",
            FINDINGS: hashed(signatures),
        }
        return Seen(features, signatures, "layout", EDGES, states=10, kept=bool(set(signatures) - task.seen))


def made(tmp_path, mode=GUIDED, seed=1, workloads=60, corpus=None, report=None, folder=None) -> Search:
    one = profile("btrfs")
    spec = SearchSpec("6.12", one, SEEDS, mode, seed=seed, workloads=workloads)
    plan = Plan(1, "6.12", "key", "agent", one, SEEDS[0], Tier.FS, True)
    if folder is None:
        question = Question((), "", "", 0, "fs", ("O",), "uml", (), {}, {}, {})
        folder = new_run(tmp_path, question)
        write_question(folder, question)
    report = report or SearchReport(mode, "6.12", "btrfs", (), seed, len(SEEDS))
    return Search(spec, plan, SEEDS, folder, corpus or Corpus(), report)


def searched(search: Search, pool: MadeUp) -> Search:
    while not search.is_over():
        search._batch(pool, lambda task, seen: True)
    search.save()
    return search


def test_same_seed_same_search(tmp_path):
    """Workloads and corpus; another seed gives another."""
    pools = [MadeUp(), MadeUp(), MadeUp()]
    one, other, third = (
        searched(made(tmp_path / f"{at}", seed=seed), pool)
        for at, (seed, pool) in enumerate(zip((1, 1, 2), pools, strict=True))
    )
    assert pools[0].asked == pools[1].asked != pools[2].asked
    assert [entry.workload for entry in one.corpus.entries] == [
        entry.workload for entry in other.corpus.entries
    ]
    assert one.report.corpus == other.report.corpus != third.report.corpus


def test_the_budget_is_a_number_of_workloads(tmp_path):
    """No more are examined, confirmations apart."""
    pool = MadeUp()
    search = searched(made(tmp_path, workloads=50), pool)
    assert search.number == 50
    assert len(set(pool.asked)) == 50
    assert search.report.states == 500


def test_what_shows_nothing_new_is_not_kept(tmp_path):
    """And little news was recorded twice; that of those to begin with is believed."""
    pool = MadeUp()
    search = searched(made(tmp_path), pool)
    names = [entry.workload.name for entry in search.corpus.entries]
    assert 0 < len(names) < 60
    later = [name for name in names if name.startswith("search1-")]
    assert later
    kept = {one.name: sum(one.new.values()) for one in search.report.corpus}
    assert all(kept[name] for name in names)
    assert all(pool.asked.count(name) == (2 if kept[name] <= FEW else 1) for name in later)
    assert search.report.confirmed == sum(kept[name] <= FEW for name in later)


def test_an_edge_that_comes_and_goes_is_no_news(tmp_path):
    """The second recording has another one in its place."""
    steady, flaky = (
        searched(made(tmp_path / "a"), MadeUp()),
        searched(made(tmp_path / "b"), MadeUp(flaky=True)),
    )
    assert flaky.report.flaky > 0
    assert len(flaky.corpus.entries) <= len(steady.corpus.entries) + len(SEEDS)


def test_sampled_keeps_to_what_it_began_with(tmp_path):
    """No second recordings, no corpus on disk."""
    pool = MadeUp()
    search = searched(made(tmp_path, SAMPLED), pool)
    assert len(pool.asked) == len(set(pool.asked)) == 60
    assert {entry.workload.name for entry in search.corpus.entries} == {one.name for one in SEEDS}
    assert not (search.folder / CORPUS).exists()
    assert search.report.corpus == ()


def test_a_search_goes_on_where_it_ended(tmp_path):
    """In two parts it examines and keeps what it does in one, where the first ends with a batch."""
    whole_pool, pool = MadeUp(), MadeUp()
    whole = searched(made(tmp_path / "a", workloads=72), whole_pool)
    first = searched(made(tmp_path / "b", workloads=36), pool)
    report = formats.read(first.folder / FILE, SearchReport)
    corpus = read_corpus(first.folder / CORPUS)
    second = searched(made(tmp_path, workloads=72, corpus=corpus, report=report, folder=first.folder), pool)
    assert sorted(pool.asked) == sorted(whole_pool.asked)
    assert {one.name for one in second.report.corpus} == {one.name for one in whole.report.corpus}
    assert second.report.number == 72


def test_the_first_of_a_signature_is_told(tmp_path):
    """After so many experiments of it no more are kept."""
    search = searched(made(tmp_path, workloads=100), MadeUp())
    (first,) = search.report.first
    assert first.signature == "btrfs durable: data lost (fsynced file)"
    assert 1 <= first.number <= 100


def test_a_worker_that_dies_is_no_finding(tmp_path):
    """Its workload is told as not examined."""
    search = searched(made(tmp_path, workloads=24), MadeUp(dies=5))
    assert search.report.undone == 1
    assert "killed by signal 9" in search.report.reasons[0]


def test_the_corpus_is_made_small_at_the_end(tmp_path):
    """What is left shows all that was shown, on disk, too."""
    search = searched(made(tmp_path, workloads=200), MadeUp())
    before = {one for entry in search.corpus.entries for one in entry.features[RECORDED]}
    count = len(search.corpus.entries)
    search.end()
    after = {one for entry in search.corpus.entries for one in entry.features[RECORDED]}
    assert before == after
    assert search.report.minimized == count
    assert len(list((search.folder / CORPUS).glob("*.workload"))) == len(search.corpus.entries)


def test_a_damaged_corpus_is_named(tmp_path):
    """Before a guest is asked."""
    search = searched(made(tmp_path, workloads=24), MadeUp())
    (search.folder / CORPUS / "counts.zst").write_bytes(b"x")
    with pytest.raises(NoResults, match=r"counts.zst is damaged"):
        read_corpus(search.folder / CORPUS)
    assert msgspec.json.decode((search.folder / FILE).read_bytes())["format"] == 1
