"""Finds the type of each column, marks that stand for NULL, values that look like faults, and units in names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from nilometer.ingest.readers.reading import RawFile, row_numbers
from nilometer.ingest.readers.tables import described_columns
from nilometer.ingest.readers.values import read_numbers
from nilometer.types import FLOAT, INT, Kind, Type

MARKS = ("NA", "N/A", "n/a", "na", "-", "--", "None", "none", "?", "#N/A", "missing", "M")
"""Texts that other programs write for NULL."""

FAULTS = (-9999.0, -999.0, -99.0, -99.9, -999.9, 9999.0, 99999.0, 65535.0, -32768.0, 32767.0, 85.0, -127.0)
"""Numbers that sensors and loggers write for a fault; 85 and -127 are those of the DS18B20."""

_UNITS = {
    "ugm3": "ug/m3", "ug_m3": "ug/m3", "mph": "[mi_i]/h", "kmh": "km/h", "kph": "km/h", "mps": "m/s", "ms": "ms", "s": "s",
    "degc": "Cel", "celsius": "Cel", "c": "Cel", "degf": "[degF]", "fahrenheit": "[degF]", "f": "[degF]", "kelvin": "K",
    "pct": "%", "percent": "%", "hpa": "hPa", "kpa": "kPa", "pa": "Pa", "mbar": "mbar", "psi": "[psi]", "lux": "lx", "lx": "lx",
    "ppm": "[ppm]", "ppb": "[ppb]", "mm": "mm", "cm": "cm", "m": "m", "km": "km", "ft": "[ft_i]", "v": "V", "mv": "mV",
    "ma": "mA", "w": "W", "kw": "kW", "kwh": "kW.h", "wh": "W.h", "hz": "Hz", "db": "dB", "deg": "deg", "kg": "kg",
}  # fmt: skip
"""The ends of columns' names -> UCUM codes."""


@dataclass(frozen=True)
class Field:
    """A column of the data, its type and its unit; `marks` are the texts in it that stand for NULL."""

    name: str
    type: Type
    unit: str | None = None
    marks: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def find_field(column: pl.Series) -> Field | None:
    """The column's type; None if no type of the language can hold it."""
    described = described_columns(RawFile(column.to_frame(), row_numbers))
    if not described:
        return None
    type_ = described[0].type
    marks: tuple[str, ...] = ()
    remarks: list[str] = []
    if column.null_count() == column.len():
        return Field(column.name, type_, remarks=(f"{column.name} has no value",))
    if type_.kind is Kind.STRING and column.dtype == pl.String:
        type_, marks, remarks = _almost_numbers(column)
    if type_.kind in (Kind.INT, Kind.FLOAT):
        numbers = read_numbers(column if not marks else column.replace(list(marks), None))
        remarks += _faults(column.name, numbers)
        return Field(column.name, type_, unit_in(column.name), marks, tuple(remarks))
    return Field(column.name, type_, None, marks, tuple(remarks))


def _almost_numbers(column: pl.Series) -> tuple[Type, tuple[str, ...], list[str]]:
    """The type of a column of texts that are nearly all numbers."""
    texts = column.str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    present = texts.is_not_null() & (texts != "") & (texts.str.to_lowercase() != "null")
    odd = texts.filter(present & numbers.is_null())
    few = 10 if not odd.is_in(list(MARKS)).all() else 2
    if odd.len() * few > int(present.sum()) or not odd.len():
        return Type(Kind.STRING), (), []
    kinds = odd.value_counts(sort=True)
    found = kinds.get_column(texts.name).to_list()
    marks = tuple(text for text in found if text in MARKS)
    strange = [text for text in found if text not in MARKS]
    remarks = []
    if strange:
        some = ", ".join(f"'{text[:20]}'" for text in strange[:3])
        remarks.append(
            f"{column.name} is not a number in {odd.len()} rows ({some}{' ...' if len(strange) > 3 else ''}):"
            " such rows are set aside, or declare it STRING"
        )
    sound = numbers.drop_nulls()
    whole = bool((sound == sound.floor()).all()) and not texts.str.contains(r"[.eE]").any()
    return (INT if whole else FLOAT), marks, remarks


def _faults(name: str, numbers: pl.Series) -> list[str]:
    present = numbers.drop_nulls()
    if present.len() < 3:
        return []
    least, greatest = present.min(), present.max()
    if least == greatest:
        return [f"{name} is always {float(least):g}"]  # type: ignore[arg-type]
    remarks = []
    near = present.filter(~present.is_in(list(FAULTS)))
    for fault in FAULTS:
        count = int((present == fault).sum())
        outside = near.len() > 0 and not near.min() - 20 <= fault <= near.max() + 20  # type: ignore[operator]
        if count >= 2 and outside:
            remarks.append(f"{name} is {fault:g} in {count} rows, which is probably a fault and not a value")
    return remarks


def unit_in(name: str) -> str | None:
    """The unit at the end of a column's name: `pm25_ugm3`, `speed (mph)`, `tempC`."""
    found = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]\s*$", name)
    if found is not None:
        return _UNITS.get(
            found[1].lower().replace("/", "").replace("°", "").replace("³", "3").replace("µ", "u")
        )
    parts = re.split(r"[_\s]+", name.lower())
    if len(parts) > 2 and "_".join(parts[-2:]) in _UNITS:
        return _UNITS["_".join(parts[-2:])]
    return _UNITS.get(parts[-1]) if len(parts) > 1 else None
