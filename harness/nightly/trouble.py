"""
What of the world can be in the way of a night: it is told, and the night goes on with the rest.

In:       nothing.
Out:      TROUBLE, exceptions.
Not here: bad input, which ends the command (harness/commands/main.py); mistakes of ours, which end it.
"""

import msgspec

from harness.evidence.store import NoResults
from harness.guests.agent_binary import AgentError
from harness.guests.filesystem import NoFilesystemTool
from harness.guests.guest import GuestTrouble, LostGuest
from harness.guests.probe import NoGuest
from harness.nightly.trees import NotFetched
from harness.runs.run import NoRoom, WorkerFailed
from harness.stages.checks import AuditFailed
from kernel.kernel import KernelError

TROUBLE = (
    AgentError,
    AuditFailed,
    GuestTrouble,
    KernelError,
    LostGuest,
    NoFilesystemTool,
    NoGuest,
    NoResults,
    NoRoom,
    NotFetched,
    OSError,
    WorkerFailed,
    msgspec.DecodeError,
)
