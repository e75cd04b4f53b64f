"""Reads logs: which tuples are accepted, and how far the watermark has come.

These are the rules of the language. The tick of a pushed tuple is its time; the tick of a sensed one is its
time rounded down to the acquisition interval. A stream's watermark W advances in log order: it is the
greatest tick so far less DELAY, or the time of a heartbeat. A tuple whose tick lies below the W before it is
late and is in no answer. A query's W is the minimum over its streams, and tick T is evaluated when W > T. The
end of a finite stream raises W just past the first evaluation at or after its last tuple, and no further.

>>> from nilometer.catalog.extents import Stream, stream_columns
>>> pushed = Stream("s", stream_columns(()), delay=5)
>>> arrivals = arrive(pushed, Feed(({"time": 10, "id": 1}, {"time": 4, "id": 1}, {"time": 5, "id": 1})))
>>> [arrival.tick for arrival in arrivals.accepted], arrivals.late, arrivals.watermark
([10, 5], 1, 5)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nilometer.algebra.table_function import Frame, Output
from nilometer.catalog.extents import Stream
from nilometer.plan.logical import (
    Acquire,
    AsofJoin,
    Node,
    RowWindow,
    TableFunction,
    TimeWindow,
    Union,
    WindowJoin,
)
from nilometer.plan.reference.feed import Feed, Reading
from nilometer.plan.reference.ticks import mixed
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, ceil_to, floor_to

NEVER = INT_MINIMUM
"""The watermark of a stream that has sent nothing yet: minus infinity."""

ALWAYS = INT_MAXIMUM
"""The watermark of a query that waits for no stream."""

_Window = TimeWindow | RowWindow | Frame


@dataclass(frozen=True)
class Arrival:
    """An accepted tuple: its place in the log, its tick, and the reading with lower-case names."""

    position: int
    tick: int
    reading: Reading


@dataclass(frozen=True)
class Arrivals:
    """The result of reading a log: the accepted tuples, the number of late ones, and the final W."""

    accepted: tuple[Arrival, ...]
    late: int
    watermark: int

    @property
    def read(self) -> int:
        """The number of tuples in the log, accepted and late."""
        return len(self.accepted) + self.late

    @property
    def first_tick(self) -> int | None:
        """The tick of the first tuple in log order, from which windows are evaluated; None without a tuple.

        Late tuples are in no answer, so they do not decide when the answers begin either.
        """
        return self.accepted[0].tick if self.accepted else None


def arrive(stream: Stream, feed: Feed) -> Arrivals:
    """Reads a log from beginning to end."""
    accepted = []
    late = 0
    watermark = NEVER
    for position, item in enumerate(feed.items):
        if isinstance(item, int):
            watermark = max(watermark, item)
            continue
        reading = {name.lower(): value for name, value in item.items()}
        tick = reading["time"] if stream.every is None else floor_to(reading["time"], stream.every)
        if tick < watermark:
            late += 1
        else:
            accepted.append(Arrival(position, tick, reading))
            watermark = max(watermark, tick - stream.delay)
    return Arrivals(tuple(accepted), late, watermark)


def feed_of(stream: Stream, feeds: Mapping[str, Feed]) -> Feed:
    """The log of a stream; empty for a stream without one."""
    return feeds.get(stream.name.lower(), Feed())


def first_tick(node: Node, feeds: Mapping[str, Feed]) -> int | None:
    """The first tick of a base or derived stream: the least over its base extents."""
    found = [arrive(leaf.stream, feed_of(leaf.stream, feeds)).first_tick for leaf, _, _ in _leaves(node)]
    return min((tick for tick in found if tick is not None), default=None)


def query_watermark(plan: Node, feeds: Mapping[str, Feed], finished: bool) -> int:
    """The W of a whole query: the minimum over its occurrences of streams."""
    marks = []
    for leaf, window, by_time in _leaves(plan):
        arrivals = arrive(leaf.stream, feed_of(leaf.stream, feeds))
        marks.append(_end(arrivals, window, by_time) if finished else arrivals.watermark)
    return min(marks, default=ALWAYS)


def _end(arrivals: Arrivals, window: _Window | None, by_time: bool) -> int:
    """W after the end of a finite stream. A heartbeat that promised more still holds."""
    if not arrivals.accepted:
        return arrivals.watermark
    if by_time:
        last = max(int(arrival.reading["time"]) for arrival in arrivals.accepted)
    else:
        last = max(arrival.tick for arrival in arrivals.accepted)
    if isinstance(window, TimeWindow | Frame) and window.slide is not None:
        last = ceil_to(last, window.slide)
    return max(arrivals.watermark, last + 1)


def _leaves(
    node: Node, window: _Window | None = None, by_time: bool = True
) -> Iterator[tuple[Acquire, _Window | None, bool]]:
    """The occurrences of streams, each with the first window above it and how that window sees the tuples.

    The last value is True if the window (or, without one, the query) sees a tuple at its time rather than at
    its tick; for a sensed stream the two differ.
    """
    match node:
        case Acquire():
            yield node, window, by_time
        case TimeWindow() | RowWindow():
            yield from _leaves(node.input, node, False)
        case TableFunction(call=call) if isinstance(call.window, Frame):
            yield from _leaves(node.input, call.window, False)
        case TableFunction(call=call) if call.function.output is Output.EVENTS:
            yield from _leaves(node.input, window, True)
        case WindowJoin() | AsofJoin():
            for child in node.inputs:
                yield from _leaves(child, window, True)
        case Union() if mixed(node):
            for child in node.inputs:
                yield from _leaves(child, window, True)
        case _:
            for child in node.inputs:
                yield from _leaves(child, window, by_time)


def leaves(node: Node) -> Iterator[Acquire]:
    """The occurrences of streams in a plan, left to right."""
    for leaf, _, _ in _leaves(node):
        yield leaf
