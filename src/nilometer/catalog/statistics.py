"""The numbers from which cardinalities are estimated: sources, rates, and SNEE's selectivities.

A stream's cardinality is the number of its sources, as in SNEE: its declared sensors, else the nodes of a
network that sense it, else one.

>>> StreamStatistics("river", sources=4, interval=900_000_000).tuples(3_600_000_000)
16.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nilometer.catalog.catalog import Catalog
from nilometer.types import SECOND

INEQUALITY_SELECTIVITY: Final = 1 / 3
"""The share of rows that a comparison other than `=` is assumed to keep."""

EQUALITY_SELECTIVITY: Final = 1 / 10
"""The share of rows that `column = constant` is assumed to keep."""

JOIN_SELECTIVITY: Final = 1 / 20
"""The share of pairs that `column = column` is assumed to keep."""

DEFAULT_INTERVAL: Final = SECOND
"""The interval between the readings of one source if the stream declares no rate."""

DEFAULT_ROWS: Final = 1_000
"""The assumed number of rows of a stored table, because planning does not open the table."""


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """The number of a stream's sources, and the microseconds between readings of one (`assumed`: not
    declared)."""

    stream: str
    sources: int
    interval: int
    assumed: bool = False

    @property
    def rate(self) -> float:
        """Readings per second, of all sources together."""
        return self.sources * SECOND / self.interval

    def tuples(self, duration: int) -> float:
        """The readings expected in that many microseconds: at least one from every source."""
        return self.sources * max(1.0, duration / self.interval)


def stream_statistics(catalog: Catalog, stream_name: str) -> StreamStatistics:
    """The statistics of one stream."""
    stream = catalog.stream(stream_name)
    sensors = len(catalog.sensors(stream_name))
    hosts = max((len(network.hosts(stream_name)) for network in catalog.networks()), default=0)
    interval = stream.interval
    return StreamStatistics(
        stream.name, sensors or hosts or 1, interval or DEFAULT_INTERVAL, interval is None
    )
