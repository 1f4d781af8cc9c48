"""
A machine that is only reached by ssh: QEMU with two processors, disks of each kind, and a persistent store.

In:       a folder of its own.
Out:      Machine, a context; start(), stop() for one that outlives us. In the folder: ssh_config, hosts.toml,
          console (a socket) and console.log, monitor (a socket), erst (what pstore keeps over a reset).
Not here: its root disk (image.py), the monitor's words (monitor.py).

The processors are emulated. The disks are sparse files. Their serial numbers
are their names: DEVICES.
"""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from harness.suite.machine import monitor
from harness.suite.machine.image import Image, NoMachine, image
from harness.suite.machine.monitor import NoMonitor

PROGRAM = "qemu-system-x86_64"
NAME = "machine"  # of the host: for ssh, and in hosts.toml
MEMORY_MIB = 2048
PROCESSORS = 2
DISK_BYTES = 2 << 30
STORE = "erst"
STORE_BYTES = 64 << 10  # as boards have; seven records of 8 KiB (QEMU: docs/specs/acpi_erst.rst)
BOOT_TIMEOUT_S = 300.0  # 20 s where nothing else runs
END_TIMEOUT_S = 30.0
ROOT = Path(__file__).parent.parent.parent.parent


class Device(msgspec.Struct, frozen=True):
    """A disk of the machine. options: QEMU's, with the drive and the serial number to be put in.
    by_id: its name there, below /dev/disk/by-id."""

    serial: str
    options: tuple[str, ...]
    by_id: str


DEVICES = (
    # Each NVMe on a port of its own, so that it can be pulled out: device_del DRIVE.
    Device(
        "PCNVME0",
        ("pcie-root-port,id=port0,chassis=1,slot=1", "nvme,bus=port0"),
        "nvme-QEMU_NVMe_Ctrl_PCNVME0",
    ),
    Device(
        "PCNVME1",
        ("pcie-root-port,id=port1,chassis=2,slot=2", "nvme,bus=port1"),
        "nvme-QEMU_NVMe_Ctrl_PCNVME1",
    ),
    Device("PCVIRTIO0", ("virtio-blk-pci",), "virtio-PCVIRTIO0"),
    Device("PCSCSI0", ("virtio-scsi-pci,id=scsi", "scsi-hd,bus=scsi.0"), "scsi-0QEMU_QEMU_HARDDISK_PCSCSI0"),
)


class Machine:
    """A machine while the context lasts; it ends with us, however we end. disks: where their files are,
    the folder itself unless told."""

    def __init__(self, folder: Path, disks: Path | None = None) -> None:
        self.folder = folder.absolute()
        self.ssh_config = self.folder / "ssh_config"
        self.hosts = self.folder / "hosts.toml"
        self.console = self.folder / "console.log"
        self._disks = disks or self.folder
        self._running: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Machine":
        """Errors: NoMachine."""
        made = image(complete, tell)
        self._running = launch(made, self.folder, self._disks, ("setpriv", "--pdeathsig", "KILL"))
        try:
            await_ssh(self.folder, self._running)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._running
        self._running.kill()
        self._running.wait()

    def ssh(self, command: str, timeout_s: float = 60.0) -> "subprocess.CompletedProcess[str]":
        """A command of its shell; for the tests' own looks at it."""
        return over_ssh(self.folder, command, timeout_s)

    def reset(self) -> None:
        """By the button, and until ssh answers again. Errors: NoMachine, NoMonitor."""
        monitor.reset(self.folder)
        await_ssh(self.folder, self._running)


def start(folder: Path, disks: Path | None = None) -> float:
    """One that runs on after us, until stop(); the seconds until ssh answered. Errors: NoMachine."""
    folder = folder.absolute()
    if runs(folder):
        raise NoMachine(f"a machine runs in {folder} already; stop it, or take another folder")
    made = image(complete, tell)
    began = time.monotonic()
    await_ssh(folder, launch(made, folder, disks or folder, ()))
    return time.monotonic() - began


def stop(folder: Path) -> None:
    """As a plug that is pulled. Errors: NoMonitor when none runs there."""
    monitor.quit_now(folder)
    deadline = time.monotonic() + END_TIMEOUT_S
    while runs(folder) and time.monotonic() < deadline:
        time.sleep(0.1)


def runs(folder: Path) -> bool:
    try:
        monitor.ask(folder, "query-status")
    except NoMonitor:
        return False
    return True


def complete(made: Image) -> None:
    """The first start: GRUB goes into the boot sector, which needs the disk as a disk. Errors: NoMachine."""
    folder = made.folder / "first"
    running = launch(made, folder, folder, ("setpriv", "--pdeathsig", "KILL"), first=True)
    try:
        await_ssh(folder, running)
        done = over_ssh(
            folder,
            "set -e; disk=/dev/$(lsblk -no pkname $(findmnt -no source /)); grub-install $disk; update-grub; "
            "sync; systemctl poweroff",
            BOOT_TIMEOUT_S,
        )
        if done.returncode != 0:
            raise NoMachine(f"GRUB could not be installed: {done.stderr.strip()}")
        running.wait(BOOT_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise NoMachine("the machine did not end after its first start") from error
    finally:
        running.kill()
        running.wait()
    shutil.rmtree(folder)


def launch(
    made: Image, folder: Path, disks: Path, prefix: tuple[str, ...], first: bool = False
) -> "subprocess.Popen[bytes]":
    """QEMU, in the folder, so that names of sockets are short. Errors: NoMachine."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (monitor.SOCKET, "console", "console.log", "ssh_config", STORE):
        (folder / name).unlink(missing_ok=True)
    for device in DEVICES:
        with (disks / device.serial).open("wb") as file:
            file.truncate(DISK_BYTES)
    shutil.copyfile(made.folder / "key", folder / "key")
    (folder / "key").chmod(0o600)
    host_key = (made.folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"{made.folder.name} {host_key}")
    if first:
        root = f"file={doubled(made.disk)},format=raw"
        words = "root=LABEL=machine-root console=ttyS0,115200 net.ifnames=0 quiet"
        boot = ["-kernel", made.folder / "vmlinuz", "-initrd", made.folder / "initrd.img", "-append", words]
    else:
        overlay(made, folder)
        root, boot = "file=root.qcow2,format=qcow2", []
    with (folder / "qemu.log").open("wb") as log:
        running = subprocess.Popen(
            [*prefix, *map(str, [*command(root, disks), *boot])],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        port = forwarded(folder, running)
        write_ssh_config(folder, made.folder.name, port)
        write_hosts(folder)
    except BaseException:
        running.kill()
        running.wait()
        raise
    return running


def overlay(made: Image, folder: Path) -> None:
    """What is written goes beside the image, and is gone at the next start."""
    words = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(made.disk), "root.qcow2"]
    subprocess.run(words, cwd=folder, check=True)


def command(root: str, disks: Path) -> list[str]:
    words = [
        PROGRAM,
        "-nodefaults",
        "-no-user-config",
        *("-display", "none"),
        *("-machine", "q35"),
        # Both on one thread: with a thread each, a kernel that changes its own text (static keys of
        # tracepoints) dies of "Oops: int3" now and then.
        # A small cache of translated code: with QEMU's 1 GiB a page's list of old code is so long that kexec,
        # which writes over it, takes a second for eight bytes.
        *("-accel", "tcg,thread=single,tb-size=64"),
        *("-cpu", "qemu64,-svm"),  # no KVM in it
        *("-smp", str(PROCESSORS)),
        *("-m", str(MEMORY_MIB)),
        *("-drive", f"if=none,id=root,{root},cache=unsafe"),
        *("-device", "virtio-blk-pci,drive=root,serial=PCROOT,bootindex=1"),
        *("-netdev", "user,id=net,hostfwd=tcp:127.0.0.1:0-:22"),
        *("-device", "virtio-net-pci,netdev=net,romfile="),
        *("-device", "virtio-rng-pci"),
        *("-device", "i6300esb"),
        *("-action", "watchdog=reset"),
        *("-chardev", "socket,id=console,path=console,server=on,wait=off,logfile=console.log"),
        *("-serial", "chardev:console"),
        *("-qmp", f"unix:{monitor.SOCKET},server=on,wait=off"),
    ]
    for device in DEVICES:
        *before, last = device.options
        name = device.serial.lower()
        words += [word for one in before for word in ("-device", one)]
        words += ["-drive", f"if=none,id={name},file={doubled(disks / device.serial)},format=raw"]
        words += ["-device", f"{last},id=disk-{name},drive={name},serial={device.serial}"]
    # QEMU makes the file, in its folder.
    store = f"memory-backend-file,id=store,mem-path={STORE},size={STORE_BYTES},share=on"
    return [*words, "-object", store, "-device", "acpi-erst,memdev=store"]


def doubled(path: Path) -> str:
    """In an option's value a comma is written twice."""
    return str(path).replace(",", ",,")


def forwarded(folder: Path, running: "subprocess.Popen[bytes]") -> int:
    """The port that QEMU chose for ssh. Errors: NoMachine."""
    deadline = time.monotonic() + END_TIMEOUT_S
    while True:
        with contextlib.suppress(NoMonitor):
            said = monitor.words(folder, "info usernet")
            if found := re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)", said):
                return int(found[1])
        if running.poll() is not None or time.monotonic() > deadline:
            raise NoMachine(f"QEMU did not start: {(folder / 'qemu.log').read_text().strip()}")
        time.sleep(0.1)


def write_ssh_config(folder: Path, alias: str, port: int) -> None:
    """As a user would have it for a machine of his lab; the host's key is checked."""
    (folder / "ssh_config").write_text(
        f"""Host {NAME}
    HostName 127.0.0.1
    Port {port}
    User root
    HostKeyAlias {alias}
    IdentityFile "{folder / "key"}"
    IdentitiesOnly yes
    UserKnownHostsFile "{folder / "known_hosts"}"
    GlobalKnownHostsFile none
    StrictHostKeyChecking yes
"""
    )


def write_hosts(folder: Path) -> None:
    """As a user would write it: the three commands are programs, here this one."""
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "harness.suite.machine"]
    lines = [f'address = "{NAME}"', f"ssh_config = {json.dumps(str(folder / 'ssh_config'))}"]
    for name in ("power", "console", "reset"):
        lines.append(f"{name} = {json.dumps([*words, name, str(folder)])}")
    (folder / "hosts.toml").write_text("\n".join([f"[{NAME}]", *lines, ""]))


def await_ssh(folder: Path, running: "subprocess.Popen[bytes] | None") -> None:
    """Until its sshd answers a whole login. Errors: NoMachine."""
    found = re.search(r"Port (\d+)", (folder / "ssh_config").read_text())
    assert found
    deadline = time.monotonic() + BOOT_TIMEOUT_S
    while time.monotonic() < deadline:
        if running and running.poll() is not None:
            raise NoMachine(f"QEMU ended: {(folder / 'qemu.log').read_text().strip()}")
        if answers(int(found[1])) and over_ssh(folder, "true", BOOT_TIMEOUT_S).returncode == 0:
            return
        time.sleep(0.5)
    raise NoMachine(f"no answer by ssh within {BOOT_TIMEOUT_S:.0f} s; see {folder / 'console.log'}")


def answers(port: int) -> bool:
    """Whether an sshd greets there. QEMU itself accepts connections long before."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            return line.recv(4) == b"SSH-"
    except OSError:
        return False


def over_ssh(folder: Path, command: str, timeout_s: float) -> "subprocess.CompletedProcess[str]":
    words = ["ssh", "-F", str(folder / "ssh_config"), "-o", "BatchMode=yes", NAME, command]
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
