"""
The rows of a campaign: a file for each batch, and what is asked of all of them.

In:       rows of a batch.
Out:      batches/KEY.parquet, there whole or not at all; merge(), many of them in one file; Table: totals,
          findings, and any question in SQL.
Not here: what a row says (rows.py), the page (reports/pages/campaign.py).

The files are Parquet, written and read by DuckDB. It is one package without others, which writes Parquet and
answers SQL over all files at once; pyarrow writes the same files at three times the size of the package, and
has no SQL. Any other program that reads Parquet reads them, too.
"""

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from harness.campaign.file import BadCampaign
from harness.campaign.rows import Row
from harness.evidence.store import PARTIAL

FOLDER = "batches"
SUFFIX = ".parquet"
MERGED = "merged-"  # before the key of the first batch in it
MERGE = 64  # files of one batch
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
    "proven": "UINTEGER",
    "unknown": "UINTEGER",
    "judged_holds": "UINTEGER",
    "judged_broken": "UINTEGER",
    "judged_unknown": "UINTEGER",
    "trouble": "VARCHAR",
    "found": SHOWN,
    "checked": "UINTEGER",
    "unasked": "UINTEGER",
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
    "proven",
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
    merged, single = files_of(campaign)
    return {*single, *(key for path in merged for key in contained(path))}


def files_of(campaign: Path) -> tuple[list[Path], dict[str, Path]]:
    """Merged files; and by key those of one batch that no merged file has."""
    paths = sorted((campaign / FOLDER).glob(f"*{SUFFIX}"))
    merged = [path for path in paths if path.name.startswith(MERGED)]
    there = {key for path in merged for key in contained(path)}
    single = {path.stem: path for path in paths if not path.name.startswith(MERGED)}
    return merged, {key: path for key, path in single.items() if key not in there}


@functools.cache
def contained(merged: Path) -> tuple[str, ...]:
    """The keys of the batches in a merged file, which never changes. Errors: OSError."""
    with connected() as database:
        known = f"parquet_kv_metadata({quoted(str(merged))})"
        query = f"SELECT decode(value) FROM {known} WHERE decode(key) = 'batches'"
        try:
            [(keys,)] = database.execute(query).fetchall()
        except duckdb.IOException as error:
            raise OSError(f"{merged}: {error}") from error
    return tuple(str(keys).split())


def merge(campaign: Path, least: int = MERGE) -> None:
    """When there are so many files of one batch, one of them all: a query over a million rows in 1,700 files
    takes twenty times as long as in one. The merged file appears whole, and names what it has; until the
    others are gone they do not count. Errors: OSError."""
    merged, single = files_of(campaign)
    for path in (campaign / FOLDER).glob(f"*{SUFFIX}"):  # of a head that was killed between the two
        if path not in merged and path.stem not in single:
            path.unlink()
    if len(single) < least:
        return
    place = campaign / FOLDER / f"{MERGED}{min(single)}{SUFFIX}"
    listed = ", ".join(quoted(str(path)) for path in single.values())
    with _appearing(place) as (aside, database):
        database.execute(
            f"COPY (SELECT * FROM read_parquet([{listed}]) ORDER BY experiment) TO {quoted(str(aside))} "
            f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{batches: '{' '.join(sorted(single))}'}})"
        )
    for path in single.values():
        path.unlink()


def write_batch(campaign: Path, key: str, rows: Sequence[Row]) -> Path:
    """Errors: OSError."""
    place = place_of(campaign, key)
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    with _appearing(place) as (aside, database), tempfile.NamedTemporaryFile(suffix=".json") as lines:
        lines.write(b"\n".join(msgspec.json.encode(row) for row in rows))
        lines.flush()
        database.execute(
            f"COPY (SELECT * FROM read_json({quoted(lines.name)}, format = 'newline_delimited', "
            f"columns = {{{columns}}})) TO {quoted(str(aside))} (FORMAT parquet, COMPRESSION zstd)"
        )
    return place


@contextlib.contextmanager
def _appearing(place: Path) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    """A name to write to, which becomes `place` when it is whole, and a database to write it with.
    Errors: OSError."""
    aside = place.with_name(place.name + PARTIAL)
    try:
        with connected() as database:
            yield aside, database
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(place)
    except duckdb.IOException as error:
        raise OSError(f"{place}: {error}") from error
    finally:
        aside.unlink(missing_ok=True)


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
    """Use as a context. All rows that are there; of more than one campaign, as of the shards of one file,
    those of all."""

    def __init__(self, *campaigns: Path) -> None:
        self._campaigns = campaigns
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Table":
        self._database = self._stack.enter_context(connected())
        self._look()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _look(self) -> None:
        """Which files there are."""
        files = []
        for campaign in self._campaigns:
            merged, single = files_of(campaign)
            files += [*merged, *single.values()]
        if files:
            listed = ", ".join(quoted(str(path)) for path in files)
            rows = f"SELECT * FROM read_parquet([{listed}])"
        else:
            columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in COLUMNS.items())
            rows = f"SELECT {columns} WHERE false"
        self._database.execute(f"CREATE OR REPLACE VIEW experiments AS {rows}")

    def asked(self, query: str) -> list[dict[str, Any]]:
        """Of a query that a user wrote. Errors: BadCampaign when it is wrong; OSError."""
        try:
            return self.rows(query)
        except duckdb.Error as error:
            raise BadCampaign(f"--sql: {error}") from error

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Errors: duckdb.Error when the query is wrong; OSError."""
        cursor = self._execute(query, list(values))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _execute(self, query: str, values: list[Any]) -> duckdb.DuckDBPyConnection:
        """Once more where the head has merged the files meanwhile. Errors: as rows()."""
        try:
            return self._database.execute(query, values)
        except duckdb.IOException:
            self._look()
        except RuntimeError as error:  # what it makes of Ctrl-C and SIGTERM
            if "interrupted" not in str(error).lower():
                raise
            raise KeyboardInterrupt from None
        try:
            return self._database.execute(query, values)
        except duckdb.IOException as error:
            raise OSError(f"{' '.join(map(str, self._campaigns))}: {error}") from error
        except RuntimeError as error:  # what it makes of Ctrl-C and SIGTERM
            if "interrupted" not in str(error).lower():
                raise
            raise KeyboardInterrupt from None

    def as_text(self, target: Path, counted: bool = True) -> None:
        """As CSV in the order of the experiments, what tells neither of time nor of machines. counted: with
        COUNTED, and the states that show each finding. Errors: OSError."""
        shown = "found" if counted else "list_sort(list_distinct([one.signature for one in found]))"
        names = ", ".join((*VERDICTS, *(COUNTED if counted else ()), f"to_json({shown}) AS found"))
        aside = target.with_name(target.name + PARTIAL)
        try:
            self._execute(
                f"COPY (SELECT {names} FROM experiments ORDER BY experiment) TO {quoted(str(aside))} "
                "(FORMAT csv, HEADER)",
                [],
            )
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
