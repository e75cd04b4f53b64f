"""Rows of an answer as JSON lines, CSV and Arrow, and a schema as JSON.

JSON has ISO-8601 times; CSV has the same texts; Arrow has timestamps of its own. The units, the version and the
position are metadata of the Arrow schema.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from nilometer.live.answers import Answer
from nilometer.sinks.values import outward, to_json
from nilometer.types import NESTED, Kind, Schema

JSON, NDJSON, CSV, ARROW, SSE, TEXT, SVG = (
    "application/json",
    "application/x-ndjson",
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "text/event-stream",
    "text/plain",
    "image/svg+xml",
)
_SAME = {
    "*/*": JSON,
    "application/*": JSON,
    "application/ndjson": NDJSON,
    "application/jsonl": NDJSON,
    "text/*": CSV,
    JSON: JSON,
    NDJSON: NDJSON,
    CSV: CSV,
    ARROW: ARROW,
    SSE: SSE,
    TEXT: TEXT,
    SVG: SVG,
    "image/*": SVG,
}


def chosen(accept: str | None, known: tuple[str, ...]) -> str | None:
    """The media type that the Accept header prefers among the known ones; None if it takes none of them.

    >>> (
    ...     chosen("text/csv;q=0.5, application/x-ndjson", (JSON, NDJSON, CSV)),
    ...     chosen(None, (JSON, CSV)),
    ...     chosen("image/png", (JSON,)),
    ... )
    ('application/x-ndjson', 'application/json', None)
    """
    if not accept:
        return known[0]
    wanted = []
    for place, part in enumerate(accept.split(",")[:20]):
        kind, *options = (word.strip().lower() for word in part.split(";"))
        quality = next((option[2:] for option in options if option.startswith("q=")), "1")
        try:
            wanted.append((-float(quality), place, kind))
        except ValueError:
            continue
    for quality_, _, kind in sorted(wanted):
        found = known[0] if kind == "*/*" else _SAME.get(kind)
        if found in known and quality_ < 0:
            return found
    return None


def schema_json(schema: Schema) -> list[dict[str, Any]]:
    """The columns with their types and units."""
    return [{"name": column.name, "type": str(column.type), "unit": column.unit} for column in schema.columns]


def json_lines(rows: pl.DataFrame, schema: Schema) -> list[str]:
    """One JSON object per row."""
    return list(Answer(schema, rows).json_rows())


def ndjson(rows: pl.DataFrame, schema: Schema) -> bytes:
    """JSON lines."""
    return "".join(f"{line}\n" for line in json_lines(rows, schema)).encode()


def csv(rows: pl.DataFrame, schema: Schema, *, header: bool) -> bytes:
    """Lines of CSV, the first with the names of the columns; points, lists and structs as JSON."""
    nested = {Kind.POINT, *NESTED}
    columns = []
    for column in schema.columns:
        series = rows.get_column(column.name)
        if column.type.kind in (Kind.TIME, Kind.DURATION):
            known = {value: to_json(value, column.type) for value in series.unique().to_list()}
            texts = [known[value] for value in series.to_list()]
            series = pl.Series(column.name, texts, dtype=pl.String)
        elif column.type.kind in nested:
            texts = [
                None if value is None else json.dumps(to_json(value, column.type))
                for value in series.to_list()
            ]
            series = pl.Series(column.name, texts, dtype=pl.String)
        columns.append(series)
    return pl.DataFrame(columns).write_csv(include_header=header).encode()


class ArrowStream:
    """An Arrow IPC stream, part by part."""

    def __init__(self, schema: Schema, about: Mapping[str, Any]) -> None:
        self._schema = schema
        empty = pl.DataFrame(schema={column.name: _dtype(schema, column.name) for column in schema.columns})
        fields = []
        for field, column in zip(_outward(empty, schema).to_arrow().schema, schema.columns, strict=True):
            fields.append(field if column.unit is None else field.with_metadata({"unit": column.unit}))
        metadata = {f"nilometer.{name}": str(value) for name, value in about.items()}
        self._arrow = pa.schema(fields, metadata)
        self._sink = io.BytesIO()
        self._writer = pa.ipc.new_stream(self._sink, self._arrow)

    def part(self, rows: pl.DataFrame | None) -> bytes:
        """The bytes of the schema, if they were not given yet, and of these rows."""
        if rows is not None and rows.height:
            table = _outward(rows, self._schema).to_arrow().cast(pa.schema(list(self._arrow)))
            self._writer.write_table(table)
        return self._taken()

    def end(self) -> bytes:
        """The end of the stream."""
        self._writer.close()
        return self._taken()

    def _taken(self) -> bytes:
        found = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return found


def _dtype(schema: Schema, name: str) -> pl.DataType:
    from nilometer.operators.frames import dtype

    return dtype(schema[name].type)


def _outward(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    return outward(rows, schema)
