"""
A history told again, step by step.

In:       a History, or one Step after the other.
Out:      build(): its Model; do(): the Builder after one step more.
Not here: orders of steps that overlapped (oracles/orders.py).
"""

import errno

from oracles.model.builder import Builder
from oracles.model.failed import half_done, may_have_touched
from oracles.model.model import (
    COMMITTING,
    CUT_SHORT,
    SILENT_WHEN_STOPPED,
    STOPPING,
    Disagreement,
    Model,
)
from oracles.model.synchronous import synchronous
from oracles.model.words import WORDS
from workloads.history import History, Step
from workloads.text import format_operation as words
from workloads.workload import Operation


def build(history: History) -> Model:
    """Errors: Disagreement when a step that succeeded cannot have."""
    builder = Builder(history)
    for step in (*history.setup, *history.run):
        do(builder, step)
    return builder.model


def do(fs: Builder, step: Step) -> None:
    """The next step. Errors: Disagreement."""
    if step.index != fs.time and not step.operation.parallel:
        raise Disagreement(f"step {step.index} stands where step {fs.time} is due")
    fs.model.steps[fs.time] = fs.model.numbered[step.index] = step
    if fs.time >= fs.model.base_time:
        fs.model.order.append(step.index)
    fs.time += 1
    fs.step = step
    fs.model.end_time = fs.time
    # Without the file its open failed, and no filesystem heard of it.
    if fs.is_fsync(step.operation) and step.result != -errno.ENOENT:
        fs.model.logging.add(fs.time)
    handler = WORDS.get(step.operation.word)
    if handler is None:
        raise Disagreement(f"the model does not know the word {step.operation.word}")
    if fs.model.stopped is not None:
        after_the_stop(fs, step)
        return
    if fs.errortags and -step.result in STOPPING:
        stop(fs, step)
        return
    if step.result < 0:
        fs.model.failed.append(fs.time)
        may_have_touched(fs, step.operation)
        if -step.result in CUT_SHORT or fs.left() is not None:
            half_done(fs, handler)
    # By a descriptor of O_SYNC, fallocate too: fs/xfs/xfs_file.c xfs_file_fallocate() forces the log.
    synced = "sync" in fs.how(step.operation)
    commits = may_commit_by_itself(fs, step.operation) or step.operation.parallel in fs.committing
    if step.result < 0 or commits or fs.time in fs.model.logging or synced:
        fs.model.may_commit.append(fs.time)
    if step.result == 0:
        handler(fs, step.operation)
        if fs.synchronous_names:
            synchronous(fs, step.operation)


def may_commit_by_itself(fs: Builder, operation: Operation) -> bool:
    """Whether the call, or what it sets going, may commit all that came before. On xfs to drop inodes from
    the cache pushes the log's tail, for which what is not in the log yet is written there
    (fs/xfs/xfs_icache.c xfs_reclaim_inodes_nr(), fs/xfs/xfs_trans_ail.c xfsaild_push())."""
    return operation.word in COMMITTING or (operation.word == "evict" and fs.filesystem == "xfs")


def stop(fs: Builder, step: Step) -> None:
    """
    A piece of the filesystem's code was made to fail, so it stopped in the middle of the call.

    What it had to do it had written down before as an intent, and recovery does it (fs/xfs/xfs_defer.c). So
    the call may have had its effect or not, like one that the power failure cut: for AllowedValues it never
    returns. The error may come from what an earlier call left to be done later: then this one did nothing.
    Errors: Disagreement, of a call that makes an object: nobody can say its inode number.
    """
    fs.model.stopped = step.index
    fs.model.may_commit.append(fs.time)
    WORDS[step.operation.word](fs, step.operation)


def after_the_stop(fs: Builder, step: Step) -> None:
    """Calls that fail, for certain without an effect, or that have none. Errors: Disagreement."""
    if step.result == 0 and step.operation.word not in SILENT_WHEN_STOPPED:
        raise Disagreement(
            f"operation {step.index} ({words(step.operation)}) succeeded, but the filesystem had stopped in "
            f"operation {fs.model.stopped}"
        )
