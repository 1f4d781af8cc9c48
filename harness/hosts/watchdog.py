"""
The watchdog of a machine, fed while we are connected: a kernel that hangs is reset without anybody's command.

In:       a Connection.
Out:      fed(): within the block the watchdog is armed, and fed through the connection.
Not here: the reset by the user's command, where there is no watchdog or it does not help (reach.py).

The board's own watchdog is taken where the machine has one and nobody holds it, else the kernel's softdog,
which needs a kernel that still serves timers. Each line at the input of a shell there feeds it. When the
connection ends, so does the input, and the watchdog is disarmed; when the machine hangs, nobody reads, and it
bites (Documentation/watchdog/watchdog-api.rst). A connection that is merely silent is one that hangs.
"""

import contextlib
import subprocess
import threading
from collections.abc import Iterator

from harness.hosts.ssh import Connection, lines_of

BITES_S = 60  # an emulated or a busy machine may stand still for longer than the usual 15 or 30 s
FEED_S = 5.0
START_S = 60.0
END_S = 30.0
DEVICE = "/dev/watchdog"
SOFTWARE = "softdog"  # the module
# wdctl opens and closes the device: before we hold it. Without wdctl the driver's own time holds.
FEED = """
[ -e {device} ] || modprobe {software} 2>/dev/null
for _ in 1 2 3 4 5; do [ -e {device} ] && break; sleep 1; done
if ! [ -e {device} ]; then echo "there is none"; exit; fi
wdctl --settimeout {bites_s} {device} >/dev/null 2>&1
if ! command exec 3>{device}; then echo "another program holds it"; exit; fi
echo fed
while read -r _; do printf . >&3; done
printf V >&3
"""


@contextlib.contextmanager
def fed(connection: Connection) -> Iterator[str]:
    """ "" when it is armed, else why not: nothing is changed there then. Errors: OSError."""
    process = subprocess.Popen(
        connection.command(["/bin/sh", "-c", FEED.format(device=DEVICE, software=SOFTWARE, bites_s=BITES_S)]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ended = threading.Event()
    feeder = threading.Thread(target=_feed, args=(process, ended), daemon=True)
    try:
        said = ""
        for said in lines_of(process, START_S):
            if said in ("fed", "there is none", "another program holds it"):
                break
        if said == "fed":
            feeder.start()
        yield "" if said == "fed" else said or "the machine does not answer"
    finally:
        ended.set()
        if feeder.ident is not None:
            feeder.join()
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _feed(process: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    assert process.stdin is not None
    while not ended.wait(FEED_S):
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
        except OSError:
            return
