"""A physical plan -> a layout on Spark: where it is cut, and by which keys its rows are divided among buckets.

1. what needs no state runs in the readers of the streams (reading.py)
2. the rest in buckets, if one division of the rows leaves every answer what it was
3. else in one bucket
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.errors import InternalError
from nilometer.expressions import Expression
from nilometer.plan import physical
from nilometer.spark.layout.fragments import Fragment, Layout
from nilometer.spark.layout.reading import in_reader, stateless


def lay_out(plan: physical.Node, buckets: int) -> Layout:
    """The fragments of a plan over so many buckets."""
    if buckets < 1:
        raise InternalError("a layout without buckets")
    plan = physical.transform_plan(
        plan, lambda node: node.input if isinstance(node, physical.Exchange) else node
    )
    if stateless(plan):
        return Layout((Fragment(0, plan, 0, 1),), buckets, 0)
    builder = _Builder(buckets)
    builder.add(plan, 1, 1)
    return Layout(tuple(builder.fragments), buckets, 1)


class _Builder:
    """Fragments as they are cut off, producers first."""

    def __init__(self, buckets: int) -> None:
        self.buckets = buckets
        self.fragments: list[Fragment] = []

    def add(self, plan: physical.Node, stage: int, buckets: int) -> int:
        """Cut a plan above what its readers run, and add the fragments."""
        inputs: list[int] = []
        cut = self._cut(plan, inputs)
        number = len(self.fragments)
        self.fragments.append(Fragment(number, cut, stage, buckets, tuple(inputs)))
        for place in inputs:
            self.fragments[place] = replace(self.fragments[place], target=number)
        return number

    def _cut(self, node: physical.Node, inputs: list[int]) -> physical.Node:
        if in_reader(node):
            keys: tuple[Expression, ...] = ()
            number = len(self.fragments)
            self.fragments.append(Fragment(number, node, 0, 1, keys=keys))
            inputs.append(number)
            return physical.Exchange(node, keys)
        children = tuple(self._cut(child, inputs) for child in node.inputs)
        return node.with_inputs(children)
