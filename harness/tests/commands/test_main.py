"""Bad input ends with one clear line and leaves nothing behind."""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.commands import kernel as kernel_command
from harness.commands import main
from harness.commands import run as run_command
from harness.commands.arguments import size
from harness.commands.main import COMMANDS, parser
from harness.evidence import summary as summing
from harness.evidence.store import new_run, only_one, write_summary
from harness.evidence.sweep import plantable, planted_bugs
from harness.findings import repro
from harness.guests import filesystem
from harness.guests.kernels import build_for
from harness.local.root import ROOT
from harness.runs import run
from harness.tests import conftest
from harness.tests.made_run import ENTRY_COUNT, judged, keep, question, seen
from kernel.kernel import KernelError
from reports.results import read_experiment, read_summary
from workloads.library import names

Powercut = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder and a cache of its own; no kernel is built by mistake."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    for module, name in ((run, "build_for"), (kernel_command, "build"), (repro, "build_for")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("a kernel was about to be built"))
    return tmp_path / "here"


@pytest.fixture
def powercut(powercut: conftest.Powercut) -> Powercut:
    """Exit status and what was said on standard error."""

    def call(*words: object) -> tuple[int, str]:
        exit_status, _, said = powercut(*words)
        return exit_status, said

    return call


@pytest.fixture
def made(elsewhere: Path) -> Path:
    """A run with one finding."""
    folder = new_run(elsewhere / "results")
    question(folder)
    keep(folder, judge=judged({ENTRY_COUNT: seen(0)}))
    write_summary(folder, summing.sum_up(folder, 1.0))
    return folder


def is_one_line(said: str) -> bool:
    return said.startswith("powercut: ") and said.count("\n") == 1


# --- run: bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replace-by-renam"], "unknown workload replace-by-renam. Similar names: replace-by-rename"),
        (["no/such.workload"], "there is no workload or file no/such.workload"),
        ([""], "unknown workload"),
        (["-k", "fsync and"], "-k: expected a name at column"),
        (["-k", "nothing_is_called_so"], "no workload matches"),
        (["--fs", "zfs"], "there is no profile zfs. The profiles are btrfs"),
        (
            ["--planted", "--fs", "btrfs-noholes"],
            "there are no planted bugs for btrfs-noholes. There are some for btrfs",
        ),
        (["--fs", ""], "--fs: name at least one profile"),
        (["--fs", " , "], "--fs: name at least one profile"),
        (["--fs", "btrfs,zfs"], "no profile zfs"),
        (["--models", "R,X"], "there is no model 'X'. The models are O, R, T, N"),
        (["--models", "Z"], "no model 'Z'"),
        (["--models", ""], "--models: name at least one"),
        (["--resume", "."], "is not the folder of a run"),
        (["--resume", "nowhere"], "is not the folder of a run"),
    ],
)
def test_a_run_of_nonsense_is_refused_before_anything_is_made(
    powercut: Powercut, elsewhere: Path, words: list[str], message: str
) -> None:
    exit_status, said = powercut("run", *words)
    assert exit_status == 2
    assert message in said
    assert said.startswith("powercut: ")
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--log-size", "3X"], "'3X' is not a size from 1M to 1024G"),
        (["--log-size", "1K"], "'1K' is not a size"),
        (["--log-size", "-5M"], "--log-size"),
        (["--log-size", ""], "'' is not a size"),
        (["--jobs", "0"], "'0' is not a number of at least 1"),
        (["--budget", "0"], "'0' is not a number of at least 1"),
        (["--atomic", "1000"], "'1000' is not a multiple of 512"),
        (["--jobs", "-1"], "--jobs"),
        (["--jobs", "two"], "'two' is not a number"),
        (["--guest", "vm ware"], "the name of a machine has letters"),
        (["--tier", "hope"], "invalid choice"),
        (["--seed", "x"], "invalid int"),
        (["--no-such-option"], "unrecognized"),
    ],
)
def test_options_with_bad_values_are_wrong_usage(
    powercut: Powercut, elsewhere: Path, words: list[str], message: str
) -> None:
    exit_status, said = powercut("run", *words)
    assert exit_status == 2
    assert message in said
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("run\n  frobnicate foo\n", ":2:3"),
        ("run\n  write ../foo 0 8K\n", ":2:9"),
        ("run\n  write foo 0 8X\n", ":2:15"),
    ],
)
def test_a_workload_with_an_error_is_told_with_line_and_column(
    powercut: Powercut, elsewhere: Path, text: str, place: str
) -> None:
    (elsewhere / "mine.workload").write_text(text)
    exit_status, said = powercut("run", "mine.workload")
    assert exit_status == 2
    assert f"mine.workload{place}" in said
    assert [path.name for path in elsewhere.iterdir()] == ["mine.workload"]


@pytest.mark.parametrize("content", [b"", b"# only words\n", b"\xff\xfe\0", b"setup\n  creat foo\n"])
def test_a_file_that_is_no_workload_is_refused(powercut: Powercut, elsewhere: Path, content: bytes) -> None:
    (elsewhere / "mine").write_bytes(content)
    exit_status, said = powercut("run", "./mine")
    assert (exit_status, "mine" in said) == (2, True)


def test_a_profile_whose_mkfs_is_missing_gets_the_fix_before_anything_is_built(
    powercut: Powercut, elsewhere: Path, monkeypatch
) -> None:
    monkeypatch.setattr(filesystem, "SYSTEM_PATH", "/nowhere")
    exit_status, said = powercut("run", "--fs", "xfs")
    assert (exit_status, is_one_line(said)) == (3, True)
    assert "apt-get install xfsprogs" in said
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("5.99.1", "'5.99.1' is not a release"),
        ("https://host/linux.git", "names no revision"),
        ("stable", "stable@linux-6.12.y"),
        ("nowhere", "is not a release"),
        (".", "not a kernel source tree"),
        ("6.12+planted/no-such", "no-such"),
        ("6.12+", "a name is missing before or after a '+'"),
        ("", "a name is missing"),
    ],
)
def test_a_kernel_that_is_none_is_refused(
    powercut: Powercut, elsewhere: Path, monkeypatch, word: str, message: str
) -> None:
    monkeypatch.setattr(run, "build_for", build_for)
    exit_status, said = powercut("run", "--kernel", word)
    assert (exit_status, said.startswith("powercut: ")) == (2, True)
    assert message in said
    assert not list(elsewhere.iterdir())


def test_a_sweep_is_of_the_whole_library_on_each_bug_s_own_profiles() -> None:
    """And takes those of a run that was stopped, not those that were planted since."""
    arguments = main.understood(["run", "--planted"])
    stopped = ("6.12", "6.12+planted/ext4-size-unknown-to-fdatasync")
    every = run_command.swept(run.RunSpec((), (), ()), arguments)
    resumed = run_command.swept(run.RunSpec((), (), ()), arguments, stopped)
    assert len(every.workloads) == len(names())
    assert every.kernels[0] == "6.12"
    possible, _ = plantable("6.12", planted_bugs())
    assert set(every.kernels[1:]) == {f"6.12+{bug.name}" for bug in possible}
    assert [(part.kernel, part.profile.name) for part in resumed.parts] == [
        ("6.12", "ext4"),
        ("6.12+planted/ext4-size-unknown-to-fdatasync", "ext4"),
    ]


# --- run: the experiment cannot be done ----------------------------------------------------------


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_results_that_cannot_be_written_are_told_before_a_kernel_is_built(
    powercut: Powercut, elsewhere: Path, out: str
) -> None:
    (elsewhere / "file").touch()
    exit_status, said = powercut("run", "--out", out)
    assert (exit_status, is_one_line(said)) == (3, True)
    assert "file cannot be written" in said


def test_too_little_space_is_told_with_what_is_needed(
    powercut: Powercut, elsewhere: Path, monkeypatch
) -> None:
    monkeypatch.setattr(run.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 5 << 20))
    exit_status, said = powercut("run")
    assert (exit_status, is_one_line(said)) == (3, True)
    assert "only 5 MiB free, and 64 MiB are needed" in said
    assert not list(elsewhere.iterdir())


def test_a_cache_that_cannot_be_written_is_told(powercut: Powercut, elsewhere: Path, monkeypatch) -> None:
    (elsewhere / "file").touch()
    monkeypatch.setenv("POWERCUT_CACHE", str(elsewhere / "file/cache"))
    monkeypatch.setattr(run, "build_for", build_for)
    exit_status, said = powercut("run")
    assert (exit_status, said.count("Traceback")) == (3, 0)
    assert "file" in said.splitlines()[-1]
    assert [path.name for path in elsewhere.iterdir()] == ["file"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EIO])
def test_an_error_of_the_system_is_one_line(powercut: Powercut, monkeypatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "refused", "/some/file")

    monkeypatch.setattr(run, "build_for", refuse)
    exit_status, said = powercut("run")
    assert (exit_status, is_one_line(said)) == (3, True)
    assert "/some/file" in said


def test_a_ctrl_c_is_told_and_has_a_status_of_its_own(powercut: Powercut, monkeypatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "build_for", interrupt)
    assert powercut("run") == (130, "powercut: stopped\n")


def test_the_command_is_kept_as_it_was_given(monkeypatch) -> None:
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    run_specs: list[run.RunSpec] = []
    main.main(["run", "replace-by-rename", "--jobs", "2"])
    assert run_specs[0].command == ("powercut", "run", "replace-by-rename", "--jobs", "2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--faults"], "cannot be combined. Use two runs"),
        (["--planted"], "Leave --damage out"),
        (["--failing-blocks"], "--damage and --failing-blocks cannot be combined"),
        (["--models", "O,R"], "Leave --models out"),
        (["--cross-check"], "not with another kind of run"),
    ],
)
def test_damage_goes_with_no_other_kind_of_run(powercut: Powercut, words: list[str], said: str) -> None:
    exit_status, told = powercut("run", "replace-by-rename", "--damage", *words)
    assert (exit_status, is_one_line(told)) == (2, True)
    assert said in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--device", "quick"), "'quick' is not a device. The devices are fast and slow"),
        (("--device", ","), "no device is named"),
        (("--device", "slow", "--planted"), "uses the device that the header of a bug names"),
        (("--device", "fast,slow", "--faults"), "devices of their own"),
        (("--device", "slow", "--damage"), "devices of their own"),
        (("--device", "slow", "--cross-check"), "devices of their own"),
    ],
    ids=["unknown", "none", "planted", "faults", "damage", "cross-check"],
)
def test_a_device_that_cannot_be_used_is_told(powercut: Powercut, words: tuple[str, ...], said: str) -> None:
    exit_status, told = powercut("run", "replace-by-rename", *words)
    assert (exit_status, is_one_line(told)) == (2, True)
    assert said in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--faults",), "--stops cannot be used with --faults"),
        (("--damage",), "--stops cannot be used with --faults"),
        (("--cross-check",), "record one workload twice"),
        (("--guest", "ssh:lab1"), "a kernel that Powercut builds"),
    ],
    ids=["faults", "damage", "cross-check", "machine"],
)
def test_stops_go_with_power_failures_in_guests_that_can(
    powercut: Powercut, words: tuple[str, ...], said: str
) -> None:
    exit_status, told = powercut("run", "replace-by-rename", "--fs", "ext4", "--stops", "3", *words)
    assert (exit_status, is_one_line(told)) == (2, True)
    assert said in told


def test_a_resumed_run_with_stops_goes_on_with_them(made: Path, monkeypatch) -> None:
    question(made, ("powercut", "run", "replace-by-rename", "--stops", "7"))
    run_specs: list[run.RunSpec] = []
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    assert main.main(["run", "--resume", str(made)]) == 0
    assert run_specs[0].stops == 7


def test_a_resumed_run_on_two_devices_goes_on_with_both(made: Path, monkeypatch) -> None:
    question(made, ("powercut", "run", "replace-by-rename", "--device", "slow,fast"))
    run_specs: list[run.RunSpec] = []
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    assert main.main(["run", "--resume", str(made)]) == 0
    assert run_specs[0].devices == ("slow", "fast")


def test_a_resumed_run_with_damage_goes_on_with_it(made: Path, monkeypatch) -> None:
    question(made, ("powercut", "run", "replace-by-rename", "--damage", "--budget", "7", "--seed", "3"))
    run_specs: list[run.RunSpec] = []
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    assert main.main(["run", "--resume", str(made)]) == 0
    assert (run_specs[0].kind, run_specs[0].budget) == ("damage", 7)


@pytest.mark.parametrize(("sector", "status"), [(65535, 3), (65536, 2)])
def test_a_bad_sector_outside_the_device_is_told_before_anything_is_built(
    powercut: Powercut, tmp_path: Path, monkeypatch, sector: int, status: int
) -> None:
    def no_kernel(*_: object) -> None:
        raise KernelError("this far")

    monkeypatch.setattr(run, "build_for", no_kernel)
    monkeypatch.setattr(run, "prefer", lambda wanted, *_: wanted)
    (tmp_path / "mine.workload").write_text(f"run\n  fault bad-sector {sector}\n  creat a\n  sync\n")
    exit_status, told = powercut("run", tmp_path / "mine.workload", "--fs", "btrfs-nearly-full")
    assert exit_status == status
    if status == 2:
        assert "mine:2:1: the sectors of the device of btrfs-nearly-full are 0 to 65535. Name one" in told


def test_a_resumed_run_asks_the_question_it_was_started_with(made: Path, monkeypatch) -> None:
    question(
        made, ("powercut", "run", "replace-by-rename", "--log-size", "2M", "--no-fsck", "--audit", "7.5")
    )
    run_specs: list[run.RunSpec] = []
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    assert main.main(["run", "--resume", str(made), "--jobs", "3"]) == 0
    (run_spec,) = run_specs
    assert [one.name for one in run_spec.workloads] == ["replace-by-rename"]
    assert (run_spec.log_bytes, run_spec.with_fsck, run_spec.audit_percent, run_spec.jobs) == (
        2 << 20,
        False,
        7.5,
        3,
    )
    assert run_spec.guest == "uml"


@pytest.mark.parametrize("percent", ["-1", "100.5", "nan", "all"])
def test_a_share_to_audit_is_a_percentage(powercut: Powercut, percent: str) -> None:
    status, told = powercut("run", f"--audit={percent}")
    assert status == 2
    assert f"'{percent}' is not a number from 0 to 100" in told


def test_what_was_no_run_cannot_be_resumed(powercut: Powercut, made: Path) -> None:
    question(made, ("powercut", "bench"))
    exit_status, said = powercut("run", "--resume", made)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert "was made by powercut bench" in said


# --- judge, report, repro ------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["judge", "report"])
@pytest.mark.parametrize("content", [None, b"{", b"\xff", b"[]"])
def test_a_folder_that_is_no_run_is_refused(
    powercut: Powercut, elsewhere: Path, command: str, content: bytes | None
) -> None:
    if content is not None:
        (elsewhere / "run.json").write_bytes(content)
    exit_status, said = powercut(command, elsewhere)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert "is not the folder of a run" in said


@pytest.mark.parametrize("name", ["experiment.json", "history.json", "observations.json.zst", "workload"])
@pytest.mark.parametrize("command", ["judge", "report", "repro"])
def test_a_damaged_experiment_is_named(powercut: Powercut, made: Path, command: str, name: str) -> None:
    (made / "experiments/0001" / name).write_bytes(b"\xff{")
    exit_status, said = powercut(command, made)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert "damaged" in said


@pytest.mark.parametrize("command", ["judge", "report", "repro"])
def test_an_experiment_that_is_not_whole_is_named(powercut: Powercut, made: Path, command: str) -> None:
    (made / "experiments/0001/verdicts.json.zst").unlink()
    exit_status, said = powercut(command, made)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert "is missing" in said
    assert "verdicts.json.zst" in said


def test_a_damaged_summary_is_named(powercut: Powercut, made: Path) -> None:
    (made / "summary.json").write_text("{")
    for command in ("judge", "repro"):
        exit_status, said = powercut(command, made)
        assert (exit_status, is_one_line(said)) == (2, True)


def test_a_stopped_run_has_no_report_and_is_told_how_to_go_on(powercut: Powercut, made: Path) -> None:
    (made / "summary.json").unlink()
    exit_status, said = powercut("report", made)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert f"powercut run --resume {made}" in said


@pytest.fixture
def killed(elsewhere: Path) -> Path:
    """A run that was killed after one experiment of three, in which every promise was kept."""
    folder = new_run(elsewhere / "results")
    question(folder, planned=3)
    keep(folder)
    return folder


def test_judging_a_killed_run_does_not_turn_it_green(powercut: Powercut, killed: Path) -> None:
    told = f"2 of 3 planned experiments are missing; continue with: powercut run --resume {killed}"
    assert powercut("judge", killed, "--quiet")[0] == 3
    summary = read_summary(killed)
    assert (summary.exit, summary.reasons) == (3, (told.replace(str(killed), summing.shown(killed)),))
    exit_status, said = powercut("report", killed, "--quiet")
    assert exit_status == 3
    assert "2 of 3 planned experiments are missing" in said
    assert "2 of 3 planned experiments are missing" in (killed / "report/index.html").read_text()


def test_a_run_that_lost_an_experiment_since_is_green_no_more(powercut: Powercut, killed: Path) -> None:
    question(killed, planned=2)
    keep(killed, 2)
    assert powercut("judge", killed, "--quiet") == (0, "")
    assert powercut("report", killed, "--quiet") == (0, "")
    shutil.rmtree(killed / "experiments/0002")
    assert powercut("report", killed, "--quiet")[0] == 3
    assert read_summary(killed).exit == 3


def test_a_command_about_a_finding_of_a_killed_run_says_so_and_is_never_0(
    powercut: Powercut, made: Path, monkeypatch, capsys
) -> None:
    question(made, planned=2)
    assert summing.status_of(made, 0) == 3
    assert "1 of 2 planned experiments are missing" in capsys.readouterr().err
    assert summing.status_of(made, 1) == 1


@pytest.mark.parametrize("name", ["run.json", "summary.json", "experiments/0001/experiment.json"])
@pytest.mark.parametrize("command", ["judge", "report"])
def test_a_file_of_an_unknown_format_is_refused_in_one_line(
    powercut: Powercut, made: Path, command: str, name: str
) -> None:
    text = (made / name).read_text()
    (made / name).write_text(re.sub(r'"format":( ?)\d+', r'"format":\g<1>9', text, count=1))
    exit_status, said = powercut(command, made)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert "format 9, written by another release of Powercut; this one reads 0 to " in said


def test_a_run_that_somebody_writes_to_is_left_alone(powercut: Powercut, made: Path) -> None:
    with only_one(made):
        for command in ("judge", "report", "attribute"):
            exit_status, said = powercut(command, made)
            assert (exit_status, is_one_line(said)) == (3, True)
            assert f"in use by process {os.getpid()}" in said


def test_judging_again_finds_the_same(powercut: Powercut, made: Path) -> None:
    before = read_summary(made), read_experiment(made / "experiments/0001")
    assert powercut("judge", made, "--quiet") == (1, "")
    assert (read_summary(made), read_experiment(made / "experiments/0001")) == before


def test_judging_again_in_another_tier_is_kept(powercut: Powercut, made: Path) -> None:
    _, printed = powercut("judge", made, "--tier", "posix")[:2]
    assert "tier posix" in printed  # not that of the run
    assert read_experiment(made / "experiments/0001").facts.tier == "posix"


def test_a_report_is_written_again(powercut: Powercut, made: Path) -> None:
    assert powercut("report", made, "--quiet") == (0, "")
    assert (made / "report/index.html").exists()
    assert (made / "junit.xml").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "neither the folder of a run (no summary.json) nor of an experiment"),
        (["MADE", "F7"], "there is no finding F7. The findings are F1"),
        (["MADE", "durable"], "durable is not the name of a finding"),
        (["MADE", "--state", "O:99"], "the log has 6 entries, so its states are O:0 to O:6"),
        (["MADE", "--state", "R:3-1"], "entry 1 was durable, because a later FLUSH"),
        (["MADE", "--state", "twelve"], "is not a state"),
        (["MADE/experiments/0001"], "Name a state of it"),
    ],
)
def test_what_cannot_be_shown_again_is_told(
    powercut: Powercut, made: Path, words: list[str], message: str
) -> None:
    exit_status, said = powercut("repro", *(word.replace("MADE", str(made)) for word in words))
    assert (exit_status, is_one_line(said)) == (2, True)
    assert message in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["minimize", "MADE", "F9"], "there is no finding F9. The findings are F1"),
        (["minimize", "nowhere", "F1"], "not the folder of a finished run"),
        (["export", "MADE", "F9", "--to", "sh"], "there is no finding F9. The findings are F1"),
        (["export", "MADE", "F1", "--to", "sh", "--fstests", "."], "can be used only with --to fstests"),
        (["export", "MADE", "F1", "--to", "fstests", "--fstests", "."], "check is missing"),
        (["repro", "MADE", "F9", "--times", "5"], "there is no finding F9. The findings are F1"),
    ],
)
def test_a_finding_that_is_not_there_is_told_with_those_that_are(
    powercut: Powercut, made: Path, words: list[str], message: str
) -> None:
    exit_status, said = powercut(*(word.replace("MADE", str(made)) for word in words))
    assert (exit_status, is_one_line(said)) == (2, True)
    assert message in said


@pytest.mark.parametrize(
    "words",
    [
        ["minimize"],
        ["minimize", "MADE", "F1", "--budget", "0"],
        ["minimize", "MADE", "F1", "--budget", "many"],
        ["export", "MADE", "F1"],
        ["export", "MADE", "F1", "--to", "perl"],
        ["repro", "MADE", "F1", "--times", "0"],
    ],
)
def test_a_small_wish_with_bad_values_is_wrong_usage(
    powercut: Powercut, made: Path, words: list[str]
) -> None:
    assert powercut(*(word.replace("MADE", str(made)) for word in words))[0] == 2


# --- the rest -------------------------------------------------------------------------------------


def test_every_command_of_the_help_does_something() -> None:
    text = parser().format_help()
    assert set(re.findall(r"^    (\w+)(?: |$)", text, re.MULTILINE)) == set(COMMANDS)
    assert "not built" not in text


def test_without_words_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """As `--help`, but nothing was asked, so the status is that of bad input."""
    assert main.main([]) == 2
    assert capsys.readouterr().out == parser().format_help()


def test_words_for_the_tests_are_passed_on_as_they_are(monkeypatch) -> None:
    passed: list[list[str]] = []
    monkeypatch.setitem(COMMANDS, "test", lambda arguments: passed.append(arguments.arguments) or 0)
    assert main.main(["test", "-k", "log", "--", "-x"]) == 0
    assert passed == [["-k", "log", "--", "-x"]]


@pytest.mark.parametrize("words", [[], ["frobnicate"], ["kernel"], ["kernel", "frob"], ["list", "-k", "("]])
def test_wrong_usage_is_exit_2(powercut: Powercut, words: list[str]) -> None:
    assert powercut(*words)[0] == 2


@pytest.mark.parametrize("what", ["build", "show"])
def test_a_kernel_must_be_named(powercut: Powercut, what: str) -> None:
    exit_status, said = powercut("kernel", what)
    assert (exit_status, is_one_line(said)) == (2, True)
    assert f"kernel {what} 6.12" in said


@pytest.mark.parametrize(("text", "size_bytes"), [("64M", 64 << 20), ("2G", 2 << 30), ("1048576", 1 << 20)])
def test_sizes_have_units(text: str, size_bytes: int) -> None:
    assert size(text) == size_bytes


def test_a_list_read_by_nobody_ends_without_a_word() -> None:
    """As in: powercut list | head -1."""
    with subprocess.Popen(
        [sys.executable, "-m", "harness.commands.main", "list"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 3
