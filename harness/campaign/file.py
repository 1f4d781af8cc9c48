"""
The file of `powercut campaign`: which workloads, on what, and who does the work.

In:       a TOML file.
Out:      CampaignFile; changed(), the difference between two of them; BadCampaign, which names the line and
          what may have been meant.
Not here: its batches (batches.py), the machines (engine.py).
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from harness.local.toml_lines import TomlText, complaint, near
from harness.stages.checks import AUDIT_PERCENT
from harness.stages.explore import DEFAULT_BUDGET
from kernel.fragments import known_variants
from oracles.profiles import PROFILES
from oracles.spec import MODELS
from oracles.verdict import Tier
from workloads.generate import space
from workloads.generate.space import Asked, BadBounds

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
LOCAL = "local"
SCHEDULERS = ("tcp://", "tls://", "ssh://")
JOBQUEUES = ("slurm", "pbs", "sge", "lsf", "htcondor", "oar")
FOLLOW = ("attribute", "repeat", "minimize")
# Who works, where and for how long changes nothing of what is found: these may differ when a campaign goes
# on.
FREE = ("follow", "scheduler", "slots", "listen", "remote_python", "time")


class BadCampaign(Exception):
    """The file, or the folder, is none of ours or does not fit; the message names the place and the fix."""


class CampaignFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a campaign examines, and who works for it.

    bounds:    bounds and length of the workloads, each such as "ace:2".
    sample:    how many numbers are drawn of each bounds, spread over the whole; 0 means all. Random bounds
               have no end and need it.
    shard:     "I/N": only the I-th of N parts of the order, each spread over the whole. So machines that have
               no network between them, or little time each, do a campaign together, each with a file of its
               own.
    kernels:   kernels under test, as of `--kernel`.
    config:    variants of the configuration, as of `--config`.
    profiles:  filesystems with their options, as of `--fs`. Each workload is examined on each kernel and
               profile.
    models:    crash models.
    budget:    states of each model except O in each experiment.
    prefixes:  how many prefixes of each log are examined in model O; 0 means every one.
    tier:      how much is asked: posix, somc or fs.
    fsck:      whether the checker runs on recovered states.
    audit:     percent of what is proven, states and answers of the checker, that is done all the same.
    seed:      of the order, and of everything that is drawn at random.
    guest:     what the kernels run in: uml or qemu.
    batch:     how many numbers a batch has; 0 means so many as take about two minutes.
    witnesses: of how many workloads the whole evidence is kept for each finding on each kernel and profile.
    follow:    what is done with new findings meanwhile, one after the other: "attribute", which needs a
               kernel for each fix of a known bug that it tries; "repeat"; "minimize". It takes one more guest
               on the machine of the head.
    results:   the folder of the campaign; a relative one is relative to the file. It is campaigns/NAME when
               it is left out, by the name of the file.
    scheduler: who deals out the batches: "local", workers on this machine; "tcp://HOST:PORT", a Dask
               scheduler that runs already; "ssh://HOST,HOST", workers that are started by ssh; "slurm" or
               another of dask-jobqueue, as its own configuration says.
    slots:     guests at once on this machine, or on each that is started by ssh; as many as it has processors
               when it is left out. 0: only workers that join do the work. With "slurm" and its kin, how many
               workers in all.
    listen:    with "local", HOST:PORT on which `powercut campaign worker` of other machines finds this one;
               no other machine can join when it is left out.
    remote_python: with "ssh://", the Python of Powercut's environment on those machines.
    time:      how long batches are begun, such as "8h"; what is left then is done by `resume`.
    """

    bounds: tuple[str, ...]
    sample: int = 0
    shard: str = "1/1"
    kernels: tuple[str, ...] = ("6.12",)
    config: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ("btrfs",)
    models: tuple[str, ...] = ("O",)
    budget: int = DEFAULT_BUDGET
    prefixes: int = 0
    tier: str = Tier.FS.value
    fsck: bool = True
    audit: float = AUDIT_PERCENT
    seed: int = 0
    guest: str = "uml"
    batch: int = 0
    witnesses: int = 3
    follow: tuple[str, ...] = FOLLOW
    results: str = ""
    scheduler: str = LOCAL
    slots: int | None = None
    listen: str = ""
    remote_python: str = ""
    time: str = ""

    @property
    def time_s(self) -> float:
        """0 for no limit."""
        return seconds(self.time) if self.time else 0.0

    def asked(self, bounds: str) -> Asked:
        name, length = space.parse_space(bounds)
        return Asked(name, length, sample=self.sample, seed=self.seed)


def read(path: Path) -> CampaignFile:
    """`results` is absolute then. Errors: BadCampaign."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadCampaign(f"{path} cannot be read: {error}") from error
    return parse(text, path)


def parse(text: str, path: Path) -> CampaignFile:
    """path: for messages, and what relative places are relative to. Errors: BadCampaign."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadCampaign(f"{path}: {error}") from error
    where = TomlText(path, text)
    names = [field.name for field in msgspec.structs.fields(CampaignFile)]
    for key in found:
        if key not in names:
            raise BadCampaign(f"{where.at(key)}: there is no key {key!r}. {near(key, names)}")
    try:
        asked = msgspec.convert(found, CampaignFile)
    except msgspec.ValidationError as error:
        said, keys = complaint(error)
        raise BadCampaign(f"{where.at(*keys)}: {said}") from error
    _check(asked, where)
    folder = path.resolve().parent / Path(asked.results or f"campaigns/{path.stem}").expanduser()
    return msgspec.structs.replace(asked, results=str(folder.resolve()))


def seconds(duration: str) -> float:
    """Errors: ValueError."""
    match = DURATION.fullmatch(duration.strip())
    if match is None or not match[0] or not any(int(part or 0) for part in match.groups()):
        raise ValueError(f'{duration!r} is not a time such as "8h", "90m" or "1h30m"')
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return 3600.0 * hours + 60.0 * minutes + rest


def changed(before: CampaignFile, after: CampaignFile) -> list[str]:
    """What makes it another campaign, a line for each key."""
    found = []
    for field in msgspec.structs.fields(CampaignFile):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if field.name not in (*FREE, "results") and old != new:
            found.append(f"{field.name}: was {_shown(old)}, is now {_shown(new)}")
    return found


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- what may be in it ---------------------------------------------------------------------------


def _check(asked: CampaignFile, where: TomlText) -> None:
    """Errors: BadCampaign."""
    for key in ("bounds", "kernels", "profiles", "models"):
        values = getattr(asked, key)
        if not values:
            raise BadCampaign(f"{where.at(key)}: {key} is empty")
        if twice := [one for at, one in enumerate(values) if one in values[:at]]:
            raise BadCampaign(f"{where.at(key)}: {key}: {twice[0]!r} is there twice")
    _each(asked.models, MODELS, "crash model", where, "models")
    _each(asked.profiles, [one.name for one in PROFILES], "profile", where, "profiles")
    _each(asked.config, known_variants(), "config variant", where, "config")
    _each(asked.follow, FOLLOW, "step", where, "follow")
    _each((asked.tier,), [one.value for one in Tier], "tier", where, "tier")
    _each((asked.guest,), ("uml", "qemu"), "guest for campaigns", where, "guest")
    for key in ("sample", "budget", "prefixes", "batch", "slots"):
        if (getattr(asked, key) or 0) < 0:
            raise BadCampaign(f"{where.at(key)}: {key} is below 0")
    if not 1 <= asked.witnesses <= 100:
        raise BadCampaign(f"{where.at('witnesses')}: witnesses is not from 1 to 100")
    if not 0 <= asked.audit <= 100:
        raise BadCampaign(f"{where.at('audit')}: audit is not a percentage from 0 to 100")
    for bounds in asked.bounds:
        try:
            space.planned(asked.asked(bounds))
        except BadBounds as error:
            fix = str(error).replace("--sample N", "sample = N").replace("--sample", "sample")
            raise BadCampaign(f"{where.at('bounds')}: {fix}") from error
    try:
        space.parse_shard(asked.shard)
    except BadBounds as error:
        raise BadCampaign(f"{where.at('shard')}: {str(error).removeprefix('--')}") from error
    if asked.time:
        try:
            seconds(asked.time)
        except ValueError as error:
            raise BadCampaign(f"{where.at('time')}: time: {error}") from error
    _check_engine(asked, where)


def _check_engine(asked: CampaignFile, where: TomlText) -> None:
    """Errors: BadCampaign."""
    words = (LOCAL, *JOBQUEUES)
    if asked.scheduler not in words and not asked.scheduler.startswith(SCHEDULERS):
        raise BadCampaign(
            f"{where.at('scheduler')}: {asked.scheduler!r} is not {', '.join(words)}, tcp://HOST:PORT or "
            f"ssh://HOST,HOST. {near(asked.scheduler, words)}"
        )
    if asked.listen and asked.scheduler != LOCAL:
        raise BadCampaign(f'{where.at("listen")}: listen is for scheduler = "local" alone. Leave it out')
    host, _, port = asked.listen.rpartition(":")
    if asked.listen and not (host and port.isdecimal() and int(port) < 1 << 16):
        raise BadCampaign(f"{where.at('listen')}: {asked.listen!r} is not HOST:PORT, such as 0.0.0.0:8786")
    if asked.remote_python and not asked.scheduler.startswith("ssh://"):
        raise BadCampaign(f"{where.at('remote_python')}: remote_python is for ssh:// alone. Leave it out")


def _each(words: tuple[str, ...], known: Any, what: str, where: TomlText, key: str) -> None:
    """Errors: BadCampaign."""
    names = list(known)
    for word in words:
        if word not in names:
            raise BadCampaign(f"{where.at(key)}: there is no {what} {word!r}. {near(word, names)}")
