"""The documents themselves: links lead somewhere, commands are marked and can be read."""

import pytest

from harness.book import commands, links, nesting
from harness.book.documents import documents
from harness.local.root import ROOT

DOCUMENTS = documents(ROOT)


def test_every_link_leads_somewhere():
    """Of documents, headings, and files of the repository."""
    assert list(links.complaints(DOCUMENTS, ROOT)) == []


def test_what_belongs_to_a_list_item_is_indented_for_the_site():
    assert list(nesting.complaints(ROOT)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_every_command_is_marked_and_can_be_read(document):
    """Also those that are not run."""
    assert commands.complaints(document, ROOT) == ()
