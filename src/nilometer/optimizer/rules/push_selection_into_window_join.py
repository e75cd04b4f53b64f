"""Each condition of a WINDOW join to the stream it reads, the others into the join."""

from __future__ import annotations

from dataclasses import replace

from nilometer.expressions import Expression, conjunction, uses_now
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import both, part, reads_only, selected
from nilometer.plan.logical import Node, Select, WindowJoin, transform_plan


def push_selection_into_window_join(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p AND q, WindowJoin(x, y, ...)) => WindowJoin(Select(p, x), y, ..., ON q)   when p reads x alone`

    A condition that reads NOW stays above, where the tick is that of the latest member.
    """
    return transform_plan(plan, _push)


def _push(node: Node) -> Node:
    match node:
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
