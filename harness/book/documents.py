"""
A document as the checks see it: blocks with their marks, links, anchors, inline code.

In:       a Markdown file of the project.
Out:      Document. BadMark for a comment above a block that is no mark.
Not here: what is asked of commands (commands.py) and of links (links.py); running blocks (runner.py).

A mark is an HTML comment on the line above a fence:

    <!-- run -->              <!-- run exit=1 timeout=900 -->      the block is run
    <!-- long: the reason --> <!-- shown: the reason -->           it is not run
    <!-- file: NAME -->                                            its text is written to that file
    <!-- commands: long: the reason -->                            anywhere: what blocks without a mark have
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pymdownx.slugs import slugify

RUN, LONG, SHOWN, FILE = "run", "long", "shown", "file"
TIMEOUT_S = 600
OF_COMMANDS = ("console", "sh")
TOP = ("README.md", "CONTRIBUTING.md", "FINDINGS.md", "CHANGELOG.md")
DOCS = "docs"

_COMMENT = re.compile(r"\s*<!--\s*(.*?)\s*-->\s*", re.DOTALL)
_RUN = re.compile(r"run((?: (?:exit|timeout)=\d+)*)")
_NOT_RUN = re.compile(r"(long|shown): *(\S.*)", re.DOTALL)
_DEFAULT = re.compile(r"<!--\s*commands: *(.*?)\s*-->", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_ID = re.compile(r"""\b(?:id|name)=["']([^"']+)["']""")
_HEADING_ID = re.compile(r"\s*\{ *#([\w-]+)[^}]*\}\s*$")
_slug = slugify(case="lower")


class BadMark(Exception):
    """A comment above a block that begins like a mark and is none; the message says where."""


class Mark(msgspec.Struct, frozen=True):
    """what: RUN, LONG, SHOWN or FILE. reason: of LONG, SHOWN. exit: of the last command. file: its name."""

    what: str
    reason: str = ""
    exit: int = 0
    timeout_s: int = TIMEOUT_S
    file: str = ""


class Block(msgspec.Struct, frozen=True):
    """A fenced block. line: 1-based, of the fence. language: the first word of its info string."""

    line: int
    language: str
    text: str
    mark: Mark | None


class Link(msgspec.Struct, frozen=True):
    """line: of the paragraph that it stands in. target: as written."""

    line: int
    target: str


class Code(msgspec.Struct, frozen=True):
    """Code within a line of prose. line: of the paragraph."""

    line: int
    text: str


class Document(msgspec.Struct, frozen=True):
    """path: relative to the root. anchors: of headings, as mkdocs and GitHub make them, and of HTML."""

    path: str
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    anchors: frozenset[str]
    code: tuple[Code, ...]
    indented: tuple[Code, ...]


def documents(root: Path) -> tuple[Document, ...]:
    """Every document there is, the ones at the top first."""
    return tuple(read(root, path) for path in paths(root))


def paths(root: Path) -> tuple[Path, ...]:
    top = [root / name for name in TOP if (root / name).is_file()]
    return (*top, *sorted((root / DOCS).rglob("*.md")))


def read(root: Path, path: Path) -> Document:
    return document(str(path.relative_to(root)), path.read_text())


def document(path: str, text: str) -> Document:
    """Errors: BadMark."""
    front = _FRONT_MATTER.match(text)
    if front:  # lines keep their numbers
        text = "\n" * front[0].count("\n") + text[front.end() :]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines = text.splitlines()
    default = _DEFAULT.search(_outside(tokens, lines))
    usual = _mark(f"{path}", default[1]) if default else None
    return Document(
        path,
        tuple(_blocks(path, tokens, lines, usual)),
        tuple(_links(tokens)),
        frozenset(_anchors(tokens)),
        tuple(_inline_code(tokens)),
        tuple(
            Code(_line(token) + at, line)
            for token in tokens
            if token.type == "code_block"
            for at, line in enumerate(token.content.splitlines())
        ),
    )


def _outside(tokens: Iterable[Token], lines: list[str]) -> str:
    """The text without its blocks of code."""
    kept = list(lines)
    for token in tokens:
        if token.type in ("fence", "code_block") and token.map:
            kept[token.map[0] : token.map[1]] = [""] * (token.map[1] - token.map[0])
    return "\n".join(kept)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0


def _blocks(path: str, tokens: Iterable[Token], lines: list[str], usual: Mark | None) -> Iterator[Block]:
    for token in tokens:
        if token.type != "fence":
            continue
        line = _line(token)
        above = lines[line - 2] if line > 1 else ""
        comment = _COMMENT.fullmatch(above)
        language = token.info.split()[0] if token.info.strip() else ""
        mark = _mark(f"{path}:{line - 1}", comment[1]) if comment else None
        if mark is None and language in OF_COMMANDS:
            mark = usual
        yield Block(line, language, token.content, mark)


def _mark(place: str, words: str) -> Mark | None:
    """None of a comment that is about something else. Errors: BadMark."""
    if match := _RUN.fullmatch(words):
        given = dict(part.split("=") for part in match[1].split())
        return Mark(RUN, exit=int(given.get("exit", 0)), timeout_s=int(given.get("timeout", TIMEOUT_S)))
    if match := _NOT_RUN.fullmatch(words):
        return Mark(match[1], reason=match[2])
    if words.startswith("file:") and len(words.split()) == 2:
        return Mark(FILE, file=words.split()[1])
    if re.match(r"(run|long|shown|file)\b", words):
        raise BadMark(
            f"{place}: <!-- {words} --> is no mark; there are run, run exit=N timeout=SECONDS, long: REASON, "
            "shown: REASON, file: NAME"
        )
    return None


def _links(tokens: Iterable[Token]) -> Iterator[Link]:
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                yield Link(_line(token), str(child.attrs["href"]))
            elif child.type == "image":
                yield Link(_line(token), str(child.attrs["src"]))
        html = [token.content] if token.type == "html_block" else []
        html += [child.content for child in token.children or () if child.type == "html_inline"]
        for target in re.findall(r"""\b(?:href|src)=["']([^"']+)["']""", " ".join(html)):
            yield Link(_line(token), target)


def _anchors(tokens: Iterable[Token]) -> Iterator[str]:
    listed = list(tokens)
    seen: dict[str, int] = {}
    for before, token in itertools.pairwise(listed):
        for html in _html(token):
            yield from _ID.findall(html)
        if before.type != "heading_open":
            continue
        text = "".join(
            child.content for child in token.children or () if child.type in ("text", "code_inline")
        )
        if explicit := _HEADING_ID.search(text):
            yield explicit[1]
            continue
        slug = _slug(text, "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        yield f"{slug}_{count}" if count else slug


def _html(token: Token) -> list[str]:
    inside = [child.content for child in token.children or () if child.type == "html_inline"]
    return [token.content, *inside] if token.type == "html_block" else inside


def _inline_code(tokens: Iterable[Token]) -> Iterator[Code]:
    for token in tokens:
        for child in token.children or ():
            if child.type == "code_inline":
                yield Code(_line(token), child.content)
