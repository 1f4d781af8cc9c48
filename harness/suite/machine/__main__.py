"""
The machine by hand: python -m harness.suite.machine WORD FOLDER.

In:       start, stop, ssh, console, monitor, power, reset; a folder.
Out:      a machine that runs on in the background, and its folder.
Not here: what it is (machine.py), QEMU's own words (monitor.py).
"""

import argparse
import os
import sys
from pathlib import Path

from harness.suite.machine import machine, monitor
from harness.suite.machine.image import NoMachine
from harness.suite.machine.monitor import NoMonitor


def main() -> int:
    parser = argparse.ArgumentParser("python -m harness.suite.machine", description=machine.__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    for name, about in (
        ("start", "start one, which runs until stop; its disks are empty, its root is fresh"),
        ("stop", "end it at once"),
        ("ssh", "a command there, or a shell"),
        ("console", "what its serial port says, until interrupted"),
        ("monitor", "a line for QEMU's monitor: info block"),
        ("power", "as a power supply: on, off, cycle"),
        ("reset", "as its reset button"),
    ):
        action = actions.add_parser(name, help=about)
        action.add_argument("folder", type=Path)
        if name == "start":
            action.add_argument("--disks", type=Path, help="where the files of its disks are (tmpfs, say)")
        elif name == "power":
            action.add_argument("what", choices=monitor.POWER)
        elif name in ("ssh", "monitor"):
            action.add_argument("words", nargs=argparse.REMAINDER)
    try:
        return act(parser.parse_args())
    except (NoMachine, NoMonitor) as error:
        print(f"machine: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130


def act(options: argparse.Namespace) -> int:
    folder = options.folder.absolute()
    match options.action:
        case "start":
            print(f"ssh answered after {machine.start(folder, options.disks):.1f} s: {folder}/ssh_config")
        case "stop":
            machine.stop(folder)
        case "ssh":
            os.execvp("ssh", ["ssh", "-F", str(folder / "ssh_config"), machine.NAME, *options.words])
        case "console":
            with monitor.connected(folder, "console") as line:
                line.settimeout(None)
                while said := line.recv(65536):
                    sys.stdout.buffer.write(said)
                    sys.stdout.buffer.flush()
        case "monitor":
            print(monitor.words(folder, " ".join(options.words)), end="")
        case "power":
            monitor.power(folder, options.what)
        case "reset":
            monitor.reset(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
