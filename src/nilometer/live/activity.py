"""What every query of a running station does: the numbers of `nilometer top`.

The law: looking costs a running query nothing. The size of a state is that of the last checkpoint; that of a client's
query, which has no checkpoints, is measured at most every `LOOK` of the clock, and only while somebody looks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nilometer.types import INT_MAXIMUM, INT_MINIMUM, SECOND

if TYPE_CHECKING:
    from nilometer.live.station import Station

LOOK = 10 * SECOND


@dataclass(frozen=True)
class Activity:
    """Counters since the query began, `seconds` of computing since its process did. An operator that several queries
    share counts for each of them with its part; `shared` is the number of other queries with which it shares anything.
    `lag`: microseconds from the watermark to the clock; None before the first reading."""

    query: str
    kind: str
    host: str
    rows_in: int
    rows_out: int
    late: int
    seconds: float
    state_bytes: int | None
    lag: int | None
    shared: int
    trouble: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


class Activities:
    """Looks at a station's queries."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._sizes: dict[str, tuple[int, int]] = {}

    def now(self) -> list[Activity]:
        """One for each query that runs."""
        station = self._station
        names = list(station.queries)
        self._sizes = {name: size for name, size in self._sizes.items() if name in station.queries}
        return [self._of(name) for name in names]

    def _of(self, name: str) -> Activity:
        station = self._station
        live, ledger, work = station.queries[name], station.reports.ledger(name), station.reports.work(name)
        trouble = live.trouble or live.stale if live.failure is None else live.failure.message
        watermark = live.watermark
        # There is no event time before the first reading, nor after the end.
        heard = watermark is not None and INT_MINIMUM < watermark < INT_MAXIMUM
        return Activity(
            name,
            "standing" if station.reports.is_standing(name) else "client",
            station.reports.host(name),
            ledger.read,
            live.rows,
            ledger.late,
            work.nanoseconds / 1e9,
            self._size(name),
            station.clock() - watermark if heard and watermark is not None else None,
            work.others,
            trouble,
        )

    def _size(self, name: str) -> int | None:
        found = self._station.reports.saved_bytes(name)
        if (
            found is not None
            or self._station.reports.is_standing(name)
            or self._station.queries[name].failure is not None
        ):
            return found
        at, size = self._sizes.get(name, (None, 0))
        now = self._station.clock()
        if at is None or abs(now - at) >= LOOK:
            size = self._station.graph.state_bytes(name)
            self._sizes[name] = now, size
        return size
