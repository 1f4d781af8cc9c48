"""
What is said of the device under a recording, and of the guest that recorded.

In:       one of results.DEVICES; ExperimentFacts.
Out:      text, empty of the fast device and of one processor: they are what nobody asked to have changed.
Not here: the device (harness/guests/agent/device.c), the delays of threads (workloads/delays.py).
"""

from reports.results import FAST, ExperimentFacts


def device_words(kind: str) -> str:
    """To go on a sentence with: ", recorded on the slow device"; "" of the fast one."""
    return "" if kind == FAST else f", recorded on the {kind} device"


def guest_words(facts: ExperimentFacts, stop: str = "") -> str:
    """To go on a sentence with: ", with 2 processors, order 7 of its threads". stop: of Digest."""
    cpus = f", with {facts.cpus} processors" if facts.cpus > 1 else ""
    if stop:
        return f"{cpus}, stop at {stop}"
    return cpus + (f", order {facts.order} of its threads" if facts.order else "")
