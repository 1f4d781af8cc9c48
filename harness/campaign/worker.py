"""
A machine that works for the head of a campaign: `powercut campaign worker ADDRESS`.

In:       the address of a scheduler.
Out:      workers of Dask, a process and a guest each, until no head answers; the exit status.
Not here: what they do (engine.perform()).

A head may be stopped and started again: this command waits for it. It ends when nobody answers for a while,
and when the head refuses it.
"""

import asyncio
import contextlib
import socket
import time
from typing import Any

import msgspec
from distributed import Client, Nanny
from distributed.core import Status, rpc

from harness.campaign.engine import PLUGIN, lacking, quiet, resources
from harness.campaign.identity import Identity, here
from harness.campaign.trouble import NoEngine, Unfit
from harness.evidence.summary import EXIT_HOLDS
from harness.local.processors import processors
from harness.local.progress import Progress
from oracles.profiles import profile

ASK_S = 5.0
LOOK_S = 5.0
OVER = (Status.closed, Status.closing, Status.failed)


def work_for(address: str, slots: int, name: str, wait_s: float, progress: Progress) -> int:
    """Errors: NoEngine, when no head was ever there; Unfit, when it refuses this machine."""
    quiet()
    name = name or socket.gethostname()
    served = False
    while (known := ask(address, wait_s)) is not None:
        require_fit(name, known, progress)
        progress.line(f"{address}: working in {slots or len(processors())} places, as {name}")
        asyncio.run(serve(address, slots or len(processors()), name))
        served = True
        progress.line(f"{address} has gone; waiting {wait_s:.0f} s for it to come again")
    if not served:
        raise NoEngine(f"no head of a campaign answers at {address}. Its file needs a line `listen`")
    return EXIT_HOLDS


def ask(address: str, wait_s: float) -> dict[str, Any] | None:
    """What the head of a campaign says to all who come; None when nobody answers for so long."""
    ends = time.monotonic() + wait_s
    while True:
        with contextlib.suppress(OSError, TimeoutError, ValueError):
            client = Client(address, set_as_default=False, timeout=f"{ASK_S}s")  # type: ignore[no-untyped-call]
            with client:
                known = client.get_metadata([PLUGIN], default=None)  # type: ignore[no-untyped-call]
                if known:
                    return dict(known)
        if time.monotonic() > ends:
            return None
        time.sleep(min(ASK_S, max(0.1, wait_s / 10)))


def require_fit(name: str, known: dict[str, Any], progress: Progress) -> None:
    """Errors: Unfit, when this machine can do no batch of the campaign."""
    head = msgspec.convert(known["identity"], Identity)
    if head.source != here().source:
        raise Unfit(name, f"this is {here()}, and the head is {head}")
    for refused, reason in known["refused"].items():
        if refused.rpartition("-")[0] == name:
            raise Unfit(name, reason)
    absent = {one: lacking(profile(one).filesystem) for one in known["profiles"]}
    lines = sorted({line for line in absent.values() if line})
    if all(absent.values()):
        raise Unfit(name, f"it has no tools for any profile of the campaign: {'; '.join(lines)}")
    for one, line in absent.items():
        if line:
            progress.line(f"the batches on {one} go to other machines, for want of tools here: {line}")


async def serve(address: str, slots: int, name: str) -> None:
    """Until the scheduler has gone, or has sent all workers away."""
    nannies: list[Nanny] = []
    async with contextlib.AsyncExitStack() as stack:
        for slot in range(slots):
            nanny = Nanny(
                address,
                nthreads=1,
                name=f"{name}-{slot}",
                resources=resources(),
                memory_limit=0,
                death_timeout=30,
            )
            await stack.enter_async_context(nanny)
            nannies.append(nanny)
        while any(nanny.status not in OVER for nanny in nannies) and await answers(address):
            await asyncio.sleep(LOOK_S)


async def answers(address: str) -> bool:
    """A nanny starts its worker again and again, whether there is a scheduler or not."""
    try:
        async with rpc(address) as scheduler:  # type: ignore[no-untyped-call]
            await asyncio.wait_for(scheduler.identity(n_workers=0), timeout=30)
    except (OSError, TimeoutError):
        return False
    return True
