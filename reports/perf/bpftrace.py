"""
The bpftrace script that measures the time spent in kernel functions, as the seeds have it.

In:       names of functions.
Out:      the text of a script for a kernel with kprobes: real hardware, or a virtual machine.
Not here: User Mode Linux, which has no kprobes (harness/perf/sampling.py samples there instead).
"""

from collections.abc import Sequence

_ONE = """k:{name}
{{
        @start_{name}[tid] = nsecs;
}}

kr:{name}
/@start_{name}[tid]/
{{
        $dur = (nsecs - @start_{name}[tid]) / 1000;
        @{name}_total_time = sum($dur);
        @{name}_calls = count();
        @{name}_time = hist($dur);
        delete(@start_{name}[tid]);
}}
"""


def script(functions: Sequence[str]) -> str:
    """Total time in microseconds, calls and a histogram of each. A function that calls itself in one task, or
    that the compiler has inlined, cannot be measured so."""
    clears = "\n".join(f"        clear(@start_{name});" for name in functions)
    parts = [_ONE.format(name=name) for name in functions]
    return "\n".join(["#!/usr/bin/bpftrace\n", *parts, f"END\n{{\n{clears}\n}}\n"])
