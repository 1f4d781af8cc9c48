"""The pages: what they say, that their links lead somewhere, and that nothing gets out of its place."""

import re
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import jinja2.nodes
import msgspec
import pytest

from oracles.observation import Fsck, Node, Observation
from oracles.profiles import Profile, Promise
from oracles.verdict import Answer, Verdict
from reports.pages import html
from reports.pages.groups import ROWS_SHOWN, SIGHTINGS_SHOWN, groups
from reports.pages.html import write_report
from reports.results import (
    Experiment,
    JudgedState,
    Judgement,
    StateCounts,
    Summary,
    read_experiment,
    read_summary,
)
from reports.tests.make_run import make_run, packed, write_judged

TEXTS = {
    "durable": ("what fsync promised is there", "speed"),
    "fsck": ("the checker finds nothing", "the log tree"),
}
BTRFS = Profile("btrfs", "btrfs", (), "", (), promises=(Promise("k", "a rename is whole", "generic/498"),))


class Page(HTMLParser):
    """Ids, links and resources of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.resources: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "xlink:href") and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href", "xlink:href", "data", "poster", "srcset", "action"):
                self.resources.append(value or "")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_run(tmp_path_factory.mktemp("results"))
    write_report(made, TEXTS, (BTRFS,))
    return made


@pytest.fixture(scope="module")
def report(run: Path) -> Path:
    return run / "report"


def text_of(path: Path) -> str:
    """What a reader sees, without markup, style and script."""
    body = re.sub(r"<(style|script|svg).*?</\1>", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def test_a_page_for_every_experiment_and_finding(report: Path) -> None:
    """Six experiments and two findings, an index and a glossary: ten pages and nothing else."""
    experiments = [f"experiment-{number:04d}.html" for number in range(1, 7)]
    assert sorted(path.name for path in report.iterdir()) == sorted(
        ["index.html", "glossary.html", "finding-F1.html", "finding-F2.html", *experiments]
    )


def test_every_link_leads_to_a_page_and_an_id(report: Path) -> None:
    """No link of any page is dead, and no id stands twice on a page."""
    pages = {path.name: Page(path) for path in report.iterdir()}
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), name
        for link in page.links:
            target, _, anchor = link.partition("#")
            assert (target or name) in pages, f"{name}: {link}"
            assert not anchor or anchor in pages[target or name].ids, f"{name}: {link}"


def test_pages_need_no_other_file(report: Path) -> None:
    """Whatever a page loads is inside it: fragments of itself and empty data only."""
    for path in report.iterdir():
        assert all(each.startswith(("#", "data:")) for each in Page(path).resources), path.name
        assert not re.search(r"url\((?!#)|@import|https?://", path.read_text()), path.name


def test_the_index_answers_first(report: Path) -> None:
    """Headline, exit status, counts, findings with their commands, limits and promises."""
    told = text_of(report / "index.html")
    assert "2 broken promises, found in 106 power failures of 6 experiments; 1 state UNKNOWN." in told
    for each in (
        "Exit status 1: something is BROKEN",
        "btrfs durable: name lost (renamed file)",
        "./powercut repro results/20250101T120000-ab12 F1",
        "the guest gave no answer in 20 s, three times",
        "a rename is whole",
        "generic/498",
        "the checker finds nothing",
        "linux-source-6.12 6.12.117-1",
        "./powercut run --fs btrfs,ext4",
        "not examined in this run",
    ):
        assert each in told, each


def test_an_experiment_shows_every_state(report: Path, run: Path) -> None:
    """As many ids and cells as states; the second of two equal trees is a link to the first."""
    experiment = read_experiment(run / "experiments" / "0002")
    page, told = Page(report / "experiment-0002.html"), text_of(report / "experiment-0002.html")
    states = [f"state-O-{number}" for number in range(len(experiment.judgement.states))]
    assert [each for each in page.ids if each.startswith("state-")] == states
    assert all(page.links.count(f"#{each}") >= 2 for each in states)  # time line and grid
    assert "the kernel ended (panic) during mount" in told
    assert "Recovered tree: the same as in O:7" in re.sub(r" +", " ", told)
    assert "corrupt leaf, slot &lt;0&gt;" in told


def test_a_tree_names_the_writing_operation(report: Path) -> None:
    """Content is told by the operation that wrote it, in the workload's own words."""
    assert "0..8K by op 3 (write A/foo.tmp 0 8K)" in text_of(report / "experiment-0001.html")


def test_a_finding_shows_the_crash_line(report: Path) -> None:
    """The line stands behind the last operation that had begun; what did not happen is marked."""
    told = text_of(report / "finding-F2.html")
    assert re.search(r"3 fsync foo in flight .{,9}the power fails while operation 3 is in flight", told)
    assert "kernel panic during mount" in told
    assert "a kernel survives every disk" in told
    assert "The number behind an oracle says how many things it looked at;" in told
    assert "repro results/20250101T120000-ab12 F2" in told


def test_hostile_names_stay_text(report: Path) -> None:
    """A file called <script> is shown and not run: no page has another script than its own."""
    for path in report.iterdir():
        assert "<script>alert" not in path.read_text()
        assert "<b>name" not in path.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in (report / "experiment-0003.html").read_text()
    assert "&lt;b&gt;name&lt;/b&gt;" in (report / "index.html").read_text()


def test_an_old_report_is_replaced(tmp_path: Path) -> None:
    """What an earlier report had, and what a killed writer left, is gone."""
    run = make_run(tmp_path, good=True)
    (run / "report").mkdir()
    (run / "report" / "old.html").write_text("old")
    (run / "report.tmp-1").mkdir()
    assert write_report(run) == run / "report"
    assert not (run / "report" / "old.html").exists()
    assert [path.name for path in run.glob("report*")] == ["report"]


def test_a_report_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error half way through leaves the old report untouched and no temporary folder."""
    run = make_run(tmp_path, good=True)
    write_report(run)
    before = {path.name: path.read_bytes() for path in (run / "report").iterdir()}

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(html, "index_context", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(run)
    assert {path.name: path.read_bytes() for path in (run / "report").iterdir()} == before
    assert [path.name for path in run.glob("report*")] == ["report"]


def test_same_run_same_pages(tmp_path: Path) -> None:
    """Nothing in a page depends on when it was made."""
    run = make_run(tmp_path, good=True)
    first = {path.name: path.read_bytes() for path in write_report(run).iterdir()}
    assert {path.name: path.read_bytes() for path in write_report(run).iterdir()} == first


def test_trouble_is_told_on_its_page(tmp_path: Path) -> None:
    """An experiment that could not be done has a page that says why, and stands under Unknown."""
    run = make_run(tmp_path, good=True)
    folder = run / "experiments" / "0001"
    facts = msgspec.structs.replace(
        read_experiment(folder).facts, entries=(), trouble="log device too small: ask for 64M"
    )
    write_judged(folder, facts, Judgement((), ()))
    (folder / "history.json").unlink()
    (folder / "observations.json.zst").write_bytes(packed([]))
    report = write_report(run)
    for name in ("index.html", "experiment-0001.html"):
        assert "log device too small: ask for 64M" in text_of(report / name), name


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        (Summary(0, 2, StateCounts(9, 9), 7, {}, (), {}), "Every promise was kept"),
        (Summary(3, 2, StateCounts(9, 8, 0, 1), 7, {}, (), {}), "remain UNKNOWN"),
        (Summary(3, 0, StateCounts(), 0, {}, (), {}), "Nothing was examined"),
    ],
)
def test_the_headline_is_one_of_four(summary: Summary, words: str) -> None:
    """UNKNOWN and nothing examined never read like success."""
    assert words in html.headline(summary)


def big_experiment(run: Path, state_count: int, name_count: int) -> Experiment:
    """Every state with a tree of its own."""
    holds = (Verdict("mounts", "fs", Answer.HOLDS, 1),)
    trees = [
        tuple(Node(f"{n:04d}", "file", n + state * 10_000, 0o644, 1, 0, 0) for n in range(name_count))
        for state in range(state_count)
    ]
    return msgspec.structs.replace(
        read_experiment(run / "experiments" / "0001"),
        judgement=Judgement(tuple(JudgedState(f"O:{n}", "", n, 0) for n in range(state_count)), (holds,)),
        observations=tuple(Observation(tree=tree, fsck=Fsck(0, "")) for tree in trees),
    )


def test_a_page_has_room_for_so_many_names(run: Path) -> None:
    """Beyond that, trees of states that hold are left out and said to be."""
    made = groups(big_experiment(run, 60, 100), {})
    assert made[0].left_out == 0
    views = [seen.tree for group in made for seen in group.sightings]
    assert len(made) == 1
    assert sum(len(view.rows) for view in views if view) <= ROWS_SHOWN
    assert [view.left_out for view in (views[0], views[-1]) if view] == [False, True]


def test_a_page_has_room_for_so_many_recoveries(run: Path) -> None:
    """Beyond that, recoveries of states that hold are counted, and every state keeps its id."""
    made = groups(big_experiment(run, SIGHTINGS_SHOWN + 5, 1), {})
    assert [group.left_out for group in made] == [5]
    assert len(made[0].anchors) == SIGHTINGS_SHOWN + 5


def test_counts_on_the_index_are_the_summary_s(report: Path, run: Path) -> None:
    """The tiles show the numbers of summary.json."""
    states = read_summary(run).states
    told = text_of(report / "index.html")
    for words in (f"states planned {states.planned}", f"checked {states.checked}", f"? {states.unknown}"):
        assert words in told


@pytest.mark.parametrize("name", sorted(path.name for path in html.TEMPLATES.glob("*.html")))
def test_every_function_that_a_template_calls_is_handed_to_it(name: str) -> None:
    """Also one that only a page with a finding calls: a renamed one was seen in real runs alone."""
    parse = html.environment().parse
    parsed, *beside = (
        parse(path.read_text()) for path in (html.TEMPLATES / name, *html.TEMPLATES.glob("*.html"))
    )
    names = [call.node for call in parsed.find_all(jinja2.nodes.Call)]
    called = {node.name for node in names if isinstance(node, jinja2.nodes.Name)}
    own = {macro.name for one in beside for macro in one.find_all(jinja2.nodes.Macro)}
    source = "".join(path.read_text() for path in html.TEMPLATES.parent.parent.glob("*/*.py"))
    assert {one for one in called - own - {"caller"} if not re.search(rf"\b{one}\b[=\"]", source)} == set()
