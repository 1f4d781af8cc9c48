"""
The history of all nights: an SQLite file, with a version and a step from each version to the next.

In:       what a night did, as it does it.
Out:      Rows of earlier nights: when a workload was last run and how it went; findings, first and last seen.
Not here: what is made of it: tonight's plan (plan.py), states of findings (compare.py), pages (results.py).

Every write is one transaction, so a night that is killed leaves a history that is whole. Only one process
writes: night.py holds the folder's lock.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

NAME = "nightly.db"

# By version, oldest first: what makes the next version of the one before. A step is never changed once it was
# released; a change of the schema is a further step.
STEPS = (
    """
    CREATE TABLE night (
        number INTEGER PRIMARY KEY, started TEXT NOT NULL, ended TEXT NOT NULL DEFAULT '',
        budget_s REAL NOT NULL, spent_s REAL NOT NULL DEFAULT 0, seed INTEGER NOT NULL,
        powercut TEXT NOT NULL, exit INTEGER NOT NULL DEFAULT 3,
        session REAL NOT NULL);
    CREATE TABLE kernel (
        night INTEGER NOT NULL REFERENCES night, name TEXT NOT NULL, tree TEXT NOT NULL, branch TEXT NOT NULL,
        word TEXT NOT NULL, hash TEXT NOT NULL, subject TEXT NOT NULL, author TEXT NOT NULL,
        date TEXT NOT NULL, folder TEXT NOT NULL, version TEXT NOT NULL, guest TEXT NOT NULL,
        skipped TEXT NOT NULL DEFAULT '',
        trouble TEXT NOT NULL DEFAULT '', arch TEXT NOT NULL DEFAULT '',
        compiler TEXT NOT NULL DEFAULT '', build_s REAL NOT NULL DEFAULT 0,
        compared INTEGER NOT NULL DEFAULT 0, build TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (night, name));
    CREATE TABLE cell (
        night INTEGER NOT NULL REFERENCES night, kernel TEXT NOT NULL, profile TEXT NOT NULL,
        done INTEGER NOT NULL DEFAULT 0, trouble TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (night, kernel, profile));
    CREATE TABLE round (
        night INTEGER NOT NULL, kernel TEXT NOT NULL, profile TEXT NOT NULL, round INTEGER NOT NULL,
        run TEXT NOT NULL, states INTEGER NOT NULL, seconds REAL NOT NULL,
        PRIMARY KEY (night, kernel, profile, round));
    CREATE TABLE chosen (
        night INTEGER NOT NULL, kernel TEXT NOT NULL, profile TEXT NOT NULL, round INTEGER NOT NULL,
        place INTEGER NOT NULL,
        workload TEXT NOT NULL, word TEXT NOT NULL, hash TEXT NOT NULL, reason TEXT NOT NULL,
        bounds TEXT NOT NULL DEFAULT '', position INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (night, kernel, profile, workload));
    CREATE TABLE experiment (
        night INTEGER NOT NULL, kernel TEXT NOT NULL, profile TEXT NOT NULL, workload TEXT NOT NULL,
        round INTEGER NOT NULL, number INTEGER NOT NULL, hash TEXT NOT NULL, powercut TEXT NOT NULL,
        bounds TEXT NOT NULL,
        seconds REAL NOT NULL, states INTEGER NOT NULL, verdict TEXT NOT NULL,
        PRIMARY KEY (night, kernel, profile, workload));
    CREATE INDEX experiment_place ON experiment (kernel, profile, bounds, night);
    CREATE INDEX experiment_night ON experiment (kernel, profile, night);
    CREATE TABLE generated (hash TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL);
    CREATE TABLE position (
        kernel TEXT NOT NULL, profile TEXT NOT NULL, bounds TEXT NOT NULL, next INTEGER NOT NULL,
        PRIMARY KEY (kernel, profile, bounds));
    CREATE TABLE finding (
        kernel TEXT NOT NULL, signature TEXT NOT NULL, oracle TEXT NOT NULL, known TEXT NOT NULL,
        first_night INTEGER NOT NULL, last_night INTEGER NOT NULL, state TEXT NOT NULL,
        profile TEXT NOT NULL, workload TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL,
        spec TEXT NOT NULL, expected TEXT NOT NULL, found TEXT NOT NULL,
        shown INTEGER NOT NULL DEFAULT -1, times INTEGER NOT NULL DEFAULT 0,
        minimal TEXT NOT NULL DEFAULT '', minimal_id TEXT NOT NULL DEFAULT '',
        exports TEXT NOT NULL DEFAULT '[]', bisect TEXT NOT NULL DEFAULT '',
        culprit TEXT NOT NULL DEFAULT '', culprit_words TEXT NOT NULL DEFAULT '',
        good TEXT NOT NULL DEFAULT '', bad TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '',
        todo TEXT NOT NULL DEFAULT '', PRIMARY KEY (kernel, signature));
    CREATE TABLE sighting (
        night INTEGER NOT NULL, kernel TEXT NOT NULL, signature TEXT NOT NULL, profile TEXT NOT NULL,
        workload TEXT NOT NULL, PRIMARY KEY (night, kernel, signature, profile, workload));
    CREATE TABLE state (
        night INTEGER NOT NULL, kernel TEXT NOT NULL, signature TEXT NOT NULL, state TEXT NOT NULL,
        words TEXT NOT NULL, PRIMARY KEY (night, kernel, signature));
    CREATE TABLE learnt (
        night INTEGER NOT NULL, kernel TEXT NOT NULL, signature TEXT NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (night, kernel, signature));
    CREATE TABLE told (night INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (night, event));
    """,
)
VERSION = len(STEPS)
Row = sqlite3.Row


class BadHistory(Exception):
    """The file is no history of ours, or of a newer Powercut; the message names it."""


class Chosen(msgspec.Struct, frozen=True):
    """A workload for tonight. word: as `powercut run` takes it. reason: why it is run. bounds, position: of a
    generated one, where it lies in its rotation."""

    workload: str
    word: str
    hash: str
    reason: str
    bounds: str = ""
    position: int = 0


class Last(msgspec.Struct, frozen=True):
    """When a workload was last run on a kernel and profile. powercut: the commit of Powercut then."""

    night: int
    hash: str
    powercut: str
    verdict: str
    seconds: float


class History:
    """Use as a context: open_history()."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, words: str, *values: Any) -> list[Row]:
        return self._connection.execute(words, values).fetchall()

    def one(self, words: str, *values: Any) -> Row | None:
        found: Row | None = self._connection.execute(words, values).fetchone()
        return found

    def write(self, words: str, *values: Any) -> None:
        with self._connection:
            self._connection.execute(words, values)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[sqlite3.Connection]:
        """All that the body writes, or nothing."""
        with self._connection:
            yield self._connection

    def put(self, table: str, **values: Any) -> None:
        """A row, in place of an older one with the same key."""
        with self._connection:
            put_in(self._connection, table, values)

    def change(self, table: str, key: Mapping[str, Any], **values: Any) -> None:
        """Columns of the rows of this key."""
        sets = ", ".join(f"{name} = ?" for name in values)
        where = " AND ".join(f"{name} = ?" for name in key)
        self.write(f"UPDATE {table} SET {sets} WHERE {where}", *values.values(), *key.values())

    # --- what plans and comparisons ask ---

    def last_runs(self, kernel: str, profile: str) -> dict[str, Last]:
        """By workload, its last experiment; without generated ones, of which there are many."""
        found = self.rows(
            "SELECT workload, night, hash, powercut, verdict, seconds FROM experiment "
            "WHERE kernel = ? AND profile = ? AND bounds = '' ORDER BY night",
            kernel,
            profile,
        )
        return {row["workload"]: Last(*tuple(row)[1:]) for row in found}

    def failed_since(self, kernel: str, profile: str, nights: int) -> set[str]:
        """Workloads in which a promise was broken or a verdict is UNKNOWN in the last so many nights that ran
        anything here."""
        found = self.rows(
            "SELECT DISTINCT workload FROM experiment WHERE kernel = ?1 AND profile = ?2 "
            "AND verdict != 'HOLDS' AND night IN (SELECT DISTINCT night FROM experiment "
            "WHERE kernel = ?1 AND profile = ?2 ORDER BY night DESC LIMIT ?3)",
            kernel,
            profile,
            nights,
        )
        return {row["workload"] for row in found}

    def positions(self, kernel: str, profile: str) -> dict[str, int]:
        """By bounds, the next place of the rotation."""
        found = self.rows(
            "SELECT bounds, next FROM position WHERE kernel = ? AND profile = ?", kernel, profile
        )
        return {row["bounds"]: row["next"] for row in found}

    def mean_seconds(self, kernel: str, profile: str) -> float | None:
        """Of an experiment of the last night here; None before the first one."""
        row = self.one(
            "SELECT avg(seconds) AS mean FROM experiment WHERE kernel = ?1 AND profile = ?2 AND night = "
            "(SELECT max(night) FROM experiment WHERE kernel = ?1 AND profile = ?2)",
            kernel,
            profile,
        )
        return row["mean"] if row else None


def put_in(connection: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> None:
    names = ", ".join(values)
    marks = ", ".join("?" for _ in values)
    connection.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", list(values.values()))


def put_all(connection: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        put_in(connection, table, row)


@contextlib.contextmanager
def open_history(path: Path, steps: Sequence[str] = STEPS) -> Iterator[History]:
    """Made when it is not there; an older one is brought to this version. Errors: BadHistory."""
    connection = sqlite3.connect(path)
    try:
        connection.row_factory = sqlite3.Row
        migrate(connection, path, steps)
        yield History(connection)
    except sqlite3.DatabaseError as error:
        raise BadHistory(f"{path} cannot be read as a history of nights: {error}") from error
    finally:
        connection.close()


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[str]) -> None:
    """Each step whole or not at all. Errors: BadHistory; sqlite3.DatabaseError."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(steps):
        raise BadHistory(
            f"{path}: schema version {version}, written by a newer Powercut; this one knows 1 to {len(steps)}"
        )
    for at in range(version, len(steps)):
        # executescript() commits what is open before it; so the whole step is one script.
        connection.executescript(f"BEGIN; {steps[at]}; PRAGMA user_version = {at + 1}; COMMIT;")
