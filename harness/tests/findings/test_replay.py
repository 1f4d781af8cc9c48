"""Exported programs replay a log as our own models have it: which disks they ask, without a guest."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from harness.states.log import Entry, write_log
from oracles.spec import Damage
from reports.programs import export_sh, replay_c, replay_sh
from reports.programs.export import TEARS, Reproducer, c_text
from reports.programs.export_c import CHECK, HEAD
from reports.tests.test_export_forms import CHECKS, SMALL, made
from workloads.entries import EntryFlag
from workloads.text import parse

# Disks are six letters, one a sector. What comes with a FLUSH is volatile as the rest; C is FUA.
LOG = (
    Entry(0, 1, EntryFlag.FLUSH, b"A" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="begin"),
    Entry(1, 1, 0, b"B" * 512),
    Entry(2, 1, EntryFlag.FUA, b"C" * 512),
    Entry(3, 2, 0, b"D" * 1024),
    Entry(0, 0, EntryFlag.MARK, mark="done"),
    Entry(5, 1, 0, b"E" * 512),
)
LETTERS = "tr '\\0' 0 <$W/state | fold -w 512 | cut -c 1 | tr -d '\\n'; echo"
LAST = 'entries "$W/log" step\n'
MAIN = f"""
static int ask(void)
{{
	return shell({c_text(LETTERS)});
}}

int main(int argc, char **argv)
{{
	check(mkdtemp(work) ? 0 : -1, work);
	setenv("W", work, 1);
	setenv("FROM", argv[1], 1);
	must("cp $FROM/log $FROM/base $W");
	int broken = replay();

	must("rm -r $W");
	return broken;
}}
"""
ASKED = [
    ("O", False, "A..... AB.... ABC... ABCDD."),
    ("O", True, "ABCDD."),
    ("T", False, "ABCD.."),
    ("R", True, ".BCDD. A.C... A.CDD. .BC... ABC... ..CDD."),
    ("R", False, "...... A..... .B.... .BC... A.C... .BCDD. A.CDD. ABC... ..CDD."),
]


def reproducer(model: str, returned: bool) -> Reproducer:
    return made(SMALL, CHECKS, "log", returned, model=model)


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    write_log(tmp_path / "log", LOG)
    (tmp_path / "base").write_bytes(b"." * 512 * 6)
    return tmp_path


@pytest.mark.parametrize(("model", "returned", "disks"), ASKED)
def test_a_script_asks_the_disks_of_its_model(logged: Path, model: str, returned: bool, disks: str) -> None:
    assert set(disks_of_sh(reproducer(model, returned), logged)) == set(disks.split())


def disks_of_sh(one: Reproducer, logged: Path, broken_at: int = 0) -> list[str]:
    """broken_at: at the so manieth disk the promise is broken."""
    text = replay_sh.replay(one, export_sh.SHELL)
    count = f"asked=$((asked + 1)); [ $asked -ne {broken_at} ] || broken=1"
    instead = f"ask() {{ {LETTERS}; {count}; }}\n{LAST}"
    lines = f"W={logged}\nbroken=0 asked=0\n{text.replace(LAST, instead)}"
    done = subprocess.run(["sh", "-c", lines], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(("model", "count"), [("O", 4), ("R", 9)])
def test_a_script_asks_no_further_once_a_promise_is_broken(logged: Path, model: str, count: int) -> None:
    """At the end of the step that showed it: of model R a step is a window."""
    one = reproducer(model, False)
    assert len(disks_of_sh(one, logged)) >= count
    assert len(disks_of_sh(one, logged, broken_at=1)) < count


def test_a_large_write_is_torn_at_a_few_places_from_its_first_on(logged: Path) -> None:
    """Of 100 sectors at less than TEARS, in a script as in C, and at none once it is broken."""
    letters = bytes(ord("a") + number % 26 for number in range(100))
    large = Entry(0, 100, 0, b"".join(bytes([each]) * 512 for each in letters))
    begin, done = (Entry(0, 0, EntryFlag.MARK, mark=mark) for mark in ("begin", "done"))
    write_log(logged / "log", (begin, large, done))
    (logged / "base").write_bytes(b"." * 512 * 100)
    one = reproducer("T", False)
    asked = disks_of_sh(one, logged)
    torn = [each.index(".") for each in asked]
    assert torn == list(range(1, 100, 4))
    assert len(torn) <= TEARS
    (logged / "base").write_bytes(b"." * 512 * 100)
    assert disks_of_c(one, logged) == set(asked)
    (logged / "base").write_bytes(b"." * 512 * 100)
    assert disks_of_sh(one, logged, broken_at=3) == asked[:3]


@pytest.mark.parametrize(("model", "returned", "disks"), ASKED)
def test_a_c_program_asks_the_same(logged: Path, model: str, returned: bool, disks: str) -> None:
    one = reproducer(model, returned)
    assert disks_of_c(one, logged) == set(disks.split())


def disks_of_c(one: Reproducer, logged: Path) -> set[str]:
    head = HEAD.format(story=" * ", file="x", size_bytes=one.size_bytes, check=CHECK, clean='"rm -r $W"')
    text = head.replace("<sys/xattr.h>", "<sys/wait.h>") + replay_c.replay(one) + MAIN
    (logged / "x.c").write_text(text)
    subprocess.run(["gcc", "-w", "-o", logged / "x", logged / "x.c"], check=True)
    plain = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run([logged / "x", logged], capture_output=True, text=True, check=False, env=plain)
    assert (done.stderr, done.returncode) == ("", 0)
    return set(done.stdout.split())


# Two calls at once, 5 and 7: A is written before them, B and C meanwhile, D when both have returned.
MET = (
    Entry(0, 1, EntryFlag.FLUSH, b"A" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="begin-5"),
    Entry(0, 0, EntryFlag.MARK, mark="begin-7"),
    Entry(1, 1, 0, b"B" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="done-7"),
    Entry(2, 1, 0, b"C" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="done-5"),
    Entry(3, 1, 0, b"D" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="begin-8"),
    Entry(4, 1, 0, b"E" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="end"),
)
THREADS = """setup
  creat a
  creat b
  creat c
  creat d
  creat e
run
  parallel
    thread
      fsync .
    thread
      await 1
      {other}
  sync
"""


def threads(begun: tuple[int, ...], ended: tuple[int, ...], other: str = "syncfs") -> Reproducer:
    """Of the calls 5, 7 and 8."""
    workload = parse(THREADS.format(other=other))
    return made(workload, CHECKS, "log", False, begun=begun, ended=ended)


@pytest.mark.parametrize(
    ("begun", "ended", "disks"),
    [
        ((5, 7), (7,), "AB.... ABC... ABCD.."),
        ((5, 7), (5, 7), "ABC... ABCD.."),
        ((5, 7, 8), (5, 7), "ABC... ABCD.. ABCDE."),
    ],
)
def test_where_threads_met_the_disks_are_asked_at_which_the_promise_stands(
    logged: Path, begun: tuple[int, ...], ended: tuple[int, ...], disks: str
) -> None:
    """From the return of the last call that makes it, up to the begin of one that nobody had seen."""
    write_log(logged / "log", MET)
    assert disks_of_c(threads(begun, ended), logged) == set(disks.split())


def test_threads_that_do_the_same_may_change_places(logged: Path) -> None:
    """Where 5 had to return first, 7 does."""
    write_log(logged / "log", MET)
    assert disks_of_c(threads((5, 7), (5,), "fsync ."), logged) == {"AB....", "ABC...", "ABCD.."}
    assert disks_of_c(threads((5, 7), (5,)), logged) == {"ABC...", "ABCD.."}


def test_calls_that_came_in_another_order_are_no_answer(logged: Path) -> None:
    write_log(logged / "log", MET)
    with pytest.raises(AssertionError, match="did not happen in that order"):
        disks_of_c(threads((7,), (7,)), logged)


# The first bit of an A makes it an @; a sector of zeros is a 0. Of eight sectors: a block.
@pytest.mark.parametrize(
    ("damage", "returned", "disks"),
    [
        (Damage(0, bit=0), True, "@BCDD..."),
        (Damage(0, bit=0), False, "@....... @B...... @BC..... @BCDD..."),
        (Damage(0, sector=1), True, "A0CDD..."),
    ],
)
def test_a_damaged_disk_is_that_of_the_replayed_log(
    logged: Path, damage: Damage, returned: bool, disks: str
) -> None:
    """The next disk is made from one without the damage."""
    (logged / "base").write_bytes(b"." * 512 * 8)
    one = msgspec.structs.replace(reproducer("D", returned), damage=damage, block="log")
    assert set(disks_of_sh(one, logged)) == set(disks.split())
    (logged / "base").write_bytes(b"." * 512 * 8)
    assert disks_of_c(one, logged) == set(disks.split())
