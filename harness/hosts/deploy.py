"""
The kernel under test on a machine: brought there, booted once, and the way back.

In:       a Host, a Kernel that was built for it (kernel/machine.py).
Out:      with_kernel(): a Connection to the machine when that kernel runs; boot_anew(); return_to_own().
Not here: the build, what runs there now (running.py), its own kernel (own.py), reset and power (reach.py).

Nothing of the machine's own is changed: what boots by itself stays what it was. The image, the initramfs and
the config lie in a folder of root's beside the agent, the modules in /lib/modules/RELEASE, where mkinitramfs
and modprobe look for them. The next kernel of the same release replaces them. kexec boots it; where kexec may
not, GRUB does, told so for the next boot alone. Whatever ends that kernel leads back.
"""

import contextlib
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.hosts.agent import FOLDER as OURS
from harness.hosts.hosts import BadHost, Host
from harness.hosts.own import own_kernel
from harness.hosts.power import cycle, reset
from harness.hosts.reach import reached
from harness.hosts.running import Running, look
from harness.hosts.ssh import Connection, RemoteFailed, Unreachable, connect
from kernel.kernel import Kernel
from kernel.machine import MODULES, build_id

FOLDER = f"{OURS}/kernel"
DEATH_WORDS = ("panic=10", "oops=panic")  # after 10 s its own kernel boots
SEND_S = 600.0
INITRAMFS_S = 600.0
BOOT_S = 600.0  # of a server that tests its memory first, or of an emulated machine
AGAIN_S = 3.0
MARK = "# powercut: boots the kernel under test once"
END_MARK = "# powercut: end"
Tell = Callable[[str], None]

# The build id is written last: what it names is whole.
HAVE = """
[ "$(cat {folder}/build-id 2>/dev/null)" = {build_id} ] || exit 0
[ "$(cat /lib/modules/{release}/powercut-build-id 2>/dev/null)" = {build_id} ] || exit 0
[ -s {folder}/bzImage ] && [ -s {folder}/initrd ] && echo have
exit 0
"""
BEGIN = """
set -e
umask 022
mkdir -p {folder}
rm -rf {folder}/* /lib/modules/{release}
"""
UNPACK = """
set -e
tar -x -C / --no-same-owner -f -
depmod {release}
"""
KEEP = "cat >{path}\n"
# By the machine's own tools, which know what its root needs.
INITRAMFS = """
set -e
cp {folder}/config /lib/modules/{release}/config
cp {folder}/config /lib/modules/{release}/config-{release}
cd /
if command -v mkinitramfs >/dev/null; then
    mkinitramfs -o {folder}/initrd.new {release} >&2
elif command -v dracut >/dev/null; then
    dracut --force --kver {release} {folder}/initrd.new >&2
else
    echo "there is neither mkinitramfs (initramfs-tools) nor dracut" >&2
    exit 1
fi
mv {folder}/initrd.new {folder}/initrd
echo {build_id} >/lib/modules/{release}/powercut-build-id
echo {build_id} >{folder}/build-id
sync
"""
# Why kexec cannot be, or nothing.
KEXEC_FORBIDDEN = r"""
command -v kexec >/dev/null || { echo "there is no kexec (package kexec-tools)"; exit 0; }
[ "$(cat /proc/sys/kernel/kexec_load_disabled 2>/dev/null || echo 1)" = 0 ] || {
    echo "kexec is forbidden (/proc/sys/kernel/kexec_load_disabled)"; exit 0; }
case "$(cat /sys/kernel/security/lockdown 2>/dev/null)" in
*"[integrity]"*|*"[confidentiality]"*) echo "kexec is forbidden (lockdown)" ;;
esac
exit 0
"""
# By the older system call, or by the one that a kernel has which takes signed images alone (RHEL's).
LOAD = """
set -- {folder}/bzImage --initrd={folder}/initrd --command-line={words}
kexec -c -l "$@" || kexec -s -l "$@"
"""
# After this script has ended, so that its end is heard; services end in order where systemd can do that.
GO = """
nohup sh -c 'sleep 1; systemctl kexec || { sync; kexec -e; }' >/dev/null 2>&1 </dev/null &
exit 0
"""
REBOOT = """
nohup sh -c 'sleep 1; systemctl reboot || reboot' >/dev/null 2>&1 </dev/null &
exit 0
"""
# Why GRUB cannot boot it for once, with the fix, or nothing. What GRUB cannot write, it cannot forget either:
# it would boot our kernel again and again.
GRUB_UNFIT = r"""
command -v grub-reboot >/dev/null && [ -f /boot/grub/grub.cfg ] || {
    echo "there is no GRUB either (grub-reboot, /boot/grub/grub.cfg)"; exit 0; }
grep -q next_entry /boot/grub/grub.cfg && grep -q custom.cfg /boot/grub/grub.cfg || {
    echo "its GRUB cannot boot another kernel once. Set GRUB_DEFAULT=saved in /etc/default/grub, keep" \
        "/etc/grub.d/41_custom, and run update-grub"; exit 0; }
(. /etc/default/grub
for file in /etc/default/grub.d/*.cfg; do [ -e "$file" ] && . "$file"; done
[ "$GRUB_DEFAULT" = saved ]) || {
    echo "its GRUB boots a fixed entry. Set GRUB_DEFAULT=saved in /etc/default/grub, and run update-grub"
    exit 0; }
layers=$(grub-probe --target=abstraction /boot/grub)
[ -z "$layers" ] || { echo "its GRUB cannot write to /boot/grub, which is on $layers"; exit 0; }
case "$(grub-probe --target=fs /boot/grub)" in
btrfs|zfs|xfs) echo "its GRUB cannot write to /boot/grub, whose filesystem it can only read" ;;
esac
exit 0
"""
# GRUB can read /boot for certain. In a folder of it: update-grub makes entries of what lies in /boot itself.
GRUB_COPY = """
set -e
mkdir -p /boot/powercut
cp {folder}/bzImage {folder}/initrd /boot/powercut/
grub-probe --target=fs_uuid /boot
grub-mkrelpath /boot/powercut
"""
GRUB_ONCE = """
set -e
file=/boot/grub/custom.cfg
touch $file
sed -i '/^{mark}$/,/^{end_mark}$/d' $file
cat >>$file
grub-reboot powercut
sync
"""
# Whose agent runs there: a boot would end it.
IN_USE = """
for process in /proc/[0-9]*; do
    case "$(readlink "$process/exe")" in {folder}/agent-*) echo "${{process#/proc/}}" ;; esac
done
exit 0
"""


class NeverAnswered(Unreachable):
    """The kernel under test does not run there, although it was booted: the machine is back, or silent."""


@contextlib.contextmanager
def with_kernel(
    host: Host, kernel: Kernel | None, lost: bool = False, tell: Tell = lambda _: None
) -> Iterator[Connection]:
    """kernel: None is whatever runs there. lost: as of reached(). It is brought there and booted when another
    one runs. Errors: NoEntry, BadHost, RemoteFailed, Unreachable, OSError."""
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(reached(host, lost, tell))
        if kernel is not None and build_id_there(connection) != kernel.provenance.build_id:
            deploy(connection, kernel, tell)
            stack.close()
            connection = stack.enter_context(reached(host))
        yield connection


def boot_anew(host: Host, kernel: Kernel, lost: bool = False, tell: Tell = lambda _: None) -> None:
    """In a boot of its own, also where it runs already. Errors: as with_kernel()."""
    with reached(host, lost, tell) as connection:
        deploy(connection, kernel, tell)


def build_id_there(connection: Connection) -> str:
    """Of the kernel that runs; look() has more, and takes longer. Errors: RemoteFailed, Unreachable."""
    return build_id(connection.run("cat /sys/kernel/notes"))


def deploy(connection: Connection, kernel: Kernel, tell: Tell = lambda _: None) -> None:
    """The connection is of no use after it. Errors: BadHost, RemoteFailed, Unreachable, OSError."""
    before = look(connection)
    if others := connection.run(IN_USE.format(folder=OURS)).decode().split():
        raise BadHost(
            f"{connection.host.name}: another run of Powercut uses this machine (process {others[0]} there), "
            "and a boot would end it. Wait for it"
        )
    own = own_kernel(connection, before)
    made = kernel.provenance
    put(connection, kernel, tell)
    words = " ".join((own.words, *DEATH_WORDS))
    tell(f"{connection.host.name}: booting {made.word} ({made.release})")
    boot(connection, words, tell)
    now = came_back(connection.host, before.boot)
    if now.build_id != made.build_id:
        raise NeverAnswered(
            f"{connection.host.name}: it booted {made.release} (build id {made.build_id}), and now "
            f"{now.release} runs there (build id {now.build_id}). The kernel under test died before ssh "
            "answered, and panic=10 or a reset led back. Its console has the reason: command `console`"
        )


def put(connection: Connection, kernel: Kernel, tell: Tell = lambda _: None) -> None:
    """All that it needs to boot, once for each kernel.
    Errors: BadHost, RemoteFailed, Unreachable, OSError."""
    made, files = kernel.provenance, Path(kernel.path).parent
    names = {"folder": FOLDER, "release": made.release, "build_id": made.build_id}
    if connection.run(HAVE.format(**names)).strip() == b"have":
        return
    host = connection.host.name
    tell(f"{host}: sending {made.word}, {kernel_bytes(kernel) >> 20} MiB")
    connection.run(BEGIN.format(**names))
    connection.run(UNPACK.format(**names), (files / MODULES).read_bytes(), SEND_S)
    for name in ("bzImage", "config"):
        connection.run(KEEP.format(path=f"{FOLDER}/{name}"), (files / name).read_bytes(), SEND_S)
    tell(f"{host}: making the initramfs there")
    try:
        connection.run(INITRAMFS.format(**names), timeout_s=INITRAMFS_S)
    except RemoteFailed as error:
        raise BadHost(f"{host}: no initramfs could be made there: {error.error.strip()[-300:]}") from error


def kernel_bytes(kernel: Kernel) -> int:
    """What is sent for it."""
    return sum((Path(kernel.path).parent / name).stat().st_size for name in (MODULES, "bzImage", "config"))


def boot(connection: Connection, words: str, tell: Tell = lambda _: None) -> None:
    """Once, what put() brought. Errors: BadHost when neither kexec nor GRUB can; RemoteFailed,
    Unreachable."""
    forbidden = connection.run(KEXEC_FORBIDDEN).decode(errors="replace").strip()
    if not forbidden:
        try:
            connection.run(LOAD.format(folder=FOLDER, words=shlex.quote(words)))
        except RemoteFailed as error:
            forbidden = f"kexec refused: {' / '.join(error.error.strip()[-200:].splitlines())}"
        else:
            connection.run(GO)
            return
    if unfit := connection.run(GRUB_UNFIT).decode(errors="replace").strip():
        raise BadHost(
            f"{connection.host.name}: {forbidden}, and {unfit}. Or test what runs: --kernel running"
        )
    tell(f"{connection.host.name}: {forbidden}. So GRUB boots it, for this time")
    uuid, folder = connection.run(GRUB_COPY.format(folder=FOLDER), timeout_s=SEND_S).decode().splitlines()
    connection.run(GRUB_ONCE.format(mark=MARK, end_mark=END_MARK), grub_entry(uuid, folder, words).encode())
    connection.run(REBOOT)


def grub_entry(uuid: str, folder: str, words: str) -> str:
    """For custom.cfg. folder: as GRUB sees it."""
    quoted = " ".join(shlex.quote(word) for word in words.split())
    return f"""{MARK}
menuentry powercut --id powercut {{
    search --no-floppy --fs-uuid --set=root {uuid}
    linux {folder}/bzImage {quoted}
    initrd {folder}/initrd
}}
{END_MARK}
"""


def came_back(host: Host, boot_before: str) -> Running:
    """What runs after a boot. Where there is no answer in BOOT_S it is reset, then its power is switched: its
    own kernel boots then. Errors: NeverAnswered, NoEntry, BadHost."""
    if now := _asked(host, boot_before):
        return now
    tried = []
    for name, there, act in (("reset", host.reset, reset), ("power cycle", host.power, cycle)):
        if not there:
            continue
        act(host)
        tried.append(name)
        if now := _asked(host, boot_before):
            raise NeverAnswered(
                f"{host.name}: a boot that never answered: no ssh within {BOOT_S:.0f} s. After {name} it is "
                f"back with {now.release}. Its console has the reason: command `console`"
            )
    said = f"after {' and '.join(tried)} neither" if tried else "there is no command `reset` in hosts.toml"
    raise NeverAnswered(f"{host.name}: a boot that never answered: no ssh within {BOOT_S:.0f} s; {said}")


def _asked(host: Host, boot_before: str) -> Running | None:
    """What runs there in another boot than that one, when ssh answers in time. Errors: NoEntry, BadHost."""
    deadline = time.monotonic() + BOOT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(Unreachable, RemoteFailed), connect(host) as connection:
            now = look(connection)
            if now.boot != boot_before:
                return now
        time.sleep(AGAIN_S)
    return None


def return_to_own(connection: Connection) -> None:
    """An orderly reboot; nothing when its own kernel runs. The connection is of no use after it.
    Errors: RemoteFailed, Unreachable, BadHost."""
    before = look(connection)
    if not before.is_ours:
        return
    connection.run(REBOOT)
    now = came_back(connection.host, before.boot)
    if now.is_ours:
        raise BadHost(
            f"{connection.host.name}: it booted {now.release}, a kernel of Powercut, by itself. Its boot "
            "loader has an entry for it; remove that"
        )
