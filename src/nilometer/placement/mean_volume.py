"""A fragment and its inputs -> how many rows one evaluation of it gives on average, while every condition
holds.

`volume` gives the most rows of one evaluation, for which slots and memory are planned. The mean decides how
long a site is busy: a row window closes once in SLIDE rows, however they fall on evaluations, and a time
window that slides is evaluated once in its stride. The means are those of a stream that has run for a while,
so that its windows are full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nilometer.catalog.network import NodeId
from nilometer.placement.costs.rows import Rows, operator_rows
from nilometer.placement.fragments import Fragment
from nilometer.placement.placed_plan import PlacedPlan
from nilometer.placement.volume import groups_by_source, readings_covered
from nilometer.plan import physical

Place = tuple[int, NodeId]
"""A fragment at a site."""


@dataclass(frozen=True, slots=True)
class MeanVolume:
    """The `rows` of an evaluation, and the `windows` that are evaluated in it: less than one if they slide by
    several evaluations."""

    rows: float
    windows: float = 1


def mean_volumes(placed: PlacedPlan, interval: int) -> Mapping[Place, MeanVolume]:
    """The mean volume of each instance of a fragment."""
    found: dict[Place, MeanVolume] = {}
    for instance in placed.instances:  # producers come before their consumers
        fragment = placed.fragments[instance.fragment]
        if fragment.host != "mote":
            continue  # the gateway's time does not count for the network
        fed = mean_fed(placed, fragment, instance.site, found)
        found[instance.fragment, instance.site] = mean_volume_of(fragment.root, interval, iter(fed))
    return found


def mean_fed(
    placed: PlacedPlan, fragment: Fragment, site: NodeId, given: Mapping[Place, MeanVolume]
) -> tuple[MeanVolume, ...]:
    """The mean volume that each EXCHANGE brings to a fragment at a site. The rows of other instances of the
    same fragment (AGGR_MERGE) come in together with those of its producer."""
    found: dict[int, MeanVolume] = {}
    for flow in placed.incoming[site]:
        if flow.consumer != fragment.number:
            continue
        key = fragment.producers[0] if flow.fragment == fragment.number else flow.fragment
        volume, before = given[flow.fragment, flow.source], found.get(key, MeanVolume(0.0, 0.0))
        found[key] = MeanVolume(before.rows + volume.rows, max(before.windows, volume.windows))
    return tuple(found.get(number, MeanVolume(0.0)) for number in fragment.producers)


def mean_volume_of(node: physical.Node, interval: int, fed: Iterator[MeanVolume]) -> MeanVolume:
    """The mean volume of an operator; `fed` gives that of each EXCHANGE below it, left to right."""
    if isinstance(node, physical.Exchange):
        return next(fed)
    return _given(node, interval, tuple(mean_volume_of(child, interval, fed) for child in node.inputs))


def mean_rows(
    root: physical.Node, interval: int, fed: tuple[MeanVolume, ...]
) -> list[tuple[physical.Node, Rows]]:
    """The operators from `root` down to their inputs, inputs first, each with the rows of a mean
    evaluation."""
    return operator_rows(root, fed, lambda node, below: _given(node, interval, below))


def _given(node: physical.Node, interval: int, below: tuple[MeanVolume, ...]) -> MeanVolume:
    match node:
        case physical.SpAcquire():
            return MeanVolume(1.0)
        case physical.TimeWindow(slide=slide):
            stride = 1 if slide is None else max(1, slide // interval)
            return MeanVolume(below[0].rows * readings_covered(node, interval) / stride, 1 / stride)
        case physical.RowWindow(start=start, end=end, slide=slide):
            windows = below[0].rows / slide
            held = below[0].rows if start is None else start - end + 1
            return MeanVolume(held * windows, windows)
        case physical.NlJoin() | physical.HashJoin():
            left, right = below
            return MeanVolume(left.rows * right.rows, max(left.windows, right.windows))
        case physical.Union():
            left, right = below
            return MeanVolume(left.rows + right.rows, max(left.windows, right.windows))
        case physical.Aggregate(keys=()) | physical.AggregateInit(keys=()) | physical.AggregateMerge(keys=()):
            return MeanVolume(below[0].windows, below[0].windows)
        case _ if groups_by_source(node):
            return MeanVolume(below[0].windows, below[0].windows)
        case _:
            return below[0]
