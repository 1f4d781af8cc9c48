"""
A pool of worker processes that outlives each of them.

In:       tasks, a function that a worker process runs, how many workers.
Out:      what the workers say, task by task; every task is answered, by a worker or about its death.
Not here: what a task is (run.py), what a worker that dies leaves in memory (harness/local/workspace.py).

Each worker has a pipe of its own and is given one task at a time, so a worker that is killed at any moment
holds no lock and takes nothing with it but that task. The task is done again once, by a new worker. Killed
over it a second time, the pool says so, and goes on with the others.

concurrent.futures' pool is broken for good when one worker dies; multiprocessing's own waits for ever.
"""

import contextlib
import ctypes
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

import msgspec

from harness.local.memory import keep_memory

PR_SET_PDEATHSIG = 1  # prctl(2)
TRIES = 2
# Workers that die one after the other without an answer: then it is not the tasks.
DEATHS_MAX = 8

Task = TypeVar("Task")
Work = Callable[[Any, Connection], None]  # settings, our end of the pipe


class PoolFailed(Exception):
    """A worker said that nothing can go on, or they all die; the message holds why."""


class Said(msgspec.Struct, frozen=True):
    """A worker's message about its task. kind: "said", "done" (its last word), "failed" (none can go on)."""

    kind: str
    content: Any = None


class Lost(msgspec.Struct, Generic[Task], frozen=True):
    """A task that TRIES workers died over. how: the last one's end, as "killed by signal 9"."""

    task: Task
    how: str


class Member(Generic[Task]):
    """A worker process, its pipe, and the task it holds with its place among all."""

    def __init__(self, work: Work, settings: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.settings = settings
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(settings, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.held: tuple[int, Task] | None = None

    def give(self, number: int, task: Task) -> None:
        """That it is dead is seen at the next listening."""
        self.held = number, task
        with contextlib.suppress(OSError):
            self.line.send(task)

    def messages(self) -> Iterator[Said]:
        """All that it has said and nobody heard, its last words before its death among them."""
        with contextlib.suppress(EOFError, OSError):  # half a message is none
            while self.line.poll():
                yield self.line.recv()

    def how(self) -> str:
        """How it ended."""
        self.process.join()
        status = self.process.exitcode or 0
        return f"killed by signal {-status}" if status < 0 else f"ended with exit status {status}"

    def end(self) -> None:
        """At once, also when it is stopped or holds on to SIGTERM."""
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.line.close()


def begin_worker() -> None:
    """Of a worker process, first of all: it ends with the one that started it, and at once, for the janitor
    kills the guest and removes what is half written (workspace.py). Ctrl-C is the parent's."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    keep_memory()


class Pool(Generic[Task]):
    """Use as a context. settings: one for each worker, kept by the one that replaces it."""

    def __init__(self, work: Work, settings: Sequence[Any]) -> None:
        self._work = work
        self._settings = deque(settings)
        self._members: list[Member[Task]] = []
        self.deaths = 0

    def __enter__(self) -> "Pool[Task]":
        return self

    def __exit__(self, *exception: object) -> None:
        for member in self._members:
            member.process.terminate()  # all at once, then each awaited
        for member in self._members:
            member.end()
        self._members = []

    def perform(
        self, tasks: Sequence[Task], more: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[Task, Said | Lost[Task]]]:
        """Each message with the task that it is about. more: asked before each task is begun; what waits when
        it says no is left out, and what is under way is done. Errors: PoolFailed."""
        waiting = deque(enumerate(tasks))
        tries: Counter[int] = Counter()
        in_a_row = 0
        while waiting or any(member.held for member in self._members):
            while waiting and (member := self._idle()) is not None:
                if not more():
                    waiting.clear()
                    break
                number, task = waiting.popleft()
                tries[number] += 1
                member.give(number, task)
            for member in self._ready() if any(member.held for member in self._members) else ():
                over = not member.process.is_alive()  # asked first: what it said before is in the pipe then
                for said in member.messages():
                    if said.kind == "failed":
                        raise PoolFailed(said.content)
                    if member.held is None:
                        continue
                    yield member.held[1], said
                    if said.kind == "done":
                        member.held = None
                        in_a_row = 0
                if not over:
                    continue
                how = self._bury(member)
                in_a_row += 1
                if member.held is not None:
                    number, task = member.held
                    if tries[number] < TRIES:
                        waiting.appendleft((number, task))
                    else:
                        yield task, Lost(task, how)
                if in_a_row >= DEATHS_MAX:
                    raise PoolFailed(f"{in_a_row} workers died in a row; the last one {how}")

    def _idle(self) -> Member[Task] | None:
        """A worker without a task: one that is there, or a new one where there is room."""
        for member in self._members:
            if member.held is None:
                return member
        if not self._settings:
            return None
        self._members.append(Member(self._work, self._settings.popleft()))
        return self._members[-1]

    def _ready(self) -> list[Member[Task]]:
        """Those that said something or ended."""
        ready = set(wait([each for one in self._members for each in (one.line, one.process.sentinel)]))
        return [one for one in self._members if one.line in ready or one.process.sentinel in ready]

    def _bury(self, member: Member[Task]) -> str:
        how = member.how()
        self.deaths += 1
        self._members.remove(member)
        self._settings.appendleft(member.settings)
        member.line.close()
        return how
