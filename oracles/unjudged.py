"""
What no word of a workload can say of a program limits only what depends on it.

In:       a History with its `unjudged`, a verdict at a cut.
Out:      the verdict without violations of objects that are not judged.
Not here: which objects those are (workloads/traced.py), the verdicts (the oracles).
"""

import msgspec

from oracles.verdict import Answer, Verdict
from workloads.history import History

# The oracles that know what the program had done and synced.
OF_HISTORY = ("durable", "atomic", "historical", "ordered")


def without_unjudged(history: History, prefix: int, verdict: Verdict) -> Verdict:
    """Of another oracle than those of OF_HISTORY as it is. A path "" is the whole tree."""
    paths = {one.path for one in history.unjudged if one.entry < prefix}
    if not paths or not verdict.violations or verdict.oracle not in OF_HISTORY:
        return verdict
    kept = tuple(
        each
        for each in verdict.violations
        if "" not in paths
        and not any(each.subject == path or each.subject.startswith(path + "/") for path in paths)
    )
    answer = verdict.answer if kept else Answer.HOLDS
    return msgspec.structs.replace(verdict, violations=kept, answer=answer)
