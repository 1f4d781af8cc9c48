"""
Memory of this process that is freed and used again.

In:       nothing.
Out:      keep_memory(): what is freed stays with the process.
Not here: the memory of guests (guests/), of scratch folders (workspace.py).

An answer of a guest is up to 2 MB, once for each state. Above 128 KiB glibc asks the kernel for each such
piece, which gives it zeroed, page by page, and takes it back when it is freed: on XFS that was a fifth of a
campaign's processor time.
"""

import contextlib
import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
KEPT_BELOW_BYTES = 32 << 20  # the most that mallopt takes
KEPT_BYTES = 64 << 20


def keep_memory() -> None:
    """Another libc than glibc goes on as it does."""
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, KEPT_BELOW_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
