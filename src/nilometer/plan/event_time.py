"""Tells whether an expression over a stream's columns is the time of its tuples, by which they are ordered."""

from __future__ import annotations

import enum

from nilometer.algebra import Collection
from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions.resample import LINEAR
from nilometer.algebra.table_functions.session import SESSION, WINDOW_COLUMNS, bare
from nilometer.expressions import Call, ColumnReference, Expression, Literal, Now
from nilometer.plan import logical
from nilometer.plan.reference.ticks import tick_interval
from nilometer.types import Kind


def is_event_time(node: logical.Node, expression: Expression) -> bool:
    """Whether the expression is the time of each tuple of a stream. NOW is, where ticks are times."""
    match node, expression:
        case logical.Node(collection=Collection.WINDOWS), Now():
            return True  # the rows become tuples at the tick of their evaluation
        case _, Now():
            return tick_interval(node) is None
        case logical.Node(), ColumnReference(name, type_) if type_.kind is Kind.TIME:
            return name in node.schema and _is_time_column(node, name)
        case _:
            return False


class WindowTime(enum.Enum):
    """How a time that belongs to windows orders their rows."""

    EVALUATION = "one time for all rows of an evaluation, and a later one at each later evaluation"
    SESSION = "the start of a session, which is later than the others of its key"
    ANOTHER = "the start of a window that has several evaluations"


def window_time(node: logical.Node, expression: Expression) -> WindowTime | None:
    """What an expression over the rows of windows says of their windows; None if it says nothing. NOW tells the
    evaluation, and so do `window_start` and `window_end` of TUMBLE and HOP and `window_end` of the others."""
    match expression:
        case ColumnReference(name):
            return _window_time(node, name) if name in node.schema else None
        case Now() | Call("-", (Now(), Literal())) | Call("grid_back", (Now(), *_)):
            return WindowTime.EVALUATION
        case Call("date_bin", (_, Call("-", (Now(), Literal())), *_)):
            return WindowTime.ANOTHER  # CUMULATE's
        case _:
            return None


def _window_time(node: logical.Node, name: str) -> WindowTime | None:
    match node:
        case logical.Project(items=items) | logical.Aggregate(keys=items):
            found = (window_time(node.input, item.expression) for item in items if item.name == name)
            return next(found, None)
        case logical.TimeWindow(input=logical.TableFunction(call=FunctionCall(function=function))) if (
            function is SESSION and bare(name) in WINDOW_COLUMNS
        ):
            return WindowTime.SESSION if bare(name) == "window_start" else WindowTime.EVALUATION
        case logical.Rename():
            below = dict(zip(node.schema.names, node.input.schema.names, strict=True))
            return _window_time(node.input, below[name])
        case logical.Select() | logical.Sort() | logical.Analytic() | logical.Unnest() | logical.Fill():
            return _window_time(node.input, name) if name in node.input.schema else None
        case logical.Join(left=left, right=right) if right.collection is Collection.TABLE:
            return _window_time(left, name) if name in left.schema else None
        case _:
            return None


def _is_time_column(node: logical.Node, name: str) -> bool:
    match node:
        case logical.TableFunction(call=call) if call["FILL"] == LINEAR:
            return False  # its rows come later than their times
        case logical.Acquire(alias=alias) | logical.TableFunction(call=FunctionCall(alias=alias)):
            return name.lower() == f"{alias}.time".lower() and node.collection is Collection.STREAM
        case logical.Project(items=items):
            return any(item.name == name and is_event_time(node.input, item.expression) for item in items)
        case logical.Rename():
            below = dict(zip(node.schema.names, node.input.schema.names, strict=True))
            return _is_time_column(node.input, below[name])
        case logical.Union(left=left, right=right) if node.collection is Collection.STREAM:
            place = left.schema.names.index(name)
            return _is_time_column(left, name) and _is_time_column(right, right.schema.names[place])
        case logical.AsofJoin(left=left):
            return name in left.schema and _is_time_column(left, name)
        case logical.Join(left=left, right=right) if node.collection is Collection.STREAM:
            side = left if left.collection is Collection.STREAM else right
            return name in side.schema and _is_time_column(side, name)
        case (
            logical.Select()
            | logical.Lag()
            | logical.Sample()
            | logical.Limit()
            | logical.Unnest()
            | logical.Analytic()
            | logical.ToStream()
        ):
            return name in node.input.schema and _is_time_column(node.input, name)
        case _:
            return False
