"""
The generated parts of reference/words.md: the words, the kinds of fault, what may not stand in parallel.

In:       the words (workloads/text.py) and their manual (workloads/manual.py); the bounds of threads.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand.
"""

from collections.abc import Iterator
from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import code, table
from workloads.library import library
from workloads.manual import GROUPS, manual
from workloads.text import FAULTS, WORDS, Argument, Kind, usage
from workloads.threads import ORDERS_MAX, REFUSED, THREADS_MAX, THREADS_MIN, WRITE_BYTES_MAX

PAGE = Path("docs/reference/words.md")


def generated(root: Path) -> dict[Path, str]:
    parts = {
        "overview": overview(),
        "words": "\n".join(words()),
        "faults": faults(),
        "refused": refused(),
        "library": in_library(),
    }
    return {PAGE: filled(root / PAGE, parts)}


def overview() -> str:
    return table(
        ("about", "words"),
        [(heading, ", ".join(f"[`{word}`](#{word})" for word in group)) for heading, group in GROUPS.items()],
    )


def words() -> Iterator[str]:
    for heading, group in GROUPS.items():
        yield f"\n### {heading}"
        for word in group:
            yield from section(word)


def section(word: str) -> Iterator[str]:
    page = manual()[word]
    yield f"\n#### {word}\n"
    yield f"`{usage(word) if word != 'fault' else 'fault KIND'}`\n"
    yield f"{page.does}\n"
    rows = [(code(each.shown), argument(each)) for each in WORDS[word].arguments if word != "fault"]
    rows += [("system calls", page.calls), ("failure", page.fails)]
    yield table(("part", "meaning"), rows)
    yield f"\n```text\n{example(word)}\n```"


def argument(of: Argument) -> str:
    if of.kind is Kind.MODE:
        return f"one of {', '.join(map(code, of.choices))}"
    if of.kind is Kind.FLAGS:
        return f"some of {', '.join(map(code, of.choices))}, joined by commas"
    return str(of.kind.value)


def example(word: str) -> str:
    """The text of a whole workload."""
    page = manual()[word]
    setup = "".join(f"  {line}\n" for line in page.setup.splitlines())
    run = "\n".join(f"  {line}" for line in page.example.splitlines())
    return (f"setup\n{setup}" if setup else "") + f"run\n{run}"


def faults() -> str:
    rows = []
    for kind, word in FAULTS.items():
        shown = [each.shown for each in word.arguments]
        optional = f" [{' '.join(shown)}]" if word.optional else "".join(f" {each}" for each in shown)
        rows.append((f"`fault {kind}{optional}`", word.meaning))
    return table(("operation", "meaning"), rows)


def refused() -> str:
    rows = [(code(word), reason) for word, reason in REFUSED.items()]
    bounds = (
        f"A block has {THREADS_MIN} to {THREADS_MAX} threads. A write in a block takes "
        f"{WRITE_BYTES_MAX >> 10}K at most. All blocks of a workload together may have "
        f"{ORDERS_MAX:,} orders of their operations."
    )
    return f"{bounds}\n\n{table(('word', 'why it may not stand in a block: it'), rows)}"


def in_library() -> str:
    themes: dict[str, int] = {}
    for workload in library():
        themes[workload.theme] = themes.get(workload.theme, 0) + 1
    listed = ", ".join(f"{theme} ({count})" for theme, count in themes.items())
    return f"The library has {len(library())} workloads in {len(themes)} themes: {listed}."
