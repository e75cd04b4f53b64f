"""Each condition to the side it reads."""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra import JoinKind
from nilometer.expressions import conjunction
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import part, reads_only, selected
from nilometer.plan.logical import AsofJoin, Join, Node, Select, transform_plan

LEFT_OF_WHERE = frozenset(JoinKind) - {JoinKind.FULL}
RIGHT_OF_WHERE = frozenset((JoinKind.INNER,))
LEFT_OF_ON = frozenset((JoinKind.INNER, JoinKind.SEMI))
RIGHT_OF_ON = frozenset(JoinKind) - {JoinKind.FULL}


def push_selection_into_join(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p AND q, Join(x, y)) => Select(q, Join(Select(p, x), y))   when p reads x alone`, and the same for y if the
    join is inner; `Join(x, y, ON p AND q) => Join(Select(p, x), y, ON q)` likewise. In an ASOF join only the left side.

    A condition never moves to a side that a join fills with NULLs, from WHERE, nor to a side whose rows a join keeps,
    from ON: it would make rows without a partner of those that it drops. So nothing moves through a FULL join.

    A selection over windows drops no evaluation, so the join fires at the same ticks as before. A condition that reads
    NOW stays above, because a join's tick is not the tick of its sides' latest windows.
    """
    return transform_plan(plan, _push)


def _push(node: Node) -> Node:
    match node:
        case Select(Join(left, right, kind) as join, predicate):
            lefts, rest = part(predicate, lambda p: kind in LEFT_OF_WHERE and reads_only(p, left))
            rights, rest = part(conjunction(rest), lambda p: kind in RIGHT_OF_WHERE and reads_only(p, right))
            if not (lefts or rights):
                return node
            return selected(join.with_inputs((selected(left, lefts), selected(right, rights))), rest)
        case Select(AsofJoin(left, right) as join, predicate):
            lefts, rest = part(predicate, lambda p: reads_only(p, left))
            return selected(join.with_inputs((selected(left, lefts), right)), rest) if lefts else node
        case Join(left, right, kind, predicate) if predicate is not None:
            lefts, rest = part(predicate, lambda p: kind in LEFT_OF_ON and reads_only(p, left))
            rights, rest = part(conjunction(rest), lambda p: kind in RIGHT_OF_ON and reads_only(p, right))
            if not (lefts or rights):
                return node
            return replace(
                node,
                left=selected(left, lefts),
                right=selected(right, rights),
                predicate=conjunction(rest),
            )
        case _:
            return node
