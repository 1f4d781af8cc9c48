"""
How sure a finding is, in words.

In:       its Repeats.
Out:      one line: "5 of 5 on 6.12+fix.patch, 0 of 5 on 6.12 (stock)".
Not here: repeating it (harness/runs/reruns.py).
"""

from collections.abc import Sequence

from reports.results import Repeat


def rerun_words(repeats: Sequence[Repeat]) -> str:
    """ "" for none."""
    return ", ".join(_one(repeat, len(repeats) > 1) for repeat in repeats)


def _one(repeat: Repeat, several: bool) -> str:
    said = f"{repeat.shown} of {repeat.times} on {repeat.kernel}"
    if repeat.stock:
        said += " (stock)" if several else ", which is the stock kernel"
    return f"{said}; {repeat.trouble}" if repeat.trouble else said
