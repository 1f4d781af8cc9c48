"""
What is said of the device under a recording.

In:       one of results.DEVICES.
Out:      text, empty of the fast device: it is what nobody asked to have changed.
Not here: the device (harness/guests/agent/device.c).
"""

from reports.results import FAST


def device_words(kind: str) -> str:
    """To go on a sentence with: ", recorded on the slow device"; "" of the fast one."""
    return "" if kind == FAST else f", recorded on the {kind} device"
