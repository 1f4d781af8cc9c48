"""
Debian's archive, through apt: which version of a source package there is, and the package itself.

In:       a release, as "7.2", whose package is linux-source-7.2.
Out:      Offer: its newest version and who offers it; the package's file; what is on offer. BuildFailed
          names what is missing: network, keyring, a signature; Gone when the archive has moved on; BadKernel
          when Debian has no such release.
Not here: unpacking the package (source.py).

The system's apt is asked first. What it does not know (5.10 and 7.2 are in other suites than Debian 12's;
what is newer is in unstable or experimental) is looked up in lists of our own: the same apt with a
configuration below our cache, one for each suite, so that nothing of the system's changes and no root is
needed. apt checks these lists against Debian's keyring, and the package against the lists.
"""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from kernel import cache
from kernel.kernel import BadKernel, BuildFailed
from kernel.make import environment

Progress = Callable[[str, float], None]

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MAX_AGE_S = 24 * 3600
POLL_S = 0.5
PACKAGE_BYTES = 150 << 20  # linux-source-6.12 has 141 MiB, 7.2 has 157 MiB

# Where each release is looked for, in this order. sid has the newest 7.2 until it moves on; backports keep
# a release for a while longer. Debian puts what has left its mirrors on archive.debian.org.
SUITES = {
    "5.10": ("bullseye-security", "bullseye"),
    "6.1": ("bookworm-security", "bookworm"),
    "6.12": ("trixie-security", "trixie"),
    "7.2": ("sid", "trixie-backports"),
}
# Where any other release is looked for. unstable comes first: experimental may still have the candidate
# (7.3~rc5) of what unstable has. A release that has left all of them is in none.
OTHER_SUITES = ("sid", "experimental", "trixie-backports", "bookworm-backports")
MIRRORS = {
    "Debian": ("http://deb.debian.org/debian", "http://archive.debian.org/debian"),
    "Debian-Security": (
        "http://security.debian.org/debian-security",
        "http://archive.debian.org/debian-security",
    ),
}

# Nothing of /etc/apt is read: no hooks, pins or sources of the user's. What the user says of the network is
# copied (_network_settings); what would let unsigned lists pass is switched off, whatever was said.
CONFIG = """\
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "{folder}";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
{network}
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
"""
_NETWORK = re.compile(r'Acquire::(https?|socks|ForceIPv\d|Retries|Check-Valid-Until|Check-Date)\b.* ".*";')


class Gone(BuildFailed):
    """The lists name a package that the archive no longer has; newer lists may name its successor."""


class Offer(msgspec.Struct, frozen=True):
    """config: the apt configuration that knows the package, "" for the system's."""

    package: str
    version: str
    size_bytes: int
    config: str


def offer(release: str, progress: Progress, ask_system: bool = True) -> Offer:
    """The newest version. Errors: BuildFailed with every place that was asked, and why it could not tell;
    BadKernel when all could, and none has a release that is not in SUITES either."""
    package = f"linux-source-{release}"
    if ask_system and (found := _asked(package, "")):
        return found
    answers = (
        [] if ask_system else ["the package lists of this system are out of date (run: sudo apt-get update)"]
    )
    all_told = True
    for suite in _suites(release):
        try:
            config = _own_lists(suite, progress)
        except BuildFailed as error:
            answers.append(str(error))
            all_told = False
            continue
        if found := _asked(package, config):
            return found
        answers.append(f"Debian {suite} has no package {package}")
    if all_told and release not in SUITES:
        raise BadKernel(
            f"kernel {release!r} is not a release that Debian has now: there is no package {package} in "
            f"{', '.join(OTHER_SUITES)}, nor in the package lists of this system. powercut kernel sources "
            f"lists what there is. git may have it: mainline@v{release}, or stable@linux-{release}.y"
        )
    raise BuildFailed("; ".join(answers))


def offer_of(release: str, version: str) -> Offer:
    """Who offers just this version, by the lists that are there. Errors: Gone."""
    package = f"linux-source-{release}"
    for config in ("", *_kept_configs(_suites(release))):
        if found := _asked(f"{package}={version}", config):
            return found
    raise Gone(f"no package list of apt offers {package} {version} any more")


def offers(progress: Progress, refresh: bool = True) -> tuple[dict[str, Offer], list[str]]:
    """By release, what the system's apt and the lists of ours offer, each the first that has it; and what
    could not be asked. refresh: the lists of OTHER_SUITES are fetched when they are a day old; others are
    taken as they are."""
    troubles: list[str] = []
    for suite in OTHER_SUITES if refresh else ():
        try:
            _own_lists(suite, progress)
        except BuildFailed as error:
            troubles.append(str(error))
    others = dict.fromkeys(suite for suites in SUITES.values() for suite in suites)
    found: dict[str, Offer] = {}
    for config in ("", *_kept_configs(dict.fromkeys((*OTHER_SUITES, *others)))):
        for package in output(["apt-cache", "pkgnames", "linux-source-"], config).split():
            release = package.removeprefix("linux-source-")
            if (
                re.fullmatch(r"\d+\.\d+", release)
                and release not in found
                and (one := _asked(package, config))
            ):
                found[release] = one
    return found, troubles


def suite_of(found: Offer) -> str:
    """Of our lists the suite; "" for what the system's apt offers."""
    return Path(found.config).parent.name if found.config else ""


def _suites(release: str) -> tuple[str, ...]:
    return SUITES.get(release, OTHER_SUITES)


def _kept_configs(suites: Iterable[str]) -> list[str]:
    """Of those suites whose lists are there."""
    known = [_folder(suite) / "apt.conf" for suite in suites]
    return [str(path) for path in known if path.is_file()]


def _asked(package: str, config: str) -> Offer | None:
    said = output(["apt-cache", "show", "--no-all-versions", package], config)
    fields = dict(re.findall(r"^(Version|Size): (.*)$", said, re.MULTILINE))
    if "Version" not in fields:
        return None
    name = package.partition("=")[0]
    return Offer(name, fields["Version"], int(fields.get("Size", PACKAGE_BYTES)), config)


def output(command: list[str], config: str = "") -> str:
    """What apt or dpkg says. Empty when the program is not there."""
    try:
        return _run(command, config).stdout
    except OSError:
        return ""


def _run(command: list[str], config: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        env=_environment(config),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _environment(config: str) -> dict[str, str]:
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    return environment() | proxies | ({"APT_CONFIG": config} if config else {})


# --- lists of our own ---


def _folder(suite: str) -> Path:
    return cache.root() / "apt" / suite


def _own_lists(suite: str, progress: Progress) -> str:
    """The configuration of an apt that knows the suite. Lists older than a day are fetched again; when that
    fails, the old ones do. Errors: BuildFailed."""
    folder = _folder(suite)
    config, refreshed = folder / "apt.conf", folder / "refreshed"
    cache.use(folder)
    cache.touch(folder)
    with cache.locked(
        folder,
        lambda: progress(f"waiting: another process is downloading the package lists of Debian {suite}", 0.0),
    ):
        if refreshed.is_file() and time.time() - refreshed.stat().st_mtime < MAX_AGE_S:
            return str(config)
        progress(f"downloading the package lists of Debian {suite}", 0.0)
        try:
            _refresh(suite, folder)
        except BuildFailed:
            if not refreshed.is_file():
                raise
            progress(f"the package lists of Debian {suite} cannot be downloaded; using the old ones", 0.0)
        return str(config)


def _refresh(suite: str, folder: Path) -> None:
    """From the first mirror that has the suite. When none has, what was there still serves.
    Errors: BuildFailed."""
    if not KEYRING.is_file():
        raise BuildFailed(
            f"the signatures of Debian {suite} cannot be checked, because {KEYRING} is missing. "
            "Install it: sudo apt-get install debian-archive-keyring"
        )
    sources = folder / "sources.list"
    before = sources.read_text() if sources.is_file() else ""
    troubles: dict[str, list[str]] = {}
    for mirror in _mirrors("Debian-Security" if suite.endswith("-security") else "Debian"):
        _write_config(suite, mirror, folder)
        said = _update(folder)
        if said == "":
            (folder / "refreshed").touch()
            return
        troubles.setdefault(_explained(said), []).append(mirror)
    sources.write_text(before)  # apt believes only lists of the mirrors named there
    told = "; ".join(f"{', '.join(mirrors)}: {trouble}" for trouble, mirrors in troubles.items())
    raise BuildFailed(f"the package lists of Debian {suite} could not be downloaded: {told}")


def _write_config(suite: str, mirror: str, folder: Path) -> None:
    with cache.full_disk_explained():
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        # What is archived is signed once and its lists run out; elsewhere a list that ran out is refused.
        old = " check-valid-until=no" if "archive.debian.org" in mirror else ""
        line = f"deb [arch=amd64 signed-by={KEYRING}{old}] {mirror} {suite} main\n"
        (folder / "sources.list").write_text(line)
        (folder / "apt.conf").write_text(CONFIG.format(folder=folder, network=_network_settings()))


def _network_settings() -> str:
    """The user's proxies, time-outs and the like, as apt itself writes them down."""
    said = output(["apt-config", "dump"])
    return "\n".join(line for line in said.splitlines() if _NETWORK.fullmatch(line))


def _mirrors(label: str) -> tuple[str, ...]:
    """Where the user's apt fetches Debian from, then Debian's own addresses."""
    wanted = "$(REPO_URI) $(ORIGIN) $(LABEL)"
    said = output(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"])
    rows = [line.split() for line in said.splitlines()]
    users = [row[0].rstrip("/") for row in rows if row[1:] == ["Debian", label]]
    return tuple(dict.fromkeys([*users, *MIRRORS[label]]))


def _update(folder: Path) -> str:
    """apt-get update; "" when it went well, else what it said."""
    try:
        done = _run(["setpriv", "--pdeathsig", "TERM", "apt-get", "update"], str(folder / "apt.conf"))
    except OSError as error:
        return f"E: {error}"
    return "" if done.returncode == 0 else done.stdout + done.stderr + "\nE: apt-get update failed"


def _explained(said: str) -> str:
    """What a person would want to know of apt's complaint."""
    lines = [line for line in said.splitlines() if line.startswith(("E:", "W:", "Err:"))]
    signs = (
        ("signature refused", r"NO_PUBKEY|BADSIG|EXPKEYSIG|REVKEYSIG|is not signed|[Ss]ignature|Signed-By"),
        ("not found on the server", r"404 |does not have a Release file"),
        ("no network", r"Could not resolve|[Tt]emporary failure|onnect|timed out|unreachable"),
        ("the disk is full", r"No space left|not enough free space"),
    )
    for meaning, sign in signs:
        for line in said.splitlines():
            if re.search(sign, line):
                return f"{meaning} ({line.strip()})"
    return " ".join(lines) or said.strip()


# --- the package ---


def download(wanted: Offer, directory: Path, progress: Progress) -> Path:
    """The package's file in the directory. Errors: Gone, BuildFailed."""
    name = f"{wanted.package} {wanted.version}"
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "apt-get", "download", f"{wanted.package}={wanted.version}"],
        cwd=directory,
        env=_environment(wanted.config),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while process.poll() is None:
            got_bytes = sum(path.stat().st_size for path in directory.glob("*.deb*"))
            progress(f"downloading {name}", min(1.0, got_bytes / wanted.size_bytes))
            time.sleep(POLL_S)
    finally:
        process.terminate()
        said = process.communicate()[0]
    archives = list(directory.glob("*.deb"))
    if process.returncode == 0 and archives:
        return archives[0]
    if re.search(r"404 ", said):
        if wanted.config:
            (Path(wanted.config).parent / "refreshed").unlink(missing_ok=True)
        raise Gone(f"{name} is no longer in the archive. Run apt-get update as root, or install the package")
    raise BuildFailed(
        f"{name} could not be downloaded: {_explained(said)}. Check the network, or install the package"
    )
