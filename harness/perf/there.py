"""
A machine of the user's as the place where boots are measured.

In:       a Host with a claimed disk, the kernels that were built for it.
Out:      There, a Place; require(): that it can be used, before anything is built.
Not here: a boot (boot.py), the deployment (hosts/deploy.py), bpftrace's script (reports/perf/bpftrace.py).

Every boot is a new one, by the way that any kernel under test is booted there, also where the same kernel
runs already. bpftrace sees the whole kernel there, not one process: nothing else should run on that machine.
"""

import contextlib
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSpec
from harness.guests.machine import LOST, SILENT, claimed_disk, require_claims
from harness.hosts.deploy import Tell, boot_anew
from harness.hosts.hosts import Host
from harness.hosts.ssh import RemoteFailed, Unreachable, connect, lines_of
from harness.local.workspace import Workspace
from harness.perf.boot import MeasuredGuest, NotMeasured, SamplesOf, bench
from harness.perf.here import LOG_BYTES
from kernel.kernel import Kernel
from reports.perf.bpftrace import BEGUN, calls_key, script, seconds_of, time_key
from reports.perf.results import Samples
from workloads.perf.experiment import PerfExperiment

HERTZ = 997  # of each processor; no divisor of the kernel's ticks
# Where a processor waits for work: drivers/cpuidle/, drivers/idle/, arch/x86/kernel/process.c, arch/arm64.
IDLE = frozenset(
    (
        "default_idle",
        "native_safe_halt",
        "pv_native_safe_halt",
        "mwait_idle",
        "intel_idle",
        "intel_idle_irq",
        "intel_idle_ibrs",
        "acpi_safe_halt",
        "acpi_idle_do_entry",
        "poll_idle",
        "cpu_do_idle",
        "arch_cpu_idle",
    )
)
START_S = 180.0  # bpftrace compiles its script first
END_S = 120.0
SETTLE_S = 120.0

FACTS = r"""
field() { printf '%s\t%s\n' "$1" "$2"; }
one() { cat "$1" 2>/dev/null | tr '\n' ' '; }
field processor "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
field processors "$(nproc)"
field memory_kib "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
field host_kernel "$(uname -r)"
field load "$(cut -d' ' -f1-3 /proc/loadavg)"
field governor "$(one /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor)"
field no_turbo "$(one /sys/devices/system/cpu/intel_pstate/no_turbo)"
field boost "$(one /sys/devices/system/cpu/cpufreq/boost)"
field virtual "$(systemd-detect-virt 2>/dev/null)"
path=$(readlink -f "/sys/class/block/$(basename "$(readlink -f DEVICE)")")
[ -e "$path/partition" ] && path=${path%/*}
field scheduler "$(one "$path/queue/scheduler" | sed -n 's/.*\[\(.*\)\].*/\1/p')"
field requests "$(one "$path/queue/nr_requests")"
field write_cache "$(one "$path/queue/write_cache")"
field model "$(one "$path/device/model")"
exit 0
"""
PACKAGES = r"""
for one in NAMES; do dpkg-query -W -f '${Package}\t${Version}\n' "$one" 2>/dev/null; done
exit 0
"""
# Services of the boot have started, or will not: what they do would be measured with the rest.
SETTLED = "timeout SECONDS systemctl is-system-running --wait >/dev/null 2>&1; exit 0\n"
# It runs until our end of its input closes. A shell without a terminal has its background jobs ignore SIGINT.
SAMPLER = """
bpftrace -q -f json -e "$1" 2>&1 &
process=$!
cat >/dev/null
kill -TERM $process
wait $process
"""
PRESENT = """
for name in NAMES; do grep -qE " [tT] $name\\$" /proc/kallsyms && echo "$name"; done
exit 0
"""


def require(machine: Host, experiments: Sequence[PerfExperiment]) -> None:
    """That the claimed disk is large enough, and still what was claimed. Errors: Refused, BadHost,
    RemoteFailed, Unreachable, AgentError."""
    device_bytes = max(one.device_mib for one in experiments) << 20
    require_claims(f"ssh:{machine.name}", agent_binary(), device_bytes, LOG_BYTES)


def lacking(machine: Host, programs: dict[str, str]) -> dict[str, str]:
    """programs: each with its Debian package; those that the machine does not have.
    Errors: BadHost, RemoteFailed, Unreachable."""
    asks = "\n".join(f"command -v {name} >/dev/null || echo {name}" for name in programs)
    with connect(machine) as connection:
        missing = connection.run(f"{asks}\nexit 0\n").decode().split()
    return {name: programs[name] for name in missing}


def versions(machine: Host, packages: Sequence[str]) -> dict[str, str]:
    """Of Debian packages there. Errors: BadHost, RemoteFailed, Unreachable."""
    with connect(machine) as connection:
        said = connection.run(PACKAGES.replace("NAMES", " ".join(packages))).decode()
    return dict(line.split("\t", 1) for line in said.splitlines())


class There:
    """Errors: AgentError, Refused."""

    def __init__(self, machine: Host, tell: Tell) -> None:
        self._machine = machine
        self._tell = tell
        self._disk = claimed_disk(machine)
        self._agent = agent_binary()

    def facts(self) -> dict[str, Any]:
        """As Place's; what the machine does not tell is ""."""
        with connect(self._machine) as connection:
            said = connection.run(FACTS.replace("DEVICE", self._disk.device)).decode(errors="replace")
        return told(said) | {"name": self._machine.name, "device": self._disk.device}

    def load(self) -> float:
        """As Place's."""
        with connect(self._machine) as connection:
            return float(connection.run("cat /proc/loadavg").split()[0])

    @contextlib.contextmanager
    def booted(self, kernel: Kernel, experiment: PerfExperiment, space: Workspace) -> Iterator[MeasuredGuest]:
        """As Place's."""
        name = self._machine.name
        boot_anew(self._machine, kernel, name in LOST - SILENT.keys(), self._tell)
        LOST.discard(name)
        with connect(self._machine) as connection:
            connection.run(SETTLED.replace("SECONDS", f"{SETTLE_S:g}"), timeout_s=2 * SETTLE_S)
        spec = GuestSpec(
            kernel=Path(kernel.path),
            agent=self._agent,
            device_bytes=experiment.device_mib << 20,
            log_bytes=LOG_BYTES,
            kind=f"ssh:{self._machine.name}",
        )
        with bench(spec, space, experiment) as guest:
            yield guest

    @contextlib.contextmanager
    def sampling(
        self, _guest: MeasuredGuest, _kernel: Kernel, experiment: PerfExperiment, _space: Workspace
    ) -> Iterator[SamplesOf]:
        """As Place's: by bpftrace, of the whole kernel; functions of the experiment by kprobes, those that
        this kernel has."""
        assert experiment.profile is not None
        wanted = experiment.profile.functions
        told: list[str] = []
        with connect(self._machine) as connection:
            names = PRESENT.replace("NAMES", " ".join(wanted))
            present = tuple(connection.run(names).decode().split()) if wanted else ()
            words = ["/bin/sh", "-c", SAMPLER, "sampler", script(present, HERTZ)]
            with _running(connection.command(words), told):
                yield lambda side, number, case: read_maps(told[0], wanted, present, side, number, case)


@contextlib.contextmanager
def _running(words: list[str], told: list[str]) -> Iterator[None]:
    """What it printed after it had begun goes into told. Errors: NotMeasured."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    said = []
    for line in lines_of(process, START_S):
        said.append(line)
        if BEGUN in line:
            break
    else:
        process.kill()
        process.wait()
        raise NotMeasured(f"bpftrace did not begin: {' | '.join(said[-3:]) or 'it printed nothing'}")
    try:
        yield
    finally:
        try:
            told.append(process.communicate(timeout=END_S)[0].decode(errors="replace"))
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise NotMeasured(f"bpftrace did not end within {END_S:g} s") from error


def told(said: str) -> dict[str, Any]:
    """The fields of FACTS, by the names that Here has for them."""
    fields = {name: value.strip() for name, _, value in (line.partition("\t") for line in said.splitlines())}
    turbo = {"1": "off", "0": "on"}.get(fields.pop("no_turbo", ""), "") or {"1": "on", "0": "off"}.get(
        fields.get("boost", ""), ""
    )
    fields.pop("boost", None)
    memory_kib = int(fields.pop("memory_kib"))
    return {
        **fields,
        "processors": int(fields["processors"]),
        "memory_bytes": memory_kib << 10,
        "load": [float(number) for number in fields["load"].split()],
        "governor": fields["governor"] or "none",
        "turbo": turbo or "not told",
    }


def read_maps(
    said: str, wanted: Sequence[str], present: Sequence[str], side: str, number: int, case: str
) -> Samples:
    """bpftrace's JSON lines; a processor without work gives no sample. Errors: NotMeasured when there is no
    map of stacks."""
    maps: dict[str, Any] = {}
    for line in said.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            one = msgspec.json.decode(line, type=_Line)
            if one.type == "map" and isinstance(one.data, dict):
                maps.update(one.data)
    if not isinstance(maps.get("@stacks"), dict):
        last = " | ".join(line for line in said.splitlines()[-3:])
        raise NotMeasured(f"bpftrace gave no stacks: {last or 'it printed nothing'}")
    own: Counter[str] = Counter()
    under: Counter[str] = Counter()
    for stack, count in maps["@stacks"].items():
        functions = functions_of(stack)
        if functions and functions[0] not in IDLE:
            own[functions[0]] += count
            under.update(dict.fromkeys(set(functions).intersection(wanted), count))
    return Samples(
        side,
        number,
        case,
        HERTZ,
        sum(own.values()),
        dict(own),
        {name: under[name] for name in wanted},
        {name: seconds_of(maps.get(time_key(name), 0)) for name in present},
        {name: int(maps.get(calls_key(name), 0)) for name in present},
    )


def functions_of(stack: str) -> list[str]:
    """The innermost first. bpftrace 0.23 escapes the ends of lines twice."""
    frames = [line.strip() for line in stack.replace("\\n", "\n").splitlines()]
    return [frame.rpartition("+")[0] or frame for frame in frames if frame]


class _Line(msgspec.Struct):
    """A line of bpftrace -f json."""

    type: str
    data: Any = None


TROUBLE = (RemoteFailed, Unreachable)
