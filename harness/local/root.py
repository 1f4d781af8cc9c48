"""
Where this checkout is: the one place that knows how deep in it our code lies.

In:       nothing.
Out:      ROOT.
Not here: the user's cache (kernel/cache.py), the results (evidence/store.py).
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
