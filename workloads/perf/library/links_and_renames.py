"""
Runs in the guest: rename and link files in a directory that was fsynced, and time each call.

In:       $MNT; arguments COUNT and EVERY: an fsync of the directory before every EVERY files.
Out:      JSON on standard output: microseconds of each rename, link and fsync.
"""

import gc
import json
import os
import sys
import time

COUNT, EVERY = int(sys.argv[1]), int(sys.argv[2])
took = {"rename": [], "link": [], "fsync": []}


def timed(name, call, *arguments):
    begin = time.perf_counter_ns()
    call(*arguments)
    took[name].append((time.perf_counter_ns() - begin) / 1000)


os.chdir(os.environ["MNT"])
os.mkdir("A")
directory = os.open("A", os.O_RDONLY)
for number in range(COUNT):
    os.close(os.open(f"A/file_{number}", os.O_CREAT | os.O_WRONLY))
os.sync()
gc.disable()
for number in range(COUNT):
    if number % EVERY == 0:
        os.close(os.open(f"A/new_{number}", os.O_CREAT | os.O_WRONLY))
        timed("fsync", os.fsync, directory)
    timed("rename", os.rename, f"A/file_{number}", f"A/renamed_{number}")
    timed("link", os.link, f"A/renamed_{number}", f"A/link_{number}")
print(json.dumps(took))
