"""The kernel under test on a machine: what decides how it is built, and how it is booted once."""

from pathlib import Path

import msgspec
import pytest

from harness.hosts import deploy, hosts
from harness.hosts.hosts import BadHost, Host
from harness.hosts.own import Own, kernel_for, own_kernel, own_words
from harness.hosts.running import Running
from harness.hosts.ssh import RemoteFailed
from kernel.kernel import Machine

OWN = Own("6.12.1-deb", "aa", "root=/dev/sda1 ro", "CONFIG_SMP=y\n", ("ext4", "nvme"))
RUNNING = Running(
    "x86_64", "6.12.1-deb", "Linux", "0a1b", "7", "BOOT_IMAGE=/v root=/dev/sda1 ro", "aa", "c0", ("ext4",), ()
)


class Told:
    """A connection to a machine that tells its config, and counts how often it was asked."""

    def __init__(self, config: str) -> None:
        self.host, self.config, self.asked = Host("nuc1", "a"), config, 0

    def run(self, _script: str) -> bytes:
        self.asked += 1
        return self.config.encode()


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(hosts.PLACE, str(tmp_path / "hosts.toml"))
    return tmp_path


def test_the_words_of_the_boot_loader_are_not_the_kernels_own() -> None:
    words = "BOOT_IMAGE=/vmlinuz initrd=\\efi\\initrd root=UUID=1 ro quiet"
    assert own_words(words) == "root=UUID=1 ro quiet"


def test_its_own_kernel_is_kept_while_one_of_ours_runs() -> None:
    """Its own is asked once; without it nothing can be built beside one of ours."""
    ours = msgspec.structs.replace(RUNNING, release="6.12.1-powercut", build_id="bb")
    told = Told("CONFIG_SMP=y\n")
    with pytest.raises(BadHost, match="Boot that one first"):
        own_kernel(told, ours)  # type: ignore[arg-type]
    first = own_kernel(told, RUNNING)  # type: ignore[arg-type]
    assert (first.words, first.config, first.modules) == ("root=/dev/sda1 ro", "CONFIG_SMP=y\n", ("ext4",))
    assert own_kernel(told, RUNNING) == own_kernel(told, ours) == first  # type: ignore[arg-type]
    assert told.asked == 1


def test_the_modules_grow_by_drivers_alone() -> None:
    """What a test loaded does not make another kernel."""
    told = Told("CONFIG_SMP=y\n")
    own_kernel(told, RUNNING)  # type: ignore[arg-type]
    more = msgspec.structs.replace(RUNNING, modules=("brd", "ext4", "sd_mod"), drivers=("sd_mod",))
    assert own_kernel(told, more).modules == ("ext4", "sd_mod")  # type: ignore[arg-type]


def test_a_kernel_is_built_by_the_machines_config_or_by_the_users(places: Path) -> None:
    host = Host("nuc1", "a")
    assert kernel_for(host, RUNNING, OWN) == Machine(OWN.config, OWN.modules)
    (places / "mine.config").write_text("CONFIG_X=y\n")
    mine = msgspec.structs.replace(host, kernel_config="mine.config")
    assert kernel_for(mine, RUNNING, OWN) == Machine("CONFIG_X=y\n", ())


def test_what_no_kernel_can_be_built_for_is_told_with_the_fix(places: Path) -> None:
    host = Host("nuc1", "a")
    with pytest.raises(BadHost, match=r"it is aarch64.*--kernel running"):
        kernel_for(host, msgspec.structs.replace(RUNNING, arch="aarch64"), OWN)
    with pytest.raises(BadHost, match="name a file by `kernel_config`"):
        kernel_for(host, RUNNING, msgspec.structs.replace(OWN, config=""))
    gone = msgspec.structs.replace(host, kernel_config="gone.config")
    with pytest.raises(BadHost, match="`kernel_config` cannot be read"):
        kernel_for(gone, RUNNING, OWN)
    (places / "no.config").write_text("hello\n")
    with pytest.raises(BadHost, match="no config of a kernel"):
        kernel_for(msgspec.structs.replace(host, kernel_config="no.config"), RUNNING, OWN)


def test_the_entry_of_grub_is_between_its_marks() -> None:
    """The next one replaces it; a word with a character of GRUB's stays one word."""
    lines = deploy.grub_entry("1-2", "/boot/powercut", "root=UUID=1 ro a=b;c panic=10").splitlines()
    assert (lines[0], lines[-1]) == (deploy.MARK, deploy.END_MARK)
    assert "    search --no-floppy --fs-uuid --set=root 1-2" in lines
    assert "    linux /boot/powercut/bzImage root=UUID=1 ro 'a=b;c' panic=10" in lines


class Booting:
    """A connection to a machine whose kexec says so much, and whose GRUB can."""

    def __init__(self, refusal: str) -> None:
        self.host, self.refusal = Host("nuc1", "a"), refusal
        self.did: list[str] = []

    def run(self, script: str, _data: bytes = b"", timeout_s: float = 60) -> bytes:
        if script in (deploy.KEXEC_FORBIDDEN, deploy.GRUB_UNFIT):
            return b""
        if "kexec -c -l" in script:
            if self.refusal:
                raise RemoteFailed("nuc1", 1, self.refusal)
            return b""
        self.did.append(script)
        return b"uuid-1\n/boot/powercut\n" if "grub-mkrelpath" in script else b""


def test_why_grub_boots_it_and_not_kexec_is_told() -> None:
    """Else nobody learns that kexec, which is faster, never works there."""
    said: list[str] = []
    machine = Booting("Could not find a free area of memory\nlocate_hole failed\n")
    deploy.boot(machine, "ro", said.append)  # type: ignore[arg-type]
    assert said == [
        "nuc1: kexec refused: Could not find a free area of memory / locate_hole failed. "
        "So GRUB boots it, for this time"
    ]
    assert machine.did[-1] == deploy.REBOOT


def test_where_kexec_takes_it_grub_is_left_alone() -> None:
    said: list[str] = []
    machine = Booting("")
    deploy.boot(machine, "ro", said.append)  # type: ignore[arg-type]
    assert (said, machine.did) == ([], [deploy.GO])
