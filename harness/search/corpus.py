"""
The corpus of a search: workloads that showed something new, each with what it showed.

In:       workloads and their Features; a folder.
Out:      Corpus: what is new, which workload to change next, the fewest workloads that show all; its files.
Not here: what the features are (features.py), changing workloads (workloads/generate/mutated.py).

A workload is two files, NAME.workload, which `powercut run` takes as any other, and NAME.features. Both
appear whole, the workload last. Features number the counters of one build of a kernel: with those of
another build a workload is kept, and shows what it shows when it is recorded again.

How often a workload is chosen goes by how rare what it shows is among all workloads that were examined
(Böhme, Manès and Cha, "Boosting fuzzer efficiency: an information theoretic perspective", 2020, weigh so); a
rare edge of recovery counts more than one of recording, and long workloads less than short ones.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import zstandard

from harness.evidence.store import NoResults, write_whole
from harness.search.features import FINDINGS, KINDS, RECORDED, RECOVERED, ROLES, SLOTS, Features
from workloads.library import SUFFIX, read
from workloads.text import BadWorkload
from workloads.text import format as format_workload
from workloads.workload import Workload

if TYPE_CHECKING:
    import numpy

    Numbers = numpy.ndarray[Any, numpy.dtype[numpy.uint32]]

FEATURES = ".features"
COUNTS = "counts.zst"
WEIGHTS = {RECORDED: 1.0, RECOVERED: 3.0, ROLES: 0.5, FINDINGS: 1.0}
STATES_USUAL = 50  # of a workload; one with more is chosen less often
FLAKY_AFTER = 2  # times that something new did not come again


class Entry(msgspec.Struct, frozen=True):
    """states: that were examined, what it costs. features: {} where they are of another build."""

    workload: Workload
    states: int
    features: Features

    @property
    def size(self) -> int:
        return len(self.workload.setup) + len(self.workload.run)


class _Kept(msgspec.Struct, frozen=True):
    """NAME.features. layout: of stages.counters.Edges."""

    layout: str
    states: int
    features: Features


class _KeptCounts(msgspec.Struct, frozen=True):
    """counts.zst. examined: workloads. missed: of KINDS, how often something new did not come again. order:
    of the entries, by name, for the dice choose among them."""

    layout: str
    edge_count: int
    examined: int
    counts: dict[str, bytes]
    missed: dict[str, dict[int, int]]
    chosen: dict[str, int]
    order: tuple[str, ...] = ()


class Corpus:
    """layout, edge_count: of stages.counters.Edges, "" and 0 until the first workload was examined. counts:
    by kind and number how many workloads showed it. missed: how often something new did not come again.
    chosen: how often an entry was changed."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.layout = ""
        self.edge_count = 0
        self.examined = 0
        self.chosen: dict[str, int] = {}
        self.counts: dict[str, Any] = {}
        self.missed: dict[str, dict[int, int]] = {kind: {} for kind in KINDS}

    def begin(self, layout: str, edge_count: int) -> None:
        """The kernel is known. Errors: NoResults, where it is another one than the corpus is of."""
        import numpy  # noqa: PLC0415

        if self.layout not in ("", layout):
            raise NoResults(
                "the counters of this kernel are not those that the corpus has: it was built anew. Start a "
                "new search, with --corpus and the folder of this one"
            )
        if not self.counts:
            self.layout, self.edge_count = layout, edge_count
            self.counts = {kind: numpy.zeros(self._size(kind), dtype=numpy.int64) for kind in KINDS}

    def _size(self, kind: str) -> int:
        return self.edge_count if kind in (RECORDED, RECOVERED) else SLOTS

    def seen(self, kind: str) -> int:
        """How many of this kind were seen so far."""
        return int((self.counts[kind] > 0).sum()) if self.counts else 0

    def new_in(self, features: Features) -> Features:
        """By kind what no workload showed so far, and what did not come again too often left out."""
        found = {}
        for kind, numbers in features.items():
            own = numbers_of(numbers)
            fresh = own[self.counts[kind][own] == 0]
            missed = self.missed[kind]
            fresh = [one for one in fresh.tolist() if missed.get(one, 0) < FLAKY_AFTER]
            if fresh:
                found[kind] = bytes_of(fresh)
        return found

    def count(self, features: Features) -> None:
        """A workload was examined, and showed this."""
        self.examined += 1
        for kind, numbers in features.items():
            self.counts[kind][numbers_of(numbers)] += 1

    def miss(self, features: Features) -> None:
        """This was new, and did not come again."""
        for kind, numbers in features.items():
            for one in numbers_of(numbers).tolist():
                self.missed[kind][one] = self.missed[kind].get(one, 0) + 1

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)

    def energies(self) -> list[float]:
        """Of each entry how often it is to be chosen, relative to the others."""
        import numpy  # noqa: PLC0415

        rare = (
            {kind: WEIGHTS[kind] / numpy.maximum(self.counts[kind], 1) for kind in KINDS}
            if self.counts
            else {}
        )
        found = []
        for entry in self.entries:
            worth = sum(
                float(rare[kind][numbers_of(own)].sum()) for kind, own in entry.features.items() if rare
            )
            cost = (1 + entry.states / STATES_USUAL) * (1 + self.chosen.get(entry.workload.name, 0)) ** 0.5
            found.append((worth + 0.01) / cost)
        return found


def numbers_of(numbers: bytes) -> "Numbers":
    import numpy  # noqa: PLC0415

    return numpy.frombuffer(numbers, dtype="<u4")


def bytes_of(numbers: Sequence[int]) -> bytes:
    import numpy  # noqa: PLC0415

    return numpy.array(numbers, dtype="<u4").tobytes()


def both(one: Features, other: Features) -> Features:
    """What is in both; other may have more kinds."""
    import numpy  # noqa: PLC0415

    return {
        kind: numpy.intersect1d(numbers_of(own), numbers_of(other.get(kind, b""))).astype("<u4").tobytes()
        for kind, own in one.items()
    }


def without(one: Features, other: Features) -> Features:
    """What is in the first alone."""
    import numpy  # noqa: PLC0415

    return {
        kind: numpy.setdiff1d(numbers_of(own), numbers_of(other.get(kind, b""))).astype("<u4").tobytes()
        for kind, own in one.items()
    }


def minimized(entries: Sequence[Entry]) -> list[Entry]:
    """Of these as few as show the same: the smallest first, each that shows what none before it does. Those
    without features stay. In the order in which they came."""
    covered: dict[str, set[int]] = {kind: set() for kind in KINDS}
    kept = set()
    for at in sorted(range(len(entries)), key=lambda at: (entries[at].size, entries[at].states, at)):
        entry = entries[at]
        fresh = {kind: set(numbers_of(own).tolist()) - covered[kind] for kind, own in entry.features.items()}
        if any(fresh.values()) or not entry.features:
            kept.add(at)
            for kind, own in fresh.items():
                covered[kind] |= own
    return [entry for at, entry in enumerate(entries) if at in kept]


# --- files -----------------------------------------------------------------------------------------


def keep_entry(folder: Path, layout: str, entry: Entry) -> None:
    """Errors: OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = msgspec.msgpack.encode(_Kept(layout, entry.states, entry.features))
    name = entry.workload.name
    write_whole(folder / f"{name}{FEATURES}", zstandard.ZstdCompressor().compress(kept))
    write_whole(folder / f"{name}{SUFFIX}", format_workload(entry.workload).encode())


def remove_entry(folder: Path, name: str) -> None:
    """The workload first: without it the other file is none of the corpus."""
    (folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
    (folder / f"{name}{FEATURES}").unlink(missing_ok=True)


def keep_counts(folder: Path, corpus: Corpus) -> None:
    """Errors: OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = {kind: values.tobytes() for kind, values in corpus.counts.items()}
    order = tuple(entry.workload.name for entry in corpus.entries)
    kept = _KeptCounts(
        corpus.layout, corpus.edge_count, corpus.examined, counts, corpus.missed, dict(corpus.chosen), order
    )
    write_whole(folder / COUNTS, zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(kept)))


def read_entries(folder: Path, layout: str = "") -> list[Entry]:
    """By name. layout: of the kernel whose features count; "" for none. Errors: NoResults, which names the
    file that cannot be read."""
    if not folder.is_dir():
        raise NoResults(f"{folder} is not the folder of a corpus: there is no such folder")
    return [_read_entry(path, layout) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def _read_entry(path: Path, layout: str) -> Entry:
    try:
        workload = read(path)
    except (BadWorkload, OSError) as error:
        raise NoResults(f"{path} is no workload: {error}. Remove it, or mend it") from error
    workload = msgspec.structs.replace(workload, theme="search")
    beside = path.with_suffix(FEATURES)
    try:
        raw = zstandard.ZstdDecompressor().decompress(beside.read_bytes())
        kept = msgspec.msgpack.decode(raw, type=_Kept)
    except FileNotFoundError:
        return Entry(workload, 0, {})
    except (zstandard.ZstdError, msgspec.DecodeError, OSError) as error:
        raise NoResults(f"{beside} is damaged: {error}. Remove it; its workload is recorded again") from error
    return Entry(workload, kept.states, kept.features if layout and kept.layout == layout else {})


def read_corpus(folder: Path) -> Corpus:
    """Of a search that goes on. Errors: NoResults."""
    import numpy  # noqa: PLC0415

    corpus = Corpus()
    path = folder / COUNTS
    try:
        raw = zstandard.ZstdDecompressor().decompress(path.read_bytes())
        kept = msgspec.msgpack.decode(raw, type=_KeptCounts)
    except FileNotFoundError:
        corpus.entries = read_entries(folder) if folder.is_dir() else []
        return corpus
    except (zstandard.ZstdError, msgspec.DecodeError, OSError) as error:
        raise NoResults(f"{path} is damaged: {error}. Start a new search with --corpus {folder}") from error
    if kept.layout or kept.counts:
        corpus.begin(kept.layout, kept.edge_count)
    for kind, values in kept.counts.items():
        corpus.counts[kind] = numpy.frombuffer(values, dtype=numpy.int64).copy()
    corpus.examined, corpus.missed, corpus.chosen = kept.examined, kept.missed, kept.chosen
    place = {name: at for at, name in enumerate(kept.order)}
    found = read_entries(folder, corpus.layout)
    corpus.entries = sorted(found, key=lambda entry: place.get(entry.workload.name, len(place)))
    return corpus


def merged(one: Iterable[Entry], other: Iterable[Entry]) -> list[Entry]:
    """Both; what does the same comes once, and a name that is taken by another workload gets a number."""
    found: list[Entry] = []
    names: set[str] = set()
    texts: set[str] = set()
    for entry in (*one, *other):
        does = format_workload(msgspec.structs.replace(entry.workload, comment=()))
        if does in texts:
            continue
        texts.add(does)
        name, number = entry.workload.name, 2
        while name in names:
            name, number = f"{entry.workload.name}.{number}", number + 1
        names.add(name)
        workload = msgspec.structs.replace(entry.workload, name=name)
        found.append(msgspec.structs.replace(entry, workload=workload))
    return found
