"""MJoin: joins k streams on one attribute in a single operator (Viglas, Naughton and Burger, 2003).

There is one hash table per stream. A tuple probes all other tables in its own stream's probing sequence and
is then inserted into its own. The inner join stops at the first empty probe. The outer join goes on and pads
with NULL: "the join probing sequence does not terminate" (SNJoin, section 4). multi_way_result.py defines the
results.

The sequence is by ascending expected fan-out, the matches per probe counted at run time; older counts are
halved every `estimate_every` arrivals. For a pair of streams not probed yet it is the number of tuples held
times the overall selectivity. Up to 200 streams each stream has its own sequence. Beyond that, all streams
share one, because k * k counts would be larger than the tables themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.kernels.read_only import read_only
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals, columns
from nilometer.laboratory.baselines.counters import (
    COMPARISONS,
    MOST_IN_MEMORY,
    PARTIALS,
    PROBES,
    Counters,
    counters,
    new_tally,
)
from nilometer.laboratory.baselines.multi_way_result import CELLS_LIMIT, MultiWayResult, room_for
from nilometer.laboratory.baselines.stream_tables import END, FIRST, StreamTables, bits_of, expire, insert
from nilometer.laboratory.baselines.two_tables import bucket_of
from nilometer.operators.validation import require

OWN_SEQUENCES = 200

Sequences = npt.NDArray[np.int32]

_LISTED = 4096


@dataclass(frozen=True)
class MJoinSpec:
    """With `build`, results are built; otherwise they are only counted. With `lists`, the matches of each
    tuple are written out even if results are not built."""

    streams: int
    window: int
    outer: bool
    build: bool = True
    estimate_every: int = 10_000
    lists: bool = False

    def __post_init__(self) -> None:
        require(self.streams > 1, f"a join of {self.streams} streams")
        require(0 <= self.window < NO_WINDOW, f"window {self.window}")
        require(self.estimate_every > 0, f"an estimate every {self.estimate_every} tuples")


class MJoin:
    """Joins streams 0 to k - 1, merged by time. Tuples of equal time are taken in the order of arrival."""

    def __init__(self, spec: MJoinSpec) -> None:
        self.spec = spec
        self._tables = StreamTables(spec.streams)
        own = spec.streams if spec.streams <= OWN_SEQUENCES else 1
        self._sequences: Sequences = np.tile(np.arange(spec.streams, dtype=np.int32), (own, 1))
        # How far a sequence went tells which tables were probed: only that is counted, once per arrival.
        self._ends = np.zeros((own, spec.streams + 1), dtype=np.int64)
        self._asked = np.zeros((own, spec.streams))
        self._matched = np.zeros((own, spec.streams))
        self._listed: Integers = np.empty((_LISTED, 2), dtype=np.int64)
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0.0

    def feed(self, arrivals: Arrivals) -> MultiWayResult:
        """The results of a batch."""
        self._tables.require_order(arrivals)
        result = room_for(len(arrivals))
        listed = []
        done = 0
        while done < len(arrivals):
            stop = min(
                len(arrivals), done + self.spec.estimate_every - self._arrivals % self.spec.estimate_every
            )
            listed += self._probe(arrivals, done, stop, result)
            self._arrivals += stop - done
            done = stop
            if self._arrivals % self.spec.estimate_every == 0:
                self._estimate()
        total = float(result.counts.sum())
        self._outputs += total
        if not self.spec.build:
            return result
        cells = total * self.spec.streams
        require(
            cells <= CELLS_LIMIT,
            f"{cells:.3g} cells in one batch's results; count them, or feed less at once",
        )
        rows = np.full((int(total), self.spec.streams), -1, dtype=np.int64)
        entries = np.concatenate(listed) if listed else self._listed[:0]
        form(
            rows, result.counts, result.listed, entries, read_only(arrivals.sources), read_only(arrivals.rows)
        )
        return replace(result, rows=rows)

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        return counters(self._tally, self._arrivals, self._outputs, self.spec.streams, len(self._tables))

    @property
    def sequences(self) -> Sequences:
        """The probing sequence of each stream, or the shared one. A stream's own table is skipped."""
        return self._sequences

    def _probe(self, arrivals: Arrivals, start: int, stop: int, result: MultiWayResult) -> list[Integers]:
        listed = []
        while start < stop:
            before = start
            start, count = probe(
                self._tables.tables,
                *columns(arrivals),
                start,
                stop,
                self.spec.window,
                self.spec.outer,
                self.spec.build or self.spec.lists,
                self._sequences,
                self._ends,
                self._matched,
                result.counts,
                result.logarithms,
                result.listed,
                self._listed,
                self._tally,
            )
            listed.append(self._listed[:count].copy())
            if self._tables.full:
                self._tables.grow()
            elif start == before:
                self._listed = np.empty((2 * len(self._listed), 2), dtype=np.int64)
        return listed

    def _estimate(self) -> None:
        held = self._tables.tables.held
        asked = np.empty_like(self._asked)
        went_as_far = np.cumsum(self._ends[:, :0:-1], axis=1)[:, ::-1]
        np.put_along_axis(asked, self._sequences.astype(np.int64), went_as_far.astype(np.float64), axis=1)
        self._asked += asked
        self._ends[:] = 0
        selectivity = self._matched.sum() / max(float((self._asked * held).sum()), 1.0)
        # A prior of one probe with the average outcome: it decides if nothing was probed, and then fades.
        fan_out = (self._matched + held * selectivity) / (self._asked + 1)
        self._sequences = np.argsort(fan_out, axis=1, kind="stable").astype(np.int32)
        self._asked /= 2
        self._matched /= 2


@numba.njit(cache=True)
def probe(  # type: ignore[no-untyped-def]
    tables,
    times,
    sources,
    keys,
    rows,
    start,
    stop,
    window,
    outer,
    build,
    sequences,
    ends,
    matched,
    counts,
    logarithms,
    sizes,
    listed,
    tally,
):
    """Process arrivals [start, stop), until the ring or `listed` (stream, row) is full. Returns the next
    arrival, and how many were listed."""
    bits = bits_of(tables)
    slots = len(tables.keys)
    mask = slots - 1
    streams = tables.heads.shape[1]
    used = 0
    for arrival in range(start, stop):
        source, key, time = sources[arrival], keys[arrival], times[arrival]
        expire(tables, time - window)
        first = tables.limits[FIRST]
        if tables.limits[END] - first == slots:
            return arrival, used
        bucket = bucket_of(key, bits)
        heads = tables.heads[bucket]
        line = source if len(sequences) > 1 else 0
        began, compared, probes, held = used, 0, 0, 0
        product, logarithm, partials = 1.0, 0.0, 0.0
        for step in range(streams):
            stream = sequences[line, step]
            if stream == source:
                continue
            probes += 1
            found = 0
            number = heads[stream]
            while number >= first:
                compared += 1
                slot = number & mask
                if tables.keys[slot] == key:
                    if build:
                        if used == len(listed):
                            return arrival, began
                        listed[used, 0] = stream
                        listed[used, 1] = tables.rows[slot]
                        used += 1
                    found += 1
                number = tables.previous[slot]
            if found:
                matched[line, stream] += found
                held += found
                if found > 1:
                    product *= found
                    logarithm += np.log(found)
            elif not outer:
                product, logarithm = 0.0, -np.inf
                used, held = began, 0
                break
            partials += product
        ends[line, step + 1] += 1
        counts[arrival] = product
        logarithms[arrival] = logarithm
        sizes[arrival] = held
        insert(tables, bucket, source, key, time, rows[arrival])
        tally[PROBES] += probes
        tally[COMPARISONS] += compared
        tally[PARTIALS] += partials
        tally[MOST_IN_MEMORY] = max(tally[MOST_IN_MEMORY], tables.limits[END] - first)
    return stop, used


@numba.njit(cache=True)
def form(rows, counts, sizes, listed, sources, own):  # type: ignore[no-untyped-def]
    """Fill in the results: for each arrival the product of its lists. The lists follow one another, each with
    its stream's rows side by side."""
    begin = top = np.int64(0)
    for arrival in range(len(counts)):
        end = begin + sizes[arrival]
        results = np.int64(counts[arrival])
        for result in range(results):
            rows[top + result, sources[arrival]] = own[arrival]
        repeat = 1
        place = np.int64(begin)
        while place < end:
            stream = listed[place, 0]
            length = 1
            while place + length < end and listed[place + length, 0] == stream:
                length += 1
            # The odometer: the first list turns fastest.
            for result in range(results):
                rows[top + result, stream] = listed[place + (result // repeat) % length, 1]
            repeat *= length
            place += length
        begin = end
        top += results
