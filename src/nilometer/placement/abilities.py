"""Which physical operators a mote can run: a table, and a reason for every operator that it cannot run.

A mote keeps the state of an evaluation in a few kilobytes and works tick by tick. It can run windows whose
ends are whole evaluations, joins and aggregates over them, and arithmetic. The gateway runs every other
operator, and all operators above it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from nilometer.algebra import Collection, JoinKind
from nilometer.expressions import (
    Aggregate,
    Call,
    Case,
    ColumnReference,
    Expression,
    Literal,
    Now,
    type_of,
)
from nilometer.placement.node_paths import NodePath, inputs_with_paths, walk_with_paths
from nilometer.placement.sources import Sources, source_key
from nilometer.plan import physical
from nilometer.types import Kind, format_duration

MOTE_OPERATORS: tuple[type[physical.Node], ...] = (
    physical.SpAcquire,
    physical.Select,
    physical.Project,
    physical.Rename,
    physical.TimeWindow,
    physical.RowWindow,
    physical.NlJoin,
    physical.HashJoin,
    physical.AggregateInit,
    physical.AggregateMerge,
    physical.AggregateEvaluate,
    physical.RStream,
    physical.Exchange,
    physical.Deliver,
)
"""The operators that the mote runtime has."""

MOTE_FUNCTIONS = frozenset(
    (
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "and",
        "or",
        "not",
        "negative",
        "abs",
        "sqr",
        "sqrt",
        "mod",
        "is_null",
        "float",
    )
)
"""The scalar functions that the mote runtime has."""

MOTE_AGGREGATES = frozenset(("count", "sum", "avg", "min", "max", "stdev", "variance"))
"""The aggregates that the mote runtime has. It has `stdev` and `variance` for INT only, whose squares it can
sum exactly."""

MOTE_KINDS = frozenset((Kind.INT, Kind.FLOAT, Kind.TIME, Kind.BOOLEAN, Kind.DURATION))
"""The kinds of value that fit into a mote's tuple. A STRING fits only as the id of a sensor: motes know nodes
by number, and the gateway knows their names. A mote can forward such an id, group by it, and compare it with
another id, but nothing else."""


VECTORS = "a vector does not fit into a mote's packet; the gateway computes with vectors"


def why_not_on_a_mote(node: physical.Node, sources: Sources) -> str | None:
    """Why the operator itself cannot run on a mote; None if it can."""
    if not isinstance(node, MOTE_OPERATORS):
        return f"motes have no {node.operator}"
    match node:
        case physical.SpAcquire():
            return sources.elsewhere.get(source_key(node))  # `fit_acquisitions` has made the others fit
        case physical.Select(predicate=predicate):
            return why_not_expression(predicate)
        case physical.Project(items=items):
            return _first(why_not_expression(item.expression) for item in items)
        case physical.TimeWindow():
            return _window(node, sources.interval)
        case physical.RowWindow(keys=per) if per:
            return "motes count the rows of a window over all sources"
        case physical.RowWindow(start=start):
            return "a window without beginning outgrows a mote" if start is None else None
        case physical.NlJoin(predicate=predicate) | physical.HashJoin(residual=predicate):
            if node.kind is not JoinKind.INNER:
                return f"motes have no {node.kind} join"
            if Collection.TABLE in (node.left.collection, node.right.collection):
                return "motes hold no stored tables"
            keys = node.keys if isinstance(node, physical.HashJoin) else ()
            return why_not_expression(predicate) or _first(
                why_not_expression(part) for pair in keys for part in pair
            )
        case physical.AggregateInit() | physical.AggregateMerge() | physical.AggregateEvaluate():
            if node.completeness is not None:
                return "completeness is counted at the door"
            for item in node.items:
                function, argument = item.aggregate.function, item.aggregate.argument
                if function not in MOTE_AGGREGATES:
                    return f"motes have no {function.upper()}"
                if function != "count" and argument is not None and _is_name(argument):
                    return f"motes know nodes by number, and {function.upper()} would be one of names"
                if (
                    function in ("stdev", "variance")
                    and argument is not None
                    and type_of(argument).kind is not Kind.INT
                ):
                    return f"motes have {function.upper()} of INT only"
            return _first(why_not_expression(key.expression) for key in node.keys) or _first(
                why_not_expression(item.aggregate.argument) for item in node.items
            )
        case _:
            return None


Ability = Callable[[physical.Node, Sources], str | None]
"""Returns why an operator itself cannot run on a mote, or None if it can: `why_not_on_a_mote`, or the
function of a runtime that can do less."""


def forced_to_the_gateway(
    plan: physical.Node, sources: Sources, why_not: Ability = why_not_on_a_mote
) -> dict[NodePath, str]:
    """The operators that must run at the gateway, by path, each with the reason: its own, or that of an
    operator below it."""
    found: dict[NodePath, str] = {}

    def visit(path: NodePath, node: physical.Node) -> str | None:
        below = [reason for at, child in inputs_with_paths(path, node) if (reason := visit(at, child))]
        own = why_not(node, sources)
        reason = own or (below[0] if below else None)
        if reason and not isinstance(node, physical.Deliver):
            found[path] = own or f"what it reads is made there ({below[0]})"
        return reason

    visit((), plan)
    return windows_behind(plan, found) | found


def windows_behind(plan: physical.Node, at_gateway: Container[NodePath]) -> dict[NodePath, str]:
    """The windows that must be computed at the gateway, and the operators between each of them and the
    operator that needs it there, by path. That operator needs something that a mote's tuple does not say: for
    a row window, which window a row belongs to (several may end at one tick); for COMPLETENESS, which sensors
    were heard."""
    found: dict[NodePath, str] = {}

    def move(path: NodePath, node: physical.Node, windows: type[physical.Node], reason: str) -> bool:
        if node.collection is not Collection.WINDOWS:
            return False
        if isinstance(node, windows):
            found[path] = reason
            return True
        moved = [move(at, child, windows, reason) for at, child in inputs_with_paths(path, node)]
        if any(moved):
            found.setdefault(path, f"what it reads is made there ({reason})")
        return any(moved)

    row_by_row = (physical.Select, physical.Project, physical.Rename, physical.RStream)
    for path, node in walk_with_paths(plan):
        if path not in at_gateway or isinstance(node, row_by_row):
            continue
        for at, child in inputs_with_paths(path, node):
            move(
                at,
                child,
                physical.RowWindow,
                "windows of rows that end at one tick cannot be told apart there",
            )
            if getattr(node, "completeness", None) is not None:
                move(at, child, physical.TimeWindow, "completeness is counted there")
    return found


def why_not_expression(expression: Expression | None) -> str | None:
    """Why a mote cannot compute an expression; None if it can."""
    return None if expression is None or _is_name(expression) else _why_not(expression)


def _why_not(part: Expression) -> str | None:
    children = part.children()
    match part:
        case Call("=" | "!=", arguments) if all(map(_is_name, arguments)):
            return None  # compared by their numbers
        case Call(function) if function not in MOTE_FUNCTIONS:
            return f"motes have no function {function}"
        case Now() | Aggregate():
            return f"motes have no {type(part).__name__.upper()}"
        case Case(conditions, values, otherwise):
            arms = tuple(arm for arm in (*values, otherwise) if not _is_null(arm))
            children = (*conditions, *(arms or (otherwise,)))  # a NULL arm has no value and costs nothing
        case Literal() if _is_null(part):
            return "motes have no constant NULL"
        case ColumnReference() if part.type.kind is Kind.VECTOR:
            return VECTORS
        case Literal() | ColumnReference() if part.type.kind not in MOTE_KINDS:
            return f"motes hold numbers, and {part} is none"
    if not isinstance(part, ColumnReference) and type_of(part).kind in (Kind.TIME, Kind.DURATION):
        return f"motes know times by the number of the acquisition, and cannot compute {part}"
    return _first(map(_why_not, children))


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _is_name(expression: Expression) -> bool:
    """Whether the expression is a column of names. The only names that are acquired are ids."""
    return isinstance(expression, ColumnReference) and expression.type.kind is Kind.STRING


def _window(node: physical.TimeWindow, interval: int) -> str | None:
    if node.start is None:
        return "a window without beginning outgrows a mote"
    if node.grid is not None:
        return "motes have no TUMBLE, HOP, OFFSET or TIMEZONE"
    for length in (node.start, node.end, node.slide or 0):
        if length % interval:
            return (
                f"a window that ends between two readings: {format_duration(length)} is no multiple of the"
                f" acquisition interval, {format_duration(interval)}"
            )
    return None


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((reason for reason in reasons if reason), None)
