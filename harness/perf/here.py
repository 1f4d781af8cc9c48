"""
User Mode Linux on this machine as the place where boots are measured.

In:       the kernel of a boot, an experiment.
Out:      Here, a Place.
Not here: a boot (boot.py), a machine of the user's (there.py), samples of perf (sampling.py).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSpec
from harness.local.processors import processors
from harness.local.workspace import Workspace
from harness.perf.boot import MeasuredGuest, SamplesOf, bench, quietest_processor
from harness.perf.sampling import samples, sampling
from harness.runs.run import machine_facts
from kernel.kernel import Kernel
from workloads.perf.experiment import PerfExperiment

LOG_BYTES = 1 << 20  # of the guests that are timed, which record nothing
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


class Here:
    """Its guests are pinned to the processor that is quietest now. Errors: AgentError."""

    def __init__(self) -> None:
        self._agent = agent_binary()
        self.processor = quietest_processor(processors())

    def facts(self) -> dict[str, Any]:
        """As Place's."""
        return machine_facts() | {"governor": governor(), "load": list(os.getloadavg())}

    def load(self) -> float:
        """As Place's: of the host."""
        return os.getloadavg()[0]

    def spec(
        self, kernel: Kernel, experiment: PerfExperiment, device_bytes: int, log_bytes: int = LOG_BYTES
    ) -> GuestSpec:
        return GuestSpec(
            kernel=Path(kernel.path),
            agent=self._agent,
            device_bytes=device_bytes,
            log_bytes=log_bytes,
            processor=self.processor,
            memory_mib=experiment.memory_mib,
        )

    def booted(
        self, kernel: Kernel, experiment: PerfExperiment, space: Workspace
    ) -> contextlib.AbstractContextManager[MeasuredGuest]:
        """As Place's."""
        return bench(self.spec(kernel, experiment, experiment.device_mib << 20), space, experiment)

    @contextlib.contextmanager
    def sampling(
        self, guest: MeasuredGuest, kernel: Kernel, experiment: PerfExperiment, space: Workspace
    ) -> Iterator[SamplesOf]:
        """As Place's: by perf, of the process that the guest's kernel is."""
        assert experiment.profile is not None
        functions = experiment.profile.functions
        output = space.path / "perf.data"
        output.unlink(missing_ok=True)
        program = Path(kernel.path).name
        with sampling(guest.guest.pid, output):
            yield lambda side, number, case: samples(output, program, functions, side, number, case)


def governor() -> str:
    try:
        return GOVERNOR.read_text().strip()
    except OSError:
        return "not known"
