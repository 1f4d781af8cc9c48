"""
Known bugs as sections of a report: what a reader without the repository needs to know of them.

In:       the findings of a summary; the text of docs/findings/ID.md, by ID.
Out:      KnownSection after KnownSection, in the order of their IDs, with the text as markup.
Not here: where these pages lie and what their front matter says (harness/evidence/bugs.py), which finding is
          which bug (harness/evidence/known.py), the page (templates/known.html).

A report is read without a network and sent by mail, so it cannot link to a file of the repository: the text
stands in the report.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import markdown_it
import markupsafe
import msgspec
from markdown_it.token import Token

from reports.results import Finding, KnownAs

FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"\A\s*# .*\n")  # the section has it as its heading
OTHER_PAGE = re.compile(r"(?P<id>[A-Z0-9]+-\d+)\.md")
WEB = ("https://", "http://")


class KnownSection(msgspec.Struct, frozen=True):
    """text: "" where the page was not at hand. findings: of this run, that are this bug."""

    known: KnownAs
    findings: tuple[Finding, ...]
    text: markupsafe.Markup


def known_sections(findings: Iterable[Finding], texts: Mapping[str, str]) -> list[KnownSection]:
    named: dict[str, KnownAs] = {}
    shown: dict[str, list[Finding]] = {}
    for finding in findings:
        for one in finding.known:
            named.setdefault(one.id, one)
            shown.setdefault(one.id, []).append(finding)
    return [
        KnownSection(named[bug], tuple(shown[bug]), markup(texts.get(bug, ""), named))
        for bug in sorted(named, key=_order)
    ]


def _order(bug: str) -> tuple[str, int]:
    filesystem, _, number = bug.rpartition("-")
    return filesystem, int(number) if number.isdecimal() else 0


def markup(text: str, sections: Collection[str]) -> markupsafe.Markup:
    """A page without its front matter and title; its headings are below that of the section. sections: the
    IDs that a link can lead to."""
    body = TITLE.sub("", COMMENT.sub("", FRONT_MATTER.sub("", text)))
    # Markup in the text is shown as text; a picture would be another file.
    reader = markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(body)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        if token.children:
            token.children = list(_with_own_links(token.children, sections))
    return markupsafe.Markup(reader.renderer.render(tokens, reader.options, {}))


def _with_own_links(tokens: Sequence[Token], sections: Collection[str]) -> Iterable[Token]:
    """Links to the web and to other sections; of all others only the words."""
    kept = True
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrs.get("href", ""))
            other = OTHER_PAGE.fullmatch(target)
            if other and other["id"] in sections:
                token.attrs["href"] = f"#{other['id']}"
            kept = target.startswith(WEB) or bool(other and other["id"] in sections)
        if kept or token.type not in ("link_open", "link_close"):
            yield token
