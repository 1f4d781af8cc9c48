"""export: a program is kept only when it fails where it must and passes elsewhere. The guest is made up."""

from pathlib import Path

import msgspec
import pytest

from harness.evidence.triage import find
from harness.findings import export as subject
from harness.findings import reproducers as evidence
from harness.findings.export import Seen, compile_in, seen_of, tried_on, tries, verified
from harness.findings.reproducers import NoExport, is_written, reproducers
from harness.fstests.check import NoCheckout, check_in, require_checkout, stand_ins
from harness.guests.bare import Ran, run_in_guest
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.tests.made_run import ENTRY_COUNT, keep_damages, keep_faults
from oracles.checks import NoCheck
from oracles.observation import Observation
from reports.programs import export_fstests
from workloads.faults import FaultPoint
from workloads.text import format_operation


def ways(run: Path):
    return list(reproducers(*find(run, "F1"), run))


def test_the_end_of_an_operation_is_tried_by_flakey_and_then_by_the_log(run: Path) -> None:
    flakey, log = ways(run)
    assert (flakey.way, flakey.returned, log.way, log.returned) == ("flakey", True, "log", True)
    assert [format_operation(operation) for operation in flakey.run] == ["creat foo", "fsync foo"]
    assert [check.kind for check in flakey.checks] == ["exists"]


def only_shown_by(run: Path, spec: str):
    """The ways when the state that lost foo is another model's."""
    finding, experiment = find(run, "F1")
    states = tuple(
        msgspec.structs.replace(state, spec=spec) if state.spec == finding.state else state
        for state in experiment.judgement.states
    )
    judgement = msgspec.structs.replace(experiment.judgement, states=states)
    experiment = msgspec.structs.replace(experiment, judgement=judgement)
    return list(reproducers(msgspec.structs.replace(finding, state=spec), experiment, run))


@pytest.mark.parametrize("spec", [f"R:{ENTRY_COUNT}-2", f"T:{ENTRY_COUNT}/3", f"N:O:{ENTRY_COUNT}/O:1"])
def test_what_only_another_model_shows_is_made_from_the_log_alone(run: Path, spec: str) -> None:
    """dm-flakey loses nothing, tears nothing, and fails once."""
    (one,) = only_shown_by(run, spec)
    assert (one.way, one.model, one.returned, one.atomic_bytes) == ("log", spec[0], True, 4096)


def test_a_torn_write_that_others_followed_is_refused(run: Path) -> None:
    with pytest.raises(
        NoExport,
        match=r"an exported program can tear only the last write that reached the disk.* --keep FILE",
    ):
        only_shown_by(run, f"T:{ENTRY_COUNT}-1/3")


# --- a device that fails, damage at rest


def test_a_device_fails_as_a_whole_before_it_fails_in_part(tmp_path: Path) -> None:
    """The places of a filesystem's blocks are not the same everywhere."""
    first, *others = ways(keep_faults(tmp_path))
    assert first.fault == FaultPoint("error-writes", 2)
    assert [one.fault.part for one in others if one.fault] == ["8192+8", "16384+8"]
    assert {(one.way, one.promising) for one in (first, *others)} == {("fault", (2,))}
    assert [format_operation(operation) for operation in first.run] == ["write foo 0 8K", "fsync foo"]
    assert [check.kind for check in first.checks] == ["bytes"]


def test_of_a_kernel_that_died_nothing_else_is_asked(tmp_path: Path) -> None:
    finding, experiment = find(keep_faults(tmp_path), "F1")
    dead = Observation(death="panic", death_during="run")
    died = msgspec.structs.replace(experiment, observations=(dead,) * len(experiment.observations))
    (first, *_) = reproducers(finding, died, tmp_path)
    assert ([check.kind for check in first.checks], first.promising) == (["survives"], ())


def test_a_fault_that_no_program_can_ask_about_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NoCheck("that takes a filesystem of ours")

    run = keep_faults(tmp_path)
    monkeypatch.setattr(evidence, "of_fault", refuse)
    with pytest.raises(NoExport, match=r"filesystem of ours\. Try another .* the run itself: .* F1$"):
        ways(run)


@pytest.fixture
def damaged_run(tmp_path: Path) -> Path:
    return keep_damages(tmp_path)


def test_a_damage_is_done_to_the_disk_of_a_replayed_log(damaged_run: Path) -> None:
    """A disk at an operation's end comes before one within it, and another block before the same again."""
    found = ways(damaged_run)
    assert [one.damage.spec for one in found] == ["9540.3=0", "9541.0=0", "9540^77", "9540^7"]
    assert [one.returned for one in found] == [True, True, True, False]
    assert {(one.way, one.model, one.block) for one in found} == {("log", "D", "log tree leaf")}
    assert [check.kind for check in found[0].checks] == ["as before"]


def test_a_disk_with_all_that_an_operation_wrote_is_one_at_its_end(damaged_run: Path) -> None:
    """Its mark is no write."""
    _, experiment = find(damaged_run, "F1")
    assert experiment.history is not None
    assert [is_written(experiment.history, prefix) for prefix in (3, 4, 5, 6)] == [True, False, True, True]


def test_a_disk_may_be_damaged_before_anything_was_run(damaged_run: Path) -> None:
    """Then the disk is that at the begin of a sync behind setup."""
    finding, experiment = find(damaged_run, "F1")
    moved = {
        state.spec: state.spec.replace("O:4/", "O:0/").replace("O:6/", "O:0/")
        for state in experiment.judgement.states
    }
    states = tuple(
        msgspec.structs.replace(each, spec=moved[each.spec]) for each in experiment.judgement.states
    )
    facts = msgspec.structs.replace(experiment.facts, undamaged={"O:0": 0}, reads={})
    judgement = msgspec.structs.replace(experiment.judgement, states=states)
    early = msgspec.structs.replace(experiment, facts=facts, judgement=judgement)
    (one, *_) = reproducers(finding, early, damaged_run)
    assert [format_operation(operation) for operation in one.setup] == ["write foo 0 8K"]
    assert ([format_operation(operation) for operation in one.run], one.returned) == (["sync"], False)


def test_a_damage_that_no_program_can_ask_about_is_refused_with_the_disk(
    damaged_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NoCheck("an older tree is allowed")

    monkeypatch.setattr(evidence, "of_damage", refuse)
    with pytest.raises(NoExport, match=r"an older tree is allowed\. Try another .* --keep FILE"):
        ways(damaged_run)


def test_a_panic_is_an_answer_where_the_kernel_has_to_survive() -> None:
    """Else a guest that is gone was our trouble."""
    ran = Ran(-1, ("Kernel panic - not syncing: BUG!", "the guest ended"))
    assert seen_of("6.12", ran, survives=True).shows is True
    assert seen_of("6.12", ran).shows is None
    assert seen_of("6.12", Ran(-1, ("it did not end within 600 s",)), survives=True).shows is None


OWN, STOCK = "test+planted/a", "test"


@pytest.fixture
def tried(run: Path, monkeypatch: pytest.MonkeyPatch):
    """tried(answers) -> what verified() gives when the guests end with these statuses, by way and kernel."""

    def do(answers: dict[tuple[str, str], int], line: str = "BROKEN: foo is missing", **changes: str):
        finding, experiment = find(run, "F1")
        finding = msgspec.structs.replace(finding, **changes)
        kernels = []

        def guest(kernel, folder, command, space, beside=None):
            way = "log" if "log-writes" in (folder / "repro.sh").read_text() else "flakey"
            kernels.append((way, str(kernel)))
            return Ran(answers[way, str(kernel)], (line,))

        monkeypatch.setattr(subject, "run_in_guest", guest)
        monkeypatch.setattr(subject, "build", lambda word, *_: type("Kernel", (), {"path": word})())
        monkeypatch.setattr(subject, "source_word", lambda word: word.partition("+")[0])
        changed = msgspec.structs.replace(experiment.facts, kernel=OWN)
        patched = msgspec.structs.replace(experiment, facts=changed)
        return verified(finding, patched, "sh", None, run, Progress(quiet=True)), kernels

    return do


def test_what_fails_here_and_passes_there_is_kept(tried) -> None:
    (one, told), kernels = tried({("flakey", OWN): 1, ("flakey", STOCK): 0})
    assert (one.way, [each.shows for each in told]) == ("flakey", [True, False])
    assert kernels == [("flakey", OWN), ("flakey", STOCK)]


def test_a_program_that_ends_with_its_kernel_shows_a_finding_that_is_a_panic(tried) -> None:
    """And no other: there a guest that is gone was our trouble."""
    answers = {(way, word): status for way in ("flakey", "log") for word, status in ((OWN, -1), (STOCK, 0))}
    (_, told), _ = tried(answers, "Kernel panic - not syncing: BUG!", kind="panic")
    assert [each.shows for each in told] == [True, False]
    with pytest.raises(NoExport, match="no program shows it"):
        tried(answers, "Kernel panic - not syncing: BUG!")


def test_what_flakey_does_not_show_the_log_may(tried) -> None:
    """The stock kernel has no say where there is nothing to see."""
    (one, _), kernels = tried({("flakey", OWN): 0, ("flakey", STOCK): 0, ("log", OWN): 1, ("log", STOCK): 0})
    assert one.way == "log"
    assert kernels == [("flakey", OWN), ("log", OWN), ("log", STOCK)]


@pytest.mark.parametrize(("own", "stock"), [(0, 0), (1, 1), (0, 1), (2, 0), (1, 2), (1, -1)])
def test_what_does_not_tell_the_kernels_apart_is_not_shown(tried, own: int, stock: int) -> None:
    """Nor what could not be tried on one of them."""
    with pytest.raises(
        NoExport, match=r"no program shows it on test\+planted/a and passes elsewhere"
    ) as error:
        tried(
            {
                (way, word): status
                for way in ("flakey", "log")
                for word, status in ((OWN, own), (STOCK, stock))
            }
        )
    assert "Try instead: --to c, --to fstests; or the disk itself" in str(error.value)


@pytest.mark.parametrize(("answers", "shows", "count"), [((0, 1, 1), True, 2), ((0, 0, 0), False, 3)])
def test_threads_get_several_chances_to_meet(
    run: Path, answers: tuple[int, ...], shows: bool, count: int
) -> None:
    """A program without them is run once."""
    left = list(answers)

    def trial(word: str, _: Path) -> Seen:
        return Seen(word, left.pop(0) == 1, "")

    first = ways(run)[0]
    beside = [msgspec.structs.replace(operation, parallel=1, thread=1) for operation in first.run]
    threads = msgspec.structs.replace(first, run=tuple(beside))
    assert (tries(first), tries(threads)) == (1, 3)
    assert tried_on("6.12", run, trial, tries(threads)).shows is shows
    assert len(left) == len(answers) - count


@pytest.mark.parametrize(
    ("ran", "shows", "said"),
    [
        (Ran(0, ("the promise was kept",)), False, "the promise was kept"),
        (Ran(1, ("noise", "BROKEN: foo is missing")), True, "foo is missing"),
        (Ran(2, ("cannot be tested: dmsetup",)), None, "status 2: cannot be tested: dmsetup"),
        (Ran(-1, ("it did not end within 180 s",)), None, "status -1: it did not end within 180 s"),
    ],
)
def test_only_the_two_agreed_statuses_say_something(ran: Ran, shows: bool | None, said: str) -> None:
    seen = seen_of("6.12", ran)
    assert (seen.shows, seen.said) == (shows, said)


def test_a_program_that_does_not_compile_is_our_mistake(tmp_path: Path) -> None:
    (tmp_path / "repro.c").write_text("int main(void) { return x; }")
    with pytest.raises(NoExport, match="a bug of Powercut"):
        compile_in(tmp_path, "repro.c")


# --- fstests ---------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "xfstests"
    (folder / "tests" / "generic").mkdir(parents=True)
    (folder / "check").touch()
    (folder / "tests" / "generic" / "group.list").write_text("001 auto\n")
    (folder / "tests" / "generic" / "001").touch()
    return folder


def test_the_test_stands_in_a_tree_of_links_and_the_checkout_stays_as_it_was(
    run: Path, tmp_path: Path, checkout: Path
) -> None:
    before = sorted(checkout.rglob("*"))
    folder = tmp_path / "tried"
    folder.mkdir()
    one = ways(run)[0]
    for name, text in export_fstests.test(one, "999").items():
        (folder / name).write_text(text)
    assert check_in(checkout, folder, one) == "bash ./try"
    tests = folder / "farm" / "tests" / "generic"
    assert (tests / "group.list").read_text() == "001 auto\n999 auto quick\n"
    assert (tests / "999").is_file()
    assert (tests / "001").readlink() == Path("/mnt/beside/tests/generic/001")
    assert sorted(checkout.rglob("*")) == before


def test_a_folder_that_is_no_checkout_is_refused_with_what_it_lacks(checkout: Path) -> None:
    require_checkout(checkout)
    (checkout / "tests" / "generic" / "group.list").unlink()
    with pytest.raises(NoCheckout, match=r"run make in it: tests/generic/group\.list is missing"):
        require_checkout(checkout)
    with pytest.raises(NoCheckout, match=r"not a checkout of fstests: .* is missing"):
        require_checkout(checkout / "tests")


def test_stand_ins_bring_every_function_that_a_test_calls(run: Path, tmp_path: Path) -> None:
    for one in ways(run):
        folder = tmp_path / one.way
        folder.mkdir()
        stand_ins(folder, one)
        told = "".join(path.read_text() for path in (folder / "common").iterdir())
        text = export_fstests.test(one, "999")["999"]
        called = {word for line in text.splitlines() for word in line.split()[:1] if word.startswith("_")}
        for name in called - {"_cleanup()"}:
            short = name.removeprefix("_require_")
            assert f"{name}()" in told or short in told.partition("for name in")[2], name


# --- the guest -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("echo hello; echo powercut-status 1; sleep 20", 1, "hello"),
        ("echo powercut-status 0; sleep 20", 0, ""),
        ("echo Kernel panic; exit 1", -1, "the guest ended"),
        ("sleep 20", -1, "it did not end within 1 s"),
    ],
)
def test_a_guest_tells_its_status_or_why_it_did_not(
    tmp_path: Path, body: str, status: int, said: str
) -> None:
    """The kernel is a script here."""
    kernel = tmp_path / "linux"
    kernel.write_text(f"#!/bin/sh\n{body}\n")
    kernel.chmod(0o755)
    with workspace() as space:
        ran = run_in_guest(kernel, tmp_path, "true", space, timeout_s=1.0 if "did not end" in said else 20.0)
    assert ran.status == status
    assert said in "\n".join(ran.lines)
