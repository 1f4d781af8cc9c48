"""
The documents, whole: `tox run -e docs`.

In:       README.md, CONTRIBUTING.md, docs/ and the rest; the kernels of the user's cache.
Out:      each generated part is fresh, the site builds in strict mode, each link leads somewhere, and each
          command that a document marks with `run` does what the document says.
Not here: that the checks see what is wrong (harness/tests/book/).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from harness.book import commands, links
from harness.book.documents import RUN, documents
from harness.book.generate import stale
from harness.book.runner import run_document
from harness.local.root import ROOT

pytestmark = pytest.mark.docs

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")  # Debian's places
DOCUMENTS = documents(ROOT)
WITH_COMMANDS = [
    document
    for document in DOCUMENTS
    if any(block.mark and block.mark.what == RUN for block in document.blocks)
]


def test_generated_parts_are_fresh():
    """Else the command that writes them again is named."""
    assert stale(ROOT) == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """As mkdocs builds it, strictly."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_document_is_a_page_of_the_site(site):
    """Strict mode: each is in the navigation, and each anchor exists."""
    pages = {str(path.relative_to(site).with_suffix(".md")) for path in site.rglob("*.html")}
    in_docs = [document.path for document in DOCUMENTS if document.path.startswith("docs/")]
    assert {path.removeprefix("docs/") for path in in_docs} <= pages


def test_nothing_of_the_site_is_loaded_from_elsewhere(site):
    """No script, style sheet, font or picture: it is read without a network."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        loaded = [part.split('"')[0] for part in text.split('src="')[1:]]
        loaded += [part.split(">")[0] for part in text.split("<link ")[1:] if 'rel="stylesheet"' in part]
        assert not [one for one in loaded if "://" in one], page


@pytest.mark.skipif(not CHROMIUM.exists() or not DRIVER.exists(), reason="apt-get install chromium-driver")
def test_the_site_can_be_searched_from_disk(site, tmp_path):
    """A page that is no server's may have no Worker: docs/assets/iframe-worker.js stands in for it."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        browser.get((site / "reference" / "words.html").as_uri())
        browser.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys("nested recovery")
        found = WebDriverWait(browser, 60).until(
            lambda browser: [
                link.get_attribute("href")
                for link in browser.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
            ]
        )
        errors = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    finally:
        browser.quit()
    assert any(link.endswith("reference/models.html") for link in found)
    assert errors == []


def test_every_link_leads_somewhere():
    """To a document, a heading, or a file of the repository."""
    assert list(links.complaints(DOCUMENTS, ROOT)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_every_command_is_marked_and_can_be_read(document):
    """By the real parser; profiles, workloads, series and the like exist."""
    assert commands.complaints(document, ROOT) == ()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda document: document.path)
def test_shown_commands_do_what_the_document_says(document):
    """In their order, in a scratch checkout, with their exit status and the output that is shown."""
    assert run_document(document, ROOT) == []
