"""Adds the static attributes and locations of sensors to their stream's tuples, by id (STEAM section 3.3).

The law: a tuple without an id, or of a sensor that was not declared, has NULLs. The stream's own columns come
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from nilometer.catalog.extents import Sensor
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID
from nilometer.types import Column, Kind, Type


def attribute_frame(sensors: Sequence[Sensor], columns: Sequence[Column], id_type: Type) -> pl.DataFrame:
    """One row per sensor: `@id` and the requested attributes."""
    rows = [{name.lower(): value for name, value in sensor.attributes} for sensor in sensors]
    series = [pl.Series(ID, [_identifier(sensor.id, id_type) for sensor in sensors], dtype=dtype(id_type))]
    for column in columns:
        name = column.name.lower()
        if name == "location":
            values: list[Any] = [sensor.location for sensor in sensors]
        else:
            values = [row.get(name) for row in rows]
        if column.type.kind is Kind.POINT:
            values = [
                None if value is None else {"x": float(value[0]), "y": float(value[1])} for value in values
            ]
        series.append(pl.Series(column.name, values, dtype=dtype(column.type), strict=False))
    return pl.DataFrame(series).unique(ID, keep="last", maintain_order=True)


def _identifier(value: int | str, id_type: Type) -> int | str:
    return str(value) if id_type.kind is Kind.STRING else value


def attach(rows: pl.DataFrame, attributes: pl.DataFrame) -> pl.DataFrame:
    """The rows, each with its sensor's attributes."""
    return rows.join(attributes, on=ID, how="left", maintain_order="left")
