"""Reads one query's answers from the commit log (shared_log.py), as a result log of its own would give them.

One `SharedResults` is one era of the query: a run of commits whose columns keep their types. Answers below the
query's first kept position (`floor`) were trimmed, and commits below its first number belong to a query that was
dropped or replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import polars as pl

from nilometer.errors import DataError
from nilometer.log import Offset
from nilometer.log.local_files import LocalFiles
from nilometer.log.reader import Cursor
from nilometer.log.results.result_log import Commit
from nilometer.log.results.shared_log import PLACE, ColumnEra, index_at
from nilometer.log.schema import arrow_schema, check_change
from nilometer.log.segment import segment_ids
from nilometer.operators.frames import empty, from_bytes


@dataclass(frozen=True)
class Found:
    """One commit of a query: its rows, the position of the first, and the place after its record: the number of the
    next entry of the commit log, and the position of the query's next row."""

    number: int
    version: str
    rows: pl.DataFrame
    position: int
    after: Offset


class SharedResults:
    """The answers of one era of a query, for reading. It has the reading side of a `ResultLog`."""

    def __init__(self, directory: Path, name: str, number: int, floor: int = 0) -> None:
        self.directory = directory
        self.name = name.lower()
        self.files = LocalFiles(directory / PLACE)
        self._number = number
        self._floor = floor

    @property
    def era(self) -> ColumnEra:
        """The era."""
        place = index_at(self.directory).place(self.name)
        assert place is not None, "a query that is not in the commit log"
        return place.eras[self._number]

    @property
    def _end(self) -> int:
        place = index_at(self.directory).place(self.name)
        assert place is not None, "a query that is not in the commit log"
        following = place.eras[self._number + 1 :]
        return following[0].position if following else place.rows

    @property
    def last(self) -> Commit | None:
        """The query's last commit, if it is of this era."""
        place = index_at(self.directory).place(self.name)
        return None if place is None or self._number < len(place.eras) - 1 else place.commit

    @property
    def rows(self) -> int:
        """The number of rows ever answered in this era."""
        return self._end - self.era.position

    @property
    def trimmed(self) -> int:
        """The number of rows that retention has deleted."""
        era = self.era
        return min(self.rows, max(0, self._floor - era.position, self._first() - era.position))

    def _first(self) -> int:
        """The position of the first row that is still in the log."""
        ids = segment_ids(self.files)
        if not ids or ids[0].number == 0:
            return self.era.position
        found = next(self.found(Offset()), None)
        return self._end if found is None else found.position

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of the answers."""
        return dict(self.era.columns)

    def fits(self, columns: Mapping[str, pl.DataType]) -> bool:
        """Whether the answers can be read in these columns."""
        try:
            check_change(arrow_schema(self.columns), arrow_schema(columns))
        except DataError:
            return False
        return True

    def answers(self, position: int = 0) -> Iterator[pl.DataFrame]:
        """The rows from a position of the era on."""
        columns = self.columns
        first = max(self.era.position + position, self._floor)
        for found in self.found(Offset()):
            skipped = max(0, first - found.position)
            if found.rows.height > skipped:
                yield _conformed(found.rows[skipped:], columns)

    def commits(self) -> Iterator[Commit]:
        """The last commit; older ones are not described."""
        if self.last is not None:
            yield self.last

    def found(self, offset: Offset) -> Iterator[Found]:
        """The commits of this era at and after an offset of the commit log, with their rows."""
        yield from self.read(Cursor(self.files, offset))

    def read(self, cursor: Cursor) -> Iterator[Found]:
        """The commits of this era that a cursor on the commit log has not passed."""
        era, end = self.era, self._end
        place = index_at(self.directory).place(self.name)
        assert place is not None, "a query that is not in the commit log"
        for entry in cursor:
            if entry.rows is None:
                continue
            mine = entry.rows.filter((pl.col("query") == self.name) & (pl.col("rows") > 0))
            for line in mine.select(pl.exclude("data")).iter_rows(named=True):
                if (
                    line["first"] + line["rows"] <= self._floor
                    or line["number"] < era.number
                    or not era.position <= line["first"] < max(end, line["first"] + 1)
                ):
                    continue
                if (
                    self._number + 1 < len(place.eras)
                    and line["number"] >= place.eras[self._number + 1].number
                ):
                    continue
                data = entry.rows.get_column("data")[line["blob"]]
                rows = from_bytes(data).slice(line["start"], line["rows"])
                yield Found(
                    line["number"],
                    line["version"],
                    rows,
                    line["first"],
                    Offset(entry.after.number, line["first"] + line["rows"]),
                )

    @property
    def first(self) -> int:
        """The position, counted over all logs of the query, of the first row that is left."""
        return self.era.position + self.trimmed

    def reader(self, name: str) -> str:
        """The name under which a reader of this query's answers keeps its place in the commit log."""
        return f"{name}-{blake2b(self.name.encode(), digest_size=6).hexdigest()}"

    def close(self) -> None:
        """Nothing to release."""


def shared_results(directory: Path, name: str, floor: int = 0) -> list[SharedResults]:
    """The eras of a query in the commit log, oldest first."""
    place = index_at(directory).place(name)
    return [] if place is None else [SharedResults(directory, name, n, floor) for n in range(len(place.eras))]


def _conformed(rows: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    if rows.schema == dict(columns):
        return rows
    nothing = empty(dict(columns))
    return pl.concat(
        [nothing, rows.select([name for name in rows.columns if name in columns])], how="diagonal"
    ).select(list(columns))
