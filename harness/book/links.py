"""
Links of the documents: to one another, to headings, to files of the repository, and to elsewhere.

In:       all Documents, the root.
Out:      a sentence for each link that leads nowhere; the addresses of external ones; of these, when asked,
          those that do not answer.
Not here: reading the documents (documents.py).

Code that names a file of a room (`kernel/build.py`) is held to it like a link.
"""

import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from harness.book.documents import Document

ROOMS = ("kernel", "workloads", "oracles", "reports", "harness", "docs")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
TIMEOUT_S = 20
_FILE = re.compile(rf"(?:{'|'.join(ROOMS)})/[\w./*-]*")
_PLACEHOLDER = re.compile(r"(?:^|[/.-])[A-Z]+(?:$|[/.-])")


def complaints(documents: Iterable[Document], root: Path) -> Iterator[str]:
    """Every link and file name that leads nowhere, with its place."""
    known = {document.path: document for document in documents}
    for document in known.values():
        for link in document.links:
            if reason := dead(document, link.target, known, root):
                yield f"{document.path}:{link.line}: {link.target}: {reason}"
        for code in document.code:
            if not is_there(code.text, root):
                yield f"{document.path}:{code.line}: {code.text}: there is no such file"


def dead(document: Document, target: str, known: dict[str, Document], root: Path) -> str:
    """Why a link within the repository leads nowhere, or ""; an external one is not looked at."""
    if EXTERNAL.match(target):
        return ""
    name, _, anchor = target.partition("#")
    if name.startswith("/"):
        return "an absolute path; write it relative to the document"
    path = joined(document.path, unquote(name)) if name else document.path
    if path is None:
        return "it leaves the repository"
    if not (root / path).exists():
        return "there is no such file"
    if anchor and path in known and anchor not in known[path].anchors:
        near = ", ".join(sorted(known[path].anchors)) or "none"
        return f"{path} has no such heading; it has: {near}"
    return ""


def joined(document: str, target: str) -> str | None:
    """Where a relative link leads, from the root; None where that is outside."""
    parts: list[str] = []
    for part in (*PurePosixPath(document).parent.parts, *target.split("/")):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def is_there(text: str, root: Path) -> bool:
    """Whether code that names files of a room names some that exist; True of all other code."""
    if not _FILE.fullmatch(text) or _PLACEHOLDER.search(text):
        return True
    name = text.rstrip("/")
    found = [*root.glob(name), *root.glob(f"{name}.*")]  # a series is named without its suffix
    return bool(found)


def external(documents: Iterable[Document]) -> dict[str, str]:
    """Each address with the first place that has it."""
    found: dict[str, str] = {}
    for document in documents:
        for link in document.links:
            if EXTERNAL.match(link.target) and not link.target.startswith("mailto:"):
                found.setdefault(link.target, f"{document.path}:{link.line}")
    return found


def unanswered(addresses: Iterable[str]) -> Iterator[str]:
    """Asks each server. For those who have a network: `--external`."""
    for address in addresses:
        if not address.startswith(("http://", "https://")):
            yield f"{address}: no address of a page"
            continue
        request = urllib.request.Request(address, headers={"User-Agent": "powercut-link-check"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                pass
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            yield f"{address}: {error}"
