"""The sensors of one stream, as columns: the index of each in the arrays, when it was last heard, what it
promised.

Readings come as frames, and nothing here loops over them. The law: `promise` is never later than what every
sensor that may still send has said (its heartbeat, or its latest reading minus the stream's DELAY), or will send next by
the command that it obeys. So, used as a heartbeat of the stream, it makes no reading late that was not late before.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.kernels.arrays import Integers
from nilometer.live.proxies.proxy import SensorProxy
from nilometer.live.proxies.strangers import Strangers
from nilometer.types import floor_to

NEVER = -(2**62)

SPARED = 10
"""A sensor whose battery is nearly empty says so many times less often that time goes on."""


class Members:
    """All sensors of a stream that are declared, or that have said something about themselves, each with its proxy,
    in the order in which they became known. `strangers` are those that only send readings.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.proxies: list[SensorProxy] = []
        self.places: dict[str, int] = {}
        self.since: Integers = np.empty(0, np.int64)
        """When each sensor became known. This and the following columns are times by the gateway's clock, or
        event times.
        """
        self.heard_at: Integers = np.empty(0, np.int64)
        self.latest: Integers = np.empty(0, np.int64)
        self.promised: Integers = np.empty(0, np.int64)
        self.read_at: Integers = np.empty(0, np.int64)
        """When the latest readings were heard."""
        self.interval: Integers = np.empty(0, np.int64)
        """The interval of the command that each sensor obeys; 0 if it is not known."""
        self.told_at: Integers = np.empty(0, np.int64)
        self.attempts: Integers = np.empty(0, np.int64)
        self.gone: npt.NDArray[np.bool_] = np.empty(0, bool)
        self.uncontrolled: npt.NDArray[np.bool_] = np.empty(0, bool)
        self.asleep: npt.NDArray[np.bool_] = np.empty(0, bool)
        self.steady: npt.NDArray[np.bool_] = np.empty(0, bool)
        """Who has sent a reading since it obeys its command: the first one may come between two intervals."""
        self.weak: npt.NDArray[np.bool_] = np.empty(0, bool)
        """Whose battery is nearly empty."""
        self.unanswered: set[int] = set()
        """The sensors that have not acknowledged a command yet."""
        self._id = next(c.name for c in stream.columns if c.name.lower() == "id")
        self._time = next(c.name for c in stream.columns if c.name.lower() == "time")
        self._keys: pl.Series | None = None
        self.strangers = Strangers()
        self.declared = 0
        """How many of them are declared."""

    def __len__(self) -> int:
        return len(self.proxies)

    def ids(self) -> list[int | str]:
        """Their ids, in the stream's type."""
        return [proxy.sensor for proxy in self.proxies]

    def add(self, proxies: Iterable[SensorProxy], now: int) -> None:
        """Add sensors that became known."""
        fresh = [proxy for proxy in proxies if str(proxy.sensor) not in self.places]
        for proxy in fresh:
            self.places[str(proxy.sensor)] = len(self.proxies)
            self.proxies.append(proxy)
        count, more = len(self.proxies), len(fresh)
        self.since = np.concatenate([self.since, np.full(more, now)])
        self.heard_at, self.latest, self.promised, self.read_at, self.told_at = (
            np.concatenate([column, np.full(more, NEVER)])
            for column in (self.heard_at, self.latest, self.promised, self.read_at, self.told_at)
        )
        self.attempts, self.interval = (
            np.concatenate([column, np.zeros(more, np.int64)]) for column in (self.attempts, self.interval)
        )
        self.gone, self.uncontrolled, self.asleep, self.weak, self.steady = (
            np.concatenate([column, np.zeros(more, bool)])
            for column in (self.gone, self.uncontrolled, self.asleep, self.weak, self.steady)
        )
        self._keys = None
        assert len(self.since) == count

    def up_to(self, rows: pl.DataFrame, limit: int | None) -> pl.DataFrame:
        """The readings stamped up to a time; without a limit, all of them."""
        if limit is None or not rows.height:
            return rows
        return rows.filter(pl.col(self._time).is_null() | (pl.col(self._time).cast(pl.Int64) <= limit))

    def hear(self, rows: pl.DataFrame, now: int) -> None:
        """Note readings."""
        latest = rows.group_by(self._id).agg(pl.col(self._time).max())
        latest = latest.filter(pl.col(self._id).is_not_null() & pl.col(self._time).is_not_null())
        if not len(self):
            self.strangers.hear(latest, self._id, self._time, now)
            return
        known = pl.DataFrame({self._id: self._known(), "@place": pl.int_range(len(self), eager=True)})
        found = latest.join(known, on=self._id, how="left")
        self.strangers.hear(found.filter(pl.col("@place").is_null()), self._id, self._time, now)
        found = found.filter(pl.col("@place").is_not_null())
        places = found.get_column("@place").to_numpy()
        self.latest[places] = np.maximum(
            self.latest[places], found.get_column(self._time).cast(pl.Int64).to_numpy()
        )
        self.heard_at[places] = self.read_at[places] = now
        self.steady[places] = self.interval[places] > 0
        self.gone[places] = False

    def obeys(self, place: int, interval: int) -> None:
        """Note the interval of the command that a sensor obeys; 0 if it is not known."""
        if self.interval[place] != interval:
            self.interval[place] = interval
            self.steady[place] = False

    def promise_after(self, summaries: pl.DataFrame) -> None:
        """Note that the sensors of summaries will send nothing up to their times."""
        latest = summaries.group_by(self._id).agg(pl.col(self._time).max())
        places = [self.places.get(str(sensor), -1) for sensor in latest.get_column(self._id).to_list()]
        times = latest.get_column(self._time).cast(pl.Int64).to_numpy() + (self.stream.every or 1)
        for place, time in zip(places, times.tolist(), strict=True):
            if place >= 0:
                self.promised[place] = max(self.promised[place], time)

    def promise(self, now: int, patience: int) -> int | None:
        """The least time promised by all sensors that may still send; None if one has said nothing yet, or
        there is none.
        """
        heard = np.maximum(self.heard_at, self.since)
        active = ~self.gone & ~self.asleep & (heard > now - np.where(self.weak, SPARED, 1) * patience)
        if not active.any():
            return None
        beyond = np.maximum(self.promised, self._next(now))[active]
        least = int(np.maximum(beyond, self.latest[active] - self.stream.delay).min())
        if (beyond > NEVER).any():
            # Otherwise nobody promises more than the readings themselves say.
            least = min(least, self.strangers.latest(now - patience) - self.stream.delay)
        if least <= NEVER:
            return None
        every = self.stream.every
        return least if every is None else floor_to(least, every)

    def _next(self, now: int) -> Integers:
        """The earliest time that each sensor of a sensed stream may still send, where it follows from its command: its
        next sample, or one for a command that it is yet to get. Its clock has gone on since its latest reading as ours
        has, so that one comes no earlier."""
        if self.stream.every is None:
            return np.full(len(self), NEVER)
        interval = np.maximum(self.interval, 1)
        late = self.latest - self.stream.delay
        # Within DELAY, samples may be under way that were taken before the latest one.
        following = (
            -(-late // interval) * interval if self.stream.delay else (late // interval + 1) * interval
        )
        following = np.minimum(following, self.latest + (now - self.read_at))
        return np.where(self.steady & (self.latest > NEVER), following, NEVER)

    def _known(self) -> pl.Series:
        if self._keys is None:
            kind = pl.Int64 if self.stream.id_type.kind.value == "INT" else pl.String
            self._keys = pl.Series(self._id, self.ids(), dtype=kind, strict=False)
        return self._keys
