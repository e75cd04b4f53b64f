"""Prints a plan as text: one node a line, inputs indented by two spaces, parameters in brackets.

Semicolons separate the clauses of a node. The text is stable, and `parse` reads it back:
`parse_plan(explain_text(plan), catalog) == plan`.

    DELIVER [TICK]
      PROJECT [R.time AS time, R.depth AS depth]
        TIME_WINDOW [RANGE 1 HOUR SLIDE 1 HOUR]
          ACQUIRE [river AS R; time, depth; WHERE R.depth > 10]
"""

from __future__ import annotations

from collections.abc import Callable

from nilometer import algebra
from nilometer.algebra import JoinKind
from nilometer.algebra.table_function import (
    Choice,
    Frame,
    FunctionCall,
    Option,
    OptionKind,
    OptionValue,
    shape_names,
    shapes_of,
)
from nilometer.catalog.extents import Extent
from nilometer.expressions import Call, ColumnReference, Expression, Literal
from nilometer.language.print_expressions import string
from nilometer.plan import logical, physical
from nilometer.plan.explain.analytic import print_analytic
from nilometer.plan.explain.expressions import print_expression, print_name, print_sort_key
from nilometer.plan.explain.windows import print_row_window, print_time_window
from nilometer.plan.window_join_parts import KeyPair, Memory, WindowBound
from nilometer.types import BOOLEAN, INT, STRING, UNITS, Column, OwnWindow, format_duration

PlanNode = logical.Node | physical.Node

LOGICAL_NAMES: dict[type[logical.Node], str] = {
    logical.Acquire: "ACQUIRE",
    logical.Stored: "STORED",
    logical.Values: "VALUES",
    logical.Select: "SELECT",
    logical.Project: "PROJECT",
    logical.Rename: "RENAME",
    logical.Unnest: "UNNEST",
    logical.Union: "UNION",
    logical.Sample: "SAMPLE",
    logical.Limit: "LIMIT",
    logical.Lag: "LAG",
    logical.Analytic: "ANALYTIC",
    logical.AsofJoin: "ASOF_JOIN",
    logical.WindowJoin: "WINDOW_JOIN",
    logical.TimeWindow: "TIME_WINDOW",
    logical.RowWindow: "ROW_WINDOW",
    logical.Join: "JOIN",
    logical.Aggregate: "AGGREGATE",
    logical.Sort: "SORT",
    logical.Fill: "FILL",
    logical.Deliver: "DELIVER",
}

ELIDED = "@now"
"""The mark of a [NOW] window that needs no operator; it stands at the end of its input's line."""


Note = Callable[[PlanNode], str | None]


def explain_text(node: PlanNode, note: Note | None = None) -> str:
    """The text of a logical or physical plan, without a final line end. `note` returns a remark on a node,
    which is printed as a comment at the end of its line."""
    lines: list[str] = []
    _explain(node, 0, "", lines, note)
    return "\n".join(lines)


def operator_name(node: PlanNode) -> str:
    """The operator as the text names it."""
    match node:
        case physical.Node():
            return node.operator
        case logical.ToStream(relation=relation):
            return str(relation)
        case logical.BagOperation(bag_operator=bag_operator):
            return str(bag_operator)
        case logical.TableFunction(call=call):
            return call.name
        case _:
            return LOGICAL_NAMES[type(node)]


def _explain(node: PlanNode, depth: int, mark: str, lines: list[str], note: Note | None) -> None:
    if isinstance(node, physical.TimeWindow) and node.elided:
        _explain(node.input, depth, f" {ELIDED}{mark}", lines, note)
        return
    clauses = print_parameters(node)
    parameters = f" [{'; '.join(clauses)}]" if clauses else ""
    remark = note(node) if note is not None else None
    lines.append(
        "  " * depth + operator_name(node) + parameters + mark + (f"  -- {remark}" if remark else "")
    )
    for child in node.inputs:
        _explain(child, depth + 1, "", lines, note)


def print_parameters(node: PlanNode) -> list[str]:
    """The clauses of one node."""
    match node:
        case logical.Acquire() | physical.SpAcquire():
            return _acquire(node)
        case logical.Stored() | physical.StoredScan():
            leaf = f"{print_name(node.table.name)} AS {print_name(node.alias)}"
            refresh = node.table.refresh
            every = [] if refresh is None else [f"REFRESH EVERY {format_duration(refresh)}"]
            return [leaf, _columns(node.columns, node.table), *every]
        case logical.Values() | physical.Values():
            return [", ".join(map(_typed_column, node.columns)) or "()", ", ".join(_constant_rows(node))]
        case logical.Select() | physical.Select():
            return [print_expression(node.predicate)]
        case logical.Project() | physical.Project():
            return [", ".join(map(_projection, node.items))]
        case logical.Rename() | physical.Rename():
            return [print_name(node.alias)]
        case logical.Unnest() | physical.Unnest():
            item = f"{print_expression(node.expression)} AS {print_name(node.name)}"
            return [item, "LIST DROPPED"] if node.dropped else [item]
        case logical.Sample() | physical.Sample():
            return [f"EVERY {format_duration(node.every)}"]
        case logical.Limit() | physical.Limit():
            return _rows(node.limit, node.offset) or ["ALL"]
        case logical.Fill() | physical.Fill():
            keys = [", ".join(map(print_name, node.keys))] if node.keys else []
            windows = [", ".join(map(_projection, node.windows))] if node.windows else []
            return [*keys, node.method, *windows]
        case logical.Sort() | physical.Sort():
            return [", ".join(map(print_sort_key, node.keys)), *_rows(node.limit, node.offset)]
        case logical.Lag() | physical.Lag():
            return [", ".join(map(_lagged, node.items))]
        case logical.Analytic() | physical.Analytic():
            return print_analytic(node)
        case logical.TableFunction() | physical.TableFunction():
            return _function_call(node.call)
        case logical.AsofJoin() | physical.AsofJoin():
            return [f"KEYS {_keys(node.keys)}", *_within(node.within), *(["BEFORE"] if node.before else [])]
        case logical.WindowJoin():
            return [*_outer(node.kind), _bounds(node.bounds), *_memory(node.memory), *_on(node.predicate)]
        case physical.WindowJoin():
            memory = _memory(node.memory)
            outer = _outer(node.kind)
            return [*outer, _bounds(node.bounds), *memory, *_numbered_keys(node.keys), *_on(node.predicate)]
        case logical.TimeWindow() | physical.TimeWindow():
            return [print_time_window(node.start, node.end, node.slide, node.open_start, node.grid)]
        case logical.RowWindow() | physical.RowWindow():
            per = [f"PER {', '.join(map(print_name, node.keys))}"] if node.keys else []
            return [print_row_window(node.start, node.end, node.slide), *per]
        case logical.Join() | physical.NlJoin():
            return [str(node.kind), *_on(node.predicate)]
        case physical.HashJoin():
            return [str(node.kind), f"KEYS {_keys(node.keys)}", *_on(node.residual)]
        case logical.Aggregate() | physical.Aggregate() | physical.AggregateInit():
            return _aggregate(node.keys, node.items, node.completeness)
        case physical.Exchange():
            return ["BY " + ", ".join(map(print_expression, node.keys)) if node.keys else "ONE BUCKET"]
        case logical.Deliver() | physical.Deliver():
            return [*(["TICK"] if node.tick else []), *_within(node.within)]
        case _:  # AGGR_MERGE and AGGR_EVAL take their parameters from the AGGR_INIT below them
            return []


def _outer(kind: JoinKind) -> list[str]:
    """The kind of a WINDOW join; nothing for an inner one."""
    return [] if kind is JoinKind.INNER else [str(kind)]


def _function_call(call: FunctionCall) -> list[str]:
    """The alias and the ids, columns and options, the window, the choices made, and the declared sensors."""
    plain = [
        _option(each, call[each.word])
        for each in call.function.options
        if isinstance(each, Option) and call[each.word] is not None and call[each.word] is not False
    ]
    given = " ".join([", ".join(map(print_name, call.columns)), *plain]).strip()
    return [
        f"AS {print_name(call.alias)} BY {call.id_type}",
        *([given] if given else []),
        *_function_window(call.window),
        *(_chosen(each, call) for each in call.function.options if isinstance(each, Choice)),
        *([_sensors(call.sensors)] if call.sensors else []),
    ]


def _chosen(choice: Choice, call: FunctionCall) -> str:
    word = call[choice.name]
    option = next((option for option in choice.options if option.word == word), None)
    return str(word) if option is None else _option(option, call[option.word])


def _option(option: Option, value: OptionValue) -> str:
    kinds = [piece for piece in option.pieces if isinstance(piece, OptionKind)]
    values = iter(value if len(kinds) > 1 and isinstance(value, tuple) else (value,))
    pieces = [
        _option_value(piece, next(values)) if isinstance(piece, OptionKind) else piece
        for piece in option.pieces
    ]
    return " ".join([option.word, *pieces])


def _option_value(kind: OptionKind, value: OptionValue) -> str:
    match kind, value:
        case OptionKind.DURATION, int():
            return format_duration(value)
        case OptionKind.NAME, str():
            return print_name(value)
        case OptionKind.SHAPES, tuple() if names := shape_names(value):
            shapes = zip(names, shapes_of(value), strict=True)
            return f"({', '.join(f'{string(name)} ({_numbers(shape)})' for name, shape in shapes)})"
        case OptionKind.LIST | OptionKind.SHAPES, tuple():
            return f"({_numbers(value)})"
        case _:
            return repr(value)


def _numbers(values: tuple[OptionValue, ...]) -> str:
    return ", ".join(map(repr, values))


def _function_window(window: int | OwnWindow | Frame | None) -> list[str]:
    """A length of time, the column that holds the length and its unit, or the windows of a frame."""
    match window:
        case None:
            return []
        case OwnWindow():
            unit = next(name for name, length in UNITS.items() if length == window.unit)
            return [f"RANGE {print_name(window.column)} {unit}"]
        case Frame():
            return [print_time_window(window.start, window.end, window.slide, window.open_start)]
        case _:
            return [f"RANGE {format_duration(window)}"]


def _columns(columns: tuple[Column, ...], extent: Extent) -> str:
    return ", ".join(_column(column, extent) for column in columns) or "()"


def _column(column: Column, extent: Extent) -> str:
    """The name of a leaf's column, with its type if the extent lacks it (a sensor's static attribute)."""
    name = print_name(column.name)
    if column in extent.columns:
        return name
    return f"{name} {column.type}" + _unit(column.unit)


def _typed_column(column: Column) -> str:
    return f"{print_name(column.name)} {column.type}" + _unit(column.unit)


def _constant_rows(node: logical.Values | physical.Values) -> list[str]:
    return [
        f"({', '.join(print_expression(Literal(v, c.type)) for v, c in zip(row, node.columns, strict=True))})"
        for row in node.rows
    ]


def _acquire(node: logical.Acquire | physical.SpAcquire) -> list[str]:
    clauses = [f"{print_name(node.stream.name)} AS {print_name(node.alias)}"]
    clauses.append(_columns(node.columns, node.stream))
    if node.reads:
        clauses.append(f"READS {_columns(node.reads, node.stream)}")
    if node.predicate is not None:
        clauses.append(f"WHERE {print_expression(node.predicate)}")
    if node.sensors is not None:
        clauses.append(_sensors(node.sensors))
    if node.of is not None:
        around = f" HOPS {node.of[1]}" if node.of[1] else ""
        clauses.append(f"SENSORS OF {print_name(node.of[0])}{around}")
    if isinstance(node, physical.SpAcquire) and node.every is not None:
        clauses.append(f"EVERY {format_duration(node.every)}")
    return clauses


def _unit(unit: str | None) -> str:
    return "" if unit is None else " UNIT '" + unit.replace("'", "''") + "'"


def _sensors(sensors: frozenset[int | str]) -> str:
    ordered = sorted(sensors, key=lambda sensor: (isinstance(sensor, str), sensor))
    texts = [print_expression(Literal(s, STRING if isinstance(s, str) else INT)) for s in ordered]
    return f"SENSORS {{{', '.join(texts)}}}"


def _projection(item: logical.Projection) -> str:
    text = print_expression(item.expression)
    if not (isinstance(item.expression, ColumnReference) and item.expression.name == item.name):
        text += f" AS {print_name(item.name)}"
    return text + _unit(item.unit)


def _rows(limit: int | None, offset: int) -> list[str]:
    rows = [] if limit is None else [f"LIMIT {limit}"]
    return [" ".join([*rows, *([f"OFFSET {offset}"] if offset else [])])] if rows or offset else []


def _lagged(item: algebra.Lagged) -> str:
    offset = "" if item.offset == 1 else f", {item.offset}"
    return f"{item.function}({print_expression(item.expression)}{offset}) AS {print_name(item.name)}"


def _keys(keys: tuple[tuple[Expression, Expression], ...]) -> str:
    return ", ".join(print_expression(Call("=", pair, BOOLEAN)) for pair in keys)


def _numbered_keys(keys: tuple[KeyPair, ...]) -> list[str]:
    pairs = [
        f"({k.left}, {k.right}) {print_expression(Call('=', (k.left_expression, k.right_expression), BOOLEAN))}"
        for k in keys
    ]
    return ["KEYS " + ", ".join(pairs)] if pairs else []


def _within(duration: int | None) -> list[str]:
    return [] if duration is None else [f"WITHIN {format_duration(duration)}"]


def _on(predicate: Expression | None) -> list[str]:
    return [] if predicate is None else [f"ON {print_expression(predicate)}"]


def _bounds(bounds: tuple[WindowBound, ...]) -> str:
    return ", ".join(f"WINDOW({b.left}, {b.right}) = {format_duration(b.width)}" for b in bounds)


def _memory(memory: Memory | None) -> list[str]:
    if memory is None:
        return []
    bounds = [f"MEMORY({port}) = {rows} ROWS" for port, rows in enumerate(memory.rows) if rows is not None]
    return [f"{', '.join(bounds)} SHED {memory.policy}"]


def _aggregate(
    keys: tuple[logical.Projection, ...],
    items: tuple[logical.AggregateItem, ...],
    completeness: algebra.Completeness | None,
) -> list[str]:
    clauses: list[str] = []
    if keys:
        clauses.append("BY " + ", ".join(map(_projection, keys)))
    if items:
        texts = [f"{print_expression(i.aggregate)} AS {print_name(i.name)}{_unit(i.unit)}" for i in items]
        clauses.append(", ".join(texts))
    if completeness is not None:
        count = "" if completeness.sensors is None else f" OF {completeness.sensors}"
        clauses.append(
            f"COMPLETENESS AS {print_name(completeness.name)} BY {print_name(completeness.id_column)}"
            f" EVERY {format_duration(completeness.interval)}{count}"
        )
    return clauses
