"""The properties of Observations as columns of a stream's log, for columnar.py."""

from __future__ import annotations

import polars as pl

from nilometer.operators.logic import POSITION
from nilometer.server.sensorthings import columnar, own
from nilometer.server.sensorthings.columnar import NUMBER, TEXT, TIME, TRUTH, Value
from nilometer.server.sensorthings.selection import Part
from nilometer.types import Kind

_TYPES = {Kind.INT: NUMBER, Kind.FLOAT: NUMBER, Kind.BOOLEAN: TRUTH, Kind.STRING: TEXT}


def columns_of(part: Part) -> dict[str, Value]:
    """The properties of an Observation as columns of a part."""
    time = pl.col(part.source.latest.time)
    if part.column is None:
        number = pl.col(own.RESULT).fill_nan(None)
        value = pl.col("value")
        both = number.is_null() & (value.is_null() | (value == "null"))
        rank = (  # as in evaluate.order_key
            pl.when(both).then(0)
            .when(number.is_not_null()).then(2)
            .when(value.is_in(["true", "false"])).then(1)
            .when(value.str.starts_with('"')).then(4)
            .otherwise(6)
        )  # fmt: skip
        return {
            "id": Value(NUMBER, pl.col(POSITION) + 1),
            "@iot.id": Value(NUMBER, pl.col(POSITION) + 1),
            "phenomenonTime": Value(TIME, time, pl.coalesce(pl.col("until"), time)),
            "resultTime": Value(TIME, pl.col("result_time"), pl.col("result_time")),
            "result": Value(NUMBER, number, missing=both, keys=(rank, number, value)),
        }
    column = part.source.columns[part.column]
    result = pl.col(part.column)
    if column.type.kind is Kind.FLOAT:
        result = result.fill_nan(None)
    return {
        "phenomenonTime": Value(TIME, time, time),
        "resultTime": Value(TIME, time, time),
        "result": Value(_TYPES[column.type.kind], result),
        **{name: Value(columnar.NULL, pl.lit(None)) for name in ("validTime", "resultQuality", "parameters")},
    }
