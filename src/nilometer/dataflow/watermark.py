"""The watermark of each occurrence of a stream in a plan, while the stream runs and after its end.

While the stream runs, it is the stream's own watermark. After the end (language.md, "Watermark") it rises
just past the first evaluation tick at or after the last tuple, and no further. Which tick that is depends on
the first window above the occurrence.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nilometer.algebra.table_function import Frame, Output
from nilometer.dataflow.ticks import mixed
from nilometer.plan import physical
from nilometer.types import INT_MAXIMUM, ceil_to


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
class Leaf:
    """An occurrence of a stream. `slide` is the slide of the first time window above it. `by_time` is True if
    the operators above use a tuple's time rather than its tick; for a sensed stream the two differ."""

    stream: str
    slide: int | None
    by_time: bool

    def watermark(self, door: Stands, ended: bool) -> int:
        """Every tick below it is complete for this occurrence."""
        last = door.greatest_time if self.by_time else door.greatest_tick
        if not ended or last is None:
            return door.watermark
        if self.slide is not None:
            last = ceil_to(last, self.slide)
        return max(door.watermark, last + 1)


def leaves(plan: physical.Node) -> tuple[Leaf, ...]:
    """The occurrences of streams, left to right."""
    return tuple(_leaves(plan, None, True))


def _leaves(node: physical.Node, slide: int | None, by_time: bool) -> Iterator[Leaf]:
    match node:
        case physical.SpAcquire(stream=stream):
            yield Leaf(stream.name.lower(), slide, by_time)
        case physical.TimeWindow() | physical.RowWindow():
            own = node.slide if isinstance(node, physical.TimeWindow) else None
            yield from _leaves(node.input, own, False)
        case physical.TableFunction(call=call) if isinstance(call.window, Frame):
            yield from _leaves(node.input, call.window.slide, False)
        case physical.TableFunction(call=call) if call.function.output is Output.EVENTS:
            yield from _leaves(node.input, slide, True)
        case physical.WindowJoin() | physical.AsofJoin():
            for child in node.inputs:
                yield from _leaves(child, slide, True)
        case physical.Union() if mixed(node):
            for child in node.inputs:
                yield from _leaves(child, slide, True)
        case _:
            for child in node.inputs:
                yield from _leaves(child, slide, by_time)


def query_watermark(leaves: Iterable[Leaf], stands: Mapping[str, Stands], ended: Container[str]) -> int:
    """The watermark of a query: the minimum over its occurrences of streams. Every tick below it is complete.

    `stands` gives the state of each stream and `ended` the streams that have ended, both by lower-case name.
    If the query reads no stream, everything is complete.
    """
    return min(
        (leaf.watermark(stands[leaf.stream], leaf.stream in ended) for leaf in leaves), default=INT_MAXIMUM
    )
