"""Each condition of a WINDOW join to the stream it reads, the others into the join."""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra import JoinKind
from nilometer.expressions import Expression, conjunction, uses_now
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import both, part, reads_only, selected
from nilometer.plan.logical import Node, Select, WindowJoin, transform_plan


def push_selection_into_window_join(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p AND q, WindowJoin(x, y, ...)) => WindowJoin(Select(p, x), y, ..., ON q)   when p reads x alone`

    A condition that reads NOW stays above, where the tick is that of the latest member. Through a LEFT join, a
    condition of WHERE moves only to the left stream and one of ON only to the right; nothing moves through a FULL join.
    """
    return transform_plan(plan, _push)


def _push(node: Node) -> Node:
    match node:
        case Select(WindowJoin(kind=JoinKind.LEFT) as join, predicate):
            going, staying = part(predicate, lambda p: reads_only(p, join.streams[0]))
            if not going:
                return node
            return selected(join.with_inputs((selected(join.streams[0], going), join.streams[1])), staying)
        case WindowJoin(kind=JoinKind.LEFT, predicate=predicate) if predicate is not None:
            going, staying = part(predicate, lambda p: reads_only(p, node.streams[1]))
            if not going:
                return node
            right = selected(node.streams[1], going)
            return replace(node, streams=(node.streams[0], right), predicate=conjunction(staying))
        case WindowJoin(kind=kind) | Select(WindowJoin(kind=kind)) if kind is not JoinKind.INNER:
            return node
        case Select(WindowJoin() as join, predicate):
            going, staying = part(predicate, lambda p: not uses_now(p))
            if not going:
                return node
            return selected(_spread(replace(join, predicate=both(join.predicate, *going))), staying)
        case WindowJoin():
            return _spread(node)
        case _:
            return node


def _spread(join: WindowJoin) -> WindowJoin:
    """The conditions that read one stream alone, below the join."""
    streams: list[Node] = []
    rest: Expression | None = join.predicate
    for stream in join.streams:
        own, others = part(rest, lambda p, stream=stream: reads_only(p, stream))  # type: ignore[misc]
        streams.append(selected(stream, own))
        rest = conjunction(others)
    if rest == join.predicate:
        return join
    return replace(join, streams=tuple(streams), predicate=rest)
