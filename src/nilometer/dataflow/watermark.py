"""Where event time stands for each occurrence of a stream in a plan, while the stream runs and after its end.

While it runs: the stream's own watermark. After its end (language.md, "Watermark"): W rises just past the first evaluation
tick at or after its last tuple, and no further; which tick that is depends on the first window above the occurrence.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nilometer.dataflow.ticks import mixed
from nilometer.plan import physical
from nilometer.types import INT_MAXIMUM, ceil_to


class Stands(Protocol):
    """Where a stream stands: its door, or what its door said at some moment."""

    @property
    def watermark(self) -> int:
        """Nothing earlier is accepted any more."""

    @property
    def greatest_tick(self) -> int | None:
        """Of the accepted tuples."""

    @property
    def greatest_time(self) -> int | None:
        """Of the accepted tuples."""


@dataclass(frozen=True)
class Leaf:
    """An occurrence of a stream. `slide` is that of the first time window above it. `by_time`: what is above sees a tuple
    at its time rather than at its tick; for a sensed stream the two differ."""

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
        case physical.WindowJoin() | physical.AsofJoin() | physical.Silent():
            for child in node.inputs:
                yield from _leaves(child, slide, True)
        case physical.Union() if mixed(node):
            for child in node.inputs:
                yield from _leaves(child, slide, True)
        case _:
            for child in node.inputs:
                yield from _leaves(child, slide, by_time)


def query_watermark(leaves: Iterable[Leaf], stands: Mapping[str, Stands], ended: Container[str]) -> int:
    """The watermark of a query: the minimum over its occurrences of streams. Every tick below it is complete. `stands` says where
    each stream stands, `ended` which streams have ended, both by lower-case name. Without a stream everything is complete."""
    return min(
        (leaf.watermark(stands[leaf.stream], leaf.stream in ended) for leaf in leaves), default=INT_MAXIMUM
    )
