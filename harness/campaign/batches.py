"""
The batches of a campaign, in the order in which they are begun.

In:       CampaignFile, and the keys of its kernels.
Out:      Batch after Batch, each with a key that is the hash of its content; the numbers in it.
Not here: doing one (batch.py), dealing them out (head.py).

A batch takes its numbers at places that lie far apart, and each cell (kernel, profile, bounds) has its turn:
so what is done at any time is spread evenly over all that is to be done, and nothing waits for the end of
something else.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from harness.campaign.file import BadCampaign, CampaignFile
from oracles.profiles import profile
from workloads.generate import space
from workloads.generate.space import DRAWN, Asked, stride

FORMAT = 1  # of what a batch does and gives; in its key
BATCH_S = 120.0
BATCHES_MIN = 16  # of a small campaign: so many workers have work
BATCH_MIN = 20  # numbers, for a batch costs two seconds of its own
# Of an experiment in model O with its checker, one guest on one processor: docs/measurements.md.
EXPERIMENT_S = {"btrfs": 0.2, "ext4": 0.2, "xfs": 0.6, "f2fs": 0.3}
STATE_S = 0.01  # of a state of another model

Builds = dict[str, str]  # kernel keys by kernel spec and config variants: build_name()


class Batch(msgspec.Struct, frozen=True):
    """Some numbers of one cell. places: of the order, from the first to before the last. format: FORMAT.
    kernel_key: names the kernel in any cache. cell: its index. size: numbers in the bounds, by which each
    experiment of a campaign has a number of its own."""

    format: int
    kernel: str
    kernel_key: str
    config: tuple[str, ...]
    profile: str
    bounds: str
    sample: int
    seed: int
    places: tuple[int, int]
    models: tuple[str, ...]
    budget: int
    prefixes: int
    tier: str
    fsck: bool
    audit: float
    guest: str
    witnesses: int
    cell: int
    size: int

    @property
    def key(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:20]

    @property
    def asked(self) -> Asked:
        name, length = space.parse_space(self.bounds)
        return Asked(name, length, sample=self.sample, seed=self.seed)

    @property
    def filesystem(self) -> str:
        return profile(self.profile).filesystem


def build_name(kernel: str, config: tuple[str, ...]) -> str:
    return f"{kernel} {','.join(config)}"


def batches(
    asked: CampaignFile, builds: Mapping[tuple[str, str], tuple[str, tuple[str, ...]]]
) -> list[Batch]:
    """Those of the shard, the first to be begun first. builds: by kernel spec and profile, the key of the
    kernel and the config variants that it was built with. Errors: BadCampaign when the shard is empty."""
    turns: list[list[Batch]] = []
    cells = [
        (kernel, one, each) for kernel in asked.kernels for one in asked.profiles for each in asked.bounds
    ]
    largest = max(space.total(asked.asked(each)) for each in asked.bounds)
    for cell, (kernel, profile_name, bounds) in enumerate(cells):
        total = wanted(asked.asked(bounds))
        size = batch_size(asked, profile_name, total)
        key, config = builds[kernel, profile_name]
        turns.append(
            [
                Batch(
                    FORMAT,
                    kernel,
                    key,
                    config,
                    profile_name,
                    bounds,
                    asked.sample,
                    asked.seed,
                    (start, min(start + size, total)),
                    asked.models,
                    asked.budget,
                    asked.prefixes,
                    asked.tier,
                    asked.fsck,
                    asked.audit,
                    asked.guest,
                    asked.witnesses,
                    cell,
                    largest,
                )
                for start in range(0, total, size)
            ]
        )
    # Each cell as far on as the others, whatever the number of its batches.
    ranked = [
        ((at + 0.5) / len(turn), cell, one) for cell, turn in enumerate(turns) for at, one in enumerate(turn)
    ]
    every = [one for _, _, one in sorted(ranked, key=lambda each: each[:2])]
    shard, shards = space.parse_shard(asked.shard)
    part = every[len(every) * (shard - 1) // shards : len(every) * shard // shards]
    if not part:
        raise BadCampaign(f"shard {asked.shard} is empty: there are only {len(every)} batches to split")
    return part


def planned(asked: CampaignFile) -> list[Batch]:
    """The same before there are kernels; their keys are none. Errors: BadCampaign when the shard is empty."""
    return batches(asked, {(kernel, one): ("", ()) for kernel in asked.kernels for one in asked.profiles})


def numbers_of_cells(every: Iterable[Batch]) -> Counter[tuple[str, str, str]]:
    """How many numbers each kernel, profile and bounds has in these."""
    found: Counter[tuple[str, str, str]] = Counter()
    for one in every:
        found[one.kernel, one.profile, one.bounds] += one.places[1] - one.places[0]
    return found


def wanted(asked: Asked) -> int:
    """How many numbers of these bounds a campaign looks at."""
    return asked.sample or space.total(asked)


def batch_size(asked: CampaignFile, profile_name: str, total: int) -> int:
    if asked.batch:
        return min(asked.batch, total)
    others = len([model for model in asked.models if model != "O"])
    each_s = EXPERIMENT_S[profile(profile_name).filesystem] + others * asked.budget * STATE_S
    by_time = max(1, round(BATCH_S / each_s))
    return max(1, min(by_time, max(BATCH_MIN, -(-total // BATCHES_MIN))))


def numbers(batch: Batch) -> Iterator[int]:
    """Of its workloads, as space.made() takes them."""
    first, end = batch.places
    if batch.asked.bounds in DRAWN:
        yield from range(first, end)
        return
    total = space.total(batch.asked)
    offset, step = random.Random(batch.seed).randrange(total), stride(total)
    for place in range(first, end):
        yield (offset + place * step) % total


def experiment_number(batch: Batch, number: int) -> int:
    """Of the experiment of a workload: its own in the whole campaign, from 1."""
    return batch.cell * batch.size + number + 1
