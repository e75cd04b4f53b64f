"""How many rows a second the standing queries answer, over the last ten seconds; sampled by the station's loop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nilometer.live.station import Station

SECONDS = 10


class Rates:
    """Sampled once a second, which costs one look at each query."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, dict[str, int]]] = deque(maxlen=SECONDS + 1)

    def look(self, station: Station) -> None:
        """In the loop, after a turn."""
        now = self._clock()
        if not self._samples or now - self._samples[-1][0] >= 1.0:
            self._samples.append((now, {name.lower(): live.rows for name, live in station.queries.items()}))

    def of(self, name: str) -> float | None:
        """The rate of a query; None until there are two samples of it."""
        found = [(at, rows[name.lower()]) for at, rows in list(self._samples) if name.lower() in rows]
        if len(found) < 2:
            return None
        (begin, before), (end, after) = found[0], found[-1]
        return max(0.0, (after - before) / (end - begin))
