"""
The word by which a user names what a kernel runs in.

In:       the word after --guest; hosts.toml.
Out:      guest_word(): the kind, as a RunSpec has it; guest_words(): all that are there; require_guest().
Not here: which kind "auto" becomes (probe.py), the machines (hosts/hosts.py).
"""

import argparse
import contextlib

from harness.guests.spec import SSH
from harness.hosts.hosts import GUEST_KINDS, BadHost, check_name, host, hosts

AUTO = "auto"
WANTED = GUEST_KINDS


def guest_words() -> tuple[str, ...]:
    """A file that cannot be read has no machines."""
    with contextlib.suppress(BadHost):
        return (*WANTED, *hosts())
    return WANTED


def require_guest(text: str) -> None:
    """That what a user named is there. Errors: BadHost."""
    if text not in WANTED:
        host(text.removeprefix(f"{SSH}:"))


def guest_word(text: str) -> str:
    """Of WANTED, or "ssh:NAME"; whether there is such a machine is seen when it is needed.
    Errors: argparse.ArgumentTypeError."""
    if text in WANTED:
        return text
    try:
        return f"{SSH}:{check_name(text.removeprefix(f'{SSH}:'))}"
    except BadHost as error:
        raise argparse.ArgumentTypeError(f"a guest is one of {', '.join(guest_words())}; {error}") from error
