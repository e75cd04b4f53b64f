"""Converts a file's column to the declared type, and marks every value that cannot be read.

The law: columnar throughout; a value is read, is NULL, or is marked garbled, and nothing is guessed. If the
file's own type is not directly of the declared kind, the value goes through text, so that CSV, JSON and
Parquet agree.

>>> from nilometer.types import INT
>>> read = read_values(pl.Series("depth", ["12", "", "x"]), INT)
>>> read.values.to_list(), read.garbled.arg_true().to_list()
([12, None, None], [2])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nilometer.catalog.form import Format
from nilometer.errors import InternalError
from nilometer.ingest.readers.epochs import (
    EARLIEST,
    LATEST,
    MICROSECONDS,
    MILLISECONDS,
    NANOSECONDS,
    SECONDS,
    WORDS,
    guessed,
    guessed_fractions,
)
from nilometer.ingest.readers.local_times import REPEATED, localized, parse_local_times
from nilometer.ingest.readers.times import TIME_LIMIT, parse_iso_times
from nilometer.ingest.readers.vectors import read_vectors
from nilometer.operators.frames import dtype
from nilometer.types import FLOAT, Kind, Type

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_POINT = rf"^\s*(?:(?i:POINT))?\s*[\[(]?\s*({_NUMBER})(?:\s*[,;]\s*|\s+)({_NUMBER})\s*[\])]?\s*$"
_POINT_OBJECT = rf'^\s*\{{\s*"x"\s*:\s*({_NUMBER})\s*,\s*"y"\s*:\s*({_NUMBER})\s*\}}\s*$'
_PLAIN_NUMBER = rf"^{_NUMBER}$"
_GROUPED = {
    ".": r"^\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*$",
    ",": r"^\s*[+-]?\d{1,3}(\.\d{3})+(,\d*)?\s*$",
}
"""Numbers with marks between their thousands, by the decimal mark."""
_EXACT = 2.0**53
PART = 1 << 18
"""How many texts are read at once: what is made on the way to their values then stays small."""
_INT_END = 2.0**63


@dataclass(frozen=True)
class ReadValues:
    """A column of the declared type, and a mask of the values that could not be read (None: all could).
    `remarks` count values that are read, but peculiar."""

    values: pl.Series
    garbled: pl.Series | None = None
    remarks: tuple[tuple[str, int], ...] = ()


def read_values(
    found: pl.Series, declared: Type, time_unit: int | None = None, format: Format | None = None
) -> ReadValues:
    """Read a column as the declared type; `time_unit` is the unit of numeric times in microseconds."""
    if len(found) <= PART or not _in_parts(found, declared.kind, format):
        return _read_values(found, declared, time_unit, format)
    parts = [_read_values(part, declared, time_unit, format) for part in _parts(found)]
    if any(part.remarks for part in parts):  # their order is that of the whole
        return _read_values(found, declared, time_unit, format)
    garbled = None
    if any(part.garbled is not None for part in parts):
        sound = pl.Series(found.name, [False])
        garbled = pl.concat(
            [
                sound.new_from_index(0, len(part.values)) if part.garbled is None else part.garbled
                for part in parts
            ],
            rechunk=True,
        )
    values = pl.concat([part.values for part in parts], rechunk=True)
    return ReadValues(values, garbled)


def _parts(found: pl.Series) -> Iterator[pl.Series]:
    return (found[start : start + PART] for start in range(0, len(found), PART))


def _in_parts(found: pl.Series, kind: Kind, format: Format | None) -> bool:
    """Whether each value is read by itself, so that a long column may be read part by part."""
    formatted = format is not None and bool(format.time_format or format.timezone)
    plain = kind in (Kind.INT, Kind.FLOAT, Kind.BOOLEAN) or (kind is Kind.TIME and not formatted)
    return found.dtype == pl.String and plain


def _read_values(
    found: pl.Series, declared: Type, time_unit: int | None, format: Format | None
) -> ReadValues:
    if isinstance(found.dtype, pl.Duration):
        found = found.dt.total_microseconds() / 1e6
    if format is not None and format.nulls and found.dtype == pl.String:
        found = found.set(found.str.strip_chars().is_in(format.nulls).fill_null(False), None)
    if _sound(found, declared.kind):
        return ReadValues(found)
    decimal = None if format is None or found.dtype != pl.String else format.decimal
    match declared.kind:
        case Kind.INT:
            values = _integers(found if decimal is None else _plain_numbers(found, decimal))
        case Kind.FLOAT:
            return _floats(found, found if decimal is None else _plain_numbers(found, decimal))
        case Kind.TIME if format is not None and (format.time_format or format.timezone):
            return _formatted_times(found, format, time_unit)
        case Kind.STRING:
            values = _strings(found)
        case Kind.BOOLEAN:
            values = _booleans(found)
        case Kind.TIME:
            marked = _marked(_times(found, time_unit).cast(dtype(declared)), found, declared.kind)
            return replace(marked, remarks=_old(marked.values, found, time_unit))
        case Kind.POINT:
            values = _points(found)
        case Kind.VECTOR:
            values = read_vectors(found, declared, lambda each, type_: read_values(each, type_).values)
        case kind:
            raise InternalError(f"a stream or table with a {kind} column")
    return _marked(values.cast(dtype(declared)), found, declared.kind)


def _sound(found: pl.Series, kind: Kind) -> bool:
    """Whether the column already has the declared type, so that no value needs a check."""
    match kind:
        case Kind.INT:
            return found.dtype == pl.Int64
        case Kind.STRING:
            return found.dtype == pl.String
        case Kind.BOOLEAN:
            return found.dtype == pl.Boolean
        case Kind.FLOAT:
            return (
                found.dtype == pl.Float64
                and not found.null_count()
                # Chunk by chunk: as one array, a file of several row groups would be copied for this check.
                and all(bool(np.isfinite(chunk.to_numpy()).all()) for chunk in found.get_chunks())
            )
        case _:
            return False


def _marked(values: pl.Series, found: pl.Series, kind: Kind) -> ReadValues:
    """The values, with a mark where there is none although the file has one."""
    if values.null_count() == found.null_count():
        return ReadValues(values)
    garbled = values.is_null() & ~_absent(found, kind)
    return ReadValues(values, garbled if garbled.any() else None)


def _absent(found: pl.Series, kind: Kind) -> pl.Series:
    """Where the file says NULL: no value, or (except in text columns) an empty field or the word null."""
    absent = found.is_null()
    if found.dtype.is_float():
        absent = absent | found.is_nan().fill_null(False)
    if found.dtype == pl.String and kind is not Kind.STRING:
        trimmed = found.str.strip_chars()
        absent = absent | (trimmed == "").fill_null(False) | _is_word(trimmed, "null")
    return absent


def _is_word(texts: pl.Series, *words: str) -> pl.Series:
    return texts.str.to_lowercase().is_in(words).fill_null(False)


def _text(found: pl.Series) -> pl.Series:
    """Any column as text, trimmed."""
    if found.dtype == pl.String:
        return found.str.strip_chars()
    if found.dtype.is_nested() or found.dtype == pl.Binary:
        return pl.Series(found.name, [None], dtype=pl.String).new_from_index(0, len(found))
    return found.cast(pl.String, strict=False)


def _integers(found: pl.Series) -> pl.Series:
    if found.dtype.is_integer():
        return found.cast(pl.Int64, strict=False)
    if found.dtype.is_float():
        return _whole(found.cast(pl.Float64))
    texts = _text(found)
    direct = texts.cast(pl.Int64, strict=False)
    if direct.null_count() == texts.null_count():
        return direct
    # "20.0" and "2e1" are integers too: some programs write them so.
    return _first_of(direct, _whole(texts.cast(pl.Float64, strict=False)))


def _whole(numbers: pl.Series) -> pl.Series:
    whole = (numbers == numbers.floor()) & (numbers.abs() <= _EXACT)
    return numbers.set(~whole.fill_null(False), None).cast(pl.Int64)


def _first_of(first: pl.Series, second: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(first, second).alias(first.name)).to_series()


def _plain_numbers(texts: pl.Series, decimal: str) -> pl.Series:
    """Numbers of that decimal mark as Python writes them, without marks between thousands: `1.234,5` of a decimal
    comma is 1234.5. Any other number with the wrong mark is none."""
    between = "," if decimal == "." else "."
    grouped = texts.str.contains(_GROUPED[decimal]).fill_null(False)
    bare = texts.str.replace_all(between, "", literal=True)
    pointed = texts.str.replace_all(between, "?", literal=True)
    found = pl.select(pl.when(grouped).then(bare).otherwise(pointed).alias(texts.name)).to_series()
    return found if decimal == "." else found.str.replace(",", ".", literal=True)


def with_points(texts: pl.Series, decimal: str) -> pl.Series:
    """Numbers of that decimal mark as Python writes them, and any other text as it is."""
    plain = _plain_numbers(texts, decimal)
    numeric = plain.str.strip_chars().cast(pl.Float64, strict=False).is_not_null()
    return pl.select(pl.when(numeric).then(plain).otherwise(texts).alias(texts.name)).to_series()


def has_thousands(texts: pl.Series) -> bool:
    """Whether every value looks like a number with commas between its thousands, which is no point."""
    known = texts.drop_nulls()
    return len(known) > 0 and bool(known.str.contains(_GROUPED["."]).all())


def _floats(found: pl.Series, numbers: pl.Series) -> ReadValues:
    """Read FLOAT values. NaN and the infinities can be read, and become NULL."""
    numbers = _text(numbers) if not numbers.dtype.is_numeric() else numbers
    numbers = numbers.cast(pl.Float64, strict=False)
    marked = _marked(numbers, found, Kind.FLOAT)
    finite = np.isfinite(numbers.to_numpy())
    if np.count_nonzero(~finite) == numbers.null_count():
        return marked
    return ReadValues(numbers.set(pl.Series(~finite), None), marked.garbled)


def _strings(found: pl.Series) -> pl.Series:
    return found if found.dtype == pl.String else _text(found)


def _booleans(found: pl.Series) -> pl.Series:
    if found.dtype == pl.Boolean:
        return found
    texts = _text(found)
    truth = _is_word(texts, "true", "1", "1.0", "on")
    return truth.set(~(truth | _is_word(texts, "false", "0", "0.0", "off")), None).alias(found.name)


def _times(found: pl.Series, unit: int | None) -> pl.Series:
    values = _raw_times(found, unit)
    # A number beyond the year 5138 is one in another unit than the declared one.
    limit = TIME_LIMIT if unit is None else LATEST
    least, greatest = values.min(), values.max()
    if least is None or (least > -limit and greatest < limit):  # type: ignore[operator]
        return values
    return values.set((values.abs() >= limit).fill_null(False), None)


def _old(values: pl.Series, found: pl.Series, unit: int | None) -> tuple[tuple[str, int], ...]:
    """How many times are in or near 1970 although their numbers look like present-day times in another unit."""
    least = values.min()
    if unit is None or least is None or least >= EARLIEST:  # type: ignore[operator]
        return ()
    numbers = found if found.dtype.is_numeric() else _text(found).cast(pl.Float64, strict=False)
    old = numbers.filter((numbers.abs() >= SECONDS) & (values < EARLIEST)).to_numpy()
    counts: dict[str, int] = {}
    for low, high, word in (
        (SECONDS, MILLISECONDS, "seconds"),
        (MILLISECONDS, MICROSECONDS, "milliseconds"),
        (MICROSECONDS, NANOSECONDS, "microseconds"),
    ):
        count = int(((abs(old) >= low) & (abs(old) < high)).sum())
        if count and word != WORDS.get(unit):
            counts[f"near 1970: it looks like {word}, and is read as {WORDS.get(unit, 'declared')}"] = count
    return tuple(counts.items())


def _formatted_times(found: pl.Series, format: Format, unit: int | None) -> ReadValues:
    """Times by the declared pattern and zone. Numbers since 1970 are read as ever unless there is a pattern."""
    if found.dtype == pl.Date or isinstance(found.dtype, pl.Datetime):
        if format.timezone is None or getattr(found.dtype, "time_zone", None) is not None:
            return _marked(_times(found, unit), found, Kind.TIME)
        local = localized(found.cast(pl.Datetime("us")), format.timezone)
    elif found.dtype.is_numeric() and format.time_format is None:
        return _marked(_times(found, unit), found, Kind.TIME)
    else:
        texts = _text(found)
        local = parse_local_times(texts, format)
        if format.time_format is None and local.values.null_count() > texts.null_count():
            rest = texts.set(local.values.is_not_null(), None).set(
                ~texts.str.contains(_PLAIN_NUMBER).fill_null(False), None
            )
            local = replace(local, values=_first_of(local.values, _times(rest, unit)))
    marked = _marked(local.values.alias(found.name), found, Kind.TIME)
    return replace(marked, remarks=((REPEATED, local.repeated),) if local.repeated else ())


def _raw_times(found: pl.Series, unit: int | None) -> pl.Series:
    if found.dtype == pl.Date or isinstance(found.dtype, pl.Datetime):
        return found.cast(pl.Datetime("us")).cast(pl.Int64)
    if found.dtype.is_integer():
        numbers = found.cast(pl.Int64, strict=False)
        # Times that come in order are marked so: from here on their least and greatest are found without a pass.
        return _scaled(numbers.set_sorted() if numbers.is_sorted() else numbers, unit)
    if found.dtype.is_float():
        return _scaled_floats(found.cast(pl.Float64), unit)
    texts = _text(found)
    times = _scaled(texts.cast(pl.Int64, strict=False), unit)
    if times.null_count() > texts.null_count():
        times = _first_of(times, parse_iso_times(texts))
    if times.null_count() > texts.null_count():
        times = _first_of(times, _scaled_floats(texts.cast(pl.Float64, strict=False), unit))
    return times


def _scaled(values: pl.Series, unit: int | None) -> pl.Series:
    """Integer times in microseconds; NULL if the result does not fit. Without a unit their size tells it."""
    if unit is None:
        return guessed(values)
    if unit == 1:
        return values
    return values.set((values.abs() > TIME_LIMIT // unit).fill_null(False), None) * unit


def _scaled_floats(values: pl.Series, unit: int | None) -> pl.Series:
    """Fractions of a declared unit, to the nearest microsecond. Without a unit their size tells it, and small
    numbers must be whole."""
    if unit is None:
        return _first_of(guessed_fractions(values), guessed(_whole(values)))
    scaled = (values * unit).round()
    inside = scaled.is_finite() & (scaled.abs() < _INT_END)
    return scaled.set(~inside.fill_null(False), None).cast(pl.Int64)


def _points(found: pl.Series) -> pl.Series:
    """`x y`, `x, y`, `[x, y]`, `(x, y)` or `POINT(x y)`; a list or array of two numbers; a struct of x and
    y."""
    if isinstance(found.dtype, pl.Struct):
        names = {field.name.lower(): field.name for field in found.dtype.fields}
        if "x" not in names or "y" not in names:
            return pl.Series(found.name, [None], dtype=pl.Int64).new_from_index(0, len(found))
        x, y = found.struct.field(names["x"]), found.struct.field(names["y"])
    elif isinstance(found.dtype, pl.List | pl.Array):
        lists = found.cast(pl.List(pl.Float64), strict=False)
        pair = lists.list.len() == 2
        x, y = (lists.list.get(place, null_on_oob=True).set(~pair.fill_null(False), None) for place in (0, 1))
    else:
        texts = _text(found)
        form = _POINT_OBJECT if texts.str.starts_with("{").any() else _POINT
        groups = texts.str.extract_groups(form).struct.unnest()
        x, y = groups.to_series(0), groups.to_series(1)
    x, y = (part.cast(pl.Float64, strict=False) for part in (x, y))
    whole = (x.is_finite() & y.is_finite()).fill_null(False)
    return pl.select(pl.when(whole).then(pl.struct(x=x, y=y)).alias(found.name)).to_series()


def _has_switches(texts: pl.Series) -> bool:
    return any(bool(_is_word(part, "on", "off").any()) for part in _parts(texts))


def fits(found: pl.Series, declared: Type, format: Format | None = None) -> bool:
    """Whether every value of the column can be read as that type. `on` and `off` are words first: only a
    declaration makes them BOOLEAN."""
    if declared.kind is Kind.BOOLEAN and found.dtype == pl.String and _has_switches(found):
        return False
    if found.dtype == pl.String and len(found) > PART:
        if _in_parts(found, declared.kind, format):  # the first part that does not fit is the last one read
            parts = _parts(found)
            return all(_read_values(part, declared, None, format).garbled is None for part in parts)
        # Points that do not fit beside some others do not fit beside more.
        if declared.kind is Kind.POINT and not fits(found.head(PART), declared, format):
            return False
    return read_values(found, declared, None, format).garbled is None


def read_numbers(found: pl.Series) -> pl.Series:
    """The column as FLOAT; NULL where a value cannot be read."""
    return read_values(found, FLOAT).values
