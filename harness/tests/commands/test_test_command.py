"""The project's own tests: the plan, and the last line."""

import sys

from harness.commands import test as testing
from harness.commands.test import (
    CheckStep,
    Count,
    Result,
    conclude,
    paths_made_absolute,
    perform,
    plan,
    read_count,
)

SESSION = CheckStep("units", "unit", (), is_pytest=True)
LINT = CheckStep("lint", "lint", ())


def last_line(*results: Result, narrowed: bool = False) -> tuple[str, int]:
    said: list[str] = []
    status = conclude(results, narrowed, said.append)
    return said[-1], status


def test_the_last_line_adds_up_the_sessions() -> None:
    one, two = Result(SESSION, 0, Count(7, 0, 2), 1.0), Result(SESSION, 0, Count(3), 1.0)
    assert last_line(one, two) == ("10 passed, 0 failed, 2 skipped", 0)


def test_a_failed_lint_is_a_failure_in_the_last_line() -> None:
    bad = Result(LINT, 1, Count(failed=1), 0.1)
    assert last_line(bad, Result(SESSION, 0, Count(5), 1.0)) == ("5 passed, 1 failed", 1)


def test_a_session_without_a_test_fails() -> None:
    empty = Result(SESSION, testing.NOTHING_SELECTED, Count(), 0.1)
    assert last_line(empty, Result(SESSION, 0, Count(5), 1.0)) == ("5 passed, 1 failed", 1)


def test_words_for_pytest_may_leave_one_session_empty_but_not_all() -> None:
    empty = Result(SESSION, testing.NOTHING_SELECTED, Count(), 0.1)
    assert last_line(empty, Result(SESSION, 0, Count(5), 1.0), narrowed=True) == ("5 passed, 0 failed", 0)
    assert last_line(empty, narrowed=True) == ("0 passed, 1 failed", 1)


def test_pytest_s_own_count_is_read(tmp_path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>')
    assert read_count(junit) == Count(3, 3, 3)


def test_a_session_that_died_before_it_could_count_has_failed(capfd) -> None:
    dies = CheckStep("units", "unit", (sys.executable, "-c", "raise SystemExit(4)"), is_pytest=True)
    assert perform(dies).count == Count(failed=1)


def test_a_later_step_runs_though_an_earlier_one_failed(monkeypatch, capfd) -> None:
    steps = [
        CheckStep(name, "lint", (sys.executable, "-c", f"print('{name}'); raise SystemExit(1)"))
        for name in "ab"
    ]
    monkeypatch.setattr(testing, "plan", lambda *_: steps)
    assert testing.run_tests() == 1
    assert capfd.readouterr().out.splitlines()[-1] == "0 passed, 2 failed"


def test_fast_stops_before_the_guests() -> None:
    assert [step.kind for step in plan(True, (), ())] == ["lint", "lint", "lint", "types", "unit"]
    assert plan(False, (), ())[-1].kind == "smoke"


def test_a_path_for_pytest_makes_one_session_of_just_that(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").touch()
    steps = plan(False, (), ["test_it.py::test_one", "-k", "kernel"])
    assert len(steps) == 1
    assert steps[0].command[-3:] == (f"{tmp_path}/test_it.py::test_one", "-k", "kernel")


def test_the_value_of_an_option_is_no_path() -> None:
    assert paths_made_absolute(["-k", "kernel", "-x"]) == (["-k", "kernel", "-x"], False)
