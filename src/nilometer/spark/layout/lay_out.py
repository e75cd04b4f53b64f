"""Lays out a physical plan on Spark: where it is cut, and by which keys its rows are divided among buckets.

1. Parts without state run in the readers of the streams (reading.py). Windows are lifted over them (lifting.py), and
   rows can be combined into partial results there (combining.py).
2. The rest runs in the buckets of one stage, if some keys divide all of it (division.py).
3. Otherwise, the parts that can be divided run in a first stage (parts.py), and those above them in a second, divided
   or in one bucket. The first may send partial results of windows (combining.py) or of joins (joined_partials.py).
4. Otherwise, all of the rest runs in one bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nilometer.errors import InternalError
from nilometer.expressions import Expression
from nilometer.plan import physical
from nilometer.plan.explain.text import print_parameters
from nilometer.spark.layout.combining import combined_above_part, combines_at_ticks, combining
from nilometer.spark.layout.division import Division, UndividedError, divide_plan, is_leaf, leaves
from nilometer.spark.layout.fragments import Fragment, Layout, received
from nilometer.spark.layout.grid import Grid
from nilometer.spark.layout.lifting import lifted
from nilometer.spark.layout.nodes import AggregateCombine, JoinCombine
from nilometer.spark.layout.parts import with_parts
from nilometer.spark.layout.reading import stateless
from nilometer.spark.layout.stripes import Stripes


def lay_out(plan: physical.Node, buckets: int, *, combine: bool = False) -> Layout:
    """The fragments of a plan over `buckets` buckets. `combine`: readers and first stages send partial results of
    window aggregates instead of rows, where possible (combining.py).
    """
    if buckets < 1:
        raise InternalError("a layout without buckets")
    plan = physical.transform_plan(
        plan, lambda node: node.input if isinstance(node, physical.Exchange) else node
    )
    plan = combining(lifted(plan)) if combine else lifted(plan)
    if stateless(plan):
        return Layout((Fragment(0, plan, 0, 1),), buckets, 0)
    if buckets == 1:
        return _assembled(plan, None, buckets, ())
    try:
        return _assembled(plan, divide_plan(plan), buckets, ())
    except UndividedError as error:
        undivided = error
    above = with_parts(plan, combined_above_part) if combine else with_parts(plan)
    if any(isinstance(node, physical.Exchange) for node in physical.walk_plan(above)):
        try:
            return _assembled(above, divide_plan(above), buckets, ())
        except UndividedError as error:
            undivided = error
    return _assembled(above, None, buckets, (_line(undivided),))


def _line(error: UndividedError) -> str:
    # AGGR_MERGE and AGGR_EVAL follow the AGGR_INIT below them.
    node = error.node
    while isinstance(node, physical.AggregateEvaluate | physical.AggregateMerge | physical.Exchange):
        node = node.input
    clauses = print_parameters(node)
    parameters = f" [{'; '.join(clauses)}]" if clauses else ""
    partly = "; what comes to it is combined" if isinstance(node, AggregateCombine | JoinCombine) else ""
    return f"one bucket: {error.node.operator}{parameters} {error.reason}{partly}"


def _assembled(
    plan: physical.Node, division: Division | None, buckets: int, reasons: tuple[str, ...]
) -> Layout:
    """The fragments of a plan in which the parts of a first stage are below exchanges."""
    stage = 2 if any(True for _ in received(plan)) else 1
    cutting = _Cutting(buckets, [])
    cutting.add(plan, division, stage)
    return Layout(tuple(cutting.fragments), buckets, stage, reasons)


_Keys = tuple[tuple[Expression, ...], Stripes | Grid | None, bool]


@dataclass
class _Cutting:
    """The fragments cut off so far, producers first."""

    buckets: int
    fragments: list[Fragment]

    def add(self, plan: physical.Node, division: Division | None, stage: int) -> int:
        """Cut a plan above its leaves; without a division it runs in one bucket."""
        nothing: _Keys = ((), None, False)
        keys = iter([nothing] * sum(1 for _ in leaves(plan)))
        if division is not None:
            keys = iter(list(zip(division.leaves, division.copying, division.told, strict=True)))
        inputs: list[int] = []
        cut = self._cut(plan, keys, inputs)
        number = len(self.fragments)
        self.fragments.append(
            Fragment(
                number,
                cut,
                stage,
                1 if division is None else self.buckets,
                tuple(inputs),
                sensors=() if division is None else division.sensors,
            )
        )
        for place in inputs:
            self.fragments[place] = replace(self.fragments[place], target=number)
        return number

    def _cut(self, node: physical.Node, keys: Iterator[_Keys], inputs: list[int]) -> physical.Node:
        if not is_leaf(node):
            return node.with_inputs(tuple(self._cut(child, keys, inputs) for child in node.inputs))
        if isinstance(node, physical.Exchange):
            number = self.add(node.input, divide_plan(node.input), 1)
        else:
            number = len(self.fragments)
            self.fragments.append(Fragment(number, node, 0, 1))
        own, copying, told = next(keys)
        fragment = self.fragments[number] = replace(
            self.fragments[number], keys=own, copying=copying, told=told or combines_at_ticks(node)
        )
        inputs.append(number)
        return physical.Exchange(fragment.plan, fragment.keys)
