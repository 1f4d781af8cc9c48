"""Operations that overlapped, on the pages: lanes, lines, and whose the bytes are."""

from oracles.tests.made import overlapping
from reports.drawings.timeline import timeline
from reports.pages.groups import moment
from reports.pages.html import bytes_of_threads
from reports.text.script import cut_words, lines
from workloads.entries import EntrySummary

WORDS = (
    "run\n  creat A\n  parallel\n    thread\n      fsync A\n    thread\n      sync\n      fsync .\n  sync\n"
)
MARKS = {0: (0, 1), 1: (2, 9), 2: (3, 5), 3: (6, 10), 4: (11, 12)}
HISTORY = overlapping(WORDS, MARKS)
MARK, WRITE = EntrySummary(8, 0, 0, "mark"), EntrySummary(0, 0, 8, "")
TEXTS = {0: "creat A", 1: "fsync A", 2: "sync", 3: "fsync .", 4: "sync"}


def test_bars_of_one_lane_never_touch():
    """Also where labels take all the lanes."""
    for count in (13, 4000):
        entries = (MARK,) * 11 + (WRITE,) * (count - 11)
        bars = timeline(entries, HISTORY, TEXTS).bars
        assert len(bars) == 5
        for one in bars:
            others = [bar for bar in bars if bar is not one and bar.y == one.y]
            assert all(bar.x + bar.width <= one.x or one.x + one.width <= bar.x for bar in others)


def test_a_bar_names_its_thread():
    titles = {bar.index: bar.title for bar in timeline((MARK,) * 13, HISTORY, TEXTS).bars}
    assert titles[3].startswith("operation 3 of thread 2: fsync .")
    assert titles[4].startswith("operation 4: sync")


def test_lines_of_blocks_and_threads_are_no_operations():
    """Each operation finds its step, though another began first."""
    script = lines(WORDS, HISTORY, 5)
    assert [(line.step.index, line.moment) for line in script if line.step] == [
        (0, "done"),
        (1, "cut"),
        (2, "cut"),
        (3, "later"),
        (4, "later"),
    ]
    assert cut_words(script, "O:5") == "the power fails while operations 1 and 2 are in flight"


def test_a_state_tells_all_that_was_in_flight():
    assert moment("O:4", HISTORY, TEXTS) == "during 1 fsync A and 2 sync"
    assert moment("O:6", HISTORY, TEXTS) == "during 1 fsync A"
    assert moment("O:11", HISTORY, TEXTS) == "after 3 fsync ."


def test_bytes_of_several_at_once_are_nobodys_alone():
    """They are told under all of them, and the sum stays what was written."""

    class Facts:
        entries = (MARK,) * 4 + (WRITE,) + (MARK,) + (WRITE, WRITE) + (MARK,) * 5

    class One:
        history, facts = HISTORY, Facts

    found = dict(bytes_of_threads(One, TEXTS))
    assert found == {"1 fsync A and 2 sync": 4096, "1 fsync A and 3 fsync .": 8192}
