"""Parses declarations and commands: CREATE, COPY, REPLACE, PAUSE, RESUME, DROP, SHOW, EXPLAIN.

>>> from nilometer.language.cursor import Cursor
>>> parse_statement(Cursor("DROP SENSOR 5 OF river"))
Drop(kind='SENSOR', name=5, if_exists=False, stream='river')
"""

from __future__ import annotations

from collections.abc import Callable

from nilometer.algebra.table_functions import UNIT
from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, STRING, WORD, Cursor
from nilometer.language.parse_calls import parse_moment
from nilometer.language.parse_expressions import parse_number, starts_query
from nilometer.language.parse_forms import parse_each, parse_format, parse_origin
from nilometer.language.parse_options import parse_numbers
from nilometer.language.parse_phenomena import parse_definition
from nilometer.language.parse_queries import parse_query
from nilometer.language.parse_reactions import parse_alert, parse_decision
from nilometer.language.parse_sources import parse_column_names, unit_arguments, unit_name
from nilometer.language.parse_windows import parse_duration
from nilometer.language.vocabulary import (
    DROP_KINDS,
    REPLACE_KINDS,
    SHOW_KINDS,
    STAGES,
    STATES,
    TYPE_SPELLINGS,
)


def parse_statement(cursor: Cursor) -> ast.Statement | ast.QueryNode:
    """One statement, without its semicolon."""
    start = cursor.token.start
    if starts_query(cursor) or cursor.at("("):
        return parse_query(cursor)
    cursor.expected.append("SELECT")
    command = cursor.expect_any(*_COMMANDS)
    return _COMMANDS[command](cursor, start)


def _create(cursor: Cursor, start: int) -> ast.Statement:
    if cursor.at("OR") and cursor.peek().key == "REPLACE":
        cursor.advance()
        cursor.advance()
        return _replace(cursor, start)
    return _CREATIONS[cursor.expect_any(*_CREATIONS)](cursor, start)


def _create_stream(cursor: Cursor, start: int) -> ast.CreateStream:
    name = cursor.name("the stream's name")
    cursor.expect("(")
    columns = _columns(cursor)
    every: ast.Amount | None = None
    url: str | None = None
    if cursor.accept("SENSED", "SENSED EVERY"):
        cursor.expect("EVERY")
        every = parse_duration(cursor)
    else:
        cursor.expect("PUSHED")
    if cursor.accept("FROM"):
        url = cursor.string("a URL in single quotes")
    through = _through(cursor) if every is None and cursor.accept("THROUGH", "THROUGH") else None
    delay = expect = future = None
    key: tuple[str, ...] = ()
    each: ast.Origin | None = None
    format: ast.Format | None = None
    coordinates: str | None = None
    while True:
        if delay is None and cursor.accept("DELAY"):
            delay = parse_duration(cursor)
        elif not key and cursor.accept("KEY"):
            key = _key(cursor)
        elif expect is None and cursor.accept("EXPECT", "EXPECT EVERY"):
            cursor.expect("EVERY")
            expect = parse_duration(cursor)
        elif future is None and cursor.accept("FUTURE"):
            future = parse_duration(cursor)
        elif each is None and cursor.accept("EACH"):
            each = parse_each(cursor)
        elif format is None and cursor.accept("FORMAT"):
            format = parse_format(cursor)
        elif coordinates is None and cursor.accept("COORDINATES"):
            coordinates = "WGS84" if cursor.accept("WGS84") else cursor.string("a unit in single quotes")
        elif cursor.at("DELAY", "KEY", "EXPECT", "FUTURE", "EACH", "FORMAT", "COORDINATES"):
            cursor.refuse(f"{cursor.token.key} stands twice", cursor.token.span, "keep one of them")
        else:
            break
    span = cursor.span_from(start)
    return ast.CreateStream(
        name, columns, every, url, delay, key, expect, future, each, format, coordinates, through, span=span
    )


def _through(cursor: Cursor) -> ast.Through:
    """`form_spectra(energy, channel FROM '$.c' WITH (16, 2.5))`."""
    start = cursor.token.start
    unit = unit_name(cursor).values[0]
    assert isinstance(unit, ast.Name)
    cursor.expect("(")
    columns = [_taken(cursor)]
    while cursor.accept(","):
        columns.append(_taken(cursor))
    numbers: tuple[ast.Amount, ...] = ()
    if cursor.accept("WITH"):
        given = parse_numbers(cursor, UNIT.option("WITH"))
        numbers = given.items
    cursor.expect(")")
    return ast.Through(unit.text, tuple(columns), numbers, span=cursor.span_from(start))


def _taken(cursor: Cursor) -> ast.ColumnDefinition:
    """A column that a unit takes: its name, and where it comes from. The unit says its type."""
    start = cursor.token.start
    name = cursor.name("a column that the unit takes")
    origin = parse_origin(cursor) if cursor.accept("FROM") else None
    return ast.ColumnDefinition(name, None, origin=origin, span=cursor.span_from(start))


def _columns(cursor: Cursor) -> tuple[ast.ColumnDefinition, ...]:
    """Column definitions up to the closing parenthesis; there may be none, because `time` and `id` are
    implicit."""
    columns: list[ast.ColumnDefinition] = []
    if cursor.accept(")"):
        return ()
    while True:
        columns.append(_column(cursor))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(columns)


def _column(cursor: Cursor) -> ast.ColumnDefinition:
    """`depth INT(16) UNIT 'mm' FROM level`; `time FROM ts_utc` needs no type."""
    start = cursor.token.start
    name = cursor.name("a column's name")
    if cursor.at("FROM"):
        cursor.advance()
        return ast.ColumnDefinition(name, None, origin=parse_origin(cursor), span=cursor.span_from(start))
    spelling = _type(cursor)
    width: int | None = None
    if cursor.accept("(", "a width in parentheses"):
        if cursor.token.kind is not INT:
            cursor.fail("a width in bits")
        width = int(cursor.advance().text)
        cursor.expect(")")
    size = _vector_size(cursor) if cursor.accept("[", "a vector's length in brackets") else None
    unit = cursor.string("a unit in single quotes") if cursor.accept("UNIT") else None
    origin = parse_origin(cursor) if cursor.accept("FROM") else None
    if unit is None and cursor.accept("UNIT"):
        unit = cursor.string("a unit in single quotes")
    return ast.ColumnDefinition(name, spelling, width, unit, origin, size, span=cursor.span_from(start))


def _type(cursor: Cursor) -> str:
    """A type, without its width or its length: `DOUBLE PRECISION` is FLOAT."""
    spelling = cursor.token.key
    if cursor.token.kind is not WORD or spelling not in TYPE_SPELLINGS:
        cursor.fail("a type")
    cursor.advance()
    if spelling == "DOUBLE" and cursor.at("PRECISION"):
        cursor.advance()
    return TYPE_SPELLINGS[spelling]


def _vector_size(cursor: Cursor) -> int:
    """The number of elements of `FLOAT[16]`, behind its opening bracket."""
    if cursor.token.kind is not INT:
        cursor.fail("a number of elements")
    size = int(cursor.advance().text)
    cursor.expect("]")
    return size


def _key(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    names = [cursor.name("a column's name")]
    while cursor.accept(","):
        names.append(cursor.name("a column's name"))
    cursor.expect(")")
    return tuple(names)


def _create_table(cursor: Cursor, start: int) -> ast.CreateTable:
    name = cursor.name("the table's name")
    columns = _columns(cursor) if cursor.accept("(") else ()
    cursor.expect("STORED", "STORED AT")
    cursor.expect("AT")
    url = cursor.string("a URL in single quotes")
    table: str | None = None
    if cursor.accept("AS"):
        if cursor.token.kind is STRING:
            table = cursor.string()
        else:
            table = cursor.name("the table's name there")
            while cursor.accept("."):
                table += "." + cursor.name()
    refresh: ast.Amount | None = None
    if cursor.accept("REFRESH", "REFRESH EVERY"):
        cursor.expect("EVERY")
        refresh = parse_duration(cursor)
    each = parse_each(cursor) if cursor.accept("EACH") else None
    format = parse_format(cursor) if cursor.accept("FORMAT") else None
    return ast.CreateTable(name, columns, url, table, refresh, each, format, span=cursor.span_from(start))


def _create_sensor(cursor: Cursor, start: int) -> ast.CreateSensor:
    identifier = _identifier(cursor)
    cursor.expect("OF")
    stream = cursor.name("the stream's name")
    location: tuple[float, float] | None = None
    if cursor.accept("AT"):
        if cursor.at("POINT"):
            cursor.advance()
        if not cursor.accept("("):
            cursor.fail(hint="a place stands in parentheses: AT (120.0, 44.5)")
        x = float(_signed_number(cursor))
        cursor.expect(",")
        y = float(_signed_number(cursor))
        cursor.expect(")")
        location = (x, y)
    attributes: list[tuple[str, int | float | str | bool | None]] = []
    if cursor.accept("WITH"):
        attributes.append(_attribute(cursor))
        while cursor.accept(","):
            attributes.append(_attribute(cursor))
    return ast.CreateSensor(identifier, stream, location, tuple(attributes), span=cursor.span_from(start))


def _identifier(cursor: Cursor) -> int | str:
    """A sensor's id: a whole number or a string."""
    if cursor.token.kind is STRING:
        return cursor.string()
    negative = cursor.at("-") and cursor.peek().kind is INT
    if negative:
        cursor.advance()
    if cursor.token.kind is not INT:
        cursor.fail("a sensor's id", hint="an id is a whole number or a string: 5 or 'a7'")
    value = parse_number(cursor, negative=negative)
    assert isinstance(value, int)
    return value


def _signed_number(cursor: Cursor) -> int | float:
    negative = cursor.at("-")
    if negative:
        cursor.advance()
    if cursor.token.kind not in (INT, FLOAT):
        cursor.fail("a number")
    return parse_number(cursor, negative=negative)


def _attribute(cursor: Cursor) -> tuple[str, int | float | str | bool | None]:
    """`kind = 'gauge'`."""
    name = cursor.name("an attribute's name")
    cursor.expect("=")
    if cursor.token.kind is STRING:
        return name, cursor.string()
    if cursor.at("TRUE", "FALSE", "NULL"):
        key = cursor.advance().key
        return name, None if key == "NULL" else key == "TRUE"
    if cursor.token.kind not in (INT, FLOAT) and not cursor.at("-"):
        cursor.fail(
            "a value", hint="an attribute is a number, a string in single quotes, TRUE, FALSE or NULL"
        )
    return name, _signed_number(cursor)


def _create_network(cursor: Cursor, start: int) -> ast.CreateNetwork:
    name = cursor.name("the network's name")
    cursor.expect("FROM")
    path = cursor.string("a file in single quotes")
    schema = cursor.string("a file in single quotes") if cursor.accept("SCHEMA") else None
    resources = cursor.string("a file in single quotes") if cursor.accept("RESOURCES") else None
    sink = _identifier(cursor) if cursor.accept("SINK") else None
    retries: int | None = None
    if cursor.accept("RETRIES"):
        if cursor.token.kind is not INT:
            cursor.fail("how often a packet is sent again", hint="write a whole number: RETRIES 3")
        retries = int(cursor.advance().text)
    return ast.CreateNetwork(name, path, sink, retries, schema, resources, span=cursor.span_from(start))


def _create_model(cursor: Cursor, start: int) -> ast.CreateModel:
    name = cursor.name("the model's name")
    cursor.expect("FROM")
    cursor.expect("(")
    query = parse_query(cursor)
    cursor.expect(")")
    cursor.expect("USING")
    method = cursor.expect_any("TREE", "NEAREST", "CLUSTERS")
    count: int | None = None
    if method == "NEAREST":
        if cursor.token.kind is not INT or int(cursor.token.text) < 1:
            cursor.fail("a number of neighbours", hint="write such as NEAREST 3")
        count = int(cursor.advance().text)
    above: float | None = None
    if method != "TREE" and cursor.accept("NONE", "NONE ABOVE"):
        cursor.expect("ABOVE")
        if cursor.token.kind not in (INT, FLOAT):
            cursor.fail("a distance")
        above = float(cursor.advance().text)
    return ast.CreateModel(name, query, method, count, above, span=cursor.span_from(start))


def _create_function(cursor: Cursor, start: int) -> ast.CreateFunction:
    name = cursor.name("the function's name")
    cursor.expect("(")
    arguments = _columns(cursor)
    cursor.expect("RETURNS")
    returns = _type(cursor)
    size = _vector_size(cursor) if cursor.accept("[", "a vector's length in brackets") else None
    cursor.expect("AS")
    reference = cursor.string("'module:function' in single quotes")
    return ast.CreateFunction(name, arguments, returns, reference, size, span=cursor.span_from(start))


def _replace(cursor: Cursor, start: int) -> ast.Replace:
    kind = cursor.expect_any(*REPLACE_KINDS)
    if kind != "QUERY":
        created = _CREATIONS[kind](cursor, start)
        return ast.Replace(created, span=cursor.span_from(start))  # type: ignore[arg-type]
    name = cursor.name("the query's name")
    state: str | None = None
    for first, *rest in (words.split() for words in STATES):
        if state is None and cursor.accept(first, " ".join((first, *rest))):
            for word in rest:
                cursor.expect(word)
            state = " ".join((first, *rest))
    stops, pipeline = _stops(cursor), _pipeline(cursor)
    cursor.expect("AS")
    query = ast.CreateQuery(name, _then(cursor), None, stops, pipeline, span=cursor.span_from(start))
    return ast.Replace(query, state, span=cursor.span_from(start))


def _pause(cursor: Cursor, start: int) -> ast.Pause:
    cursor.expect("QUERY")
    return ast.Pause(cursor.name("the query's name"), span=cursor.span_from(start))


def _resume(cursor: Cursor, start: int) -> ast.Resume:
    cursor.expect("QUERY")
    return ast.Resume(cursor.name("the query's name"), span=cursor.span_from(start))


def _create_query(cursor: Cursor, start: int) -> ast.CreateQuery:
    """`STARTING` is optional before `AT`; language.md prints it both ways."""
    name = cursor.name("the query's name")
    starting: str | int | None = None
    if cursor.accept("STARTING", "STARTING AT") or cursor.at("AT"):
        cursor.expect("AT")
        if cursor.accept("BEGINNING"):
            starting = "BEGINNING"
        elif cursor.token.kind is STRING:
            starting = parse_moment(cursor)
        else:
            cursor.fail("a time in single quotes", hint="write such as '2026-11-15T08:30:00Z'")
    stops, pipeline = _stops(cursor), _pipeline(cursor)
    cursor.expect("AS")
    query = _then(cursor)
    return ast.CreateQuery(name, query, starting, stops, pipeline, span=cursor.span_from(start))


def _then(cursor: Cursor) -> ast.QueryNode:
    """`SELECT ... THEN unit(a, b)` is `SELECT * FROM UNIT unit((SELECT ...) answers, a, b)`."""
    start = cursor.token.start
    query = parse_query(cursor)
    while cursor.accept("THEN"):
        using = unit_name(cursor)
        cursor.expect("(")
        columns, settings = unit_arguments(cursor, using, first=True)
        span = cursor.span_from(start)
        inner = ast.QuerySource(query, None, "answers", span=query.span)
        unit = ast.FunctionSource("UNIT", inner, columns, settings, span=span)
        query = ast.Select((ast.SelectItem(ast.Star(span=span), span=span),), (unit,), span=span)
    return query


def _stops(cursor: Cursor) -> bool:
    """`ON ERROR STOP`, or `ON ERROR SKIP`, which is the default."""
    if not cursor.accept("ON", "ON ERROR STOP"):
        return False
    cursor.expect("ERROR")
    return cursor.expect_any("STOP", "SKIP") == "STOP"


def _pipeline(cursor: Cursor) -> str | None:
    """`IN PIPELINE p`."""
    if not cursor.accept("IN", "IN PIPELINE"):
        return None
    cursor.expect("PIPELINE")
    return cursor.name("the pipeline's name")


def _create_view(cursor: Cursor, start: int) -> ast.CreateView:
    name = cursor.name("the view's name")
    columns = parse_column_names(cursor)
    cursor.expect("AS")
    query = parse_query(cursor)
    return ast.CreateView(name, columns, query, span=cursor.span_from(start))


def _create_phenomenon(cursor: Cursor, start: int) -> ast.CreatePhenomenon:
    name = cursor.name("the phenomenon's name")
    definition = parse_definition(cursor)
    return ast.CreatePhenomenon(name, definition, span=cursor.span_from(start))


def _copy(cursor: Cursor, start: int) -> ast.CopySensors | ast.CopyStreams:
    if cursor.expect_any("SENSORS", "STREAMS") == "STREAMS":
        return _copy_streams(cursor, start)
    stream = cursor.name("the stream's name") if cursor.accept("OF") else None
    cursor.expect("FROM")
    path = cursor.string("a file in single quotes")
    if stream is None and cursor.accept("OF"):
        stream = cursor.name("the stream's name")
    origins = _sensor_origins(cursor) if cursor.accept("(") else ()
    return ast.CopySensors(path, stream, origins, span=cursor.span_from(start))


def _sensor_origins(cursor: Cursor) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`id FROM station, location FROM (lon, lat))`, behind the opening parenthesis."""
    found: dict[str, tuple[str, ...]] = {}
    while True:
        start = cursor.token.start
        name = cursor.name("id, location, stream or an attribute's name")
        if name.lower() in map(str.lower, found):
            cursor.refuse(f"'{name}' stands twice", cursor.span_from(start), "keep one of them")
        cursor.expect("FROM")
        if cursor.accept("("):
            columns = [_file_column(cursor)]
            while cursor.accept(","):
                columns.append(_file_column(cursor))
            cursor.expect(")")
            if name.lower() != "location" or len(columns) != 2:
                span = cursor.span_from(start)
                cursor.refuse("two columns give a location", span, "write location FROM (lon, lat)")
            found[name] = tuple(columns)
        else:
            found[name] = (_file_column(cursor),)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(found.items())


def _file_column(cursor: Cursor) -> str:
    return cursor.string() if cursor.token.kind is STRING else cursor.name("a column of the file")


def _copy_streams(cursor: Cursor, start: int) -> ast.CopyStreams:
    cursor.expect("FROM")
    path = cursor.string("a file in single quotes")
    every = None
    if cursor.accept("SENSED", "SENSED EVERY"):
        cursor.expect("EVERY")
        every = parse_duration(cursor)
    return ast.CopyStreams(path, every, span=cursor.span_from(start))


def _drop(cursor: Cursor, start: int) -> ast.Drop:
    kind = cursor.expect_any(*DROP_KINDS)
    if_exists = False
    if cursor.at("IF") and cursor.peek().key == "EXISTS":
        cursor.advance()
        cursor.advance()
        if_exists = True
    name: str | int
    stream: str | None = None
    if kind == "SENSOR":
        name = _identifier(cursor)
        if cursor.accept("OF"):
            stream = cursor.name("the stream's name")
    else:
        name = cursor.name()
    return ast.Drop(kind, name, if_exists, stream, span=cursor.span_from(start))


def _show(cursor: Cursor, start: int) -> ast.Show:
    return ast.Show(cursor.expect_any(*SHOW_KINDS), span=cursor.span_from(start))


def _explain(cursor: Cursor, start: int) -> ast.Explain:
    stage: str | None = None
    verbose = False
    while not (starts_query(cursor) or cursor.at("(")):
        if not verbose and cursor.accept("VERBOSE"):
            verbose = True
        elif stage is None:
            cursor.expected.append("SELECT")
            stage = cursor.expect_any(*(name.upper() for name in STAGES)).lower()
        else:
            cursor.fail("SELECT")
    query = parse_query(cursor)
    return ast.Explain(query, stage, verbose, span=cursor.span_from(start))


_COMMANDS: dict[str, Callable[[Cursor, int], ast.Statement]] = {
    "CREATE": _create,
    "COPY": _copy,
    "REPLACE": _replace,
    "PAUSE": _pause,
    "RESUME": _resume,
    "DROP": _drop,
    "SHOW": _show,
    "EXPLAIN": _explain,
}

_CREATIONS: dict[str, Callable[[Cursor, int], ast.Statement]] = {
    "STREAM": _create_stream,
    "TABLE": _create_table,
    "SENSOR": _create_sensor,
    "NETWORK": _create_network,
    "QUERY": _create_query,
    "VIEW": _create_view,
    "ALERT": parse_alert,
    "DECISION": parse_decision,
    "PHENOMENON": _create_phenomenon,
    "MODEL": _create_model,
    "FUNCTION": _create_function,
}
