"""
`powercut bench --history`: what earlier benches gave, and whether the newest is slower.

In:       the figures of a bench, as they come.
Out:      bench-history.jsonl in the user's cache, a line a bench; a table, and a page with a plot.
Not here: the bench (bench.py), what a slowdown is (reports/pages/bench_history.py).
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.store import write_whole
from harness.evidence.summary import shown
from harness.local import version
from harness.runs.run import machine_facts
from kernel import cache
from reports.pages.bench_history import Point, charts, in_order, of_one_machine, rows, slowdowns, verdict
from reports.pages.html import environment


class NoHistory(Exception):
    """Nothing was kept, or it cannot be read."""


def place() -> Path:
    return cache.root() / "bench-history.jsonl"


def machine_words() -> str:
    facts = machine_facts()
    return f"{facts['processor']}, {facts['processors']} processors, Linux {facts['host_kernel']}"


def keep(kernel: str, load: float, figures: dict[str, dict[str, float]]) -> Point:
    """One more line. Errors: OSError."""
    point = Point(
        commit=version.commit(),
        when=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        machine=machine_words(),
        kernel=kernel,
        load=round(load, 2),
        figures=figures,
    )
    place().parent.mkdir(parents=True, exist_ok=True)
    with place().open("ab") as file:
        file.write(msgspec.json.encode(point) + b"\n")
    return point


def kept() -> list[Point]:
    """The oldest first. A line that a power cut left half written is passed over. Errors: NoHistory."""
    try:
        lines = place().read_bytes().splitlines()
    except FileNotFoundError as error:
        raise NoHistory(f"{place()}: there is no history yet. Each powercut bench adds a point") from error
    points = []
    for number, line in enumerate(lines, 1):
        try:
            points.append(msgspec.json.decode(line, type=Point))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number < len(lines):
                raise NoHistory(f"{place()}: line {number} cannot be read: {error}") from error
    if not points:
        raise NoHistory(f"{place()}: the history is empty. Each powercut bench adds a point")
    return in_order(points)


def show(out: Path, as_json: bool) -> int:
    """Exit status 1 when the newest is slower. Errors: NoHistory, OSError."""
    points = kept()
    if as_json:
        print(msgspec.json.encode(points).decode())
    else:
        out.mkdir(parents=True, exist_ok=True)
        page = out / "bench-history.html"
        write_whole(page, page_of(points).encode())
        print("\n".join([*rows(points), "", *verdict(points), f"page {shown(page)}"]))
    return 1 if slowdowns(points) else 0


def page_of(points: Sequence[Point]) -> str:
    context: dict[str, Any] = {
        "machine": points[-1].machine,
        "slow": slowdowns(points),
        "verdict": verdict(points),
        "charts": charts(points),
        "rows": rows(of_one_machine(points)),
    }
    return environment().get_template("bench.html").render(**context)


def load_now() -> float:
    return os.getloadavg()[0]
