"""
Ask the script of a program what it makes of a recovered tree.

In:       how to boot a guest, a profile, a Program with an oracle, a base disk, a log; a state, and the lines
          that the program had printed when the power failed.
Out:      Asked: the script's exit status and text.
Not here: which states are asked about (experiments/program_states.py), what the answer means
          (oracles/application.py), in the guest: agent/application.c.

The script runs in the guest, on the tree that the kernel under test recovers from the state's disk. It may
write there: what it writes is dropped, as is what recovery wrote.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.guests.guest import INBOX, OUTBOX, Guest, GuestSlot, GuestTrouble, LostGuest
from harness.stages.forward import Forward
from harness.stages.trace import program_text
from harness.states.log import Log
from oracles.observation import Asked
from oracles.profiles import Profile
from oracles.spec import State
from workloads.program import Program

GRACE_S = 30.0  # of the agent, to mount, to end what is left when the time is up, and to unmount
TEXT_BYTES = 4096  # of what it printed, the end


class ScriptReport(msgspec.Struct, frozen=True):
    """The agent's answer. status: as a shell tells it, -1 when the time was up; said, complained: standard
    output and error. kernel_log: "LEVEL text" lines."""

    mount_errno: int
    status: int = 0
    said: str = ""
    complained: str = ""
    umount_errno: int = 0
    kernel_log: tuple[str, ...] = ()


class Asker:
    """Use as a context. One guest at a time, which holds the disk of the state that was asked about last."""

    def __init__(
        self,
        guest_slot: GuestSlot,
        profile: Profile,
        program: Program,
        base: Path,
        log: Log,
        recoveries: Path | None = None,
    ) -> None:
        self._guest_slot = guest_slot
        self._profile = profile
        self._program = program
        self._forward = Forward(guest_slot, profile, base, log, recoveries)

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *exception: object) -> None:
        self._forward.__exit__(*exception)

    def ask(self, state: State, said: Sequence[str]) -> Asked:
        """A guest that is lost is our trouble, and the next state has a new one. Errors: BadEntry, BadLog;
        LostGuest and GuestTrouble when a guest cannot even be started."""
        guest = self._forward.move(state)
        try:
            self._forward.bring(guest)
            report = self._run(guest, said)
        except (GuestTrouble, LostGuest, msgspec.DecodeError, UnicodeDecodeError) as error:
            self._forward.forget()
            self._guest_slot.drop()
            return self._asked(said, trouble=f"while the program's script ran: {error}")
        if report.umount_errno:
            guest.used_up = True
            self._forward.forget()
        if report.mount_errno:
            return self._asked(said, trouble=f"the mount for the script failed: error {report.mount_errno}")
        text = (report.said.strip() or report.complained.strip())[-TEXT_BYTES:]
        return self._asked(said, report.status, text)

    def _asked(self, said: Sequence[str], status: int = 0, text: str = "", trouble: str = "") -> Asked:
        return Asked(status, text, len(said), self._program.promise, trouble)

    def _run(self, guest: Guest, said: Sequence[str]) -> ScriptReport:
        program = self._program
        script = msgspec.structs.replace(
            program,
            arguments=program.oracle,
            setup=(),
            stdin="".join(f"{line}\n" for line in said).encode("utf-8", "surrogateescape"),
            timeout_s=program.oracle_timeout_s,
        )
        text = program_text(self._profile, script).encode()
        guest.write(INBOX, 0, text)
        answer = guest.ask(f"application {len(text)}", timeout_s=program.oracle_timeout_s + GRACE_S)
        return msgspec.json.decode(guest.read(OUTBOX, 0, int(answer[1])), type=ScriptReport)
