"""Which guest a run gets, and what is known of KVM, without booting any."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.commands import doctor
from harness.guests import probe
from harness.local import packages
from harness.local.progress import Progress
from kernel.kernel import BuildFailed

KERNEL = Path("/k/vmlinux")
FALLBACK = "guest lost (hang): no answer in 10 s"


class Machine:
    """What is there, and what booting a kind would show; `tried` lists the kinds that were booted."""

    def __init__(self, folder: Path) -> None:
        self.kvm = folder / "kvm"
        self.boot_id = folder / "boot_id"
        self.kvm.touch()
        self.boot_id.write_text("first\n")
        self.works = {"uml": True, "qemu-tcg": True, "qemu-kvm": False}
        self.works |= {"qemu-aarch64-tcg": True, "qemu-aarch64-kvm": True}
        self.tried: list[str] = []

    def boots(self, _kernel: Path, kind: str, timeout_s: float = 0) -> tuple[bool, str]:
        self.tried.append(kind)
        return self.works[kind], "boots and answers" if self.works[kind] else FALLBACK

    def build(self, word: str, _progress: object, _config: object, arch: str = "um") -> SimpleNamespace:
        return SimpleNamespace(path=str(KERNEL), provenance=SimpleNamespace(word=word, arch=arch))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(probe, "KVM", made.kvm)
    monkeypatch.setattr(probe, "BOOT_ID", made.boot_id)
    monkeypatch.setattr(probe, "boots", made.boots)
    monkeypatch.setattr(probe, "build", made.build)
    monkeypatch.setattr(doctor, "boots", made.boots)
    monkeypatch.setattr(packages, "missing", lambda _: ())
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    return made


def choose(machine: Machine, wanted: str) -> str:
    """As run() does it: what to build kernels for, then the kind."""
    with Progress(quiet=True) as progress:
        family = probe.prefer(wanted, "6.12", (), progress)
    return probe.accelerated(family, machine.build("6.12", None, ()))


# --- KVM ---


def test_without_the_file_nothing_is_booted(machine: Machine) -> None:
    machine.kvm.unlink()
    assert probe.kvm(KERNEL) == (False, f"{machine.kvm} does not exist")
    assert machine.tried == []


def test_without_permission_nothing_is_booted(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr(probe.os, "access", lambda *_: False)
    assert probe.kvm(KERNEL) == (False, f"no permission for {machine.kvm}")
    assert machine.tried == []


@pytest.mark.parametrize("works", [True, False])
def test_what_booting_showed_is_remembered_until_the_machine_boots(machine: Machine, works: bool) -> None:
    machine.works["qemu-kvm"] = works
    first = probe.kvm(KERNEL)
    assert first[0] is works
    machine.works["qemu-kvm"] = not works
    assert probe.kvm(KERNEL) == first
    assert machine.tried == ["qemu-kvm"]
    machine.boot_id.write_text("second\n")
    assert probe.kvm(KERNEL)[0] is not works


def test_the_doctor_tries_again(machine: Machine) -> None:
    probe.kvm(KERNEL)
    machine.works["qemu-kvm"] = True
    assert probe.kvm(KERNEL, again=True)[0]
    assert probe.kvm(KERNEL)[0]


def test_a_memory_that_makes_no_sense_is_none(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/kvm.json").write_text('{"works":')
    assert probe.kvm(KERNEL) == (False, FALLBACK)


def test_a_machine_runs_its_own_architecture_alone_by_kvm(machine: Machine, monkeypatch) -> None:
    assert probe.kvm(KERNEL, "qemu-aarch64-kvm") == (
        False,
        "this machine is x86_64, which runs no aarch64 by KVM",
    )
    assert choose(machine, "qemu-aarch64") == "qemu-aarch64-tcg"
    assert machine.tried == []
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    machine.works["qemu-kvm"] = True
    assert choose(machine, "qemu-aarch64") == "qemu-aarch64-kvm"
    assert choose(machine, "qemu") == "qemu-tcg"
    assert machine.tried == ["qemu-aarch64-kvm"]


# --- what a run gets ---


def test_uml_is_taken_as_it_is(machine: Machine) -> None:
    assert choose(machine, "uml") == "uml"
    assert machine.tried == []


@pytest.mark.parametrize(("works", "kind"), [(True, "qemu-kvm"), (False, "qemu-tcg")])
def test_qemu_runs_under_kvm_only_when_a_guest_booted_with_it(
    machine: Machine, works: bool, kind: str
) -> None:
    machine.works["qemu-kvm"] = works
    assert choose(machine, "qemu") == kind


def test_a_kind_that_a_run_names_is_that_kind(machine: Machine) -> None:
    """A run that goes on keeps the kind it began with."""
    assert choose(machine, "qemu-tcg") == "qemu-tcg"
    assert machine.tried == []


def test_auto_prefers_uml(machine: Machine) -> None:
    assert choose(machine, "auto") == "uml"
    assert machine.tried == ["uml"]


def test_auto_takes_qemu_where_uml_does_not_boot(machine: Machine) -> None:
    machine.works["uml"] = False
    assert choose(machine, "auto") == "qemu-tcg"


def test_auto_takes_qemu_where_uml_does_not_build(machine: Machine, monkeypatch) -> None:
    def build(word: str, progress: object, config: object, arch: str = "um") -> SimpleNamespace:
        if arch == "um":
            raise BuildFailed("no User Mode Linux in this tree")
        return machine.build(word, progress, config, arch)

    monkeypatch.setattr(probe, "build", build)
    assert choose(machine, "auto") == "qemu-tcg"


def test_auto_with_neither_says_why_of_both(machine: Machine, monkeypatch) -> None:
    machine.works["uml"] = False
    monkeypatch.setattr(packages, "missing", tuple)
    with pytest.raises(
        probe.NoGuest,
        match=r"User Mode Linux does not work: guest lost .* QEMU is not installed: apt-get install",
    ):
        choose(machine, "auto")


# --- what the doctor says ---


def kernel(machine: Machine) -> SimpleNamespace:
    return machine.build("6.12", None, None, "x86_64")


def test_doctor_names_the_packages_of_qemu(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr(packages, "missing", tuple)
    check = doctor.guest_qemu(None)
    assert check.ok is None
    assert check.fix == "apt-get install --no-install-recommends qemu-system-x86 libelf-dev"


def test_doctor_says_how_to_have_qemu_tried(machine: Machine) -> None:
    check = doctor.guest_qemu(None)
    assert (check.ok, check.fix) == (None, "powercut kernel build 6.12 --arch x86_64")


def test_doctor_names_the_packages_of_aarch64_and_how_to_have_it_tried(machine: Machine, monkeypatch) -> None:
    untried = doctor.guest_qemu(None, "qemu-aarch64")
    assert (untried.name, untried.ok) == ("guest: qemu-aarch64", None)
    assert untried.fix == "powercut kernel build 6.12 --arch arm64"
    monkeypatch.setattr(packages, "missing", tuple)
    check = doctor.guest_qemu(None, "qemu-aarch64")
    assert check.ok is None
    assert check.fix.startswith(
        "apt-get install --no-install-recommends qemu-system-arm gcc-aarch64-linux-gnu"
    )


def test_doctor_says_that_aarch64_boots(machine: Machine) -> None:
    check = doctor.guest_qemu(machine.build("6.12", None, None, "arm64"), "qemu-aarch64")
    assert (check.ok, check.found) == (True, "6.12: boots and answers, emulated (TCG)")
    assert machine.tried == ["qemu-aarch64-tcg"]


def test_doctor_says_that_qemu_boots(machine: Machine) -> None:
    check = doctor.guest_qemu(kernel(machine))
    assert (check.ok, check.found) == (True, "6.12: boots and answers, emulated (TCG)")


def test_a_guest_that_does_not_boot_in_qemu_keeps_nobody_from_running(machine: Machine) -> None:
    machine.works["qemu-tcg"] = False
    check = doctor.guest_qemu(kernel(machine))
    assert check.ok is None
    assert FALLBACK in check.found


@pytest.mark.parametrize("state", ["gone", "forbidden", "hangs", "works"])
def test_doctor_says_why_kvm_is_not_used(machine: Machine, monkeypatch, state: str) -> None:
    if state == "gone":
        machine.kvm.unlink()
    if state == "forbidden":
        monkeypatch.setattr(probe.os, "access", lambda *_: False)
    machine.works["qemu-kvm"] = state == "works"
    check = doctor.guest_kvm(kernel(machine))
    found = {
        "gone": f"{machine.kvm} does not exist",
        "forbidden": f"no permission for {machine.kvm}",
        "hangs": f"several times slower: {FALLBACK}",
        "works": "6.12: boots and answers",
    }
    assert found[state] in check.found
    assert check.ok is (True if state == "works" else None)
    assert bool(check.fix) is (state != "works")
