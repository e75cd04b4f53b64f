"""Declarations (CREATE STREAM, TABLE, SENSOR, NETWORK; COPY SENSORS) -> entries of the catalog."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from nilometer.catalog import Sensor, Stream, Table, stream_columns
from nilometer.catalog.extents import future_for
from nilometer.engine.declare_forms import form_of
from nilometer.engine.declare_through import through_of
from nilometer.errors import CatalogError, NilometerError
from nilometer.language import ast
from nilometer.plan.bind.parameters import length_of
from nilometer.types import (
    DAY,
    HOUR,
    INT,
    LONGEST_VECTOR,
    MICROSECOND,
    MILLISECOND,
    MINUTE,
    SECOND,
    TIME,
    Column,
    Kind,
    Type,
    vector_of,
)

TYPES = {
    "INT": Kind.INT,
    "INTEGER": Kind.INT,
    "BIGINT": Kind.INT,
    "SMALLINT": Kind.INT,
    "FLOAT": Kind.FLOAT,
    "REAL": Kind.FLOAT,
    "DOUBLE": Kind.FLOAT,
    "STRING": Kind.STRING,
    "TEXT": Kind.STRING,
    "VARCHAR": Kind.STRING,
    "BOOLEAN": Kind.BOOLEAN,
    "BOOL": Kind.BOOLEAN,
    "TIME": Kind.TIME,
    "TIMESTAMP": Kind.TIME,
    "POINT": Kind.POINT,
}

TIME_UNITS = {"us": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "min": MINUTE, "h": HOUR, "d": DAY}
"""The UCUM units that an INT `time` may have."""

WIDTHS = {Kind.INT: (8, 16, 32, 64), Kind.FLOAT: (32, 64)}


def _fail(text: str | None, node: ast.Node, message: str, hint: str | None = None) -> NoReturn:
    raise CatalogError(message, hint=hint).at(text, node.span)


def duration_of(amount: ast.Amount, text: str | None, what: str, *, positive: bool = True) -> int:
    """A duration in a declaration, in microseconds. Parameters are not allowed there."""
    if isinstance(amount.count, str) or amount.unit is None:
        _fail(text, amount, f"{what} needs a length of time", "such as 15 MINUTES")
    try:
        length = length_of(amount.count, amount.unit)
    except ValueError as error:
        _fail(text, amount, str(error))
    if length.rows:
        _fail(text, amount, f"{what} is a length of time, not a number of rows", "such as 15 MINUTES")
    if length.value < 0 or (positive and length.value == 0):
        _fail(text, amount, f"{what} must be longer than nothing", "such as 15 MINUTES")
    return length.value


def column_of(definition: ast.ColumnDefinition, text: str | None) -> Column:
    """A declared column; checks its unit."""
    if definition.type is None:
        _fail(
            text,
            definition,
            f"the column '{definition.name}' needs a type",
            f"such as {definition.name} FLOAT FROM ...; only time and id can do without",
        )
    kind = TYPES.get(definition.type.upper())
    if kind is None:
        _fail(
            text,
            definition,
            f"no type '{definition.type}'",
            "the types are INT, FLOAT, STRING, BOOLEAN, TIME, POINT, and vectors such as FLOAT[16]",
        )
    width = definition.width
    if definition.size is not None and (kind not in WIDTHS or width is not None):
        _fail(
            text,
            definition,
            f"'{definition.name}' cannot be a vector of {definition.type}"
            + ("" if width is None else f"({width})"),
            "a vector is INT[n] or FLOAT[n]",
        )
    if definition.size is not None and not 1 <= definition.size <= LONGEST_VECTOR:
        _fail(
            text,
            definition,
            f"a vector has 1 to {LONGEST_VECTOR:,} elements, not {definition.size:,}",
        )
    if width is not None and kind is not Kind.STRING and width not in WIDTHS.get(kind, ()):
        allowed = WIDTHS.get(kind)
        _fail(
            text,
            definition,
            f"{kind} cannot be {width} bits wide",
            f"its widths are {', '.join(map(str, allowed))}" if allowed else f"{kind} has no width",
        )
    if definition.unit is not None:
        from nilometer.catalog.units import parse_unit

        try:
            parse_unit(definition.unit)
        except NilometerError as error:
            raise error.at(text, definition.span) from None
    type_ = Type(kind, width if kind in WIDTHS else None)
    return Column(
        definition.name,
        type_ if definition.size is None else vector_of(type_, definition.size),
        definition.unit,
    )


def _check_names(columns: tuple[ast.ColumnDefinition, ...], text: str | None) -> None:
    seen: set[str] = set()
    for definition in columns:
        if definition.name.lower() in seen:
            _fail(
                text,
                definition,
                f"the column '{definition.name}' is declared twice",
                "names ignore case; give one of them another name",
            )
        if definition.name.lower() == "tick":
            _fail(
                text,
                definition,
                "a column cannot be named 'tick'",
                "that is the evaluation tick of every window; choose another name",
            )
        seen.add(definition.name.lower())


def stream_of(statement: ast.CreateStream, text: str | None) -> Stream:
    """A declared stream."""
    _check_names(statement.columns, text)
    time_unit: int | None = None
    id_declared = False
    declared: list[Column] = []
    for definition in statement.columns:
        if definition.type is None and definition.name.lower() in ("time", "id"):
            implicit = TIME if definition.name.lower() == "time" else _implicit_id(statement)
            declared.append(Column(definition.name, implicit))
            continue
        column = column_of(definition, text)
        match column.name.lower(), column.type.kind:
            case "time", Kind.INT:
                if definition.unit not in TIME_UNITS:
                    _fail(
                        text,
                        definition,
                        "an INT 'time' needs a unit of time",
                        "write time INT UNIT 's' (or 'ms', 'us', 'min', 'h', 'd'), or time TIME",
                    )
                time_unit = TIME_UNITS[definition.unit]
                column = Column(column.name, TIME)
            case "time", kind if kind is not Kind.TIME:
                _fail(
                    text,
                    definition,
                    f"'time' is the event time, and cannot be {column.type}",
                    "make it TIME, or INT with a unit, or give the column another name",
                )
            case "id", kind:
                if kind not in (Kind.INT, Kind.STRING):
                    _fail(
                        text,
                        definition,
                        f"'id' is the source of a reading, and cannot be {column.type}",
                        "make it INT or STRING, or give the column another name",
                    )
                id_declared = True
        declared.append(column)
    if statement.coordinates is not None:
        declared = [
            replace(column, unit=statement.coordinates) if column.type.kind is Kind.POINT else column
            for column in declared
        ]
    columns = stream_columns(tuple(declared), _implicit_id(statement))
    taken = () if statement.through is None else statement.through.columns
    form = form_of((*statement.columns, *taken), statement.each, statement.format, text)
    if statement.through is not None:
        form = replace(form, through=through_of(statement, statement.through, declared, text))
    times = [column.name for column in declared if column.type.kind is Kind.TIME]
    if len(times) == 1 and times[0].lower() != "time":
        form = replace(form, sole_time=times[0])
    if form.format is not None and form.format.clock is not None and statement.url is not None:
        _fail(
            text,
            statement,
            "CLOCK is for files: a message has one field with its time",
            "join date and time of day where the messages are made",
        )
    delay = 0 if statement.delay is None else duration_of(statement.delay, text, "DELAY", positive=False)
    return Stream(
        statement.name,
        columns,
        every=None if statement.every is None else duration_of(statement.every, text, "SENSED EVERY"),
        url=statement.url,
        delay=delay,
        key=statement.key,
        expect=None if statement.expect is None else duration_of(statement.expect, text, "EXPECT EVERY"),
        future=future_for(delay)
        if statement.future is None
        else duration_of(statement.future, text, "FUTURE", positive=False),
        time_unit=time_unit,
        id_declared=id_declared,
        form=form,
        coordinates=statement.coordinates,
    )


def _implicit_id(statement: ast.CreateStream) -> Type:
    """The type of an undeclared id: text if it is part of an MQTT topic, otherwise a number, until the data
    or the sensors say otherwise."""
    wildcard = statement.url is not None and statement.url.startswith("mqtt") and "+" in statement.url
    return Type(Kind.STRING) if wildcard else INT


def table_of(statement: ast.CreateTable, text: str | None, base: Path | None) -> Table:
    """A declared stored table. Its columns are read from the store if none were declared."""
    _check_names(statement.columns, text)
    columns = tuple(column_of(definition, text) for definition in statement.columns)
    form = form_of(statement.columns, statement.each, statement.format, text)
    if not columns and statement.each is not None:
        _fail(text, statement.each, "EACH needs declared columns", "name the columns of the items")
    if not columns:
        from nilometer.ingest.readers import describe_table

        try:
            columns = describe_table(statement.url, statement.table or statement.name, base, form)
        except NilometerError as error:
            raise error.at(text, statement.span) from None
    refresh = None if statement.refresh is None else duration_of(statement.refresh, text, "REFRESH EVERY")
    return Table(statement.name, columns, statement.url, statement.table, refresh, form)


def sensor_of(statement: ast.CreateSensor) -> Sensor:
    """A declared sensor."""
    return Sensor(statement.identifier, statement.stream, statement.location, statement.attributes)


def snee_streams(path: Path, every: ast.Amount | None, text: str | None) -> list[Stream]:
    """The streams of a logical schema of SNEE's. Pulled streams are sensed at the interval."""
    from nilometer.catalog.snee_files import read_schema

    found = read_schema(path).streams
    pulled = [stream.name for stream in found if stream.pulled]
    if pulled and every is None:
        raise CatalogError(
            f"'{pulled[0]}' is acquired, and {path.name} does not say how often",
            hint=f"COPY STREAMS FROM '{path.name}' SENSED EVERY 15 MINUTES",
        )
    interval = None if every is None else duration_of(every, text, "SENSED EVERY")
    return [
        Stream(stream.name, stream_columns(stream.columns, INT), every=interval if stream.pulled else None)
        for stream in found
    ]
