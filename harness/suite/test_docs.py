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

import pytest

from harness.book import commands, links
from harness.book.documents import RUN, documents
from harness.book.generate import stale
from harness.book.runner import run_document
from harness.local.root import ROOT

pytestmark = pytest.mark.docs

DOCUMENTS = documents(ROOT)
WITH_COMMANDS = [
    document
    for document in DOCUMENTS
    if any(block.mark and block.mark.what == RUN for block in document.blocks)
]


def test_generated_parts_are_fresh():
    """Else the command that writes them again is named."""
    assert stale(ROOT) == []


def test_the_site_builds_in_strict_mode(tmp_path):
    """Each page is in the navigation, each anchor exists, and nothing is loaded from elsewhere."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").is_file()
    for page in tmp_path.rglob("*.html"):
        text = page.read_text()
        loaded = [part.split('"')[0] for part in text.split('src="')[1:]]
        loaded += [part.split(">")[0] for part in text.split("<link ")[1:] if 'rel="stylesheet"' in part]
        assert not [one for one in loaded if "://" in one], page


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
