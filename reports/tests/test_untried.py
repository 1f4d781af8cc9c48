"""What a run of a patch left out: each with its option, and nothing where there is no patch."""

import msgspec

from reports.results import Question
from reports.text.untried import untried_words

PLAIN = Question((), "", "", 0, "fs", ("O",), "uml", (), {"6.12+mine.patch": {}}, {}, {})


def words(**changes):
    return untried_words(msgspec.structs.replace(PLAIN, **changes))


def test_each_has_its_option():
    assert words().count(";") == 2
    assert all(
        option in words()
        for option in ("--device slow", "--stops 10", "models R, T, N, A (--models O,R,T,N,A)")
    )


def test_what_was_tried_is_not_named():
    assert "--device" not in words(devices=("fast", "slow"))
    assert "--stops" not in words(stops=3)
    assert "models T, N, A (" in words(models=("O", "R"))
    assert not words(devices=("slow",), stops=1, models=("O", "R", "T", "N", "A", "M"))


def test_a_stock_kernel_a_comparison_and_a_machine_have_no_such_line():
    assert not words(kernels={"6.12": {}})
    assert words(kernels={"6.12": {}, "7.2+mine.patch": {}})
    assert not words(against="6.12")
    assert not words(host={"name": "lab"})
