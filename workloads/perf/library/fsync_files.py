"""
Runs in the guest: write to each of some files in turn and fsync it, again and again, and time each fsync.

In:       $MNT; arguments COUNT of files, ROUNDS, XATTRS of each file, COMMITS: whether each round begins
          with one of the transaction.
Out:      JSON on standard output: microseconds of each fsync.
"""

import gc
import json
import os
import sys
import time

COUNT, ROUNDS, XATTRS, COMMITS = (int(word) for word in sys.argv[1:])
block = b"x" * 4096
took = []

os.chdir(os.environ["MNT"])
files = [os.open(f"file_{number}", os.O_CREAT | os.O_RDWR) for number in range(COUNT)]
for file in files:
    os.write(file, block)
    for number in range(XATTRS):
        os.setxattr(file, f"user.attribute_{number}", b"value")
os.sync()
gc.disable()
for _ in range(ROUNDS):
    if COMMITS:
        os.sync()
    for file in files:
        os.pwrite(file, block, 0)
        begin = time.perf_counter_ns()
        os.fsync(file)
        took.append((time.perf_counter_ns() - begin) / 1000)
print(json.dumps({"fsync": took}))
