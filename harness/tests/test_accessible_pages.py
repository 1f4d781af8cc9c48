"""Every kind of page, asked by an accessibility checker (axe-core) in a real browser, light and dark."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from selenium import webdriver

from harness.bench.history import page_of
from harness.evidence.bugs import bug_texts, known_as
from harness.tests.bench.test_bench_history import point
from harness.tests.experiments.test_damage_pages import damage_report
from harness.tests.experiments.test_fault_pages import fault_report
from oracles.judge import EVERY_ORACLE
from reports.pages.campaign import write_campaign
from reports.pages.html import write_perf_page, write_report
from reports.pages.nights import write_night, write_nights
from reports.results import read_summary
from reports.tests.browser import axe_violations, chromium, needs_browser, show, window
from reports.tests.make_compare import make_compare
from reports.tests.make_nights import night, nights
from reports.tests.make_perf import make_perf
from reports.tests.make_run import change_summary, make_run
from reports.tests.test_campaign_page import CAMPAIGN
from reports.tests.test_sweep_pages import FALSE, KNOWN, MISSED, SEEN, sweep

pytestmark = needs_browser
TEXTS = {oracle.NAME: (oracle.CHECKS, oracle.NOT_CHECKED) for oracle in EVERY_ORACLE}
BUGS = ("BTRFS-1", "EXT4-11")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


def with_known_findings(run: Path) -> Path:
    """The first finding is two known bugs."""
    first, *others = read_summary(make_run(run)).findings
    first = msgspec.structs.replace(first, known=tuple(map(known_as, BUGS)))
    change_summary(run, findings=(first, *others))
    return write_report(run, TEXTS, bug_texts=bug_texts())


def of_a_sweep(run: Path) -> Path:
    sweep(run, 1, (SEEN, MISSED), (KNOWN, FALSE))
    return write_report(run, TEXTS)


def of_the_bench(run: Path) -> Path:
    (run / "bench.html").write_text(page_of([point(0.7), point(0.4, commit="def")]))
    return run


def of_nights(folder: Path) -> Path:
    (folder / "0002").mkdir()
    write_nights(folder, nights())
    write_night(folder / "0002", night(trouble=("other: git fetch: no route",)), folder)
    return folder


def of_a_campaign(folder: Path) -> Path:
    write_campaign(folder, CAMPAIGN, "../evidence/report/")
    return folder / "report"


REPORTS: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "run": (
        with_known_findings,
        ("index", "experiment-0001", "experiment-0005", "finding-F1", "known", "glossary"),
    ),
    "sweep": (of_a_sweep, ("index",)),
    "campaign": (of_a_campaign, ("index",)),
    "compare": (lambda run: write_report(make_compare(run)), ("compare",)),
    "perf": (lambda run: write_perf_page(run, make_perf()), ("perf",)),
    "faults": (fault_report, ("index", "experiment-0001", "finding-F1")),
    "damage": (damage_report, ("index", "experiment-0001", "finding-F1")),
    "bench": (of_the_bench, ("bench",)),
    "nights": (of_nights, ("index", "0002/index")),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_no_page_violates_a_rule_of_accessibility(
    browser: webdriver.Chrome, tmp_path: Path, kind: str
) -> None:
    """None of any impact, with every box open; in the dark the contrast once more."""
    make, names = REPORTS[kind]
    report = make(tmp_path)
    found = {}
    for name in names:
        for scheme, rules in (("light", ()), ("dark", ("color-contrast",))):
            window(browser, 1400, scheme)
            show(browser, report / f"{name}.html")
            found[name, scheme] = axe_violations(browser, *rules)
    assert {page: wrong for page, wrong in found.items() if wrong} == {}


def test_the_checker_sees_what_is_wrong(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """A page without a language, with a picture without words and pale letters: three violations at least."""
    page = tmp_path / "wrong.html"
    page.write_text('<title>t</title><main><img src="data:,"><p style="color:#ccc">pale</p></main>')
    show(browser, page)
    rules = {line.split()[0] for line in axe_violations(browser)}
    assert {"html-has-lang", "image-alt", "color-contrast"} <= rules


@pytest.mark.parametrize("kind", REPORTS)
def test_a_page_on_paper_is_light_and_cut_nowhere(
    browser: webdriver.Chrome, tmp_path: Path, kind: str
) -> None:
    """Also for a reader whose screen is dark: white ground, no box that scrolls, no button."""
    make, names = REPORTS[kind]
    report = make(tmp_path)
    for name in names:
        window(browser, 1000, "dark", media="print")
        browser.get((report / f"{name}.html").as_uri())
        ground, scrolling, buttons = browser.execute_script(
            "const seen = (e) => e.getClientRects().length > 0, style = (e) => getComputedStyle(e);"
            "return [style(document.body).backgroundColor,"
            " [...document.querySelectorAll('.scroll, .tall, .log, .script')]"
            "  .filter((e) => seen(e) && style(e).overflow !== 'visible').length,"
            " [...document.querySelectorAll('button, .filter')].filter(seen).length]"
        )
        assert (ground, scrolling, buttons) == ("rgb(255, 255, 255)", 0, 0), name
