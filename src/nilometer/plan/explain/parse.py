"""Reads a plan from text: the inverse of `explain_text`.

Blank lines and comment lines are skipped, and a line may end in a comment of the language. Leaves are looked
up in the catalog, expressions get their types from the schema below them, and the nodes check themselves: a
text that makes no sense raises an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nilometer import algebra
from nilometer.algebra.table_functions import TABLE_FUNCTIONS, operators
from nilometer.language.cursor import END, Cursor
from nilometer.plan import logical, physical
from nilometer.plan.explain import readers
from nilometer.plan.explain.analytic import read_analytic
from nilometer.plan.explain.expressions import PlanTextError
from nilometer.plan.explain.readers import Extents, Parameters, Reader, Reading
from nilometer.plan.explain.text import ELIDED


@dataclass
class Line:
    """One line of the text and the lines under it; `elided` says that it has the mark of a [NOW] window."""

    cursor: Cursor
    elided: bool
    children: list[Line] = field(default_factory=list)


def parse_plan(text: str, catalog: Extents) -> logical.Node:
    """The logical plan of a text."""
    node = _build(_tree(text), LOGICAL, catalog)
    assert isinstance(node, logical.Node)
    return node


def parse_physical_plan(text: str, catalog: Extents) -> physical.Node:
    """The physical plan of a text."""
    node = _build(_tree(text), PHYSICAL, catalog)
    assert isinstance(node, physical.Node)
    return node


# ---- lines -----------------------------------------------------------------------------------------------------------


def _tree(text: str) -> Line:
    stack: list[tuple[int, Line]] = []
    root: Line | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        body = raw.strip()
        if not body or body.startswith("--"):
            continue
        indent = len(raw) - len(raw.lstrip(" "))
        elided = body.endswith(" " + ELIDED)
        line = Line(Cursor(body.removesuffix(" " + ELIDED)), elided)
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if stack:
            stack[-1][1].children.append(line)
        elif root is None:
            root = line
        else:
            raise PlanTextError(
                f"line {number}: a second root", hint="a plan has one; indent the inputs by two spaces"
            )
        stack.append((indent, line))
    if root is None:
        raise PlanTextError("the plan is empty")
    return root


def _build(line: Line, algebra: dict[str, tuple[type[Any], Reader]], catalog: Extents) -> Any:
    inputs = tuple(_build(child, algebra, catalog) for child in line.children)
    cursor = line.cursor
    operator = cursor.advance().key
    if operator not in algebra:
        raise PlanTextError(f"no operator '{operator}'", hint=f"there are {', '.join(sorted(algebra))}")
    kind, reader = algebra[operator]
    bracketed = cursor.accept("[")
    parameters = reader(Reading(cursor, inputs, catalog))
    if bracketed:
        cursor.expect("]")
    if cursor.token.kind is not END:
        cursor.fail("the end of the line")
    try:
        node = _construct(kind, inputs, parameters)
    except TypeError:
        raise PlanTextError(f"{operator} does not take {len(inputs)} inputs") from None
    return physical.TimeWindow(node, 0, 0, None, False, elided=True) if line.elided else node


def _construct(kind: type[Any], inputs: tuple[Any, ...], parameters: Parameters) -> Any:
    if issubclass(kind, logical.WindowJoin | physical.WindowJoin):
        return kind(inputs, **parameters)
    if issubclass(kind, logical.TableFunction | physical.TableFunction):
        return kind(inputs[0], beside=inputs[1] if len(inputs) > 1 else None, **parameters)
    return kind(*inputs, **parameters)


# ---- the operators of each algebra ----------------------------------------------------------------------------------

LOGICAL: dict[str, tuple[type[Any], Reader]] = {
    "ACQUIRE": (logical.Acquire, readers.read_acquire),
    "STORED": (logical.Stored, readers.read_stored),
    "VALUES": (logical.Values, readers.read_values),
    "SELECT": (logical.Select, readers.read_select),
    "PROJECT": (logical.Project, readers.read_project),
    "RENAME": (logical.Rename, readers.read_rename),
    "UNNEST": (logical.Unnest, readers.read_unnest),
    "UNION": (logical.Union, readers.read_nothing),
    **{str(each): (logical.BagOperation, readers.read_bag_operation(each)) for each in algebra.BagOperator},
    "SAMPLE": (logical.Sample, readers.read_sample),
    "LIMIT": (logical.Limit, readers.read_limit),
    "SORT": (logical.Sort, readers.read_sort),
    "FILL": (logical.Fill, readers.read_fill),
    "LAG": (logical.Lag, readers.read_lag),
    "ANALYTIC": (logical.Analytic, read_analytic),
    "ASOF_JOIN": (logical.AsofJoin, readers.read_asof_join),
    "WINDOW_JOIN": (logical.WindowJoin, readers.read_window_join),
    "TIME_WINDOW": (logical.TimeWindow, readers.read_time_window),
    "ROW_WINDOW": (logical.RowWindow, readers.read_row_window),
    "JOIN": (logical.Join, readers.read_join),
    "AGGREGATE": (logical.Aggregate, readers.read_aggregate),
    "RSTREAM": (logical.ToStream, readers.read_to_stream(algebra.Relation.RSTREAM)),
    "ISTREAM": (logical.ToStream, readers.read_to_stream(algebra.Relation.ISTREAM)),
    "DSTREAM": (logical.ToStream, readers.read_to_stream(algebra.Relation.DSTREAM)),
    "DELIVER": (logical.Deliver, readers.read_deliver),
    **{
        each.name: (logical.TableFunction, readers.read_table_function(each))
        for each in TABLE_FUNCTIONS.values()
    },
}

PHYSICAL: dict[str, tuple[type[Any], Reader]] = {
    "SP_ACQUIRE": (physical.SpAcquire, readers.read_acquire),
    "STORED_SCAN": (physical.StoredScan, readers.read_stored),
    "VALUES": (physical.Values, readers.read_values),
    "SELECT": (physical.Select, readers.read_select),
    "PROJECT": (physical.Project, readers.read_project),
    "RENAME": (physical.Rename, readers.read_rename),
    "UNNEST": (physical.Unnest, readers.read_unnest),
    "UNION": (physical.Union, readers.read_nothing),
    "EXCHANGE": (physical.Exchange, readers.read_exchange),
    **{str(each): (physical.BagOperation, readers.read_bag_operation(each)) for each in algebra.BagOperator},
    "SAMPLE": (physical.Sample, readers.read_sample),
    "LIMIT": (physical.Limit, readers.read_limit),
    "SORT": (physical.Sort, readers.read_sort),
    "FILL": (physical.Fill, readers.read_fill),
    "TOP_K": (physical.TopK, readers.read_sort),
    "LAG": (physical.Lag, readers.read_lag),
    "ANALYTIC": (physical.Analytic, read_analytic),
    "ASOF_JOIN": (physical.AsofJoin, readers.read_asof_join),
    "NLW_JOIN": (physical.NlwJoin, readers.read_window_join),
    "HW_JOIN": (physical.HwJoin, readers.read_window_join),
    "MW_JOIN": (physical.MwJoin, readers.read_window_join),
    "TIME_WINDOW": (physical.TimeWindow, readers.read_time_window),
    "ROW_WINDOW": (physical.RowWindow, readers.read_row_window),
    "NL_JOIN": (physical.NlJoin, readers.read_join),
    "HASH_JOIN": (physical.HashJoin, readers.read_hash_join),
    "AGGR": (physical.Aggregate, readers.read_aggregate),
    "AGGR_INIT": (physical.AggregateInit, readers.read_aggregate),
    "AGGR_MERGE": (physical.AggregateMerge, readers.read_aggregate_above),
    "AGGR_EVAL": (physical.AggregateEvaluate, readers.read_aggregate_above),
    "RSTREAM": (physical.RStream, readers.read_nothing),
    "ISTREAM": (physical.IStream, readers.read_nothing),
    "DSTREAM": (physical.DStream, readers.read_nothing),
    "DELIVER": (physical.Deliver, readers.read_deliver),
    **{
        name: (physical.TableFunction, readers.read_table_function(each))
        for name, each in operators().items()
    },
}
