"""The pages in a real browser: no error on its console, nothing wider than the window."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from reports.pages.html import write_perf_page, write_report
from reports.tests.browser import chromium, needs_browser, window
from reports.tests.make_compare import make_compare
from reports.tests.make_coverage import make_coverage
from reports.tests.make_perf import make_perf
from reports.tests.make_run import make_run

pytestmark = needs_browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("results"), repeats=3)
    make_coverage(run)
    return write_report(run)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize(
    "page", ["index", "experiment-0001", "experiment-0002", "experiment-0003", "finding-F1", "coverage"]
)
def test_a_page_fits_and_makes_no_error(
    browser: webdriver.Chrome, report: Path, page: str, width: int
) -> None:
    """No console error; the page itself never scrolls sideways, with every box open."""
    window(browser, width)
    browser.get((report / f"{page}.html").as_uri())
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    scroll, client = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert client <= width
    assert scroll <= client
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_narrow_time_line_opens_at_the_cut(browser: webdriver.Chrome, report: Path) -> None:
    """Where the power failed is in sight without scrolling, also at 400 pixels."""
    window(browser, 400)
    browser.get((report / "finding-F1.html").as_uri())
    band, cut = browser.execute_script(
        "const band = document.querySelector('.scroll[data-cut]').getBoundingClientRect();"
        "const cut = document.querySelector('.cutline').getBoundingClientRect();"
        "return [[band.left, band.right], cut.left]"
    )
    assert band[0] <= cut <= band[1]


def test_the_filter_hides_what_holds(browser: webdriver.Chrome, report: Path) -> None:
    """ "only not HOLDS" leaves the three that do not hold; a word narrows them further."""
    window(browser, 1400)
    browser.get((report / "index.html").as_uri())
    shown = "return document.querySelectorAll('tr[data-text]:not([hidden])').length"
    assert browser.execute_script(shown) == 6
    browser.find_element("id", "only").click()
    assert browser.execute_script(shown) == 3
    browser.find_element("id", "filter").send_keys("EXT4")
    assert browser.execute_script(shown) == 1
    assert browser.find_element("id", "shown").text == "1 of 6 shown"


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = make_compare(tmp_path_factory.mktemp("compared"))
    return (write_report(run) / "compare.html").as_uri()


@pytest.mark.parametrize("width", [1400, 400])
def test_two_kernels_fit_side_by_side(browser: webdriver.Chrome, side_by_side: str, width: int) -> None:
    """No console error, no scrolling sideways."""
    window(browser, width)
    browser.get(side_by_side)
    scroll, client = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert client <= width
    assert scroll <= client
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> str:
    return (write_perf_page(tmp_path_factory.mktemp("measured"), make_perf()) / "perf.html").as_uri()


@pytest.mark.parametrize("width", [1400, 400])
def test_the_performance_page_fits_with_every_block_open(
    browser: webdriver.Chrome, measured: str, width: int
) -> None:
    """No console error, no scrolling sideways, also with the blocks for the commit message open."""
    window(browser, width)
    browser.get(measured)
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    scroll, client = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert client <= width
    assert scroll <= client
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_differences_are_chosen_without_a_network(browser: webdriver.Chrome, side_by_side: str) -> None:
    """What B breaks: one row of differences, one of all profiles, one of its own, one of the logs."""
    window(browser, 1400)
    browser.get(side_by_side)
    shown = "return [...document.querySelectorAll('tr[data-text]:not([hidden]) th')].map(e => e.textContent)"
    every = len(browser.execute_script(shown))
    browser.execute_script(
        "const kind = document.getElementById('kind'); kind.value = 'broken';"
        "kind.dispatchEvent(new Event('change'))"
    )
    left = browser.execute_script(shown)
    assert len(left) == 4 < every
    assert all(name.startswith("replace-by-rename") for name in left)
    browser.find_element("id", "filter").send_keys("no such thing")
    assert browser.execute_script(shown) == []


def test_dark_and_light_differ(browser: webdriver.Chrome, report: Path) -> None:
    """The page follows the reader's scheme."""
    ground = "return getComputedStyle(document.body).backgroundColor"
    found = []
    for scheme in ("light", "dark"):
        window(browser, 1400, scheme)
        browser.get((report / "index.html").as_uri())
        found.append(browser.execute_script(ground))
    assert found[0] != found[1]


def press(browser: webdriver.Chrome, key: str, shift: bool = False) -> str:
    """The href of what then has the focus."""
    keys = ActionChains(browser)
    (keys.key_down(Keys.SHIFT).send_keys(key).key_up(Keys.SHIFT) if shift else keys.send_keys(key)).perform()
    return str(browser.execute_script("return document.activeElement.getAttribute('href')"))


def test_every_state_is_reached_by_keys(browser: webdriver.Chrome, report: Path) -> None:
    """The grid is one stop of Tab, the time line another; arrows go inside, with Shift past what holds."""
    window(browser, 1400)
    browser.get((report / "experiment-0001.html").as_uri())
    grid = ".grid[data-cells] a"
    hrefs = browser.execute_script(
        f"return [...document.querySelectorAll('{grid}')].map((e) => e.getAttribute('href'))"
    )
    for cells, marked in ((grid, "a.BROKEN"), (".tl [data-cells] a", "rect.BROKEN")):
        stops = f"return [...document.querySelectorAll('{cells}')].filter((e) => e.tabIndex === 0).length"
        assert browser.execute_script(stops) == 1
        browser.execute_script(f"document.querySelector('{cells}').focus()")
        walked = [press(browser, Keys.ARROW_RIGHT) for _ in hrefs[1:]]
        assert walked == hrefs[1:]
        assert press(browser, Keys.HOME) == hrefs[0]
        first = browser.execute_script(
            f"const e = document.querySelector('[data-cells] {marked}');"
            "return e.closest('a').getAttribute('href')"
        )
        assert press(browser, Keys.ARROW_RIGHT, shift=True) == first != hrefs[0]
        assert browser.execute_script(stops) == 1
    press(browser, Keys.ENTER)
    assert browser.current_url.endswith(first)


def test_the_grid_goes_up_and_down(browser: webdriver.Chrome, report: Path) -> None:
    """To the cell above or below, by its place on the page."""
    window(browser, 400)
    browser.get((report / "experiment-0001.html").as_uri())
    browser.execute_script("document.querySelector('.grid a').focus()")
    below = press(browser, Keys.ARROW_DOWN)
    left = "return [...document.querySelectorAll('.grid a')].map((e) => e.getBoundingClientRect().left)"
    places = browser.execute_script(left)
    assert below == f"#state-O-{places.index(places[0], 1)}"
    assert press(browser, Keys.ARROW_UP) == "#state-O-0"


def test_what_has_the_focus_is_seen(browser: webdriver.Chrome, report: Path) -> None:
    """Each stop of Tab, the first of them the way to the content, has an outline or a thick edge."""
    window(browser, 1400)
    browser.get((report / "experiment-0001.html").as_uri())
    assert press(browser, Keys.TAB) == "#main"
    for _ in range(30):
        shown = browser.execute_script(
            "const e = document.activeElement, rect = e.querySelector('rect');"
            "return e === document.body || parseFloat(getComputedStyle(e).outlineWidth) >= 2"
            " || rect !== null && parseFloat(getComputedStyle(rect).strokeWidth) >= 3"
        )
        assert shown, browser.execute_script("return document.activeElement.outerHTML.slice(0, 200)")
        press(browser, Keys.TAB)
