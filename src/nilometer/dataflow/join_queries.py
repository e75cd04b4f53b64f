"""Finds the queries that join time windows of two streams and keep no other state.

    (Deliver | Project | Select | Rename)* · (HashJoin | NlJoin)[INNER] · two of (TimeWindow · stateless · SpAcquire)

Those with the same rows and conditions are answered from one store of rows, whatever the RANGE of their windows
(join_bank.py). An outer, SEMI or ANTI join is none of them: that a row has no partner in a wide window says nothing about
a narrow one. So are joins of more than two windows, windows by the calendar, UNBOUNDED ones, and those without a SLIDE
over a pushed stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nilometer.algebra import JoinKind
from nilometer.dataflow.filters import stateless_over
from nilometer.dataflow.lowering.sources_of import grid_of
from nilometer.dataflow.ticks import acquisition_interval
from nilometer.dataflow.watermark import Leaf, leaves
from nilometer.dataflow.window_queries import STATELESS, shape_of
from nilometer.operators.join import WindowsJoin
from nilometer.operators.window_matches import Reach
from nilometer.operators.window_scope import Scope
from nilometer.plan import physical


@dataclass(frozen=True)
class JoinQuery:
    """`rows` are the plans of the rows of both windows, `shape` and `selects` as in window_queries.py. `family` is equal
    for queries whose rows and conditions are the same."""

    spec: WindowsJoin
    sides: tuple[str, str]
    scopes: tuple[Scope, Scope]
    family: tuple[Any, ...]
    leaves: tuple[Leaf, ...]
    shape: tuple[Any, ...]
    selects: bool

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams, each once."""
        return tuple(dict.fromkeys(self.sides))

    @property
    def reach(self) -> Reach:
        """How far back its windows begin."""
        left, right = (scope.reach for scope in self.scopes)
        assert left is not None, "a window without a start"
        assert right is not None, "a window without a start"
        return Reach(left, right)

    @property
    def due(self) -> tuple[Any, ...]:
        """Equal for joins that are evaluated at the same ticks and whose windows end there alike."""
        return tuple((scope.period, scope.grid, scope.end) for scope in self.scopes)


def join_query(plan: physical.Node) -> JoinQuery | None:
    """The query as one over a shared store of rows; None if it is none."""
    above, node = [], plan
    while isinstance(node, STATELESS):
        above.append(node)
        node = node.input
    if not isinstance(node, physical.HashJoin | physical.NlJoin) or node.kind is not JoinKind.INNER:
        return None
    left, right = node.left, node.right
    if not isinstance(left, physical.TimeWindow) or not isinstance(right, physical.TimeWindow):
        return None
    one, other = stateless_over(left.input), stateless_over(right.input)
    if one is None or other is None:
        return None
    left_scope, right_scope = _scope(left), _scope(right)
    if left_scope is None or right_scope is None:
        return None
    keys = node.keys if isinstance(node, physical.HashJoin) else ()
    condition = node.residual if isinstance(node, physical.HashJoin) else node.predicate
    return JoinQuery(
        WindowsJoin(left.schema, right.schema, node.kind, keys, condition),
        (one.stream.name.lower(), other.stream.name.lower()),
        (left_scope, right_scope),
        (left.input, right.input, keys, condition),
        leaves(plan),
        shape_of(above),
        any(isinstance(each, physical.Select) for each in above),
    )


def _scope(window: physical.TimeWindow) -> Scope | None:
    """The scope of a window that has a start, and whose evaluations and starts can be computed."""
    grid = grid_of(window)
    if window.start is None or (grid is not None and (grid.once or grid.by_calendar)):
        return None
    interval = acquisition_interval(window.input)
    if window.slide is None and interval is None:
        return None
    return Scope(window.start, window.end, window.slide, window.open_start, interval, grid)
