"""The stored tables of one standing query in a pipeline, and how the query meets a new version of one.

    a read finds the table changed ─► Hold ─► the query reads nothing more; the round says how far it has answered
    ─► the version is recorded, to hold from the next tick on ─► Refresh ─► the query goes on

The owner reads tables and records their versions, as for the queries of the gateway (stored_tables.py). Spark runs the query
meanwhile, and only it knows which ticks are answered: hence the halt, which lasts two rounds, and comes only when a table has
changed. The law: a version is on record before the pipeline is told of it. So a run that begins after a crash hands out the
same versions at the same ticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.dataflow.sources import TableVersion
from nilometer.errors import ResourceError
from nilometer.live.stored_tables import StoredTables
from nilometer.log import Offset

if TYPE_CHECKING:
    from nilometer.live.checkpoints import Panes

Tables = tuple[dict[str, pl.DataFrame], tuple[TableVersion, ...]]
"""The first versions of a query's tables, and the later ones."""
VERSIONS_BYTES = 256 << 20
"""The size of the recorded versions that a run may be given at its beginning."""


@dataclass
class PipelineTables:
    """A query's tables, by lower-case name in `stored`. `held`: the pipeline was asked to halt the query."""

    name: str
    stored: StoredTables
    held: bool = False
    _frontier: tuple[int | None] | None = None
    _held_at: Mapping[str, Offset] | None = None

    def begin(self, panes: Panes | None) -> Tables:
        """A run begins with this state: the first versions of the tables, and those on record that the state has not met. What
        it still needs of the others is in it."""
        from nilometer.spark.shared.ways import versions_met

        self.held, self._frontier, self._held_at = False, None, None
        first = {name: self.stored.first(table) for name, table in self.stored.tables.items()}
        later = tuple(self.stored.all_recorded(versions_met(panes or {})))
        size = sum(int(rows.estimated_size()) for version in later for rows in version.tables.values())
        if size > VERSIONS_BYTES:
            raise ResourceError(
                f"the recorded versions of the tables of '{self.name}' have {size >> 20:,} MiB,"
                f" and a pipeline takes {VERSIONS_BYTES >> 20:,}",
                hint=f"nilometer queries trim {self.name} deletes those that no reading can meet any more;"
                " or run the query on the gateway",
            )
        return first, later

    def asks_to_hold(self, now: int, at: Mapping[str, Offset]) -> bool:
        """Whether a table has changed, so that the query, which has read up to `at`, must be halted."""
        if self.held or not self.stored.due(now) or not self.stored.changed(now) or at == self._held_at:
            return False
        self.held = True
        return True

    def note(self, frontier: int | None) -> None:
        """The query is halted; it may have answered for ticks up to this one. Spark says so in a thread of its own."""
        self._frontier = (frontier,)

    def refreshed(self, now: int, at: Mapping[str, Offset]) -> tuple[TableVersion, ...] | None:
        """The versions that the halted query meets next, which are on record; None while it is not halted."""
        if self._frontier is None:
            return None
        (frontier,), self._frontier, self.held = self._frontier, None, False
        found = tuple(self.stored.refreshed(frontier, now))
        # Before it has read anything, a query that goes on does not know how far it has answered. It is not halted again
        # before it has moved.
        self._held_at = None if found else at
        return found
