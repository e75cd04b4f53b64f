"""A plan laid out on Spark as fragments, each of which runs in one place or in every bucket of a stage.

Everything is frozen and can be pickled, because it travels to the executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nilometer.expressions import Expression
from nilometer.plan import physical
from nilometer.spark.layout.grid import Grid
from nilometer.spark.layout.stripes import Stripes


@dataclass(frozen=True)
class Fragment:
    """A part of a plan that runs in one place, or once in every bucket.

    Attributes
    ----------
    number
        Its index in `Layout.fragments`.
    plan
        Cut at EXCHANGE nodes: an Exchange in it is a leaf, whose subtree stays for schemas, ids and ticks.
        The rows of the i-th Exchange in the order of the plan (none below another counts) come from fragment
        `inputs[i]`.
    stage
        0 runs where streams are read: without state, over one stream (or over tables alone). n >= 1 is the
        n-th stateful stage.
    buckets
        The number of buckets in which it runs: all of the layout's, or one.
    inputs
        The fragments whose rows it receives.
    target
        The fragment that receives its rows; None: they are the answer.
    keys
        Over its rows, system columns included: their values determine the bucket of the target. None: bucket
        0.
    copying
        If rows have copies in several buckets: how those with near values of the one key meet (stripes.py), or those of which
        not all have all keys (grid.py).
    told
        Whether all buckets of the target are told the ticks of its rows, because a window is evaluated at these.
    sensors
        For each function of the plan that expects the declared sensors, in order, the keys over its rows that
        divide the sensors among the buckets.
    """

    number: int
    plan: physical.Node
    stage: int
    buckets: int
    inputs: tuple[int, ...] = ()
    target: int | None = None
    keys: tuple[Expression, ...] = ()
    copying: Stripes | Grid | None = None
    told: bool = False
    sensors: tuple[tuple[Expression, ...], ...] = ()


@dataclass(frozen=True)
class Layout:
    """The fragments, producers before receivers; the last one's rows are the answer.

    `stages` is the number of stateful stages. `reasons` are lines for EXPLAIN: which parts run in one bucket,
    and why.
    """

    fragments: tuple[Fragment, ...]
    buckets: int
    stages: int
    reasons: tuple[str, ...] = ()

    def of_stage(self, stage: int) -> tuple[Fragment, ...]:
        """The fragments of a stage."""
        return tuple(fragment for fragment in self.fragments if fragment.stage == stage)


def received(plan: physical.Node) -> Iterator[physical.Exchange]:
    """The exchanges at which a fragment's plan is cut, in the order of its inputs."""
    if isinstance(plan, physical.Exchange):
        yield plan
        return
    for child in plan.inputs:
        yield from received(child)


def held(plan: physical.Node) -> Iterator[physical.Node]:
    """The nodes that a fragment runs itself: those above its exchanges, parents first."""
    if isinstance(plan, physical.Exchange):
        return
    yield plan
    for child in plan.inputs:
        yield from held(child)
