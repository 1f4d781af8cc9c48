"""
The bpftrace script that measures the time spent in kernel functions, as the seeds have it.

In:       names of functions; how often stacks are sampled, if at all.
Out:      the text of a script for a kernel with kprobes: real hardware, or a virtual machine; the names of
          its maps.
Not here: User Mode Linux, which has no kprobes (harness/perf/sampling.py samples there instead), running it
          (harness/perf/there.py).
"""

from collections.abc import Sequence

BEGUN = "powercut-begun"  # printed once, when all probes are in place: the interval's is the last
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
_SAMPLES = """profile:hz:{hertz}
{{
        @stacks[kstack] = count();
}}

interval:ms:100
/@begun == 0/
{{
        @begun = 1;
        printf("{begun}\\n");
}}
"""


def script(functions: Sequence[str], hertz: int = 0) -> str:
    """Total time in microseconds, calls and a histogram of each. A function that calls itself in one task, or
    that the compiler has inlined, cannot be measured so. hertz: samples a second of each processor."""
    clears = "\n".join(f"        clear(@start_{name});" for name in functions)
    parts = [_ONE.format(name=name) for name in functions]
    if hertz:
        parts.append(_SAMPLES.format(hertz=hertz, begun=BEGUN))
    if clears:
        parts.append(f"END\n{{\n{clears}\n}}\n")
    return "\n".join(["#!/usr/bin/bpftrace\n", *parts])


def time_key(name: str) -> str:
    return f"@{name}_total_time"


def calls_key(name: str) -> str:
    return f"@{name}_calls"


def seconds_of(total_time: float) -> float:
    return total_time / 1e6
