"""
Debian's chromium for tests of the pages, and the accessibility checker in it.

In:       a folder for its profile; pages on disk.
Out:      a driver; the size and the colour scheme of its window; what axe-core finds on the page it shows.
Not here: the pages (make_run.py and others), what they must do (the tests).
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium_axe_python import Axe

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")  # Debian's places
MISSING = [
    package for package, path in (("chromium", CHROMIUM), ("chromium-driver", DRIVER)) if not path.exists()
]
needs_browser = pytest.mark.skipif(bool(MISSING), reason=f"no browser: apt-get install {' '.join(MISSING)}")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def window(browser: webdriver.Chrome, width: int, scheme: str = "light", media: str = "") -> None:
    """media: "print" for the style of paper."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )


def show(browser: webdriver.Chrome, page: Path) -> None:
    """With every box open."""
    browser.get(page.as_uri())
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")


def axe_violations(browser: webdriver.Chrome, *rules: str) -> list[str]:
    """Each as "rule (impact): first element", of the page that is shown; of all rules when none is named."""
    axe = Axe(browser)
    axe.inject()
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = axe.run(options=options)["violations"]
    return [
        f"{one['id']} ({one['impact']}), {len(one['nodes'])} times: {one['nodes'][0]['html'][:200]} "
        f"{one['nodes'][0]['failureSummary']}"
        for one in found
    ]
