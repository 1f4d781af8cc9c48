"""
The project's own tests, all of them, in one order: what CI runs.

In:       which steps, and words for pytest.
Out:      each step's output and time, then a table, then one line `N passed, N failed[, N skipped]`.
Not here: the tests (*/tests, suite/), the full matrix (tox.ini).

Every step runs even when one before it failed. A step without pytest counts as one test, so that the
last line never shows less trouble than the exit status.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from harness.local.root import ROOT
from kernel.cache import root as cache_root

UNIT_FOLDERS = ("kernel/tests", "workloads/tests", "oracles/tests", "reports/tests", "harness/tests")
SUITE = "harness/suite"
KINDS = ("lint", "types", "unit", "smoke")
NOTHING_SELECTED = 5  # pytest's exit status: https://docs.pytest.org/en/stable/reference/exit-codes.html
# Options of pytest whose next word is a value, not a path.
VALUED = ("-c", "-k", "-m", "-n", "-o", "-p", "-r", "-W", "--durations", "--maxfail", "--profile", "--tb")
PYTHON = (sys.executable, "-P", "-m")
# import-linter has no module to be run by -m; what it reads is .importlinter.
LINT_IMPORTS = (sys.executable, "-P", "-c", "from importlinter.cli import lint_imports_command as do; do()")


class Count(msgspec.Struct, frozen=True):
    """Of tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)


class CheckStep(msgspec.Struct, frozen=True):
    """name: for the table. kind: what --only selects it by. is_pytest: its tests are counted."""

    name: str
    kind: str
    command: tuple[str, ...]
    is_pytest: bool = False


class Result(msgspec.Struct, frozen=True):
    step: CheckStep
    status: int
    count: Count
    took_s: float


def plan(fast: bool, only: Sequence[str], pytest_arguments: Sequence[str]) -> list[CheckStep]:
    """The steps. With a path among the words for pytest, one session of just that."""
    pytest_arguments, any_path = paths_made_absolute(pytest_arguments)
    if any_path:
        return [_pytest("the tests named", "unit", pytest_arguments)]
    steps = [
        CheckStep("lint: ruff check", "lint", (*PYTHON, "ruff", "check")),
        CheckStep("lint: ruff format", "lint", (*PYTHON, "ruff", "format", "--check")),
        CheckStep("lint: imports only go down", "lint", LINT_IMPORTS),
        CheckStep("types: mypy", "types", (*PYTHON, "mypy")),
        _pytest("units of every room", "unit", [*UNIT_FOLDERS, *pytest_arguments]),
        _pytest(
            "smoke and planted bugs, on a guest",
            "smoke",
            [SUITE, "-m", "smoke or planted", *pytest_arguments],
        ),
    ]
    if fast:
        steps = [step for step in steps if step.kind != "smoke"]
    return [step for step in steps if not only or step.kind in only]


def add_test(command: argparse.ArgumentParser) -> None:
    """Our own options; what is none of them is pytest's."""
    command.add_argument("--fast", action="store_true", help="stop before the tests that start a guest")
    command.add_argument(
        "--only", metavar="STEP,...", default="", help=f"only these steps, of {', '.join(KINDS)}"
    )
    command.usage = "powercut test [--fast] [--only STEP,...] [PYTEST ARGUMENT ...]"


def test_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="powercut test", description="The project's own tests, as CI runs them.", allow_abbrev=False
    )
    add_test(parser)
    return parser


def test(words: Sequence[str]) -> int:
    """`powercut test WORDS`: the exit status."""
    parser = test_parser()
    ours, for_pytest = parser.parse_known_args(words)
    only = tuple(filter(None, ours.only.split(",")))
    if unknown := [kind for kind in only if kind not in KINDS]:
        parser.error(f"there is no step {', '.join(unknown)}. The steps are {', '.join(KINDS)}")
    return run_tests(ours.fast, only, [word for word in for_pytest if word != "--"])


def run_tests(fast: bool = False, only: Sequence[str] = (), pytest_arguments: Sequence[str] = ()) -> int:
    """Run the plan; 0 when everything passed and something was tested, else 1.

    only: of KINDS; empty means all. pytest_arguments: paths may be relative to the current directory.
    """
    results = [perform(step) for step in plan(fast, only, pytest_arguments)]
    return conclude(results, narrowed=bool(pytest_arguments))


def perform(step: CheckStep) -> Result:
    """Run one step in the checkout's root, its output shown as it comes."""
    print(f"\n== {step.name}: {' '.join(step.command[len(PYTHON) :])}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="powercut-") as folder:
        counted = Path(folder) / "junit.xml"
        command = [*step.command, f"--junit-xml={counted}"] if step.is_pytest else [*step.command]
        status = subprocess.run(command, cwd=ROOT, env=surroundings(), check=False).returncode
        count = read_count(counted) if step.is_pytest else Count(passed=status == 0, failed=status != 0)
    # A session that broke off, or died before it could count, has failed though no test of it did.
    if step.is_pytest and status not in (0, NOTHING_SELECTED) and not count.failed:
        count += Count(failed=1)
    took_s = time.monotonic() - began
    print(f"== {step.name}: {'passed' if status == 0 else 'FAILED'} in {took_s:.1f} s", flush=True)
    return Result(step, status, count, took_s)


def read_count(junit: Path) -> Count:
    """Of the tests in pytest's JUnit file; none when there is no such file."""
    if not junit.is_file():
        return Count()
    total = Count()
    for suite in ElementTree.parse(junit).iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        failed = failures + errors
        total += Count(passed=max(0, tests - failed - skipped), failed=failed, skipped=skipped)
    return total


def conclude(results: Sequence[Result], narrowed: bool, show: Callable[[str], None] = print) -> int:
    """The table and the last line; the exit status.

    narrowed: by words for pytest, which may leave one of two sessions without a test; never all.
    """
    sessions = [result for result in results if result.step.is_pytest]
    something = any(result.count.passed or result.count.failed for result in sessions)
    lines, total = [], Count()
    for result in results:
        empty = result.status == NOTHING_SELECTED and result.step.is_pytest
        count = result.count + Count(failed=int(empty and not (narrowed and something)))
        total += count
        word = "FAILED" if count.failed else "no test" if empty else "passed"
        tests = f"  {line_of(count)}" if result.step.is_pytest else ""
        lines.append(f"{word:7} {result.took_s:7.1f} s  {result.step.name}{tests}")
    show("\n" + "\n".join(lines))
    show(line_of(total))
    return 1 if total.failed or not results else 0


def line_of(count: Count) -> str:
    skipped = f", {count.skipped} skipped" if count.skipped else ""
    return f"{count.passed} passed, {count.failed} failed{skipped}"


def surroundings() -> dict[str, str]:
    """Our modules only; caches outside a checkout that cannot be written."""
    fixed = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    if not os.access(ROOT, os.W_OK):
        caches = cache_root() / "tests"
        fixed |= {
            "RUFF_CACHE_DIR": str(caches / "ruff"),
            "MYPY_CACHE_DIR": str(caches / "mypy"),
            "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider".strip(),
        }
    return dict(os.environ) | fixed


def _pytest(name: str, kind: str, words: Iterable[str]) -> CheckStep:
    return CheckStep(name, kind, (*PYTHON, "pytest", *words), is_pytest=True)


def paths_made_absolute(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words for pytest, which runs in the checkout's root, and whether a path was among them."""
    changed, any_path = [], False
    for before, word in zip(("", *words), words, strict=False):
        place, colons, test_name = word.partition("::")
        is_path = before not in VALUED and not word.startswith("-")
        if is_path and Path(place).exists():
            word = f"{Path(place).absolute()}{colons}{test_name}"  # noqa: PLW2901  the word, made plain
        any_path |= is_path
        changed.append(word)
    return changed, any_path
