"""
The folder of a campaign.

In:       CampaignFile, or the name of a campaign.
Out:      Kept, which campaign.json holds; State, which the head writes while it runs; folder_of().
Not here: the rows (table.py), whole experiments (evidence.py), what is done (head.py).

    campaign.json   what was asked, with the keys of the kernels
    batches/        a file of rows for each batch that is done
    evidence/       the run of the witnesses: any command that reads a run reads it
    state.json      of the head that runs, or ran last
    report/         the page
    stop            asks the head to end
"""

import time
from pathlib import Path

import msgspec

from harness.campaign.batches import Batch, batches, planned
from harness.campaign.file import BadCampaign, CampaignFile, changed
from harness.campaign.identity import Identity, here
from harness.campaign.luggage import has_kernel
from harness.evidence.store import NoResults, reading, write_pretty
from harness.evidence.summary import shown
from harness.guests.kernels import build_for
from harness.guests.probe import accelerated, prefer
from harness.local.progress import Progress
from harness.runs.run import require_room
from kernel.fragments import check_variants
from kernel.word import pinned
from oracles.profiles import profile
from reports import formats

FILE, STATE, STOP = "campaign.json", "state.json", "stop"
# Rows of a million experiments, a hundred witnesses, the page; less than this is not started with.
ROOM_BYTES = 512 << 20
BY = "by `results` in the file"


class Build(msgspec.Struct, frozen=True):
    """The kernel of a kernel spec on a profile."""

    kernel: str
    profile: str
    key: str
    config: tuple[str, ...]


class Kept(msgspec.Struct, frozen=True):
    """campaign.json. file: where the file was. identities: every Powercut that worked on it, the last one
    last.
    started: seconds since 1970."""

    name: str
    file: str
    asked: CampaignFile
    guest: str
    builds: tuple[Build, ...]
    identities: tuple[Identity, ...]
    started: float

    def batches(self) -> list[Batch]:
        asked = msgspec.structs.replace(self.asked, guest=self.guest)
        return batches(asked, {(one.kernel, one.profile): (one.key, one.config) for one in self.builds})


class State(msgspec.Struct, frozen=True):
    """state.json. updated, began: seconds since 1970; of this head. workers: connected ones, by name.
    spent_s: of heads before this one. troubles: what went wrong, the last one last."""

    updated: float
    began: float
    workers: tuple[str, ...] = ()
    spent_s: float = 0.0
    troubles: tuple[str, ...] = ()
    running: bool = True


def create(asked: CampaignFile, path: Path, progress: Progress) -> Path:
    """The folder of a new campaign, its kernels built.
    Errors: BadCampaign when there is one, or nothing in its shard; KernelError, NoGuest, NoRoom, OSError."""
    folder = Path(asked.results)
    if (folder / FILE).exists():
        before = read(folder)
        if differences := changed(before.asked, asked):
            raise BadCampaign(
                f"{shown(folder)} is a campaign of another file: {'; '.join(differences)}. Name another "
                "folder by `results`, or undo the change"
            )
        raise BadCampaign(
            f"{shown(folder)} has this campaign already. Go on with it: "
            f"powercut campaign resume {shown(folder)}"
        )
    require_room(folder, ROOM_BYTES, BY)
    planned(asked)  # before the kernels are built
    for word in asked.kernels:
        if (exact := pinned(word, progress.building(word))) != word:
            raise BadCampaign(
                f"{path}: kernels: {word} is another kernel on another day, and a campaign may take days. "
                f"Name the commit: {exact}"
            )
    guest = prefer(asked.guest, asked.kernels[0], asked.config, progress)
    builds = []
    for word in asked.kernels:
        for name in asked.profiles:
            config = check_variants((*asked.config, *profile(name).config))
            kernel = build_for(guest, word, config, progress)
            guest = accelerated(guest, kernel)
            builds.append(Build(word, name, kernel.provenance.key, config))
    for part in ("batches", "evidence/experiments"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    kept = Kept(path.stem, str(path.resolve()), asked, guest, tuple(builds), (here(),), round(time.time(), 1))
    write_pretty(folder / FILE, kept)
    return folder


def require_kernels(folder: Path, kept: Kept, progress: Progress) -> None:
    """In the cache: made again where they have gone from it. Errors: BadCampaign, KernelError."""
    for one in kept.builds:
        if has_kernel(one.key):
            continue
        made = build_for(kept.guest, one.kernel, one.config, progress)
        if made.provenance.key != one.key:
            raise BadCampaign(
                f"the kernel {one.kernel} of {shown(folder)} had the key {one.key}, and what "
                f"{one.kernel} is now has {made.provenance.key}. Start another campaign"
            )


def read(folder: Path) -> Kept:
    """Errors: NoResults."""
    if not (folder / FILE).exists():
        raise NoResults(f"{folder} is not the folder of a campaign: it has no {FILE}")
    with reading(folder):
        return formats.read(folder / FILE, Kept)


def read_state(folder: Path) -> State | None:
    """Errors: NoResults."""
    if not (folder / STATE).exists():
        return None
    with reading(folder):
        return formats.read(folder / STATE, State)


def folder_of(word: str) -> Path:
    """A folder, the name of a campaign below the current folder, or its file. Errors: NoResults,
    BadCampaign."""
    from harness.campaign.file import read as read_file  # noqa: PLC0415  not by its name: read() is here, too

    path = Path(word)
    if path.suffix == ".toml" and path.is_file():
        return Path(read_file(path).results)
    named = (path, Path("campaigns") / word)
    found = next((one for one in named if (one / FILE).exists()), None)
    if found is not None:
        return found
    if (file := Path(f"{word}.toml")).is_file():
        return Path(read_file(file).results)
    raise NoResults(f"there is no campaign {word!r}: neither {' nor '.join(map(str, named))} has a {FILE}")


def require_same(folder: Path, kept: Kept, asked: CampaignFile) -> None:
    """Errors: BadCampaign, with the difference."""
    if differences := changed(kept.asked, asked):
        raise BadCampaign(
            f"{kept.file} has changed since {shown(folder)} was started: {'; '.join(differences)}. Undo the "
            "change, or start another campaign: with another name, or another folder in `results`"
        )


def with_identity(kept: Kept, folder: Path, other: bool) -> Kept:
    """With this Powercut as the last that worked on it. other: whether one that differs may go on.
    Errors: BadCampaign."""
    if kept.identities[-1] == here():
        return kept
    if kept.identities[-1].source != here().source and not other:
        raise BadCampaign(
            f"{shown(folder)} was made by {kept.identities[-1]}, and this is {here()}. Go on with that one; "
            "or with this one by --other-version, if what differs changes no verdict"
        )
    return msgspec.structs.replace(kept, identities=(*kept.identities, here()))


def write(folder: Path, kept: Kept) -> None:
    """Errors: OSError."""
    write_pretty(folder / FILE, kept)
