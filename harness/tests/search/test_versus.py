"""The table of guided against sampled search."""

import pytest

from harness.search.versus import Trial, Trials, main, table


def trial(mode: str, seed: int, found: bool, seconds: float, workloads: int) -> Trial:
    return Trial("planted/a-bug", "xfs", mode, seed, found, seconds, workloads, 0)


def test_what_was_not_found_counts_as_the_limit():
    """Of three seeds the middle one; the workloads are those that were examined."""
    rows = table(
        Trials(
            100.0,
            (
                trial("guided", 1, True, 20.0, 30),
                trial("guided", 2, False, 104.0, 90),
                trial("guided", 3, True, 60.0, 70),
                trial("sampled", 1, False, 101.0, 200),
                trial("sampled", 2, True, 10.0, 25),
                trial("sampled", 3, False, 102.0, 220),
            ),
        )
    )
    assert rows[0].count("|") == rows[1].count("|") == rows[2].count("|")
    assert rows[2] == "| a-bug | xfs | 2 of 3 | 60 | 70 | 1 of 3 | over 100 | 200 |"
    assert len(rows) == 3


def test_a_bug_that_is_none_is_named(tmp_path, capsys):
    """Before anything is built."""
    with pytest.raises(SystemExit) as ended:
        main(["no-such-bug", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "no-such-bug" in capsys.readouterr().err
