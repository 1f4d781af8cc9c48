"""
What can go wrong with a campaign, apart from its file.

In:       nothing.
Out:      the exceptions; those of a task come from a worker by pickle.
Not here: a file that is wrong (file.BadCampaign).
"""


class NoEngine(Exception):
    """There is no scheduler at that address, or a package for it is missing."""


class BatchFailed(Exception):
    """The batch could not be done by this worker; the message says why. Another one may do it."""


class AuditBroken(Exception):
    """The checker answered, or a state came back, otherwise than was proven: nothing that was proven can be
    believed. disks: the folder with both disks, packed."""

    def __init__(self, message: str, disks: bytes) -> None:
        super().__init__(message, disks)
        self.message, self.disks = message, disks

    def __str__(self) -> str:
        return self.message


class Unfit(Exception):
    """The worker of this name can do no batch of this campaign, or none of this profile; reason says why."""

    def __init__(self, worker: str, reason: str) -> None:
        super().__init__(worker, reason)
        self.worker, self.reason = worker, reason

    def __str__(self) -> str:
        return f"worker {self.worker} is refused: {self.reason}"
