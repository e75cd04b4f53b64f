"""Join the small inputs first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nilometer.algebra import Collection, JoinKind
from nilometer.expressions import Expression, columns_of, conjunction, conjuncts, uses_now
from nilometer.optimizer.cardinality import cardinality
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan import logical
from nilometer.plan.logical import Join, Node


def order_joins(plan: Node, context: OptimizerContext) -> Node:
    """`Join(Join(x, y), z) => Join(Join(z, x), y)   when z is the smallest and x the next`: inner joins of windows and
    tables become left-deep (greedy join ordering), by rising estimated cardinality, with each condition at the lowest join that has its columns.

    Windows join at the union of their ticks, each side with its latest window. So at any tick the join is of the same
    windows, in whatever order. The rule does not reorder three or more where a condition reads NOW or a table is
    refreshed, because an inner join's tick may be older than the outer one's. It changes the order of columns, so it
    applies only below a node that reads columns by name.
    """
    return _order(plan, context, by_name=False)


def _order(node: Node, context: OptimizerContext, by_name: bool) -> Node:
    if _orderable(node):
        leaves, conditions = _flatten(node)
        ordered = tuple(_order(leaf, context, True) for leaf in leaves)
        depends_on_tick = any(map(uses_now, conditions)) or any(map(logical.refreshes, leaves))
        if by_name and (len(leaves) == 2 or not depends_on_tick):
            return _left_deep(node, leaves, ordered, conditions, context)
        return _replace_leaves(node, iter(ordered))
    inputs = tuple(_order(child, context, _by_name(node, by_name)) for child in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)


def _by_name(node: Node, above: bool) -> bool:
    """Whether the order of the columns below a node matters to nobody."""
    match node:
        case logical.Project() | logical.Aggregate() | logical.TableFunction():
            return True
        case logical.Select() | logical.Rename() | logical.Join() | logical.TimeWindow() | logical.Analytic():
            return above
        case _:
            return False


def _orderable(node: Node) -> bool:
    return isinstance(node, Join) and node.kind is JoinKind.INNER and node.collection is not Collection.STREAM


def _flatten(node: Node) -> tuple[list[Node], list[Expression]]:
    """The inputs of a tree of inner joins, in their order, and all its conditions."""
    if not (isinstance(node, Join) and _orderable(node)):
        return [node], []
    left, left_conditions = _flatten(node.left)
    right, right_conditions = _flatten(node.right)
    return left + right, [*left_conditions, *right_conditions, *conjuncts(node.predicate)]


def _replace_leaves(node: Node, leaves: Iterator[Node]) -> Node:
    """The tree of inner joins with other leaves, in the order of `_flatten`."""
    if not _orderable(node):
        return next(leaves)
    inputs = tuple(_replace_leaves(child, leaves) for child in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)


@dataclass(frozen=True)
class _Candidate:
    place: int
    node: Node
    size: float

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.node.schema.names)


def _left_deep(
    node: Node,
    leaves: list[Node],
    ordered: tuple[Node, ...],
    conditions: list[Expression],
    context: OptimizerContext,
) -> Node:
    policy = context.profile.join_order

    def rank(candidate: _Candidate) -> tuple[float, int]:
        return candidate.size, -candidate.place if policy.later_first else candidate.place

    rest = [_Candidate(place, leaf, cardinality(leaf, context)) for place, leaf in enumerate(ordered)]
    first = min(rest, key=rank)
    rest.remove(first)
    plan, columns, places = first.node, first.columns, [first.place]
    open_conditions = list(conditions)
    while rest:
        tied = [c for c in rest if policy.connected and _tied(open_conditions, columns, c.columns)]
        following = min(tied or rest, key=rank)
        rest.remove(following)
        columns |= following.columns
        places.append(following.place)
        here = [condition for condition in open_conditions if columns_of(condition) <= columns]
        open_conditions = [condition for condition in open_conditions if condition not in here]
        plan = Join(plan, following.node, JoinKind.INNER, conjunction(here))
    if places == list(range(len(leaves))):
        # The order was right; keep the tree as it was written, bushy or not.
        return _replace_leaves(node, iter(ordered))
    return plan


def _tied(conditions: list[Expression], columns: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a condition needs both what is joined already and the other input, and nothing besides."""
    for condition in conditions:
        read = columns_of(condition)
        if read & columns and read & others and read <= columns | others:
            return True
    return False
