"""The watermark of each occurrence of a stream in a plan, while the stream runs and after its end.

While the stream runs, it is the stream's own watermark. A stream that has ended holds nobody back. Once all
streams of a query have ended, the watermark rises just past the last evaluation at which a window still holds
a tuple, and no further (docs/decisions/20261118-the-end-of-finite-streams.md).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nilometer.algebra.grid import LAST_MOMENT, Grid
from nilometer.algebra.table_function import Frame, Output
from nilometer.dataflow.ticks import mixed
from nilometer.plan import physical
from nilometer.types import INT_MAXIMUM, ceil_to, floor_to


class Stands(Protocol):
    """The state of a stream's event time: its door, or a copy of the door's values at some moment."""

    @property
    def watermark(self) -> int:
        """No earlier tuple is accepted any more."""

    @property
    def greatest_tick(self) -> int | None:
        """The greatest tick of the accepted tuples; None if there are none."""

    @property
    def greatest_time(self) -> int | None:
        """The greatest time of the accepted tuples; None if there are none."""


@dataclass(frozen=True)
class Hop:
    """A time window with a slide: it is evaluated at the multiples of `slide`, and holds at T the tuples with
    T - start <= tick <= T - end (`open_start`: T - start < tick). `start` None is UNBOUNDED."""

    start: int | None
    end: int
    slide: int
    open_start: bool
    grid: Grid | None = None

    def last(self, tick: int) -> int:
        """The last evaluation that holds a tuple of this tick, but not before the first multiple of the slide
        at or after the tuple."""
        if self.grid is not None:
            return self.grid.last_evaluation(tick, self.start, self.end, self.open_start)
        if self.start is None:
            return ceil_to(tick + self.end, self.slide)
        held = floor_to(tick + self.start - int(self.open_start), self.slide)
        return max(ceil_to(tick, self.slide), held)


@dataclass(frozen=True)
class Patience:
    """The window of an outer join of streams: after it, a tuple comes without a partner. Or the pause of
    sessions: after it, a tuple's session is over."""

    width: int

    def last(self, tick: int) -> int:
        """The tick of the row that the tuple then gives."""
        return tick + self.width


@dataclass(frozen=True)
class Leaf:
    """An occurrence of a stream. `hops` are the windows with a slide, and the outer joins of streams, above
    it, the lowest first. `by_time` is True if the operators above use a tuple's time rather than its tick;
    for a sensed stream the two differ. `beside`: its tuples only tell something about those of others (INSIDE), so that
    after its end nothing waits for them.
    """

    stream: str
    hops: tuple[Hop | Patience, ...]
    by_time: bool
    beside: bool = False

    def end(self, door: Stands) -> int:
        """The watermark that this occurrence needs after its end: its last tuple has left every window."""
        if self.beside:
            return door.watermark
        last = door.greatest_time if self.by_time else door.greatest_tick
        if any(isinstance(hop, Hop) and hop.grid is not None and hop.grid.once for hop in self.hops):
            return LAST_MOMENT + 1  # the whole stream is known, even if it is empty
        if last is None:
            return door.watermark
        for hop in self.hops:
            last = hop.last(last)
        return max(door.watermark, last + 1)


def leaves(plan: physical.Node) -> tuple[Leaf, ...]:
    """The occurrences of streams, left to right."""
    return tuple(_leaves(plan, (), True))


def _leaves(node: physical.Node, hops: tuple[Hop | Patience, ...], by_time: bool) -> Iterator[Leaf]:
    match node:
        case physical.SpAcquire(stream=stream):
            yield Leaf(stream.name.lower(), hops, by_time)
        case physical.TimeWindow(slide=slide) if slide is not None:
            own = Hop(node.start, node.end, slide, node.open_start, node.grid)
            yield from _leaves(node.input, (own, *hops), False)
        case physical.TimeWindow() | physical.RowWindow():
            yield from _leaves(node.input, hops, False)
        case physical.TableFunction(call=call) if isinstance(frame := call.window, Frame):
            below = node.input
            first = isinstance(below, physical.TableFunction) and below.call.window == frame
            # A function in two steps has its windows once: those of the first step.
            if not first:
                hops = (Hop(frame.start, frame.end, frame.slide, frame.open_start), *hops)
            yield from _leaves(below, hops, False)
        case physical.TableFunction(call=call) if call.function.windowed:
            pause = call["FOR"]
            assert isinstance(pause, int)
            yield from _leaves(node.input, (Patience(pause), *hops), True)
        case physical.TableFunction(call=call) if call.function.output is Output.EVENTS:
            yield from _leaves(node.input, hops, True)
        case physical.WindowJoin():
            for port, child in enumerate(node.streams):
                kept = node.kept(port)
                above = hops if kept is None else (Patience(kept), *hops)
                yield from _leaves(child, above, True)
        case physical.AsofJoin(before=False):
            for child in node.inputs:
                yield from _leaves(child, hops, True)
        case physical.AsofJoin(before=True):
            yield from _leaves(node.left, hops, by_time)
            yield from (Leaf(leaf.stream, (), False, beside=True) for leaf in _leaves(node.right, (), False))
        case physical.Union() if mixed(node):
            for child in node.inputs:
                yield from _leaves(child, hops, True)
        case _:
            for child in node.inputs:
                yield from _leaves(child, hops, by_time)


def query_watermark(leaves: Iterable[Leaf], stands: Mapping[str, Stands], ended: Container[str]) -> int:
    """The watermark of a query: the minimum over the occurrences of streams that still run. Every tick below
    it is complete.

    `stands` gives the state of each stream and `ended` the streams that have ended, both by lower-case name.
    If all have ended, it is the greatest that one of them needs. If the query reads no stream, everything is
    complete.
    """
    found = tuple(leaves)
    running = [stands[leaf.stream].watermark for leaf in found if leaf.stream not in ended]
    if running:
        return min(running)
    return max((leaf.end(stands[leaf.stream]) for leaf in found), default=INT_MAXIMUM)
