"""The readings that a database has for a query's streams, as input for motes, and the gaps in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.catalog.extents import Stream
from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import NodeId
from nilometer.errors import DataError
from nilometer.plan import physical
from nilometer.types import DAY

if TYPE_CHECKING:
    import polars as pl

    from nilometer.engine.query import Query
    from nilometer.placement import Placement


@dataclass(frozen=True)
class LogsAtHand:
    """The non-empty logs, and the declarations of all streams of the query, by lower-case name."""

    logs: Mapping[str, pl.DataFrame]
    streams: Mapping[str, Stream]

    def begin(self) -> int | None:
        """The tick of the first reading; None if there are no readings."""
        return min((self._span(name)[0] for name in self.logs), default=None)

    def check(self, placement: Placement) -> None:
        """Refuse logs with which some stream would never be sensed, because it has no readings or only those
        of other nodes."""
        if not self.logs:
            return
        for name, sites in sensing_sites(placement).items():
            if name not in self.logs:
                raise DataError(
                    f"there are no readings of '{name}', but there are of {join_names(self.logs, 'and')}",
                    detail="motes sense what the data directory has, of all streams of a query or of none",
                    hint=f"add {name}.csv to it, or take the other files away: then readings are made up",
                )
            found = self._identifiers(name)
            if not found & set(sites):
                raise DataError(
                    f"no reading of '{name}' is of a node that senses it",
                    detail=f"the readings are of {join_names(sorted(map(str, found)), 'and')},"
                    f" the nodes are {join_names(map(str, sites), 'and')}",
                    hint="sensors and nodes must have the same ids: correct those of the network, or of the readings",
                )

    def lacks(self, placement: Placement, duration: int) -> list[str]:
        """The gaps for a run of `duration` microseconds: readings that are missing for some node or at the
        end of the run, and readings without a node."""
        notes: list[str] = []
        begin = self.begin()
        if begin is None:
            return notes
        for name, sites in sensing_sites(placement).items():
            silent = [site for site in sites if site not in self._identifiers(name)]
            if silent:
                notes.append(f"there are no readings of '{name}' from {join_names(map(str, silent), 'and')}")
            strangers = self._identifiers(name) - set(placement.network.hosts(name))
            if strangers:
                notes.append(left_out(name, sorted(strangers, key=str)))
            left = self._span(name)[1] - begin
            if left < duration:
                notes.append(
                    f"the readings of '{name}' end after {left / DAY:.2f} of {duration / DAY:.2f} days:"
                    " from then on nothing is sensed"
                )
        return notes

    def _identifiers(self, name: str) -> set[NodeId]:
        column = self.streams[name].column("id")
        assert column is not None
        return set(self.logs[name].get_column(column.name).drop_nulls().unique())

    def _span(self, name: str) -> tuple[int, int]:
        """From the tick of the first reading that is not late (the log may be out of order) to the tick after
        the last reading."""
        stream = self.streams[name]
        column = stream.column("time")
        assert column is not None
        every = stream.every or 1
        times = self.logs[name].get_column(column.name).drop_nulls().to_physical()
        ticks = times // every * every
        latest = ticks.cum_max()
        return int(ticks.filter(ticks >= latest - stream.delay).sort()[0]), int(latest[-1]) + every


def left_out(stream: str, strangers: Sequence[NodeId]) -> str:
    """A sentence about readings of sensors that are not in the network."""
    names = join_names(map(str, strangers), "and")
    return f"readings of '{stream}' from {names} are left out: no node of that id senses it"


def logs_at_hand(query: Query) -> LogsAtHand:
    """The readings of each stream of the query that has any."""
    import polars as pl

    from nilometer.dataflow import Batch

    found: dict[str, pl.DataFrame] = {}
    streams = physical.streams_of(query.physical)
    for name, stream in streams.items():
        parts = [
            e.rows for e in query.database.data.entries(stream) if isinstance(e, Batch) and e.rows.height
        ]
        if parts:
            found[name] = pl.concat(parts)
    return LogsAtHand(found, streams)


def sensing_sites(placement: Placement) -> dict[str, tuple[NodeId, ...]]:
    """The sites that sense each stream, by its lower-case name."""
    found: dict[str, dict[NodeId, None]] = {}
    for fragment in placement.fragments.leaves:
        for acquire in fragment.acquires:
            sites = dict.fromkeys(placement.placed.sites_of[fragment.number])
            found.setdefault(acquire.stream.name.lower(), {}).update(sites)
    return {name: tuple(sites) for name, sites in found.items()}
