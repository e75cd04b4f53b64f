"""A plan -> the same plan, with acquisitions that motes can run.

    SP_ACQUIRE[p AND q]  =>  PROJECT(SELECT[q](SP_ACQUIRE[p]))     when motes can test p, but not q

The gateway then tests q. A column that no mote can hold cannot be acquired at all. (A sensor's name and place
need not be acquired: see `attributes_by_id`.)
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.errors import UnsupportedError
from nilometer.expressions import ColumnReference, columns_of, conjunction, conjuncts
from nilometer.placement.abilities import MOTE_KINDS, Ability, why_not_on_a_mote
from nilometer.placement.sources import Sources, source_key
from nilometer.plan import physical
from nilometer.plan.logical import Projection


def fit_acquisitions(
    plan: physical.Node, sources: Sources, why_not: Ability = why_not_on_a_mote
) -> physical.Node:
    """Returns the plan with its acquisitions in the network changed where necessary. `why_not` says what
    motes cannot run."""

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, physical.SpAcquire) and source_key(node) in sources.sensed_at:
            return _fit(node, sources, why_not)
        return node

    return physical.transform_plan(plan, change)


def _fit(node: physical.SpAcquire, sources: Sources, why_not: Ability) -> physical.Node:
    bare = replace(node, columns=node.columns + node.reads, reads=(), predicate=None)
    parts = conjuncts(node.predicate)
    left = tuple(part for part in parts if why_not(physical.Select(bare, part), sources) is not None)
    kept = tuple(part for part in parts if part not in left)
    wanted = frozenset().union(*(columns_of(part) for part in left)) if left else frozenset()
    tested = frozenset().union(*(columns_of(part) for part in kept)) if kept else frozenset()

    def name(column: str) -> str:
        return f"{node.alias}.{column}"

    columns = node.columns + tuple(column for column in node.reads if name(column.name) in wanted)
    reads = tuple(
        column for column in node.reads if name(column.name) in tested and name(column.name) not in wanted
    )
    for column in (*columns, *reads):
        if column.type.kind not in MOTE_KINDS and column.name.lower() != "id":
            raise UnsupportedError(
                f"no mote can hold column '{column.name}' of '{node.stream.name}'",
                detail=f"it is {column.type}, and motes hold numbers, times and truth values",
                hint="leave it out of the query",
            )
    if not left:
        return node
    acquire = replace(node, columns=columns, reads=reads, predicate=conjunction(kept))
    condition = conjunction(left)
    assert condition is not None
    projected = tuple(
        Projection(column.name, ColumnReference(column.name, column.type), column.unit)
        for column in node.schema
    )
    return physical.Project(physical.Select(acquire, condition), projected)
