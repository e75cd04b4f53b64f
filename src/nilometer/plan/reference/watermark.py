"""Reads logs: which tuples are accepted, and how far the watermark has come.

These are the rules of the language. The tick of a pushed tuple is its time; the tick of a sensed one is its
time rounded down to the acquisition interval. A stream's watermark W advances in log order: it is the
greatest tick so far less DELAY, or the time of a heartbeat. A tuple whose tick lies below the W before it is
late and is in no answer. A query's W is the minimum over its streams, and tick T is evaluated when W > T.

A finite stream counts as one that falls silent at its end: it no longer holds W back. When all streams of the
query have ended, W rises just past the last evaluation at which a window still holds a tuple, and no further.

>>> from nilometer.catalog.extents import Stream, stream_columns
>>> pushed = Stream("s", stream_columns(()), delay=5)
>>> arrivals = arrive(pushed, Feed(({"time": 10, "id": 1}, {"time": 4, "id": 1}, {"time": 5, "id": 1})))
>>> [arrival.tick for arrival in arrivals.accepted], arrivals.late, arrivals.watermark
([10, 5], 1, 5)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nilometer.algebra.grid import LAST_MOMENT, ONCE
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


@dataclass(frozen=True)
class Patience:
    """The window of an outer WINDOW join: a tuple comes without a partner when it has passed. Or the pause
    after which a tuple's session is over."""

    width: int


_Window = TimeWindow | RowWindow | Frame | Patience


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
    """The W of a whole query: while streams run, the minimum over its occurrences of streams; after the end
    of all, the greatest W that one of them needs."""
    marks = []
    for leaf, windows, by_time in _leaves(plan):
        arrivals = arrive(leaf.stream, feed_of(leaf.stream, feeds))
        waits = finished and windows is not None
        marks.append(_end(arrivals, windows or (), by_time) if waits else arrivals.watermark)
    return (max if finished else min)(marks, default=ALWAYS)


def _end(arrivals: Arrivals, windows: Sequence[_Window], by_time: bool) -> int:
    """The W that an occurrence needs after its end: its last tuple has left every window above it. A
    heartbeat that promised more still holds."""
    if any(isinstance(window, TimeWindow) and window.grid == ONCE for window in windows):
        return LAST_MOMENT + 1  # the whole stream is known, even if it is empty
    if not arrivals.accepted:
        return arrivals.watermark
    if by_time:
        last = max(int(arrival.reading["time"]) for arrival in arrivals.accepted)
    else:
        last = max(arrival.tick for arrival in arrivals.accepted)
    for window in windows:
        last = last_evaluation(window, last)
    return max(arrivals.watermark, last + 1)


def last_evaluation(window: _Window, tick: int) -> int:
    """The last evaluation at which a window holds a tuple of this tick, if no tuple follows.

    A window without SLIDE is evaluated where its stream has a tick, so the last one is the tuple's. A window
    that never lets go of a tuple (UNBOUNDED), or that has gaps, is evaluated at least at the first multiple
    of its slide at or after the tuple.
    """
    if isinstance(window, Patience):
        return tick + window.width
    if isinstance(window, RowWindow) or window.slide is None:
        return tick
    if isinstance(window, TimeWindow) and window.grid is not None:
        return window.grid.last_evaluation(tick, window.start, window.end, window.open_start)
    first = ceil_to(tick + window.end if window.start is None else tick, window.slide)
    if window.start is None:
        return first
    return max(first, floor_to(tick + window.start - int(window.open_start), window.slide))


def _leaves(
    node: Node, windows: tuple[_Window, ...] = (), by_time: bool = True
) -> Iterator[tuple[Acquire, tuple[_Window, ...] | None, bool]]:
    """The occurrences of streams, each with the windows above it, the first one first, and how that first
    window sees the tuples. None: the tuples only tell something about those of others (INSIDE), and after the end
    nothing waits for them.

    The last value is True if the window (or, without one, the query) sees a tuple at its time rather than at
    its tick; for a sensed stream the two differ.
    """
    match node:
        case Acquire():
            yield node, windows, by_time
        case TimeWindow() | RowWindow():
            yield from _leaves(node.input, (node, *windows), False)
        case TableFunction(call=call) if isinstance(call.window, Frame):
            yield from _leaves(node.input, (call.window, *windows), False)
        case TableFunction(call=call) if call.function.windowed:
            pause = call["FOR"]
            assert isinstance(pause, int)
            yield from _leaves(node.input, (Patience(pause), *windows), True)
        case TableFunction(call=call) if call.function.output is Output.EVENTS:
            yield from _leaves(node.input, windows, True)
        case WindowJoin():
            for port, child in enumerate(node.streams):
                kept = node.kept(port)
                above = windows if kept is None else (Patience(kept), *windows)
                yield from _leaves(child, above, True)
        case AsofJoin(before=False):
            for child in node.inputs:
                yield from _leaves(child, windows, True)
        case AsofJoin(before=True):
            yield from _leaves(node.left, windows, by_time)
            yield from ((leaf, None, False) for leaf, _, _ in _leaves(node.right))
        case Union() if mixed(node):
            for child in node.inputs:
                yield from _leaves(child, windows, True)
        case _:
            for child in node.inputs:
                yield from _leaves(child, windows, by_time)


def leaves(node: Node) -> Iterator[Acquire]:
    """The occurrences of streams in a plan, left to right."""
    for leaf, _, _ in _leaves(node):
        yield leaf
