"""Appends commits to a Delta table: `delta:DIR`, exactly once, without Spark and without Java.

The rows of a group of commits are one version of the table. Its entry in the table's log also says which commit of ours is the
last in it, as Delta's transaction identifiers do: `txn` with the query and its data directory as application, and the number of
the commit as version. So rows and place are written in one atomic step, and several queries may fill one table. Commits are
gathered for `every` (10 s), so that files are not tiny.

A new version of the query may have more columns: the table gets them, nullable. TIME is a timestamp in UTC, POINT a struct of x
and y; DURATION, which Delta does not have, is whole microseconds. Spark, DuckDB, Polars and others read the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.log.failpoints import Failpoint
from nilometer.sinks.sink import Answered, Origin, Sink, rows_in
from nilometer.sinks.values import outward
from nilometer.types import SECOND


class DeltaSink(Sink):
    """A sink that appends to one table."""

    every = 10 * SECOND
    group_rows = 1_000_000

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        super().__init__(address, origin, failpoint)
        if find_spec("deltalake") is None:
            raise ConfigurationError(
                "Delta's library is not installed: deltalake is missing",
                hint="pip install 'nilometer[delta]'",
            )
        if self.start_now:
            # A table without columns, which would say that the answers up to now are left out, cannot be made.
            raise ConfigurationError(
                "a Delta table takes all answers of a query, from the first one on",
                hint="leave out start=now",
            )
        self._table = Path(address.path).absolute()

    @property
    def name(self) -> str:
        return f"delta:{self._table}"

    def open(self) -> None:
        from deltalake import DeltaTable

        with self._reached():
            there = DeltaTable.is_deltatable(str(self._table))
            self.last = DeltaTable(str(self._table)).transaction_version(str(self.origin)) if there else None

    def write(self, commits: Sequence[Answered]) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake

        rows, last = rows_in(commits), commits[-1]
        if rows.height:  # commits without rows need no version of the table
            self.failpoint("before_append")
            with self._reached():
                self._table.parent.mkdir(parents=True, exist_ok=True)
                write_deltalake(
                    str(self._table),
                    _without_durations(outward(rows, last.schema)).to_arrow(),
                    mode="append",
                    schema_mode="merge",
                    commit_properties=CommitProperties(
                        app_transactions=[Transaction(str(self.origin), last.number)]
                    ),
                )
            self.failpoint("after_append")
        self.last = last.number

    @contextmanager
    def _reached(self) -> Iterator[None]:
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError) as error:
            raise ResourceError(
                f"{self.name} cannot be written", detail=str(error).splitlines()[0] if str(error) else None
            ) from error


def _without_durations(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.selectors.duration().cast(pl.Int64))
