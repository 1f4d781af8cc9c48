import os
import time
from pathlib import Path

import pytest

from kernel import archive
from kernel.archive import Gone, Offer, offer, offer_of
from kernel.kernel import BadKernel, BuildFailed
from kernel.prune import prune

# A stand-in for apt: the system's knows what `system` holds, another what stands in its configuration's
# folder; `update` copies what the mirror of that suite holds there, or complains.
APT = """\
#!/bin/sh
world=WORLD
echo "$0 $*" | sed 's,.*/,,' >> $world/calls
mine=$(dirname "${APT_CONFIG:-$world/system/apt.conf}")
case "$1" in
show) for package; do :; done; cat "$mine/known/$package" 2>/dev/null || { echo "N: none" >&2; exit 100; } ;;
dump) cat $world/dump 2>/dev/null ;;
pkgnames) cd "$mine/known" 2>/dev/null && ls | grep -v = ;;
indextargets) cat $world/indextargets 2>/dev/null ;;
update) suite=$(basename $mine)
    cp "$mine/sources.list" $world/asked.$suite
    echo "$http_proxy" > $world/proxy
    if [ -e $world/complaint ]; then cat $world/complaint >&2; exit 100; fi
    rm -rf "$mine/known"; cp -r $world/$suite "$mine/known" ;;
download) for package; do :; done
    [ -e $world/gone ] && { echo "E: Failed to fetch x  404  Not Found" >&2; exit 100; }
    [ -e $world/complaint ] && { cat $world/complaint >&2; exit 100; }
    echo content > package.deb ;;
esac
"""


def silent(_stage: str, _fraction: float) -> None:
    pass


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs apt-cache, apt-get and apt-config of ours, and the folder from which they take all."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("apt-cache", "apt-get", "apt-config"):
        (programs / name).write_text(APT.replace("WORLD", str(tmp_path)))
        (programs / name).chmod(0o755)
    monkeypatch.setattr("kernel.make.PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(archive, "KEYRING", tmp_path / "keyring")
    monkeypatch.setattr(archive, "POLL_S", 0.01)
    (tmp_path / "keyring").touch()
    return tmp_path


def give(world: Path, place: str, release: str, version: str) -> None:
    """place: a suite, or "system/known"."""
    package = f"linux-source-{release}"
    (world / place).mkdir(parents=True, exist_ok=True)
    for older in (world / place).glob(f"{package}*"):
        older.unlink()
    for name in (package, f"{package}={version}"):
        (world / place / name).write_text(f"Package: {package}\nVersion: {version}\nSize: 7\n")


def calls(world: Path, what: str) -> int:
    return sum(what in line for line in (world / "calls").read_text().splitlines())


def test_what_the_systems_apt_knows_needs_no_lists_of_ours(world: Path) -> None:
    give(world, "system/known", "6.12", "6.12.9-1")
    assert offer("6.12", silent) == Offer("linux-source-6.12", "6.12.9-1", 7, "")
    assert calls(world, "update") == 0


def test_what_it_does_not_know_is_looked_up_in_a_suite_that_is_signed_for(world: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    found = offer("7.2", silent)
    assert (found.version, found.config) == ("7.2.13-1", str(world / "cache/apt/sid/apt.conf"))
    asked = (world / "asked.sid").read_text()
    assert asked == f"deb [arch=amd64 signed-by={world}/keyring] http://deb.debian.org/debian sid main\n"
    config = Path(found.config).read_text()
    assert 'Acquire::AllowInsecureRepositories "false";' in config
    assert 'Dir::Etc::parts "/dev/null";' in config


def test_a_suite_that_has_moved_on_is_followed_by_the_next(world: Path) -> None:
    give(world, "sid", "7.3", "7.3.1-1")
    give(world, "trixie-backports", "7.2", "7.2.12-1~bpo13+1")
    assert offer("7.2", silent).version == "7.2.12-1~bpo13+1"


def test_a_release_of_the_past_is_looked_up_where_its_security_fixes_are(world: Path) -> None:
    give(world, "bookworm-security", "6.1", "6.1.200-1")
    assert offer("6.1", silent).version == "6.1.200-1"
    asked = (world / "asked.bookworm-security").read_text()
    assert "http://security.debian.org/debian-security bookworm-security main" in asked


def test_only_what_is_archived_may_have_run_out(world: Path) -> None:
    """The archive is asked last, and its lists are signed once."""
    (world / "complaint").write_text("E: The repository does not have a Release file.\n")
    with pytest.raises(BuildFailed):
        offer("7.2", silent)
    line = (world / "asked.sid").read_text()
    assert "check-valid-until=no] http://archive.debian.org/debian sid main" in line


def test_a_release_that_is_not_known_is_found_in_unstable_and_then_in_experimental(world: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    give(world, "experimental", "7.3", "7.3~rc7-1~exp1")
    found = offer("7.3", silent)
    assert (found.version, archive.suite_of(found)) == ("7.3~rc7-1~exp1", "experimental")
    assert offer_of("7.3", found.version) == found
    give(world, "sid", "7.3", "7.3.1-1")
    os.utime(world / "cache/apt/sid/refreshed", (0, 0))
    assert archive.suite_of(offer("7.3", silent)) == "sid"


def test_a_release_that_is_nowhere_is_refused_with_where_it_may_be(world: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    for suite in ("experimental", "trixie-backports", "bookworm-backports"):
        (world / suite).mkdir()
    with pytest.raises(BadKernel, match=r"'6\.21'.*sid, experimental, .*kernel sources.*mainline@v6\.21"):
        offer("6.21", silent)


def test_a_release_that_no_list_could_tell_of_is_not_refused_as_wrong(world: Path) -> None:
    (world / "complaint").write_text("Err:1 x\n  Could not resolve 'deb.debian.org'\n")
    with pytest.raises(BuildFailed, match=r"Debian experimental could not be downloaded: .*no network"):
        offer("7.3", silent)


def test_what_is_on_offer_is_told_with_its_place_and_with_what_could_not_be_asked(world: Path) -> None:
    give(world, "system/known", "6.1", "6.1.9-1")
    give(world, "sid", "7.2", "7.2.13-1")
    give(world, "experimental", "7.3", "7.3~rc7-1~exp1")
    found, troubles = archive.offers(silent)
    assert {release: (one.version, archive.suite_of(one)) for release, one in found.items()} == {
        "6.1": ("6.1.9-1", ""),
        "7.2": ("7.2.13-1", "sid"),
        "7.3": ("7.3~rc7-1~exp1", "experimental"),
    }
    assert ["trixie-backports" in told for told in troubles] == [True, False]


def test_lists_that_were_asked_are_in_use(world: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    config = Path(offer("7.2", silent).config)
    assert prune(keep_bytes=0)[0] == []
    assert config.is_file()


def test_the_lists_are_fetched_again_when_they_are_a_day_old(world: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    offer("7.2", silent)
    offer("7.2", silent)
    assert calls(world, "update") == 1
    yesterday = time.time() - archive.MAX_AGE_S - 60
    os.utime(world / "cache/apt/sid/refreshed", (yesterday, yesterday))
    give(world, "sid", "7.2", "7.2.14-1")
    assert offer("7.2", silent).version == "7.2.14-1"
    assert calls(world, "update") == 2


def test_old_lists_do_when_there_is_no_network(world: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    offer("7.2", silent)
    os.utime(world / "cache/apt/sid/refreshed", (0, 0))
    (world / "complaint").write_text("Err:1 http://x sid InRelease\n  Could not resolve 'deb.debian.org'\n")
    stages: list[str] = []
    assert offer("7.2", lambda stage, _fraction: stages.append(stage)).version == "7.2.13-1"
    assert "old ones" in stages[-1]
    assert "deb.debian.org" in (world / "cache/apt/sid/sources.list").read_text()


@pytest.mark.parametrize(
    ("complaint", "meaning"),
    [
        ("Err:1 x\n  Could not resolve 'deb.debian.org'", "no network"),
        ("Err:1 x\n  The following signatures couldn't be verified: NO_PUBKEY 605C66F0", "signature refused"),
        ("E: The repository 'http://x sid InRelease' is not signed.", "signature refused"),
        ("E: The repository 'http://x sid Release' does not have a Release file.", "not found on the server"),
        ("E: something new", "something new"),
    ],
)
def test_every_place_that_was_asked_says_why_it_could_not_tell(
    world: Path, complaint: str, meaning: str
) -> None:
    (world / "complaint").write_text(complaint)
    with pytest.raises(
        BuildFailed, match=f"Debian sid could not be downloaded: .*{meaning}.*trixie-backports"
    ):
        offer("7.2", silent)


def test_without_debians_keyring_nothing_is_fetched(world: Path) -> None:
    (world / "keyring").unlink()
    with pytest.raises(BuildFailed, match="apt-get install debian-archive-keyring"):
        offer("7.2", silent)
    assert calls(world, "update") == 0


def test_the_users_mirror_and_proxy_are_used(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://another:3128")
    give(world, "sid", "7.2", "7.2.13-1")
    (world / "indextargets").write_text(
        "http://mirror/debian/ Debian Debian\nhttp://mirror/sec/ Debian Debian-Security\n"
    )
    (world / "dump").write_text(
        'Acquire::http::Proxy "http://proxy:3128";\nAPT::Update::Post-Invoke:: "rm x";\n'
    )
    config = Path(offer("7.2", silent).config).read_text()
    assert "http://mirror/debian sid main" in (world / "asked.sid").read_text()
    assert 'Acquire::http::Proxy "http://proxy:3128";' in config
    assert "Post-Invoke" not in config
    assert (world / "proxy").read_text() == "http://another:3128\n"


def test_a_package_is_fetched_from_who_offers_it(world: Path, tmp_path: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    offer("7.2", silent)
    wanted = offer_of("7.2", "7.2.13-1")
    assert wanted.config.endswith("sid/apt.conf")
    assert archive.download(wanted, tmp_path, silent).read_text() == "content\n"


def test_a_package_that_is_gone_makes_the_next_question_read_new_lists(world: Path, tmp_path: Path) -> None:
    give(world, "sid", "7.2", "7.2.13-1")
    offer("7.2", silent)
    (world / "gone").touch()
    with pytest.raises(Gone):
        archive.download(offer_of("7.2", "7.2.13-1"), tmp_path, silent)
    give(world, "sid", "7.2", "7.2.14-1")
    assert offer("7.2", silent).version == "7.2.14-1"
    with pytest.raises(Gone, match=r"no package list of apt offers .* 7\.2\.13-1"):
        offer_of("7.2", "7.2.13-1")


def test_a_download_that_fails_says_why(world: Path, tmp_path: Path) -> None:
    give(world, "system/known", "6.12", "6.12.9-1")
    (world / "complaint").write_text("Err:1 x\n  Could not resolve 'deb.debian.org'\n")
    with pytest.raises(BuildFailed, match=r"6\.12\.9-1 could not be downloaded: no network"):
        archive.download(offer("6.12", silent), tmp_path, silent)
