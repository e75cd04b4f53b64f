"""Reads the clauses of one line of plan text: the inverse of `text.print_parameters`.

Each reader reads the text between the brackets and stops behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nilometer import algebra
from nilometer.algebra.table_function import (
    Choice,
    Frame,
    FunctionCall,
    Option,
    OptionKind,
    OptionValue,
    TableFunction,
)
from nilometer.catalog.extents import Extent, Stream, Table
from nilometer.expressions import Aggregate, Call, ColumnReference, Expression, Literal
from nilometer.language import ast
from nilometer.language.cursor import INT as INT_TOKEN
from nilometer.language.cursor import Cursor
from nilometer.language.parse_expressions import parse_expression, parse_name, parse_number
from nilometer.language.parse_options import parse_options
from nilometer.plan import logical, physical
from nilometer.plan.explain.expressions import PlanTextError, read_duration, read_expression
from nilometer.plan.explain.windows import row_window_parameters, time_window_parameters
from nilometer.plan.window_join_parts import KeyPair, Memory, WindowBound
from nilometer.types import UNITS, Column, Kind, OwnWindow, Schema, Type


class Extents(Protocol):
    """The part of the catalog that plan text needs."""

    def extent(self, name: str) -> Extent | None:
        """The extent of that name; case does not matter."""


@dataclass(frozen=True)
class Reading:
    """The state that the reader of one line works with."""

    cursor: Cursor
    inputs: tuple[logical.Node, ...] | tuple[physical.Node, ...]
    catalog: Extents

    @property
    def schema(self) -> Schema:
        """All columns below."""
        return Schema(tuple(column for node in self.inputs for column in node.schema))

    def expression(self, schema: Schema | None = None) -> Expression:
        """Reads the next expression."""
        return read_expression(parse_expression(self.cursor), self.schema if schema is None else schema)

    def duration(self) -> int:
        """Reads the next duration."""
        return read_duration(parse_expression(self.cursor))

    def name(self) -> str:
        """Reads the next name, dots included."""
        return parse_name(self.cursor).text


T = TypeVar("T")

Parameters = dict[str, Any]
Reader = Callable[[Reading], Parameters]


# ---- the clauses of each operator ------------------------------------------------------------------------------------


def read_nothing(_reading: Reading) -> Parameters:
    return {}


def _several(reading: Reading, read: Callable[[], T]) -> tuple[T, ...]:
    found = [read()]
    while reading.cursor.accept(","):
        found.append(read())
    return tuple(found)


def _extent_and_alias(reading: Reading) -> tuple[Extent, str]:
    name = reading.name()
    extent = reading.catalog.extent(name)
    if extent is None:
        raise PlanTextError(f"no stream or table '{name}'")
    reading.cursor.expect("AS")
    alias = reading.name()
    reading.cursor.expect(";")
    return extent, alias


def _columns(reading: Reading, extent: Extent) -> tuple[Column, ...]:
    if reading.cursor.accept("("):
        reading.cursor.expect(")")
        return ()

    def column() -> Column:
        name = reading.name()
        if not reading.cursor.at(",", ";", "]"):
            return Column(name, _type(reading.cursor), _unit(reading.cursor))
        found = next((column for column in extent.columns if column.name == name), None)
        if found is None:
            raise PlanTextError(
                f"no column '{name}' in '{extent.name}'", hint="a static attribute needs its type"
            )
        return found

    return _several(reading, column)


def _type(cursor: Cursor) -> Type:
    kind = Kind(cursor.advance().key)
    width = None
    if cursor.accept("("):
        width = int(parse_number(cursor))
        cursor.expect(")")
    return Type(kind, width)


def _unit(cursor: Cursor) -> str | None:
    return cursor.string() if cursor.accept("UNIT") else None


def _sensors(reading: Reading) -> frozenset[int | str]:
    def sensor() -> int | str:
        match reading.expression():
            case Literal(int() | str() as value):
                return value
            case other:
                raise PlanTextError(f"a sensor was expected, not {other}")

    reading.cursor.expect("{")
    found = () if reading.cursor.at("}") else _several(reading, sensor)
    reading.cursor.expect("}")
    return frozenset(found)


def read_acquire(reading: Reading) -> Parameters:
    extent, alias = _extent_and_alias(reading)
    if not isinstance(extent, Stream):
        raise PlanTextError(f"'{extent.name}' is not a stream")
    parameters: Parameters = {"stream": extent, "alias": alias, "columns": _columns(reading, extent)}
    while reading.cursor.accept(";"):
        match reading.cursor.expect_any("READS", "WHERE", "SENSORS", "EVERY"):
            case "READS":
                parameters["reads"] = _columns(reading, extent)
            case "WHERE":
                wide = parameters["columns"] + parameters.get("reads", ())
                schema = Schema(tuple(Column(f"{alias}.{c.name}", c.type) for c in wide))
                parameters["predicate"] = reading.expression(schema)
            case "SENSORS" if reading.cursor.accept("OF"):
                name = reading.name()
                hops = int(parse_number(reading.cursor)) if reading.cursor.accept("HOPS") else 0
                parameters["of"] = name, hops
            case "SENSORS":
                parameters["sensors"] = _sensors(reading)
            case _:  # the stream's own acquisition interval, repeated for the reader
                reading.duration()
    return parameters


def read_stored(reading: Reading) -> Parameters:
    extent, alias = _extent_and_alias(reading)
    if not isinstance(extent, Table):
        raise PlanTextError(f"'{extent.name}' is not a table")
    columns = _columns(reading, extent)
    if reading.cursor.accept(";"):  # the table's own interval, repeated for the reader
        reading.cursor.expect("REFRESH")
        reading.cursor.expect("EVERY")
        reading.duration()
    return {"table": extent, "alias": alias, "columns": columns}


def read_values(reading: Reading) -> Parameters:
    cursor = reading.cursor

    def column() -> Column:
        name = reading.name()
        return Column(name, _type(cursor), _unit(cursor))

    def value() -> Any:
        match reading.expression():
            case Literal(value=value):
                return value
            case Call(function=function, arguments=()) if function.startswith("null_"):
                return None
            case other:
                raise PlanTextError(f"a constant was expected, not {other}")

    def row() -> tuple[Any, ...]:
        cursor.expect("(")
        values = () if cursor.at(")") else _several(reading, value)
        cursor.expect(")")
        return values

    columns: tuple[Column, ...] = ()
    if cursor.accept("("):
        cursor.expect(")")
    else:
        columns = _several(reading, column)
    cursor.expect(";")
    return {"columns": columns, "rows": _several(reading, row)}


def read_select(reading: Reading) -> Parameters:
    return {"predicate": reading.expression()}


def _projections(reading: Reading) -> tuple[logical.Projection, ...]:
    def projection() -> logical.Projection:
        expression = reading.expression()
        if reading.cursor.accept("AS"):
            name = reading.name()
        elif isinstance(expression, ColumnReference):
            name = expression.name
        else:
            reading.cursor.fail("AS")
        return logical.Projection(name, expression, _unit(reading.cursor))

    return _several(reading, projection)


def read_project(reading: Reading) -> Parameters:
    return {"items": () if reading.cursor.at("]") else _projections(reading)}


def read_rename(reading: Reading) -> Parameters:
    return {"alias": reading.name()}


def read_unnest(reading: Reading) -> Parameters:
    expression = reading.expression()
    reading.cursor.expect("AS")
    name = reading.name()
    dropped = reading.cursor.accept(";")
    if dropped:
        reading.cursor.expect("LIST")
        reading.cursor.expect("DROPPED")
    return {"name": name, "expression": expression, "dropped": dropped}


def read_sample(reading: Reading) -> Parameters:
    reading.cursor.expect("EVERY")
    return {"every": reading.duration()}


def read_limit(reading: Reading) -> Parameters:
    reading.cursor.accept("ALL")  # ORDER BY time, without a LIMIT
    return _limit(reading.cursor)


def read_fill(reading: Reading) -> Parameters:
    keys: tuple[str, ...] = ()
    if not reading.cursor.at("NULL", "PREVIOUS", "LINEAR"):
        keys = _several(reading, reading.name)
        reading.cursor.expect(";")
    method = reading.cursor.expect_any("NULL", "PREVIOUS", "LINEAR")
    return {
        "keys": keys,
        "method": method,
        "windows": _projections(reading) if reading.cursor.accept(";") else (),
    }


def read_sort(reading: Reading) -> Parameters:
    keys = read_sort_keys(reading)
    return {"keys": keys, **(_limit(reading.cursor) if reading.cursor.accept(";") else {})}


def read_sort_keys(reading: Reading) -> tuple[algebra.SortKey, ...]:
    """Reads the keys of an ORDER BY."""
    cursor = reading.cursor

    def key() -> algebra.SortKey:
        expression = reading.expression()
        descending = cursor.accept("DESC")
        nulls_first = cursor.accept("NULLS")
        if nulls_first:
            cursor.expect("FIRST")
        return algebra.SortKey(expression, descending, nulls_first)

    return _several(reading, key)


def _limit(cursor: Cursor) -> Parameters:
    limit = int(parse_number(cursor)) if cursor.accept("LIMIT") else None
    return {"limit": limit, "offset": int(parse_number(cursor)) if cursor.accept("OFFSET") else 0}


def read_lag(reading: Reading) -> Parameters:
    def lagged() -> algebra.Lagged:
        tree = parse_expression(reading.cursor)
        reading.cursor.expect("AS")
        match tree:
            case ast.FunctionCall(name, (argument, ast.Constant(int() as offset))):
                pass
            case ast.FunctionCall(name, (argument,)):
                offset = 1
            case _:
                raise PlanTextError("LAG, DELTA or RATE of an expression was expected")
        expression = read_expression(argument, reading.schema)
        return algebra.Lagged(reading.name(), algebra.Shift(name.upper()), expression, offset)

    return {"items": _several(reading, lagged)}


def read_table_function(function: TableFunction) -> Reader:
    """Reads the clauses of a function's call, in the order in which they are printed."""
    return lambda reading: {"call": _function_call(reading, function)}


def _function_call(reading: Reading, function: TableFunction) -> FunctionCall:
    cursor = reading.cursor
    cursor.expect("AS")
    alias = reading.name()
    cursor.expect("BY")
    id_type = _type(cursor)
    columns: tuple[str, ...] = ()
    given: dict[str, OptionValue] = {}
    window: int | OwnWindow | Frame | None = None
    sensors: frozenset[int | str] = frozenset()
    if function.least_columns or (function.most_columns != 0 and _at_column(cursor, function)):
        cursor.expect(";")
        columns = _several(reading, reading.name)
        given |= _settings(cursor, function)
    function = function.meant(given)
    defaults = [each.default for each in function.options if isinstance(each, Choice)]
    while cursor.accept(";"):
        if cursor.accept("SENSORS"):
            sensors = _sensors(reading)
        elif function.needs_window and window is None and not _at_option(cursor, function):
            window = _function_window(reading, function)
        elif not any(isinstance(word, str) and cursor.accept(word) for word in defaults):
            given |= _settings(cursor, function)
    return FunctionCall(function, alias, id_type, columns, function.settle(given), window, sensors)


def _at_option(cursor: Cursor, function: TableFunction) -> bool:
    return any(cursor.at(option.word.split()[0]) for option in function.all_options)


def _at_column(cursor: Cursor, function: TableFunction) -> bool:
    """Whether a clause of columns comes next; the clause is optional."""
    words = {option.word.split()[0] for option in function.all_options} | {"SENSORS", "RANGE"}
    if function.framed:
        words |= {"UNBOUNDED", "FROM", "AT", "NOW"}
    return cursor.at(";") and cursor.peek().key not in words


def _settings(cursor: Cursor, function: TableFunction) -> dict[str, OptionValue]:
    settings = parse_options(cursor, function, spelled=True)
    return {setting.word: _option_value(function.option(setting.word), setting) for setting in settings}


def _option_value(option: Option, setting: ast.Setting) -> OptionValue:
    values = tuple(
        _setting_value(kind, value)
        for kind, value in zip(option.pieces, setting.values, strict=True)
        if isinstance(kind, OptionKind)
    )
    if not values:
        return True
    return values if len(values) > 1 else values[0]


def _setting_value(kind: OptionKind, value: object) -> OptionValue:
    match kind, value:
        case OptionKind.NAME, ast.Name():
            return value.text
        case OptionKind.LIST | OptionKind.SHAPES, ast.Amounts(items):
            return tuple(_setting_value(OptionKind.NUMBER, part) for part in items)
        case OptionKind.SHAPES, ast.Shapes(items=shapes):
            return tuple((shape.name, _setting_value(OptionKind.LIST, shape.values)) for shape in shapes)
        case _, ast.Amount(count=int() | float() as count, unit=unit):
            if kind is OptionKind.DURATION:
                return round(count * UNITS[unit or "SECONDS"])
            return float(count) if kind in (OptionKind.NUMBER, OptionKind.DISTANCE) else count
        case _:
            raise PlanTextError(f"no value of an option: {value}")


def _function_window(reading: Reading, function: TableFunction) -> int | OwnWindow | Frame:
    if function.framed:
        return Frame(**time_window_parameters(reading.cursor))
    reading.cursor.expect("RANGE")
    return reading.duration() if reading.cursor.token.kind is INT_TOKEN else _own_window(reading)


def _own_window(reading: Reading) -> OwnWindow:
    column = reading.name()
    return OwnWindow(column, UNITS[reading.cursor.expect_any(*UNITS)])


def _equality(reading: Reading) -> tuple[Expression, Expression]:
    match reading.expression():
        case Call("=", (left, right)):
            return left, right
        case other:
            raise PlanTextError(f"an equality was expected, not {other}")


def read_asof_join(reading: Reading) -> Parameters:
    reading.cursor.expect("KEYS")
    parameters: Parameters = {"keys": (), "within": None}
    if not reading.cursor.at(";", "]"):
        parameters["keys"] = _several(reading, lambda: _equality(reading))
    while reading.cursor.accept(";"):
        if reading.cursor.accept("BEFORE"):
            parameters["before"] = True
        else:
            reading.cursor.expect("WITHIN")
            parameters["within"] = reading.duration()
    return parameters


def _pair_of_inputs(cursor: Cursor) -> tuple[int, int]:
    cursor.expect("(")
    left = int(parse_number(cursor))
    cursor.expect(",")
    right = int(parse_number(cursor))
    cursor.expect(")")
    return left, right


def read_window_join(reading: Reading) -> Parameters:
    cursor = reading.cursor

    def bound() -> WindowBound:
        cursor.expect("WINDOW")
        left, right = _pair_of_inputs(cursor)
        cursor.expect("=")
        return WindowBound(left, right, reading.duration())

    def key() -> KeyPair:
        left, right = _pair_of_inputs(cursor)
        left_expression, right_expression = _equality(reading)
        return KeyPair(left, left_expression, right, right_expression)

    def memory() -> tuple[int, int]:
        cursor.expect("MEMORY")
        cursor.expect("(")
        port = int(parse_number(cursor))
        cursor.expect(")")
        cursor.expect("=")
        rows = int(parse_number(cursor))
        cursor.expect("ROWS")
        return port, rows

    parameters: Parameters = {}
    if not cursor.at("WINDOW"):
        parameters["kind"] = _join_kind(reading)
        cursor.expect(";")
    parameters["bounds"] = _several(reading, bound)
    while cursor.accept(";"):
        if cursor.accept("KEYS"):
            parameters["keys"] = _several(reading, key)
        elif cursor.at("MEMORY"):
            found = dict(_several(reading, memory))
            cursor.expect("SHED")
            policy = algebra.ShedPolicy(cursor.expect_any(*algebra.ShedPolicy))
            rows = tuple(found.get(port) for port in range(len(reading.inputs)))
            parameters["memory"] = Memory(rows, policy)
        else:
            cursor.expect("ON")
            parameters["predicate"] = reading.expression()
    return parameters


def read_join(reading: Reading) -> Parameters:
    return {"kind": _join_kind(reading), "predicate": _on(reading)}


def read_hash_join(reading: Reading) -> Parameters:
    kind = _join_kind(reading)
    reading.cursor.expect(";")
    reading.cursor.expect("KEYS")
    keys = _several(reading, lambda: _equality(reading))
    return {"kind": kind, "keys": keys, "residual": _on(reading)}


def _join_kind(reading: Reading) -> algebra.JoinKind:
    return algebra.JoinKind(reading.cursor.expect_any(*algebra.JoinKind))


def _on(reading: Reading) -> Expression | None:
    if not reading.cursor.accept(";"):
        return None
    reading.cursor.expect("ON")
    return reading.expression()


def read_aggregate(reading: Reading) -> Parameters:
    """Reads the clauses of AGGREGATE, AGGR and AGGR_INIT."""
    cursor = reading.cursor
    parameters: Parameters = {"keys": (), "items": ()}
    while not cursor.at("]"):
        if cursor.accept("BY"):
            parameters["keys"] = _projections(reading)
        elif cursor.at("COMPLETENESS") and cursor.peek().key == "AS":
            parameters["completeness"] = _completeness(reading)
        else:
            parameters["items"] = _several(reading, lambda: _aggregate_item(reading))
        if not cursor.at("]"):
            cursor.expect(";")
    return parameters


def read_aggregate_above(reading: Reading) -> Parameters:
    """AGGR_MERGE and AGGR_EVAL take their parameters from the AGGR_INIT below them."""
    below: Any = reading.inputs[0] if reading.inputs else None
    while isinstance(below, physical.Exchange):
        below = below.input
    if not isinstance(below, physical.AggregateInit | physical.AggregateMerge):
        raise PlanTextError("AGGR_MERGE and AGGR_EVAL stand above an AGGR_INIT")
    return {"keys": below.keys, "items": below.items, "completeness": below.completeness}


def _aggregate_item(reading: Reading) -> logical.AggregateItem:
    aggregate = reading.expression()
    if not isinstance(aggregate, Aggregate):
        raise PlanTextError(f"an aggregate was expected, not {aggregate}")
    reading.cursor.expect("AS")
    return logical.AggregateItem(reading.name(), aggregate, _unit(reading.cursor))


def _completeness(reading: Reading) -> algebra.Completeness:
    cursor = reading.cursor
    cursor.expect("COMPLETENESS")
    cursor.expect("AS")
    name = reading.name()
    cursor.expect("BY")
    id_column = reading.name()
    cursor.expect("EVERY")
    interval = reading.duration()
    sensors = int(parse_number(cursor)) if cursor.accept("OF") else None
    return algebra.Completeness(name, interval, sensors, id_column)


def read_exchange(reading: Reading) -> Parameters:
    if reading.cursor.accept("ONE"):
        reading.cursor.expect("BUCKET")
        return {"keys": ()}
    reading.cursor.expect("BY")
    return {"keys": _several(reading, reading.expression)}


def read_deliver(reading: Reading) -> Parameters:
    cursor = reading.cursor
    parameters: Parameters = {"tick": cursor.accept("TICK"), "within": None}
    if cursor.accept(";") or cursor.at("WITHIN"):
        cursor.expect("WITHIN")
        parameters["within"] = reading.duration()
    return parameters


def read_bag_operation(operator: algebra.BagOperator) -> Reader:
    return lambda _reading: {"bag_operator": operator}


def read_to_stream(relation: algebra.Relation) -> Reader:
    return lambda _reading: {"relation": relation}


def read_time_window(reading: Reading) -> Parameters:
    return time_window_parameters(reading.cursor)


def read_row_window(reading: Reading) -> Parameters:
    parameters = row_window_parameters(reading.cursor)
    if reading.cursor.accept(";"):
        reading.cursor.expect("PER")
        parameters["keys"] = _several(reading, reading.name)
    return parameters
