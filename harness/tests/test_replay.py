"""Exported programs replay a log as our own models have it: which disks they ask, without a guest."""

import subprocess
from pathlib import Path

import pytest

from harness.log import Entry, write_log
from reports import export_sh, replay_c, replay_sh
from reports.export import Reproducer, c_text
from reports.export_c import HEAD
from reports.results import EntryFlag
from reports.tests.test_export_forms import CHECKS, SMALL, made

# Disks are six letters, one a sector. What comes with a FLUSH is volatile as the rest; C is FUA.
LOG = (
    Entry(0, 1, EntryFlag.FLUSH, b"A" * 512),
    Entry(0, 0, EntryFlag.MARK, mark="begin"),
    Entry(1, 1, EntryFlag(0), b"B" * 512),
    Entry(2, 1, EntryFlag.FUA, b"C" * 512),
    Entry(3, 2, EntryFlag(0), b"D" * 1024),
    Entry(0, 0, EntryFlag.MARK, mark="done"),
    Entry(5, 1, EntryFlag(0), b"E" * 512),
)
LETTERS = "fold -w 512 $W/state | cut -c 1 | tr -d '\\n'; echo"
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
    text = replay_sh.replay(reproducer(model, returned), export_sh.SHELL)
    instead = f'ask() {{ {LETTERS}; }}\nentries "$W/log" step\n'
    lines = f"W={logged}\n{text.replace(LAST, instead)}"
    done = subprocess.run(["sh", "-c", lines], capture_output=True, text=True, check=False)
    assert (set(done.stdout.split()), done.stderr) == (set(disks.split()), "")


@pytest.mark.parametrize(("model", "returned", "disks"), ASKED)
def test_a_c_program_asks_the_same(logged: Path, model: str, returned: bool, disks: str) -> None:
    one = reproducer(model, returned)
    head = HEAD.format(story=" * ", file="x", size_bytes=one.size_bytes)
    text = head.replace("<sys/xattr.h>", "<sys/wait.h>") + replay_c.replay(one) + MAIN
    (logged / "x.c").write_text(text)
    subprocess.run(["gcc", "-w", "-o", logged / "x", logged / "x.c"], check=True)
    done = subprocess.run([logged / "x", logged], capture_output=True, text=True, check=False)
    assert (set(done.stdout.split()), done.stderr, done.returncode) == (set(disks.split()), "", 0)
