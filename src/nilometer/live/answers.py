"""Answers: rows as Python values, as JSON and as text, the same from every host.

In frames and reference rows, TIME is int microseconds and POINT a pair. Here TIME becomes an aware datetime
(Python) or ISO-8601 text (JSON and tables).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nilometer.printable import printable, printable_json
from nilometer.sinks.values import converted, json_lines, rows_of, to_json
from nilometer.types import NESTED, TIME, Column, Kind, Schema, Type

if TYPE_CHECKING:
    import polars as pl

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Answer:
    """A finished answer: its schema, its rows, and the books of the streams that were read.

    Columnar hosts return a frame, the reference evaluator tuples. `rows` are tuples in schema order from
    either.
    """

    schema: Schema
    given: Sequence[tuple[Any, ...]] | pl.DataFrame
    watermark: int | None = None
    ledgers: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Remarks for the user: which rows were set aside, and why."""

    @cached_property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """Plain tuples: TIME in microseconds, POINT as (x, y)."""
        return self.given if isinstance(self.given, Sequence) else rows_of(self.given, self.schema)

    def head(self, count: int) -> Answer:
        """The same answer, cut to its first rows."""
        return replace(self, given=self.given[:count])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names

    def __len__(self) -> int:
        return len(self.given)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Rows as dictionaries of Python values."""
        changing = {Kind.TIME, Kind.DURATION, *NESTED}
        for row in zip(*converted(self.rows, self.schema, to_python, changing), strict=True):
            yield dict(zip(self.columns, row, strict=True))

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        from nilometer.live.html import html_of

        return html_of(self)

    def json_rows(self) -> Iterator[str]:
        """One JSON object per row; TIME as ISO-8601."""
        return json_lines(self.rows, self.schema)

    def text_rows(self) -> Iterator[tuple[str, ...]]:
        """The values as text, for tables."""
        yield from zip(*converted(self.rows, self.schema, to_text, set(Kind)), strict=True)


def answer_schema(schema: Schema, tick: bool) -> Schema:
    """The schema of the delivered rows: those of a window query begin with their tick."""
    return Schema((Column("tick", TIME), *schema.columns)) if tick else schema


def frame_of_answer(answer: Answer) -> pl.DataFrame:
    """The answer as a frame for the user: TIME columns as UTC datetimes, DURATION columns as durations."""
    import polars as pl

    from nilometer.operators.frames import dtype

    if isinstance(answer.given, pl.DataFrame):
        frame = answer.given.select(answer.schema.names)
    else:
        columns = {}
        for index, column in enumerate(answer.schema):
            values = [row[index] for row in answer.given]
            if column.type.kind is Kind.POINT:
                values = [None if value is None else {"x": value[0], "y": value[1]} for value in values]
            columns[column.name] = pl.Series(column.name, values, dtype=dtype(column.type))
        frame = pl.DataFrame(columns)
    kinds = {Kind.TIME: pl.Datetime("us", "UTC"), Kind.DURATION: pl.Duration("us")}
    return frame.with_columns(
        pl.col(column.name).cast(kinds[column.type.kind])
        for column in answer.schema
        if column.type.kind in kinds
    )


def to_python(value: Any, type_: Type) -> Any:
    """A value as a Python object."""
    match value, type_.kind:
        case None, _:
            return None
        case microseconds, Kind.TIME:
            try:
                return _EPOCH + timedelta(microseconds=microseconds)
            except OverflowError:
                return microseconds
        case microseconds, Kind.DURATION:
            return timedelta(microseconds=microseconds)
        case items, Kind.LIST | Kind.VECTOR:
            return [to_python(item, type_.element) for item in items] if type_.element else items
        case fields, Kind.STRUCT:
            return {f.name: to_python(fields[f.name], f.type) for f in type_.fields}
        case _:
            return value


def to_text(value: Any, type_: Type) -> str:
    """A value as text for a person."""
    shown = value if isinstance(value, float) else to_json(value, type_)
    match shown:
        case None:
            return "NULL"
        case bool():
            return "true" if shown else "false"
        case float():
            return f"{shown:.12g}"
        case list() | dict():
            return printable_json(json.dumps(shown, ensure_ascii=False))
        case _:
            return printable(str(shown))
