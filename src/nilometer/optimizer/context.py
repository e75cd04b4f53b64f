"""The rules' information besides the plan: the catalog's sensors and sizes, and the profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nilometer.catalog.catalog import Catalog
from nilometer.catalog.extents import Sensor, Stream, Table
from nilometer.catalog.measured import MeasuredStream
from nilometer.catalog.statistics import DEFAULT_ROWS, stream_statistics
from nilometer.optimizer.profiles import DEFAULT, Profile


class SensorCatalog(Protocol):
    """The part of the catalog that the optimizer reads."""

    def sensors(self, stream_name: str) -> tuple[Sensor, ...]:
        """The declared sensors of a stream."""


@dataclass(frozen=True)
class OptimizerContext:
    """`rows` are the known sizes of stored tables, `statistics` what was measured of streams; both by lower-case
    name."""

    catalog: SensorCatalog
    profile: Profile = DEFAULT
    rows: Mapping[str, int] = field(default_factory=dict)
    statistics: Mapping[str, MeasuredStream] = field(default_factory=dict)

    def measured(self, stream: Stream) -> MeasuredStream | None:
        """The measured statistics of a stream; None: there are none."""
        return self.statistics.get(stream.name.lower())

    def interval(self, stream: Stream) -> int | None:
        """The time between two readings of a source: as declared, else as measured."""
        measured = self.measured(stream)
        return stream.interval or (None if measured is None else measured.interval)

    def sources(self, stream: Stream) -> int:
        """The number of sources of a stream: those that were heard, else its sensors, else the nodes of a network
        that sense it, else one."""
        measured = self.measured(stream)
        if measured is not None and measured.sources:
            return measured.sources
        if isinstance(self.catalog, Catalog) and self.catalog.extent(stream.name) == stream:
            return stream_statistics(self.catalog, stream.name).sources
        return len(self.catalog.sensors(stream.name)) or 1

    def table_rows(self, table: Table) -> int:
        """The number of rows of a stored table, as far as it is known."""
        return self.rows.get(table.name.lower(), DEFAULT_ROWS)
