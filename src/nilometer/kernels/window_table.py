"""Joins N streams in hash tables: the N-tuples of equal numbers whose times are within every width.

It is a symmetric hash join of N streams, like MJoin (Viglas, Naughton and Burger, VLDB 2003): STEAM's HW-join
(section 6.2.3) as one compiled loop. Arrivals are processed in the order given. Each one probes the others'
tables, stream after stream, for rows that came before it, and is inserted into its own. So an N-tuple is
found once, by its last member, and no partial tuple is ever stored.

The tables are rings. A stream's rows are numbered 0, 1, ... in order of arrival, a bucket is a chain from its
newest row to older ones, and one value's heads lie side by side. To expire rows, `first` moves forward; a
chain ends at the first number before it, so cold buckets need no sweeper (algorithms, 4.4). A walk leaves a
chain where all older rows are too old; `slack` is by how much rows came out of time order. With a single
bucket the same walk is the NLW-join (section 6.2.2): nested loops over the rows within the period, from the
newest on.

>>> table = WindowTable(np.array([[0, 5], [5, 0]]), np.array([[1], [0]]))
>>> ports, times = np.array([0, 1, 1]), np.array([3, 8, 9])
>>> [found] = table.feed(ports, times, np.array([7, 7, 7], dtype=np.uint64), 10)
>>> found.tolist()
[[0], [0]]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np

from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.read_only import read_only

_SLOTS = 256
_BITS = 6
_MOST_BITS = 22
GONE = -(2**62)
"""The time that marks a row dropped before it expired: it is earlier than any other."""
_FEWEST_RESULTS = 65_536


class Tables(NamedTuple):
    """The tables, by port and number modulo the ring's length: `times`, `numbers`, `previous` in the bucket.

    `heads` are by bucket and port. By port: the number of the `first` row and the `end`, how many rows are
    `held`, the `latest` time, and by how much a row was behind it (`slack`).
    """

    times: Integers
    numbers: Words
    previous: Integers
    heads: Integers
    first: Integers
    end: Integers
    held: Integers
    latest: Integers
    slack: Integers


class Walk(NamedTuple):
    """The position of a probe, so that it can continue.

    `place` is the arrival and the depth (-1: not begun). By depth: the next row, the least and the greatest
    time. By port: the chosen row, and its time.
    """

    place: Integers
    cursors: Integers
    lows: Integers
    highs: Integers
    rows: Integers
    times: Integers


class WindowTable:
    """`widths` by two ports, as the bounds imply them; `orders` has for each port the others in the order of
    probing; `hashed` says whether there are buckets."""

    def __init__(self, widths: Integers, orders: Integers, *, hashed: bool = True) -> None:
        self._widths, self._orders = read_only(widths), read_only(orders)
        self._ports = len(widths)
        self._most_bits = _MOST_BITS if hashed else 0
        self.tables = _empty(self._ports, _SLOTS, min(_BITS, self._most_bits))

    def __len__(self) -> int:
        return int(self.tables.held.sum())

    @property
    def first(self) -> Integers:
        """By port the number of the first row held."""
        return self.tables.first

    def feed(self, ports: Integers, times: Integers, numbers: Words, limit: int) -> Iterator[Integers]:
        """The new N-tuples, by port their rows, at most `limit` at once. Take all of them before the next
        call."""
        self._reserve(np.bincount(ports, minlength=self._ports))
        arrivals = (read_only(ports), read_only(times), read_only(numbers))
        depths, each = np.zeros(self._ports, dtype=np.int64), np.zeros(self._ports, dtype=np.int64)
        walk = Walk(np.array([0, -1]), depths, depths.copy(), depths.copy(), each, each.copy())
        size = min(limit, max(_FEWEST_RESULTS, 2 * len(ports)))
        while walk.place[0] < len(ports):
            found = np.empty((self._ports, size), dtype=np.int64)
            count = probe(self.tables, *arrivals, self._widths, self._orders, walk, found)
            if count:
                yield found[:, :count]
            size = limit

    def insert(self, port: int, times: Integers, numbers: Words) -> None:
        """Insert rows that have been probed for already."""
        counts = np.zeros(self._ports, dtype=np.int64)
        counts[port] = len(times)
        self._reserve(counts)
        insert_all(self.tables, port, read_only(times), read_only(numbers))

    def expire(self, bounds: Integers) -> None:
        """By port, drop rows before a time from the front, up to the first that is not."""
        move_on(self.tables, read_only(bounds))

    def forget(self, horizon: int) -> None:
        """Drop all rows before a time, wherever they are."""
        give_up(self.tables, horizon)
        move_on(self.tables, np.full(self._ports, horizon))

    def times(self, port: int) -> Integers:
        """The times of the rows held."""
        tables = self.tables
        numbers = np.arange(tables.first[port], tables.end[port])
        held: Integers = tables.times[port, numbers & (tables.times.shape[1] - 1)]
        kept: Integers = held[held != GONE]
        return kept

    def _reserve(self, more: Integers) -> None:
        old = self.tables
        most = int((old.end - old.first + more).max())
        slots, bits = old.times.shape[1], old.heads.shape[0].bit_length() - 1
        while slots < most:
            slots *= 2
        while 1 << bits < 2 * most and bits < self._most_bits:
            bits += 1
        if slots > old.times.shape[1] or 1 << bits > old.heads.shape[0]:
            self.tables = _empty(self._ports, slots, bits)
            move(old, self.tables)


def _empty(ports: int, slots: int, bits: int) -> Tables:
    return Tables(
        times=np.empty((ports, slots), dtype=np.int64),
        numbers=np.empty((ports, slots), dtype=np.uint64),
        previous=np.empty((ports, slots), dtype=np.int64),
        heads=np.full((1 << bits, ports), -1, dtype=np.int64),
        first=np.zeros(ports, dtype=np.int64),
        end=np.zeros(ports, dtype=np.int64),
        held=np.zeros(ports, dtype=np.int64),
        latest=np.full(ports, GONE, dtype=np.int64),
        slack=np.zeros(ports, dtype=np.int64),
    )


@numba.njit(cache=True)
def bucket_of(tables, number):  # type: ignore[no-untyped-def]
    """The upper bits of a product, which spread consecutive whole numbers."""
    return np.int64((number * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & (tables.heads.shape[0] - 1)


@numba.njit(cache=True)
def insert(tables, port, time, number, bucket):  # type: ignore[no-untyped-def]
    """Insert a row into its stream's table."""
    row = tables.end[port]
    slot = row & (tables.times.shape[1] - 1)
    tables.times[port, slot] = time
    tables.numbers[port, slot] = number
    tables.previous[port, slot] = tables.heads[bucket, port]
    tables.heads[bucket, port] = row
    tables.end[port] = row + 1
    if time != GONE:
        tables.held[port] += 1
        tables.latest[port] = max(tables.latest[port], time)
        tables.slack[port] = max(tables.slack[port], tables.latest[port] - time)


@numba.njit(cache=True)
def insert_all(tables, port, times, numbers):  # type: ignore[no-untyped-def]
    """Insert rows into their stream's table."""
    for place in range(len(times)):
        insert(tables, port, times[place], numbers[place], bucket_of(tables, numbers[place]))


@numba.njit(cache=True)
def move(old, new):  # type: ignore[no-untyped-def]
    """Move all rows into empty tables, under the numbers that they have."""
    mask = old.times.shape[1] - 1
    for port in range(len(old.first)):
        new.first[port] = new.end[port] = old.first[port]
        for row in range(old.first[port], old.end[port]):
            number = old.numbers[port, row & mask]
            insert(new, port, old.times[port, row & mask], number, bucket_of(new, number))
        new.latest[port], new.slack[port] = old.latest[port], old.slack[port]


@numba.njit(cache=True)
def move_on(tables, bounds):  # type: ignore[no-untyped-def]
    """Drop the rows that are too old from the front of each table."""
    mask = tables.times.shape[1] - 1
    for port in range(len(bounds)):
        row = tables.first[port]
        while row < tables.end[port] and tables.times[port, row & mask] < bounds[port]:
            if tables.times[port, row & mask] != GONE:
                tables.held[port] -= 1
            row += 1
        tables.first[port] = row


@numba.njit(cache=True)
def give_up(tables, horizon):  # type: ignore[no-untyped-def]
    """Mark the rows that are too old as gone."""
    mask = tables.times.shape[1] - 1
    for port in range(len(tables.first)):
        for row in range(tables.first[port], tables.end[port]):
            if GONE < tables.times[port, row & mask] < horizon:
                tables.times[port, row & mask] = GONE
                tables.held[port] -= 1


@numba.njit(cache=True)
def probe(tables, ports, times, numbers, widths, orders, walk, found):  # type: ignore[no-untyped-def]
    """Fill `found` from the walk's position; returns how many it found. At the end the walk's arrival is past
    the last."""
    mask = tables.times.shape[1] - 1
    streams = len(tables.first)
    first, heads = tables.first, tables.heads
    single = heads.shape[0] == 1
    count, limit = 0, found.shape[1]
    at, depth = walk.place
    while at < len(ports):
        port, number = ports[at], numbers[at]
        bucket = bucket_of(tables, number)
        if depth < 0:
            # Most arrivals find a stream without any partner, so that is checked before the walk begins.
            depth = 0
            for other in range(streams):
                if other != port and heads[bucket, other] < first[other]:
                    depth = -1
                    break
            if depth == 0:
                other = orders[port, 0]
                walk.rows[port], walk.times[port] = tables.end[port], times[at]
                walk.cursors[0] = heads[bucket, other]
                walk.lows[0] = times[at] - widths[port, other]
                walk.highs[0] = times[at] + widths[port, other]
        while depth >= 0:
            other = orders[port, depth]
            row, low, high = walk.cursors[depth], walk.lows[depth], walk.highs[depth]
            too_old = low - tables.slack[other]
            time = np.int64(0)
            met = False
            while row >= first[other]:
                time = tables.times[other, row & mask]
                if time < too_old and time != GONE:
                    break
                if low <= time <= high and tables.numbers[other, row & mask] == number:
                    met = True
                    break
                # In a single bucket the previous row is row - 1: not reading it makes the scan twice as fast.
                row = row - 1 if single else tables.previous[other, row & mask]
            if not met:
                depth -= 1
                continue
            if depth == streams - 2:
                if count == limit:
                    walk.cursors[depth] = row
                    walk.place[0], walk.place[1] = at, depth
                    return count
                for chosen in range(streams):
                    found[chosen, count] = walk.rows[chosen]
                found[other, count] = row
                count += 1
                walk.cursors[depth] = tables.previous[other, row & mask]
                continue
            walk.cursors[depth] = tables.previous[other, row & mask]
            walk.rows[other], walk.times[other] = row, time
            depth += 1
            following = orders[port, depth]
            low = walk.times[port] - widths[port, following]
            high = walk.times[port] + widths[port, following]
            for before in range(depth):
                chosen = orders[port, before]
                low = max(low, walk.times[chosen] - widths[chosen, following])
                high = min(high, walk.times[chosen] + widths[chosen, following])
            walk.cursors[depth] = heads[bucket, following]
            walk.lows[depth], walk.highs[depth] = low, high
        insert(tables, port, times[at], number, bucket)
        at += 1
    walk.place[0], walk.place[1] = at, -1
    return count
