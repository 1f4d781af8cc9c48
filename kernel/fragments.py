"""
The config: what we request of a kernel, and what of it was granted.

In:       the fragments under kernel/config/, a configured kernel's .config.
Out:      the fragments of an architecture and its variants; requests with their place; the optional
          ones that were not granted, BuildFailed for the others.
Not here: merging, which the kernel's own merge_config.sh does (make.py calls it).
"""

import hashlib
import re
from pathlib import Path

import msgspec

from kernel.kernel import Arch, BadKernel, BuildFailed

FOLDER = Path(__file__).parent / "config"
BASE = ("base", "filesystems")
ARCHES: dict[Arch, str] = {"um": "uml", "x86_64": "x86_64", "arm64": "arm64"}
MACHINES = "machine"  # kernel/machine.py
SMP = "smp"  # of a guest with several processors
# Options that newer kernels call otherwise. The fragments keep the older names, so no kernel's key changes.
# fs/proc/Kconfig of v7.3; up to v7.2 the older option selects the newer one.
RENAMED = {"CONFIG_PROC_SYSCTL": "CONFIG_SYSCTL"}
_SET = re.compile(r"(CONFIG_\w+)=(.*)")
_NOT_SET = re.compile(r"# (CONFIG_\w+) is not set")


class Request(msgspec.Struct, frozen=True):
    """One option of a fragment. value: as written after the =, "n" for "is not set"."""

    option: str
    value: str
    optional: bool
    file: str
    line: int


def fragments(arch: Arch = "um", variants: tuple[str, ...] = ()) -> tuple[Path, ...]:
    """In the order in which they are merged: the last one has the last word."""
    return tuple(FOLDER / f"{name}.config" for name in (*BASE, ARCHES[arch], *variants))


def known_variants() -> tuple[str, ...]:
    names = {path.stem for path in FOLDER.glob("*.config")}
    return tuple(sorted(names - {*BASE, *ARCHES.values(), MACHINES}))


def check_variants(variants: tuple[str, ...]) -> tuple[str, ...]:
    """Each once and in one order, so that the same ones are always the same kernel. Errors: BadKernel."""
    known = known_variants() if variants else ()
    for name in variants:
        if name not in known:
            raise BadKernel(f"the config variant {name!r} is not known; the variants are {', '.join(known)}")
    return tuple(name for name in known if name in variants)


def requests(fragments: tuple[Path, ...]) -> tuple[Request, ...]:
    """The last word on each option, in the order of the fragments."""
    last: dict[str, Request] = {}
    for path in fragments:
        optional = False
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            option, value = _setting(line)
            if option:
                last.pop(option, None)
                last[option] = Request(option, value, optional, path.name, number)
            optional = line.strip() == "# optional"
    return tuple(last.values())


def digest(wanted: tuple[Request, ...]) -> str:
    """Of what is requested; comments and lines may move without a new kernel."""
    text = "".join(f"{request.option}={request.value}\n" for request in wanted)
    return hashlib.sha256(text.encode()).hexdigest()


def renamed(wanted: tuple[Request, ...]) -> str:
    """The text of one more fragment: what is requested, by the names that newer kernels have for it. A kernel
    with the older names has the same config with it as without."""
    return "".join(f"{RENAMED[one.option]}={one.value}\n" for one in wanted if one.option in RENAMED)


def check_granted(wanted: tuple[Request, ...], config: str) -> tuple[str, ...]:
    """The optional requests that this kernel did not grant; the others must all have survived."""
    granted = dict(_setting(line) for line in config.splitlines())
    for old, new in RENAMED.items():
        if new in granted:
            granted.setdefault(old, granted[new])
    refused = [request for request in wanted if granted.get(request.option, "n") != request.value]
    fatal = [request for request in refused if not request.optional]
    if fatal:
        lines = "; ".join(
            f"{request.file} line {request.line}: requested {request.option}={request.value}, got "
            f"{granted.get(request.option, 'n')}"
            for request in fatal
        )
        raise BuildFailed(
            "the kernel's configuration did not accept some options that kernel/config/ "
            f"requests: {lines}. Request the options that they depend on too, or put '# optional' "
            "on the line before"
        )
    return tuple(request.option for request in refused)


def _setting(line: str) -> tuple[str, str]:
    if match := _SET.fullmatch(line.strip()):
        return match[1], match[2]
    if match := _NOT_SET.fullmatch(line.strip()):
        return match[1], "n"
    return "", ""
