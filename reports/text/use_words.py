"""
What a recovered filesystem was used for in model A, a line for each step.

In:       an Observation.
Out:      lines, with where the power failed again; none for other models.
Not here: what of that must be there then (oracles/kept.py), doing it (harness/guests/agent/afterwards.c).
"""

from oracles.observation import Observation, UseStep

FAILS_AGAIN = "---- the power fails again ----"


def use_lines(seen: Observation) -> list[str]:
    if seen.use is not None:
        return [_line(step) for step in seen.use.steps]
    if seen.after is None:
        return []
    lines = [_line(step) for step in seen.after.seen.use.steps]
    done = seen.after.done
    during = f"{FAILS_AGAIN[:-5]}, during the next step ----" if done < len(lines) else FAILS_AGAIN
    return [*lines[:done], during, *lines[done:]]


def _line(step: UseStep) -> str:
    what = {
        "make": f"make {step.path}, {step.size_bytes} bytes; fsync",
        "again": f"write {step.path} again as it is, up to byte {step.size_bytes}; fsync",
        "grow": f"add a block to {step.path}, which has {step.size_bytes} bytes then; fsync",
        "remove": f"remove {step.path}; fsync of its directory",
    }[step.word]
    return f"{what}   # failed: {step.failed}" if step.failed else what
