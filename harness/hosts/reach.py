"""
Reach a machine again after it was lost.

In:       a Host; whether it was we who lost it.
Out:      reached(): a Connection, once the machine answers.
Not here: the connection (ssh.py), the user's commands that reset it and switch its power (power.py).

A machine that panicked boots by itself (panic=10), and one whose network was cut comes back: so it is asked
again for a time. One that stays silent is reset, and then its power is switched off and on, by the user's
commands. That is done only where we had it before: a machine that never answered may have another reason, and
another user.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

from harness.hosts.hosts import Host
from harness.hosts.power import cycle, reset
from harness.hosts.ssh import Connection, Unreachable, connect

AGAIN_S = 3.0
FIRST_S = 45.0  # of a machine that is there, for a sshd that is starting or a network that hiccups
ALONE_S = 60.0  # to panic, to count to ten and to boot, where we can reset it after that
BOOT_S = 600.0  # of a server that tests its memory first


@contextlib.contextmanager
def reached(
    host: Host, lost: bool = False, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Connection]:
    """lost: it ended or hung while we used it. Errors: NoEntry, BadHost; Unreachable, with what was tried."""
    tried = []
    means: list[tuple[str, Callable[[Host], None]]] = [("", lambda _: None)]
    if lost:
        means += [("reset", reset)] if host.reset else []
        means += [("power cycle", cycle)] if host.power else []
    for name, act in means:
        if name:
            tell(f"{host.name} does not answer: {name}")
            act(host)
            tried.append(name)
        try:
            connection = contextlib.ExitStack()
            alone_s = (ALONE_S if len(means) > 1 and not name else BOOT_S) if lost else FIRST_S
            found = connection.enter_context(_asked_again(host, alone_s))
        except Unreachable as error:
            reason = error
            continue
        with connection:
            yield found
        return
    if lost and not (host.reset and host.power):
        missing = " and ".join(word for word in ("reset", "power") if not getattr(host, word))
        tried.append(f"{missing}: there is no such command in hosts.toml")
    raise Unreachable(f"{reason}. Tried: {', '.join(tried)}" if tried else str(reason)) from reason


@contextlib.contextmanager
def _asked_again(host: Host, patience_s: float) -> Iterator[Connection]:
    deadline = time.monotonic() + patience_s
    while True:
        connection = contextlib.ExitStack()
        try:
            found = connection.enter_context(connect(host))
        except Unreachable:
            if time.monotonic() > deadline:
                raise
            time.sleep(AGAIN_S)
            continue
        with connection:
            yield found
        return
