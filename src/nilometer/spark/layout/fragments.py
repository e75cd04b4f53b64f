"""A plan laid out on Spark: fragments, each of which runs in one place or in every bucket of a stage.

All of it is frozen and can be pickled: it travels to the executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nilometer.expressions import Expression
from nilometer.plan import physical
from nilometer.spark.layout.stripes import Stripes


@dataclass(frozen=True)
class Fragment:
    """A part of a plan that runs in one place, or once in every bucket.

    Attributes
    ----------
    number
        Its place in `Layout.fragments`.
    plan
        Cut at EXCHANGE nodes: an Exchange in it is a leaf, whose subtree stays for schemas, ids and ticks. The rows of the
        i-th Exchange in the order of the plan (none below another counts) come from fragment `inputs[i]`.
    stage
        0 runs where streams are read: without state, over one stream (or over tables alone). n >= 1 is the n-th stateful
        stage.
    buckets
        In how many buckets it runs: all of the layout's, or one.
    inputs
        The fragments whose rows it receives.
    target
        The fragment that receives its rows; None: they are the answer.
    keys
        Over its rows, system columns included: their values say in which bucket of the target a row goes on. None: bucket 0.
    stripes
        How rows with near values of the one key come to meet: some have copies in several buckets (stripes.py).
    sensors
        For each function of the plan that expects the declared sensors, in order, what divides these among the buckets: keys over its rows.
    """

    number: int
    plan: physical.Node
    stage: int
    buckets: int
    inputs: tuple[int, ...] = ()
    target: int | None = None
    keys: tuple[Expression, ...] = ()
    stripes: Stripes | None = None
    sensors: tuple[tuple[Expression, ...], ...] = ()


@dataclass(frozen=True)
class Layout:
    """The fragments, producers before receivers; the last one's rows are the answer.

    `stages` is the number of stateful stages. `reasons` are lines for EXPLAIN: what runs in one bucket, and why.
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
