"""
Runs in the guest: make empty files in one directory, then unlink them.

In:       $MNT; argument COUNT.
Out:      JSON on standard output: files a second of both, and microseconds of each call.
"""

import gc
import json
import os
import sys
import time

COUNT = int(sys.argv[1])
took = {}


def each(name, call):
    took[name] = []
    begin = time.perf_counter()
    for number in range(COUNT):
        path = f"A/file_{number:08}"
        start = time.perf_counter_ns()
        call(path)
        took[name].append((time.perf_counter_ns() - start) / 1000)
    took[f"{name}_rate"] = COUNT / (time.perf_counter() - begin)


os.chdir(os.environ["MNT"])
os.mkdir("A")
gc.disable()
each("create", lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)))
os.sync()
each("unlink", os.unlink)
print(json.dumps(took))
