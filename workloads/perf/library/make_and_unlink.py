"""
Runs in the guest: make empty files in one directory, then unlink them.

In:       $MNT; argument COUNT.
Out:      JSON on standard output: files a second of both.
"""

import gc
import json
import os
import sys
import time

COUNT = int(sys.argv[1])


def rate(call):
    begin = time.perf_counter()
    for number in range(COUNT):
        call(f"A/file_{number:08}")
    return COUNT / (time.perf_counter() - begin)


os.chdir(os.environ["MNT"])
os.mkdir("A")
gc.disable()
create = rate(lambda name: os.close(os.open(name, os.O_CREAT | os.O_WRONLY)))
os.sync()
print(json.dumps({"create": create, "unlink": rate(os.unlink)}))
