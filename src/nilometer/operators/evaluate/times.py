"""Functions of times as Polars expressions over numpy kernels; plan/scalars/times.py says what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from nilometer.algebra.time_format import (
    DAYS,
    ISO,
    ISO_FIELDS,
    MONTHS,
    Field,
    parse_format,
    reading_pattern,
)
from nilometer.expressions import Call, ColumnReference, Expression, type_of
from nilometer.kernels.arrays import Integers
from nilometer.kernels.calendar import add_months, civil, days_of, floor_wall, iso_week
from nilometer.kernels.local_time import Offsets, floor_local, to_local, to_utc
from nilometer.operators.evaluate.functions import Builder, full_length
from nilometer.operators.evaluate.texts import constant
from nilometer.time_zones import FIXED, transitions
from nilometer.types import (
    DAY,
    HOUR,
    INT_MAXIMUM,
    INT_MINIMUM,
    MILLISECOND,
    MINUTE,
    SECOND,
    TIME,
    Kind,
    parse_time,
)

BLANKS = " \t\n\r\f\v"
_INT = pl.Int64()
_TWO_YEARS = 2 * 366 * DAY


def _of_moments(argument: Expression, operand: pl.Expr, function: Callable[[Integers], Integers]) -> pl.Expr:
    """A numpy function of moments, NULL where the moment is."""

    def apply(column: pl.Series) -> pl.Series:
        moments = column.fill_null(0).to_numpy()
        with np.errstate(over="ignore"):
            return pl.Series(function(moments) if len(moments) else moments, dtype=_INT)

    found = full_length(argument, operand).map_batches(apply, return_dtype=_INT)
    return pl.when(operand.is_not_null()).then(found)


def _zone_of(name: str, moments: Integers) -> Offsets:
    """The zone's offsets around the moments."""
    first = max(int(moments.min()) - _TWO_YEARS, INT_MINIMUM)
    last = min(int(moments.max()) + _TWO_YEARS, INT_MAXIMUM)
    starts, offsets = transitions(name, first, last)
    return Offsets(np.array(starts, dtype=np.int64), np.array(offsets, dtype=np.int64))


# ---- fields ----------------------------------------------------------------------------------------------------------

FIELDS: dict[str, Callable[[Integers], Integers]] = {
    "microsecond": lambda moments: moments % MINUTE,
    "millisecond": lambda moments: moments % MINUTE // MILLISECOND,
    "second": lambda moments: moments % MINUTE // SECOND,
    "minute": lambda moments: moments % HOUR // MINUTE,
    "hour": lambda moments: moments % DAY // HOUR,
    "day": lambda moments: civil(moments // DAY)[2],
    "dow": lambda moments: (moments // DAY + 4) % 7,
    "isodow": lambda moments: (moments // DAY + 3) % 7 + 1,
    "doy": lambda moments: _day_of_year(moments // DAY),
    "week": lambda moments: iso_week(moments // DAY)[1],
    "isoyear": lambda moments: iso_week(moments // DAY)[0],
    "month": lambda moments: civil(moments // DAY)[1],
    "quarter": lambda moments: (civil(moments // DAY)[1] + 2) // 3,
    "year": lambda moments: civil(moments // DAY)[0],
}


def _day_of_year(days: Integers) -> Integers:
    year = civil(days)[0]
    return days - days_of(year, np.ones_like(year), 1) + 1


def _date_part(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    return _of_moments(call.arguments[1], operands[1], FIELDS[constant(call, 0)])


def _date_trunc(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    name, zone = constant(call, 0).upper(), constant(call, 2)
    unit: str | int = FIXED.get(name, name)
    if zone is None:
        return _of_moments(call.arguments[1], operands[1], lambda moments: floor_wall(moments, unit))
    return _of_moments(
        call.arguments[1], operands[1], lambda moments: floor_local(moments, unit, _zone_of(zone, moments))
    )


def _date_bin(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    width = int(constant(call, 0))
    _, moment, origin = operands
    # The remainders are taken first, so that no difference of times can overflow.
    return moment - (moment % width - origin % width) % width


def _add_months(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    count = int(constant(call, 1))
    return _of_moments(call.arguments[0], operands[0], lambda moments: add_months(moments, count))


def _timezone(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    zone = constant(call, 0)
    return _of_moments(
        call.arguments[1], operands[1], lambda moments: to_local(moments, _zone_of(zone, moments))
    )


def _to_utc(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    zone = constant(call, 1)
    return _of_moments(call.arguments[0], operands[0], lambda walls: to_utc(walls, _zone_of(zone, walls)))


# ---- text ------------------------------------------------------------------------------------------------------------


_CODES = {
    "year": "%Y",
    "month": "%m",
    "day": "%d",
    "hour": "%H",
    "minute": "%M",
    "second": "%S",
    "millisecond": "%3f",
    "microsecond": "%6f",
    "day_of_year": "%j",
}
_FIRST = parse_time("0001-01-01")
_LAST = parse_time("9999-12-31T23:59:59.999999")


def _to_char(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    """Polars writes the usual fields of usual years; the others are put together."""
    parts = parse_format(constant(call, 1))
    simple = all(isinstance(part, str) or part.name in _CODES for part in parts)
    codes = "".join(
        part.replace("%", "%%") if isinstance(part, str) else _CODES.get(part.name, "") for part in parts
    )
    argument = ColumnReference("@moment", TIME)
    texts = [
        pl.lit(part) if isinstance(part, str) else _written(part, argument, pl.col("@moment"))
        for part in parts
    ]

    def apply(column: pl.Series) -> pl.Series:
        if simple and column.is_between(_FIRST, _LAST).all():
            return column.cast(pl.Datetime("us")).dt.to_string(codes)
        known = pl.col("@moment").is_not_null()
        return pl.DataFrame({"@moment": column}).select(
            pl.when(known).then(pl.concat_str(texts)).alias("@text")
        )["@text"]

    return full_length(call.arguments[0], operands[0]).map_batches(apply, return_dtype=pl.String())


_PARTS = {
    "short_year": lambda moments: FIELDS["year"](moments) % 100,
    "iso_year": FIELDS["isoyear"],
    "day_of_year": FIELDS["doy"],
    "day_of_week": FIELDS["isodow"],
    "half_day_hour": lambda moments: (moments % DAY // HOUR + 11) % 12 + 1,
    "millisecond": lambda moments: moments % SECOND // MILLISECOND,
    "microsecond": lambda moments: moments % SECOND,
    "half_day": lambda moments: moments % DAY // (12 * HOUR),
    "month_name": FIELDS["month"],
    "day_name": FIELDS["isodow"],
}


def _written(field: Field, argument: Expression, moment: pl.Expr) -> pl.Expr:
    number = field.name.replace("short_month", "month_name").replace("short_day", "day_name")
    value = _of_moments(argument, moment, _PARTS.get(number) or FIELDS[number])
    if field.name == "half_day":
        return _named(value, ("AM", "PM"), 0, field)
    if number in ("month_name", "day_name"):
        names = MONTHS if number == "month_name" else DAYS
        short = field.name.startswith("short")
        return _named(value, tuple(name[:3] if short else name for name in names), 1, field)
    digits = value.abs().cast(pl.String).str.zfill(field.width)
    return pl.when(value < 0).then(pl.lit("-") + digits).otherwise(digits)


def _named(value: pl.Expr, names: Sequence[str], first: int, field: Field) -> pl.Expr:
    if field.case:
        names = [name.upper() if field.case == "upper" else name.lower() for name in names]
    return value.replace_strict(dict(enumerate(names, start=first)), default=None, return_dtype=pl.String())


def read_times(text: pl.Expr, pattern: str, fields: Sequence[str]) -> pl.Expr:
    """The moments in texts, by the groups of a pattern; NULL where there is no such moment."""

    return text.map_batches(
        lambda column: _by_groups(column.str.strip_chars(BLANKS), pattern, fields), return_dtype=_INT
    )


def _by_groups(column: pl.Series, pattern: str, fields: Sequence[str]) -> pl.Series:
    if column.is_empty():
        return pl.Series(dtype=_INT)
    groups = column.str.extract_groups(pattern).struct.unnest()
    groups.columns = list(fields)
    frame = groups.with_columns(pl.lit(0, dtype=_INT).alias("@zero"))
    return frame.select(_moment(fields).alias("@moment")).get_column("@moment")


_USUAL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-5][0-9](?:\.[0-9]{1,6})?Z?$"


def read_iso_times(text: pl.Expr) -> pl.Expr:
    """The moments in texts of ISO-8601. Polars reads the usual form, which has seconds and no offset."""

    def apply(column: pl.Series) -> pl.Series:
        column = column.str.strip_chars(BLANKS)
        usual = column.str.contains(_USUAL)
        clock = column.str.head(19).str.replace(" ", "T", literal=True)
        moments = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).cast(_INT)
        decimals = column.str.slice(20).str.strip_suffix("Z").str.pad_end(6, "0")
        moments = (moments + decimals.cast(_INT, strict=False).fill_null(0)).set(~usual, None)
        if usual.all():
            return moments
        others = (~usual).fill_null(False).arg_true()
        return moments.scatter(others, _by_groups(column.gather(others), ISO, ISO_FIELDS))

    return text.map_batches(apply, return_dtype=_INT)


def _moment(fields: Sequence[str]) -> pl.Expr:
    """The moment of the groups' texts. The year is a group that takes part in every match."""
    year_name = "year" if "year" in fields else "short_year"
    year = pl.col(year_name).cast(_INT)
    if year_name == "short_year":
        year = pl.when(year >= 69).then(year + 1900).otherwise(year + 2000)
    month, day = _number(fields, "month", 1), _number(fields, "day", 1)
    for name in ("month_name", "short_month"):
        if name in fields:
            numbers = {text[:3].lower(): number for number, text in enumerate(MONTHS, start=1)}
            short = pl.col(name).str.head(3).str.to_lowercase()
            month = short.replace_strict(numbers, default=None, return_dtype=_INT)
    hour, minute, second = (_number(fields, name, 0) for name in ("hour", "minute", "second"))
    valid = year.is_not_null() & (month >= 1) & (month <= 12) & (day >= 1) & (minute < 60) & (second < 60)
    if "half_day_hour" in fields:
        half_day_hour = pl.col("half_day_hour").cast(_INT)
        valid = valid & (half_day_hour >= 1) & (half_day_hour <= 12)
        afternoon = pl.col("half_day").str.to_lowercase() == "pm"
        hour = half_day_hour % 12 + pl.when(afternoon).then(12).otherwise(0)
    valid = valid & (hour < 24)
    days = _days_of(year, month, day)
    valid = valid & (days < _days_of(year, month + 1, pl.lit(1)))
    if "day_of_year" in fields:
        first = _days_of(year, pl.lit(1), pl.lit(1))
        days = first + pl.col("day_of_year").cast(_INT) - 1
        valid = valid & (days >= first) & (days < _days_of(year + 1, pl.lit(1), pl.lit(1)))
    fraction = _fraction(fields, "microsecond", 6) + _fraction(fields, "millisecond", 3) * MILLISECOND
    clock = hour * HOUR + minute * MINUTE + second * SECOND + fraction
    moment = days * DAY + clock
    if "zone" in fields:
        digits = pl.col("zone").str.slice(1).str.replace(":", "", literal=True)
        hours = digits.str.head(2).cast(_INT, strict=False).fill_null(0)
        minutes = digits.str.slice(2).cast(_INT, strict=False).fill_null(0)
        offset = hours * HOUR + minutes * MINUTE
        valid = valid & (hours < 24) & (minutes < 60)
        sign = pl.when(pl.col("zone").str.starts_with("-").fill_null(False)).then(-1).otherwise(1)
        moment = moment - sign * offset
    return pl.when(valid).then(moment)


def _number(fields: Sequence[str], name: str, default: int) -> pl.Expr:
    """A field, or its default where the format or the text has none."""
    if name not in fields:
        return pl.col("@zero") + default
    return pl.col(name).cast(_INT).fill_null(default)


def _fraction(fields: Sequence[str], name: str, digits: int) -> pl.Expr:
    if name not in fields:
        return pl.col("@zero")
    return pl.col(name).str.pad_end(digits, "0").cast(_INT).fill_null(0)


def _days_of(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        length = max(map(len, columns))
        arrays = [column.fill_null(1).cast(_INT).to_numpy() for column in columns]
        arrays = [np.broadcast_to(array, length) for array in arrays]
        return pl.Series(days_of(*arrays), dtype=_INT)

    return pl.map_batches([year, month, day], apply, return_dtype=_INT)


def _to_timestamp(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    value, kind = operands[0], type_of(call.arguments[0]).kind
    if kind is Kind.STRING:
        pattern, fields = reading_pattern(parse_format(constant(call, 1)))
        return read_times(full_length(call.arguments[0], value), pattern, fields)
    if kind is Kind.INT:
        fits = (value <= INT_MAXIMUM // SECOND) & (value >= -(-INT_MINIMUM // SECOND))
        return pl.when(fits).then(value * SECOND)
    scaled = (value * float(SECOND)).round(0, mode="half_away_from_zero")
    fits = (scaled < 2.0**63) & (scaled >= -(2.0**63))
    return pl.when(fits).then(scaled).cast(_INT)


TIMES: Mapping[str, Builder] = {
    "date_part": _date_part,
    "epoch": lambda _, operands: operands[0].cast(pl.Float64) / float(SECOND),
    "date_trunc": _date_trunc,
    "date_bin": _date_bin,
    "add_months": _add_months,
    "timezone": _timezone,
    "to_utc": _to_utc,
    "to_char": _to_char,
    "to_timestamp": _to_timestamp,
}
