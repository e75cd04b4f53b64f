"""A stream or table of the catalog -> the statement that declares it: `stream_of(statement_of(stream)) == stream`.

>>> from nilometer.catalog import Stream, stream_columns
>>> from nilometer.catalog.form import Form
>>> from nilometer.language import print_statement
>>> from nilometer.types import FLOAT
>>> stream = Stream("air", stream_columns((Column("pm25", FLOAT, "ug/m3"),)), form=Form((("time", "ts"),)))
>>> print_statement(statement_of(stream))
"CREATE STREAM air (time FROM ts, pm25 FLOAT UNIT 'ug/m3') PUSHED"
"""

from __future__ import annotations

from nilometer.catalog import Extent, Stream, Table
from nilometer.catalog.extents import future_for
from nilometer.catalog.form import Form, Format
from nilometer.engine.declare import TIME_UNITS
from nilometer.language import ast
from nilometer.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Column

_UNITS = (
    (DAY, "DAYS"),
    (HOUR, "HOURS"),
    (MINUTE, "MINUTES"),
    (SECOND, "SECONDS"),
    (MILLISECOND, "MILLISECONDS"),
)
_WORDS = {
    "HEADER": "header",
    "DELIMITER": "delimiter",
    "QUOTE": "quote",
    "DECIMAL": "decimal",
    "NULL": "nulls",
    "SKIP": "skip",
    "ENCODING": "encoding",
    "CLOCK": "clock",
    "TIME FORMAT": "time_format",
    "TIMEZONE": "timezone",
}


def statement_of(stream: Stream) -> ast.CreateStream:
    """CREATE STREAM, without `time` and `id` where they are implicit and come first."""
    implicit = [
        column.name in ("time", "id")
        and place == ["time", "id"].index(column.name)
        and stream.form.origin(column.name) is None
        and (stream.time_unit is None if column.name == "time" else not stream.id_declared)
        for place, column in enumerate(stream.columns)
    ]
    return ast.CreateStream(
        stream.name,
        tuple(
            _definition(stream, column)
            for column, hidden in zip(stream.columns, implicit, strict=True)
            if not hidden
        ),
        None if stream.every is None else _amount(stream.every),
        stream.url,
        _amount(stream.delay) if stream.delay else None,
        stream.key,
        None if stream.expect is None else _amount(stream.expect),
        None if stream.future == future_for(stream.delay) else _amount(stream.future),
        None if stream.form.each is None else ast.Origin(stream.form.each),
        None if stream.form.format is None else format_of(stream.form.format),
        through=_through(stream.form),
    )


def _through(form: Form) -> ast.Through | None:
    through = form.through
    if through is None:
        return None
    columns = tuple(
        ast.ColumnDefinition(
            column.name,
            None,
            origin=None if (field := form.origin(column.name)) is None else ast.Origin(field),
        )
        for column in through.columns
    )
    return ast.Through(through.name, columns, tuple(map(ast.Amount, through.numbers)))


def _definition(extent: Extent, column: Column) -> ast.ColumnDefinition:
    origin = extent.form.origin(column.name)
    kind: str | None = str(column.type.kind)
    unit = column.unit
    if isinstance(extent, Stream) and column.name.lower() == "time":
        kind = "TIME" if origin is None else None
        if extent.time_unit is not None:
            kind = "INT"
            unit = next(word for word, size in TIME_UNITS.items() if size == extent.time_unit)
    elif (
        isinstance(extent, Stream)
        and column.name.lower() == "id"
        and not extent.id_declared
        and origin is not None
    ):
        kind = None
    if column.type.element is not None:
        kind = str(column.type.element)
    written = None if origin is None else ast.Origin(origin)
    return ast.ColumnDefinition(column.name, kind, column.type.width, unit, written, column.type.size)


def columns_text(extent: Extent) -> str:
    """The columns of an extent with the fields that they come from, for a list of extents."""
    return ", ".join(_column_text(extent.form, column) for column in extent.columns)


def _column_text(form: Form, column: Column) -> str:
    from nilometer.language.print_forms import print_origin

    origin = form.origin(column.name)
    return str(column) if origin is None else f"{column} {print_origin(ast.Origin(origin))}"


def form_text(extent: Stream | Table) -> str | None:
    """THROUGH, EACH and FORMAT of an extent, as they are written; None if it has none of them."""
    from nilometer.language.print_expressions import string
    from nilometer.language.print_forms import print_format
    from nilometer.language.printer import print_through

    each = [] if extent.form.each is None else [f"EACH {string(extent.form.each)}"]
    format = [] if extent.form.format is None else [print_format(format_of(extent.form.format))]
    through = _through(extent.form)
    return " ".join(([] if through is None else [print_through(through)]) + each + format) or None


def format_of(format: Format) -> ast.Format:
    """The FORMAT clause."""
    values = ((word, getattr(format, name)) for word, name in _WORDS.items())
    return ast.Format(
        format.kind,
        tuple(
            ast.FormatOption(word, value)
            for word, value in values
            if value not in (None, ()) and (word, value) != ("SKIP", 0)
        ),
    )


def _amount(duration: int) -> ast.Amount:
    for size, word in _UNITS:
        if duration % size == 0:
            return ast.Amount(duration // size, word)
    return ast.Amount(duration, "MICROSECONDS")
