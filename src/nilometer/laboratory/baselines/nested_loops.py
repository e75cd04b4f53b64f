"""Nested loops over the buffers of N streams: N-tuples of like values within a window of each other.

Every new tuple is compared with all buffered tuples of the next stream, each partner with all of the one
after it, and so on (STEAM, section 6.2.1). So an N-tuple is made once, by its last member to arrive. The
values of an N-tuple differ by at most `reach`, its times by at most the window. Tuples are dropped only when
the owner asks for it; until then tuples outside the window are compared all the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.kernels.read_only import read_only
from nilometer.kernels.similar_pairs import Values
from nilometer.laboratory.baselines.arrivals import Arrivals, columns, require_streams
from nilometer.laboratory.baselines.counters import COMPARISONS, MOST_IN_MEMORY, PROBES, Tally
from nilometer.laboratory.baselines.two_tables import LEAST_TIME
from nilometer.operators.validation import require

_SLOTS = 1024
_FOUND = 4096


class Buffers(NamedTuple):
    """The tuples of each stream (first index), their number, and the stream's latest time."""

    times: Integers
    values: Values
    rows: Integers
    counts: Integers
    latest: Integers


class NestedLoops:
    """Joins `streams` streams, each in time order."""

    def __init__(self, streams: int, kind: type[np.int64] | type[np.float64], reach: float) -> None:
        require(streams > 1, f"a join of {streams} streams")
        self.streams = streams
        self._reach = kind(reach)
        values: npt.NDArray[Any] = np.empty((streams, _SLOTS), dtype=kind)
        self._buffers = Buffers(
            times=np.empty((streams, _SLOTS), dtype=np.int64),
            values=values,
            rows=np.empty((streams, _SLOTS), dtype=np.int64),
            counts=np.zeros(streams, dtype=np.int64),
            latest=np.full(streams, LEAST_TIME, dtype=np.int64),
        )
        self._found: Integers = np.empty((_FOUND, streams), dtype=np.int64)

    def __len__(self) -> int:
        return int(self._buffers.counts.sum())

    def feed(self, arrivals: Arrivals, window: int, tally: Tally) -> Integers:
        """The new N-tuples, a column of rows for each stream."""
        require_streams(arrivals, self.streams)
        require(arrivals.values.dtype == self._buffers.values.dtype, f"values of {arrivals.values.dtype}")
        if arrivals.values.dtype == np.int64 and len(arrivals):
            require(int(np.abs(arrivals.values).max()) < 2**62, "values whose difference may overflow")
        times, sources, _, rows = columns(arrivals)
        values = read_only(arrivals.values)
        found = []
        done = 0
        while done < len(arrivals):
            before = done
            done, count = loop(
                self._buffers, times, sources, values, rows, done, window, self._reach, self._found, tally
            )
            found.append(self._found[:count].copy())
            if int(self._buffers.counts.max()) == self._buffers.times.shape[1]:
                self._grow()
            elif done == before:
                self._found = np.empty((2 * len(self._found), self.streams), dtype=np.int64)
        return np.concatenate(found) if found else np.empty((0, self.streams), dtype=np.int64)

    def purge(self, window: int) -> None:
        """Drop tuples that are more than the window before the latest tuple of ALL other streams. One other
        stream is not enough, because older tuples of the others may still come (STEAM, section 6.2.1)."""
        buffers = self._buffers
        for stream in range(self.streams):
            slowest = int(np.delete(buffers.latest, stream).min())
            count = int(buffers.counts[stream])
            kept = np.flatnonzero(buffers.times[stream, :count] >= slowest - window)
            for column in (buffers.times, buffers.values, buffers.rows):
                column[stream, : len(kept)] = column[stream, kept]
            buffers.counts[stream] = len(kept)

    def _grow(self) -> None:
        old = self._buffers
        self._buffers = Buffers(
            _wider(old.times), _wider(old.values), _wider(old.rows), old.counts, old.latest
        )


def _wider(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.concatenate((column, np.empty_like(column)), axis=1)


@numba.njit(cache=True)
def loop(buffers, times, sources, values, rows, start, window, reach, found, tally):  # type: ignore[no-untyped-def]
    """Process arrivals from `start` on, until they end or a buffer or `found` is full. Returns the next
    arrival and the number found."""
    streams, slots = buffers.times.shape
    places = np.zeros(streams, dtype=np.int64)
    # Of the first d members: their latest and oldest time, their least and greatest value.
    latest = np.empty(streams + 1, dtype=np.int64)
    oldest = np.empty(streams + 1, dtype=np.int64)
    least = np.empty(streams + 1, dtype=values.dtype)
    most = np.empty(streams + 1, dtype=values.dtype)
    count = 0
    held = np.int64(0)
    for stream in range(streams):
        held += buffers.counts[stream]
    for arrival in range(start, len(times)):
        source = sources[arrival]
        if buffers.counts[source] == slots:
            return arrival, count
        began, probes, compared = count, 1, 0
        latest[1] = oldest[1] = times[arrival]
        least[1] = most[1] = values[arrival]
        depth = 1
        places[1] = 0
        while depth > 0:
            stream = (source + depth) % streams
            place, end = places[depth], buffers.counts[stream]
            compared -= place
            # The join spends its time in this loop, so it is a tight one.
            low, high = least[depth], most[depth]
            while place < end:
                value = buffers.values[stream, place]
                if high - value <= reach and value - low <= reach:
                    break
                place += 1
            if place == end:
                compared += end
                depth -= 1
                continue
            compared += place + 1
            places[depth] = place + 1
            value, time = buffers.values[stream, place], buffers.times[stream, place]
            if latest[depth] - time > window or time - oldest[depth] > window:
                continue
            if depth < streams - 1:
                latest[depth + 1] = max(latest[depth], time)
                oldest[depth + 1] = min(oldest[depth], time)
                least[depth + 1] = min(least[depth], value)
                most[depth + 1] = max(most[depth], value)
                depth += 1
                places[depth] = 0
                probes += 1
                continue
            if count == len(found):
                return arrival, began
            found[count, source] = rows[arrival]
            for member in range(1, streams):
                other = (source + member) % streams
                found[count, other] = buffers.rows[other, places[member] - 1]
            count += 1
        tally[PROBES] += probes
        tally[COMPARISONS] += compared
        place = buffers.counts[source]
        buffers.times[source, place] = times[arrival]
        buffers.values[source, place] = values[arrival]
        buffers.rows[source, place] = rows[arrival]
        buffers.counts[source] = place + 1
        buffers.latest[source] = max(buffers.latest[source], times[arrival])
        held += 1
        tally[MOST_IN_MEMORY] = max(tally[MOST_IN_MEMORY], held)
    return len(times), count
