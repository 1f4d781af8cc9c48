"""What benches gave, kept over commits."""

import pytest

from harness.bench import history as bench_history
from harness.bench.history import NoHistory, keep, kept, page_of, show
from reports.pages.bench_history import Point, rows, slowdowns


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))


def point(ratio, machine="one", commit="abc", start=0.1, when="2026-01-01T00:00:00Z"):
    figures = {"btrfs": {"ratio_to_bare_loop": ratio, "guest_start_s": start, "states_per_s": 300 * ratio}}
    return Point(commit, when, machine, "6.12", 1.0, figures)


def test_what_is_kept_comes_back_in_order():
    """A point a bench, with its commit and machine."""
    keep("6.12", 0.5, {"btrfs": {"ratio_to_bare_loop": 0.6}})
    keep("6.12", 0.7, {"btrfs": {"ratio_to_bare_loop": 0.61}})
    points = kept()
    assert [one.load for one in points] == [0.5, 0.7]
    assert points[0].commit
    assert points[0].machine == bench_history.machine_words()


def test_a_half_written_last_line_is_passed_over_and_another_is_not():
    """Our own crash consistency."""
    keep("6.12", 0.5, {})
    with bench_history.place().open("ab") as file:
        file.write(b'{"commit": "ab')
    assert len(kept()) == 1
    with bench_history.place().open("ab") as file:
        file.write(b"\n{}\n")
    with pytest.raises(NoHistory, match="line 2"):
        kept()


def test_nothing_kept_says_what_to_do(tmp_path):
    """Bad input, not an empty plot."""
    with pytest.raises(NoHistory, match="Each powercut bench adds a point"):
        show(tmp_path, as_json=False)


def test_a_slowdown_is_seen_and_a_speedup_is_none():
    """Of ratios and of the guest's start; not of states a second alone."""
    before = [point(0.6), point(0.61), point(0.59)]
    assert slowdowns([*before, point(0.58)]) == []
    assert slowdowns([*before, point(0.9, start=0.05)]) == []
    (slow,) = slowdowns([*before, point(0.4)])
    assert slow.figure.key == "ratio_to_bare_loop"
    (late,) = slowdowns([*before, point(0.6, start=0.3)])
    assert late.figure.key == "guest_start_s"


def test_another_machine_is_another_story():
    """Its points are shown, and not held against ours."""
    assert slowdowns([point(0.9, machine="fast"), point(0.6), point(0.6)]) == []
    assert len(rows([point(0.9, machine="fast"), point(0.6)])) == 3


def test_the_page_plots_every_figure(tmp_path, capsys):
    """And the command ends 1 when the newest is slower."""
    page = page_of([point(0.6), point(0.4, commit="slow")])
    assert page.count("<figure") == 3
    assert "slow: slower than the median" in page
    keep("6.12", 0.5, {"btrfs": {"ratio_to_bare_loop": 0.6}})
    keep("6.12", 0.5, {"btrfs": {"ratio_to_bare_loop": 0.3}})
    assert show(tmp_path, as_json=False) == 1
    assert (tmp_path / "bench-history.html").is_file()
    assert "-50 %" in capsys.readouterr().out
