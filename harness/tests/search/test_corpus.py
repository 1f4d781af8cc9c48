"""The corpus of a search: what is new, which workload is changed next, its files."""

import msgspec
import pytest

from harness.evidence.store import NoResults
from harness.search.corpus import (
    COUNTS,
    FLAKY_AFTER,
    Corpus,
    Entry,
    both,
    bytes_of,
    keep_counts,
    keep_entry,
    merged,
    minimized,
    numbers_of,
    read_corpus,
    read_entries,
    remove_entry,
)
from harness.search.features import RECORDED, RECOVERED, ROLES
from workloads.text import parse

EDGES = 100


def features(**kinds: list[int]) -> dict[str, bytes]:
    return {kind: bytes_of(numbers) for kind, numbers in kinds.items()}


def entry(name: str, operations: int = 1, states: int = 10, **kinds: list[int]) -> Entry:
    text = "run\n" + "".join(f"  creat {name}-{at}\n" for at in range(operations))
    return Entry(parse(text, name), states, features(**kinds))


def begun() -> Corpus:
    corpus = Corpus()
    corpus.begin("layout", EDGES)
    return corpus


def test_what_was_seen_is_not_new():
    """The kinds are apart: an edge of recording may be new in recovery."""
    corpus = begun()
    corpus.count(features(recorded=[1, 2]))
    new = corpus.new_in(features(recorded=[1, 2, 3], recovered=[1]))
    assert {kind: numbers_of(own).tolist() for kind, own in new.items()} == {RECORDED: [3], RECOVERED: [1]}
    corpus.count(features(recorded=[3], recovered=[1]))
    assert corpus.new_in(features(recorded=[1, 2, 3], recovered=[1])) == {}
    assert (corpus.seen(RECORDED), corpus.seen(RECOVERED), corpus.examined) == (3, 1, 2)


def test_what_does_not_come_again_is_no_news_after_a_while():
    """Threads of the kernel take some edges now and then."""
    corpus = begun()
    for _ in range(FLAKY_AFTER):
        assert corpus.new_in(features(recorded=[7]))
        corpus.miss(features(recorded=[7]))
    assert corpus.new_in(features(recorded=[7])) == {}


def test_what_two_recordings_have_in_common():
    """Of each kind."""
    one = both(features(recorded=[1, 2, 3], roles=[5]), features(recorded=[2, 3, 4], recovered=[9]))
    assert {kind: numbers_of(own).tolist() for kind, own in one.items()} == {RECORDED: [2, 3], ROLES: []}


def test_rare_edges_of_recovery_are_worth_most():
    """And what was chosen often, or has many states, is chosen less."""
    corpus = begun()
    for _ in range(50):
        corpus.count(features(recorded=[1]))
    corpus.count(features(recorded=[1], recovered=[2]))
    corpus.count(features(recorded=[1, 3]))
    corpus.entries = [
        entry("usual", recorded=[1]),
        entry("recovery", recorded=[1], recovered=[2]),
        entry("recording", recorded=[1, 3]),
        entry("long", states=500, recorded=[1, 3]),
    ]
    usual, recovery, recording, long = corpus.energies()
    assert recovery > recording > long > usual
    corpus.chosen["recovery"] = 100
    assert corpus.energies()[1] < recording


def test_minimized_keeps_all_that_is_shown():
    """The smallest workloads first; one without features stays, for nobody knows what it shows."""
    entries = [
        entry("both", 5, recorded=[1, 2]),
        entry("first", 1, recorded=[1]),
        entry("second", 2, recorded=[2], recovered=[1]),
        entry("unknown", 3),
    ]
    assert [one.workload.name for one in minimized(entries)] == ["first", "second", "unknown"]


def test_merged_has_each_workload_once():
    """By what it does; another workload of the same name gets another name."""
    one, other = entry("a", 1), entry("a", 2)
    same = msgspec.structs.replace(one, workload=msgspec.structs.replace(one.workload, comment=("x",)))
    assert [each.workload.name for each in merged([one], [same, other])] == ["a", "a.2"]


def test_a_corpus_comes_back_from_its_files(tmp_path):
    """With its counts, so that a search goes on where it ended."""
    corpus = begun()
    for one in (entry("a", recorded=[1], roles=[3]), entry("b", 2, recorded=[2])):
        corpus.add(one)
        corpus.count(one.features)
        keep_entry(tmp_path, corpus.layout, one)
    corpus.miss(features(recorded=[9]))
    corpus.chosen["a"] = 4
    keep_counts(tmp_path, corpus)
    again = read_corpus(tmp_path)
    assert [one.workload.name for one in again.entries] == ["a", "b"]
    assert again.energies() == corpus.energies()
    assert (again.missed, again.examined) == (corpus.missed, 2)
    assert again.new_in(features(recorded=[1, 2, 4])) == features(recorded=[4])
    remove_entry(tmp_path, "a")
    assert [one.workload.name for one in read_entries(tmp_path)] == ["b"]


def test_counts_are_kept_before_there_is_a_workload(tmp_path):
    """A search may end before anything was kept."""
    keep_counts(tmp_path / "corpus", begun())
    assert read_corpus(tmp_path / "corpus").entries == []


def test_features_of_another_kernel_do_not_count(tmp_path):
    """Their numbers mean other edges; the workload stays."""
    keep_entry(tmp_path, "layout", entry("a", recorded=[1]))
    (one,) = read_entries(tmp_path, "another layout")
    assert one.features == {}
    assert read_entries(tmp_path, "layout")[0].features == features(recorded=[1])
    with pytest.raises(NoResults, match="built anew"):
        begun().begin("another layout", EDGES)


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    """A workload whose write fails is not in the corpus, and neither is a part of it."""
    monkeypatch.setattr("harness.search.corpus.format_workload", lambda workload: "\ud800")
    with pytest.raises(UnicodeEncodeError):
        keep_entry(tmp_path, "layout", entry("a", recorded=[1]))
    assert read_entries(tmp_path) == []
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.workload", b"run\n  no-such-word\n", "a.workload"),
        ("a.features", b"no zstd", "a.features is damaged"),
        (COUNTS, b"no zstd", "counts.zst is damaged"),
    ],
)
def test_a_broken_file_is_named(tmp_path, name, content, said):
    """With what to do about it."""
    corpus = begun()
    keep_entry(tmp_path, "layout", entry("a", recorded=[1]))
    keep_counts(tmp_path, corpus)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NoResults, match=said):
        read_corpus(tmp_path)
    with pytest.raises(NoResults, match="no such folder"):
        read_entries(tmp_path / "nowhere")
