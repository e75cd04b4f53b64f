"""Random bound expressions and logical plans, of every node there is."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import reject
from hypothesis import strategies as st

from nilometer import algebra
from nilometer.algebra import Collection, JoinKind
from nilometer.algebra.table_function import (
    REQUIRED,
    Choice,
    Frame,
    FunctionCall,
    Intervals,
    Option,
    OptionKind,
    OptionValue,
    TableFunction,
    Windowing,
)
from nilometer.algebra.table_functions import TABLE_FUNCTIONS, UNIT
from nilometer.catalog import Catalog, Sensor, Stream, Table, stream_columns
from nilometer.errors import InternalError
from nilometer.expressions import (
    ALGEBRAIC,
    Aggregate,
    Call,
    Case,
    ColumnReference,
    Expression,
    InList,
    Literal,
    Now,
    type_of,
)
from nilometer.plan import logical
from nilometer.plan.logical import Node
from nilometer.plan.window_join_parts import Memory, WindowBound
from nilometer.types import (
    BOOLEAN,
    DAY,
    DURATION,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    POINT,
    SECOND,
    STRING,
    TIME,
    UNITS,
    Column,
    Kind,
    OwnWindow,
    Schema,
    Type,
    list_of,
)

SCALARS = (INT, FLOAT, STRING, BOOLEAN, TIME, POINT)

RIVER = Stream(
    "river",
    stream_columns(
        (Column("rain", INT), Column("depth", Type(Kind.INT, 16), "mm"), Column("odd name", FLOAT))
    ),
    every=60 * SECOND,
)
AIR = Stream(
    "air",
    stream_columns((Column("pm25", FLOAT, "ug/m3"), Column("note", STRING), Column("wet", BOOLEAN)), STRING),
)
SITES = Table("select", (Column("id", INT), Column("at", TIME), Column("group", STRING)), "sites.csv")


CATALOG = Catalog()
CATALOG.add_stream(RIVER)
CATALOG.add_stream(AIR)
CATALOG.add_table(SITES)
CATALOG.add_sensors(
    [
        Sensor(5, "river", (10.0, 0.0), (("kind", "gauge"), ("height", 1.5))),
        Sensor(6, "river", (20.0, 0.0), (("kind", "buoy"),)),
        Sensor("x", "air", None, (("kind", "gauge"), ("height", 7.0))),
    ]
)

# ---- expressions -----------------------------------------------------------------------------------------------------


def values(type_: Type) -> st.SearchStrategy[object]:
    match type_.kind:
        case Kind.INT:
            return st.integers(INT_MINIMUM, INT_MAXIMUM)
        case Kind.FLOAT:
            return st.floats(allow_nan=False, allow_infinity=False)
        case Kind.STRING:
            return st.text(max_size=8)
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.TIME:
            return st.integers(-DAY, 100_000 * DAY)
        case Kind.DURATION:
            return st.integers(-DAY, DAY)
        case _:
            return st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))


def literals(type_: Type) -> st.SearchStrategy[Literal]:
    return st.builds(Literal, st.none() | values(type_), st.just(type_))


@st.composite
def expressions(draw: st.DrawFn, schema: Schema, type_: Type, depth: int = 2) -> Expression:
    """An expression of the type over the columns."""

    def inner(wanted: Type) -> Expression:
        return draw(expressions(schema, wanted, depth - 1))

    leaves: list[Callable[[], Expression]] = [lambda: draw(literals(type_))]
    columns = [column for column in schema if column.type.plain == type_]
    if columns:
        leaves.append(lambda: ColumnReference(draw(st.sampled_from(columns)).name, type_))
    if type_ == TIME:
        leaves.append(Now)
    if depth == 0:
        return draw(st.sampled_from(leaves))()

    def call(function: str, *arguments: Type) -> Callable[[], Expression]:
        return lambda: Call(function, tuple(inner(argument) for argument in arguments), type_)

    choices = list(leaves)
    choices.append(
        lambda: Case((inner(BOOLEAN), inner(BOOLEAN)), (inner(type_), inner(type_)), inner(type_), type_)
    )
    match type_.kind:
        case Kind.INT:
            choices += [call(symbol, INT, INT) for symbol in "+-*/%"]
            choices += [call("negative", INT), call("abs", INT), call("length", STRING), call("sign", FLOAT)]
            choices += [call("strpos", STRING, STRING), call("cast_int", STRING), call("try_cast_int", FLOAT)]
            choices += [lambda: Call("date_part", (Literal("hour", STRING), inner(TIME)), INT)]
        case Kind.FLOAT:
            choices += [call(symbol, FLOAT, FLOAT) for symbol in "+-*/%^"]
            choices += [call("float", INT), call("sqrt", FLOAT), call("distance", POINT, POINT)]
            choices += [call("negative", FLOAT), call("greatest", FLOAT, FLOAT, FLOAT)]
            choices += [call("cast_float", STRING), call("try_cast_float", BOOLEAN), call("epoch", TIME)]
            choices += [
                lambda: Call("round", (inner(FLOAT), Literal(-2, INT)), FLOAT),
                call("atan2", FLOAT, FLOAT),
            ]
        case Kind.STRING:
            choices += [
                call("concat", STRING, STRING),
                call("lower", STRING),
                call("coalesce", STRING, STRING),
                call("string", draw(st.sampled_from((INT, FLOAT, BOOLEAN, TIME, DURATION, POINT)))),
                call("substring", STRING, INT, INT),
                call("trim", STRING),
                lambda: Call("to_char", (inner(TIME), Literal("YYYY", STRING)), STRING),
                lambda: Call(
                    "regexp_extract", (inner(STRING), Literal("a\\.|b", STRING), Literal(0, INT)), STRING
                ),
            ]
        case Kind.TIME:
            choices += [call("+", TIME, DURATION), call("-", TIME, DURATION), call("cast_time", STRING)]
            choices += [
                lambda: Call(
                    "date_trunc", (Literal("day", STRING), inner(TIME), Literal("UTC", STRING)), TIME
                )
            ]
        case Kind.DURATION:
            choices += [call("-", TIME, TIME), call("+", DURATION, DURATION), call("*", DURATION, INT)]
            choices += [call("negative", DURATION)]
        case Kind.BOOLEAN:
            compared = draw(st.sampled_from((INT, FLOAT, STRING, TIME, DURATION)))
            comparison = draw(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")))
            choices += [call(comparison, compared, compared), call("is_null", compared), call("not", BOOLEAN)]
            choices += [call("is_distinct", compared, compared), call("cast_boolean", STRING)]
            choices += [call("starts_with", STRING, STRING), call("try_cast_boolean", INT)]
            choices += [lambda: Call("like", (inner(STRING), Literal("a_%", STRING)), BOOLEAN)]
            choices += [lambda: _logical(draw, schema, depth), lambda: _in(draw, inner(compared))]
    return draw(st.sampled_from(choices))()


def _logical(draw: st.DrawFn, schema: Schema, depth: int) -> Expression:
    """AND and OR are kept flat, as the binder makes them."""
    word = draw(st.sampled_from(("and", "or")))
    parts: list[Expression] = []
    for part in draw(st.lists(expressions(schema, BOOLEAN, depth - 1), min_size=2, max_size=3)):
        parts += part.arguments if isinstance(part, Call) and part.function == word else [part]
    return Call(word, tuple(parts), BOOLEAN)


def _in(draw: st.DrawFn, operand: Expression) -> Expression:
    items = draw(st.lists(literals(type_of(operand)), max_size=3))
    return InList(operand, tuple(items))


# ---- plans -----------------------------------------------------------------------------------------------------------

# Lengths that mean something for the random logs, which are some minutes long, and a few that are odd.
positive = st.integers(1, 12).map(lambda count: count * 30 * SECOND)
lengths = st.just(0) | positive | st.integers(0, DAY)
names = st.sampled_from(("a", "b c", "select", "R.x", "w")) | st.text("ab.#\"' ", min_size=1, max_size=4)


@st.composite
def leaves(draw: st.DrawFn, alias: str) -> Node:
    if draw(st.booleans()):
        columns = draw(st.lists(st.sampled_from(SITES.columns), unique=True))
        return logical.Stored(SITES, alias, tuple(columns))
    stream = draw(st.sampled_from((RIVER, AIR)))
    static = (Column("kind", STRING), Column("location", POINT), Column("height", Type(Kind.FLOAT, 32), "m"))
    chosen = draw(st.lists(st.sampled_from(stream.columns + static), unique=True))
    cut = draw(st.integers(0, len(chosen)))
    node = logical.Acquire(stream, alias, tuple(chosen[:cut]), tuple(chosen[cut:]))
    predicate = draw(st.none() | expressions(node.wide_schema, BOOLEAN))
    ids: st.SearchStrategy[int | str] = st.integers(-5, 99) if stream is RIVER else st.text(max_size=3)
    sensors = draw(st.none() | st.frozensets(ids, max_size=3))
    return logical.Acquire(stream, alias, node.columns, node.reads, predicate, sensors)


@st.composite
def projections(draw: st.DrawFn, schema: Schema, least: int = 0) -> tuple[logical.Projection, ...]:
    found = {}
    for name in draw(st.lists(names, unique=True, min_size=least, max_size=3)):
        expression = draw(expressions(schema, draw(st.sampled_from((*SCALARS, DURATION))), 2))
        found[name] = logical.Projection(name, expression, draw(st.none() | st.just("m/s")))
    for column in draw(st.lists(st.sampled_from(schema.columns), unique=True)) if len(schema) else []:
        reference = ColumnReference(column.name, column.type.plain)
        found.setdefault(column.name, logical.Projection(column.name, reference, column.unit))
    return tuple(found.values())


@st.composite
def aggregates(draw: st.DrawFn, input: Node) -> Node:
    items = []
    for index in range(draw(st.integers(0, 2))):
        function = draw(st.sampled_from((*ALGEBRAIC, "median")))
        argument = draw(expressions(input.schema, FLOAT, 2))
        type_ = INT if function == "count" else FLOAT
        items.append(
            logical.AggregateItem(f"i{index}", Aggregate(function, argument, draw(st.booleans()), type_))
        )
    if draw(st.booleans()):
        value = draw(expressions(input.schema, FLOAT, 1))
        rest = tuple(draw(st.lists(expressions(input.schema, FLOAT, 1), min_size=1, max_size=3)))
        function = draw(st.sampled_from(("first", "arg_max", "corr", "array_agg")))
        type_ = list_of(FLOAT) if function == "array_agg" else FLOAT
        items.append(logical.AggregateItem("several", Aggregate(function, value, False, type_, rest)))
    items.append(logical.AggregateItem("n", Aggregate("count", None, False, INT), "1"))
    completeness = None
    if isinstance(input, logical.TimeWindow) and draw(st.booleans()):
        completeness = algebra.Completeness("how full", 60, draw(st.none() | st.integers(1, 9)), "R.id")
    keys = draw(projections(input.schema))
    taken = {item.name for item in items} | {"how full"}
    keys = tuple(key for key in keys if key.name not in taken)
    return logical.Aggregate(input, keys, tuple(items), completeness)


@st.composite
def streams_above(draw: st.DrawFn, input: Node, alias: str) -> Node:
    """A node that takes a stream."""
    numbers = [column for column in input.schema if column.type.numeric]
    kind = draw(st.sampled_from(("sample", "lag", "function", "window", "rows")))
    start, end = sorted((draw(lengths), draw(lengths)), reverse=True)
    match kind:
        case "sample":
            return logical.Sample(input, draw(positive))
        case "lag" if f"{alias}lagged" not in input.schema:
            shift = draw(st.sampled_from(algebra.Shift))
            offset = draw(st.integers(1, 3)) if shift is algebra.Shift.LAG else 1
            item = algebra.Lagged(f"{alias}lagged", shift, draw(expressions(input.schema, FLOAT, 2)), offset)
            return logical.Lag(input, (item,))
        case "function" if numbers:
            function = draw(st.sampled_from(list(TABLE_FUNCTIONS.values())))
            call = draw(calls(function, [each.name for each in numbers], alias))
            try:
                return logical.TableFunction(input, call)
            except InternalError:
                reject()  # options that do not go together, such as a length from 3 to 2
        case "rows":
            unbounded = draw(st.booleans())
            return logical.RowWindow(input, None if unbounded else start, end, draw(st.integers(1, 9)))
        case _:
            return _time_window(draw, input, start, end)


@st.composite
def calls(draw: st.DrawFn, function: TableFunction, numbers: list[str], alias: str) -> FunctionCall:
    """A call of a function over columns of numbers, with any of its options."""
    most = 3 if function.most_columns is None else function.most_columns
    drawn = st.lists(st.sampled_from(numbers), min_size=function.least_columns, max_size=most, unique=True)
    columns = draw(drawn)
    given: dict[str, OptionValue] = {}
    for each in function.options:
        optional = each.default is not REQUIRED and not isinstance(each.default, Intervals)
        option = draw(st.sampled_from(each.options)) if isinstance(each, Choice) else each
        if not optional or draw(st.booleans()):
            values = tuple(draw(_option_value(option, k)) for k in option.pieces if isinstance(k, OptionKind))
            given[option.word] = True if not values else values if len(values) > 1 else values[0]
    if function is UNIT:
        given["GIVES"] = draw(st.sampled_from(("a INT", "a FLOAT[3], b STRING")))
    function = function.meant(given)
    own = st.builds(OwnWindow, st.sampled_from(numbers), st.sampled_from(list(UNITS.values())))
    start, end = sorted((draw(lengths), draw(lengths)), reverse=True)
    framed = st.builds(Frame, st.just(start), st.just(end), positive, st.booleans())
    windows: dict[Windowing, st.SearchStrategy[int | OwnWindow | Frame | None]] = {
        Windowing.ABOVE: st.none(),
        Windowing.REACH: lengths | own,
        Windowing.FRAME: framed,
        Windowing.WITHIN: framed,
    }
    sensors = draw(st.frozensets(st.text(max_size=2))) if function.sensors else frozenset[int | str]()
    window = draw(windows[function.windowing])
    id_type = draw(st.sampled_from((INT, STRING)))
    return FunctionCall(function, alias, id_type, tuple(columns), function.settle(given), window, sensors)


def _option_value(option: Option, kind: OptionKind) -> st.SearchStrategy[OptionValue]:
    least = -1e9 if option.least is None else option.least
    most = 1e9 if option.most is None else option.most
    numbers = st.floats(least, most)
    match kind:
        case OptionKind.NUMBER:
            return numbers
        case OptionKind.WHOLE:
            return st.integers(int(least), int(most))
        case OptionKind.DURATION:
            return positive
        case OptionKind.LIST:
            return st.lists(numbers, min_size=1, max_size=3).map(tuple)
        case OptionKind.SHAPES:
            shape = st.lists(numbers, min_size=1, max_size=3).map(tuple)
            return shape | st.lists(st.tuples(st.text(max_size=4), shape), min_size=1, max_size=3).map(tuple)
        case _:
            return st.text(min_size=1, max_size=8)


def _time_window(draw: st.DrawFn, input: Node, start: int, end: int) -> Node:
    slide = draw(st.none() | positive)
    match draw(st.sampled_from(("now", "at", "range", "unbounded", "any"))):
        case "now":
            return logical.TimeWindow(input, 0, 0, slide, False)
        case "at":
            return logical.TimeWindow(input, end, end, slide, False)
        case "range":
            return logical.TimeWindow(input, start, 0, slide, True)
        case "unbounded":
            return logical.TimeWindow(
                input, None, draw(st.sampled_from((0, end))), slide, draw(st.booleans())
            )
        case _:
            return logical.TimeWindow(input, start, end, slide, draw(st.booleans()))


@st.composite
def plans(draw: st.DrawFn, depth: int = 5, alias: str = "R") -> Node:
    """Any logical plan."""
    node = draw(leaves(alias))
    for level in range(draw(st.integers(0, depth))):
        node = draw(_above(node, f"{alias}{level}", depth - level))
    if draw(st.booleans()):
        node = logical.Deliver(node, draw(st.booleans()), draw(st.none() | lengths))
    return node


@st.composite
def _above(draw: st.DrawFn, node: Node, alias: str, depth: int) -> Node:
    choices = ["select", "project", "rename", "union"]
    choices += {
        Collection.STREAM: ["stream"] * 4 + ["join", "asof", "window join"],
        Collection.WINDOWS: ["aggregate"] * 2 + ["join", "to stream"],
        Collection.TABLE: ["aggregate", "join"],
    }[node.collection]
    match draw(st.sampled_from(choices)):
        case "select":
            return logical.Select(node, draw(expressions(node.schema, BOOLEAN)))
        case "project":
            return logical.Project(node, draw(projections(node.schema)))
        case "rename":
            return logical.Rename(node, draw(st.sampled_from((alias, "or else"))))
        case "union":
            return logical.Union(node, node)
        case "aggregate":
            return draw(aggregates(node))
        case "stream":
            return draw(streams_above(node, alias))
        case "to stream":
            return logical.ToStream(node, draw(st.sampled_from(algebra.Relation)))
        case kind:
            other = draw(plans(2, f"{alias}_")) if depth > 1 else draw(leaves(f"{alias}_"))
            other = other.inputs[0] if isinstance(other, logical.Deliver) else other
            return _joined(draw, kind, node, other)


def _joined(draw: st.DrawFn, kind: str, left: Node, right: Node) -> Node:
    if set(left.schema.names) & set(right.schema.names):
        return left
    both = left.schema + right.schema
    predicate = draw(st.none() | expressions(both, BOOLEAN))
    collections = (left.collection, right.collection)
    match kind:
        case "asof" if collections == (Collection.STREAM, Collection.STREAM):
            keys = tuple(
                (draw(expressions(left.schema, type_, 1)), draw(expressions(right.schema, type_, 1)))
                for type_ in draw(st.lists(st.sampled_from((INT, STRING, BOOLEAN)), max_size=2))
            )
            return logical.AsofJoin(left, right, keys, draw(st.none() | lengths))
        case "window join" if collections == (Collection.STREAM, Collection.STREAM):
            bounds = draw(st.lists(st.builds(WindowBound, st.just(0), st.just(1), lengths), min_size=1))
            rows = st.none() | st.integers(1, 10**6)
            pairs = st.tuples(rows, rows).filter(any)
            memory = st.builds(Memory, pairs, st.sampled_from(algebra.ShedPolicy))
            return logical.WindowJoin((left, right), tuple(bounds), predicate, draw(st.none() | memory))
        case "join":
            if collections.count(Collection.STREAM) == 2 or set(collections) == {
                Collection.STREAM,
                Collection.WINDOWS,
            }:
                return left
            inner_only = left.collection is Collection.TABLE and right.collection is not Collection.TABLE
            kinds = [
                kind for kind in JoinKind if kind is not JoinKind.FULL or Collection.STREAM not in collections
            ]
            joined = JoinKind.INNER if inner_only else draw(st.sampled_from(kinds))
            return logical.Join(left, right, joined, predicate)
        case _:
            return left
