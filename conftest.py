"""
What the tests of every room need of the process that runs them.

In:       how that process was started.
Out:      SIGINT, heeded again: a test that interrupts a child would otherwise wait for it in vain.
Not here: fixtures (each room's own conftest.py).

A shell without job control has what it starts in the background ignore SIGINT, and so would every child.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
