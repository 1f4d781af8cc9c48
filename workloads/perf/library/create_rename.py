"""
Runs in the guest: create files, then rename them, with an fsync of their directory after every so many.

In:       $MNT; arguments COUNT and EVERY.
Out:      JSON on standard output: microseconds of both phases and of each fsync.
"""

import gc
import json
import os
import sys
import time

COUNT, EVERY = int(sys.argv[1]), int(sys.argv[2])
took = {"create": 0.0, "rename": 0.0, "fsync_created": [], "fsync_renamed": []}


def phase(name, call, fsyncs):
    start = time.perf_counter_ns()
    for number in range(1, COUNT + 1):
        call(number)
        if number % EVERY == 0:
            begin = time.perf_counter_ns()
            os.fsync(directory)
            took[fsyncs].append((time.perf_counter_ns() - begin) / 1000)
    took[name] = (time.perf_counter_ns() - start) / 1000


os.chdir(os.environ["MNT"])
os.mkdir("testdir")
directory = os.open("testdir", os.O_RDONLY)
gc.disable()
phase("create", lambda n: os.close(os.open(f"testdir/file_{n}", os.O_CREAT | os.O_WRONLY)), "fsync_created")
os.sync()
phase("rename", lambda n: os.rename(f"testdir/file_{n}", f"testdir/file_{n}.renamed"), "fsync_renamed")
print(json.dumps(took))
