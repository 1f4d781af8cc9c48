"""
The rows of a campaign: a file for each batch, and what is asked of all of them.

In:       rows of a batch.
Out:      batches/KEY.parquet, there whole or not at all; Table: totals, findings, and any question in SQL.
Not here: what a row says (rows.py), the page (reports/pages/campaign.py).

The files are Parquet, written and read by DuckDB. It is one package without others, which writes Parquet and
answers SQL over all files at once; pyarrow writes the same files at three times the size of the package, and
has no SQL. Any other program that reads Parquet reads them, too.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from harness.campaign.rows import Row
from harness.evidence.store import PARTIAL

FOLDER = "batches"
SUFFIX = ".parquet"
SHOWN = "STRUCT(signature VARCHAR, state VARCHAR, place INTEGER, count INTEGER)[]"
COLUMNS = {
    "bounds": "VARCHAR",
    "number": "UBIGINT",
    "kernel": "VARCHAR",
    "profile": "VARCHAR",
    "workload": "VARCHAR",
    "answer": "VARCHAR",
    "experiment": "UBIGINT",
    "operations": "UINTEGER",
    "entries": "UINTEGER",
    "states": "UINTEGER",
    "recovered": "UINTEGER",
    "identical": "UINTEGER",
    "unknown": "UINTEGER",
    "judged_holds": "UINTEGER",
    "judged_broken": "UINTEGER",
    "judged_unknown": "UINTEGER",
    "trouble": "VARCHAR",
    "found": SHOWN,
    "checked": "UINTEGER",
    "proven": "UINTEGER",
    "record_s": "FLOAT",
    "recover_s": "FLOAT",
    "judge_s": "FLOAT",
    "ended": "DOUBLE",
    "worker": "VARCHAR",
}
# Of every campaign of the same file the same. COUNTED are, too, where a workload is recorded the same way
# each time: a log of btrfs or ext4 now and then has an entry more or less. The others tell of time and
# machines.
VERDICTS = (
    "bounds",
    "number",
    "kernel",
    "profile",
    "workload",
    "answer",
    "experiment",
    "operations",
    "trouble",
)
COUNTED = (
    "entries",
    "states",
    "recovered",
    "identical",
    "unknown",
    "judged_holds",
    "judged_broken",
    "judged_unknown",
)
assert tuple(COLUMNS) == Row.__struct_fields__


def place_of(campaign: Path, key: str) -> Path:
    return campaign / FOLDER / f"{key}{SUFFIX}"


def keys_done(campaign: Path) -> set[str]:
    """Of the batches that are there."""
    return {path.stem for path in (campaign / FOLDER).glob(f"*{SUFFIX}")}


def write_batch(campaign: Path, key: str, rows: Sequence[Row]) -> Path:
    """Errors: OSError."""
    place = place_of(campaign, key)
    aside = place.with_name(place.name + PARTIAL)
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    try:
        with tempfile.NamedTemporaryFile(suffix=".json") as lines, connected() as database:
            lines.write(b"\n".join(msgspec.json.encode(row) for row in rows))
            lines.flush()
            database.execute(
                f"COPY (SELECT * FROM read_json({quoted(lines.name)}, format = 'newline_delimited', "
                f"columns = {{{columns}}})) TO {quoted(str(aside))} (FORMAT parquet, COMPRESSION zstd)"
            )
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(place)
    except duckdb.IOException as error:
        raise OSError(f"{place}: {error}") from error
    finally:
        aside.unlink(missing_ok=True)
    return place


@contextlib.contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """In memory, with no more threads than a page may take from the guests."""
    database = duckdb.connect(config={"threads": "2"})
    try:
        yield database
    finally:
        database.close()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Table:
    """Use as a context. All rows of the batches that were there at its beginning."""

    def __init__(self, campaign: Path, batches: Iterable[str] | None = None) -> None:
        self._campaign = campaign
        self._keys = keys_done(campaign) if batches is None else set(batches)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Table":
        self._database = self._stack.enter_context(connected())
        files = [str(place_of(self._campaign, key)) for key in sorted(self._keys)]
        if files:
            listed = ", ".join(map(quoted, files))
            self._database.execute(f"CREATE VIEW experiments AS SELECT * FROM read_parquet([{listed}])")
        else:
            columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
            self._database.execute(f"CREATE TABLE experiments ({columns})")
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Errors: duckdb.Error when the query is wrong; OSError."""
        try:
            cursor = self._database.execute(query, list(values))
        except duckdb.IOException as error:
            raise OSError(f"{self._campaign}: {error}") from error
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def as_text(self, target: Path, counted: bool = True) -> None:
        """As CSV in the order of the experiments, what tells neither of time nor of machines. counted: with
        COUNTED, and the states that show each finding. Errors: OSError."""
        shown = "found" if counted else "list_sort(list_distinct([one.signature for one in found]))"
        names = ", ".join((*VERDICTS, *(COUNTED if counted else ()), f"to_json({shown}) AS found"))
        aside = target.with_name(target.name + PARTIAL)
        try:
            self._database.execute(
                f"COPY (SELECT {names} FROM experiments ORDER BY experiment) TO {quoted(str(aside))} "
                "(FORMAT csv, HEADER)"
            )
            aside.replace(target)
        except duckdb.IOException as error:
            raise OSError(f"{target}: {error}") from error
        finally:
            aside.unlink(missing_ok=True)
