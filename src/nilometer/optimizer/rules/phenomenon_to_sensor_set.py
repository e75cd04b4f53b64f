"""A condition that only sensors at a phenomenon can satisfy decides which sensors are asked, as it moves."""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_functions.phenomena import HOPS, MEMBERSHIP
from nilometer.expressions import Call, ColumnReference, Expression, Literal, conjuncts
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan.logical import Acquire, AsofJoin, Node, Sample, Select, TableFunction, transform_plan


def phenomenon_to_sensor_set(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(m.inside AND p, AsofJoin(Acquire(s), Membership(x) AS m ON s.id = m.id)) => the same with Acquire(s,
    SENSORS OF x)`

    INSIDE and GUIDED BY are such selections. It changes no answer from a log; a live query asks these sensors alone, and
    whoever the detection of x needs.
    """
    return transform_plan(plan, _mark)


def _mark(node: Node) -> Node:
    match node:
        case Select(AsofJoin(left, TableFunction(call=call), keys, before=True) as join, predicate) if (
            call.function is MEMBERSHIP
            and any(_is_inside(part, f"{call.alias}.inside") for part in conjuncts(predicate))
        ):
            named, hops = call["NAMED"], call[HOPS.word]
            assert isinstance(named, str)
            of = named, hops if isinstance(hops, int) else 0
            marked = _marked(left, keys[0][0], of)
            return node if marked is left else replace(node, input=replace(join, left=marked))
        case _:
            return node


def _is_inside(part: Expression, inside: str) -> bool:
    match part:
        case Call("coalesce", (ColumnReference(name=name), Literal(value=False))):
            return name == inside
        case _:
            return False


def _marked(node: Node, key: Expression, of: tuple[str, int]) -> Node:
    """The stream below, if the key is the id of its sensors."""
    match node:
        case Select(below) | Sample(below):
            marked = _marked(below, key, of)
            return node if marked is below else node.with_inputs((marked,))
        case Acquire(alias=alias) if node.of is None and str(key).lower() == f"{alias}.id".lower():
            return replace(node, of=of)
        case _:
            return node
