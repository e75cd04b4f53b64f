"""Functions of times, value by value. Times are microseconds since 1970 in UTC; `time_zones` has the zones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from nilometer.algebra.conversion_errors import no_such_time
from nilometer.algebra.time_format import DAYS, MONTHS, Field, parse_format, reading_pattern
from nilometer.plan.scalars.numbers import round_
from nilometer.time_zones import civil, days_of, floor_local, floor_wall, to_local, to_utc
from nilometer.types import DAY, HOUR, INT_MAXIMUM, INT_MINIMUM, MILLISECOND, MINUTE, SECOND

BLANKS = " \t\n\r\f\v"
"""What does not count around text that is read."""


def date_part(field: str, moment: int) -> int:
    """A field of the moment in UTC."""
    days, clock = divmod(moment, DAY)
    year, month, day = civil(days)
    match field:
        case "microsecond":
            return clock % MINUTE
        case "millisecond":
            return clock % MINUTE // MILLISECOND
        case "second":
            return clock % MINUTE // SECOND
        case "minute":
            return clock % HOUR // MINUTE
        case "hour":
            return clock // HOUR
        case "day":
            return day
        case "dow":
            return (days + 4) % 7
        case "isodow":
            return (days + 3) % 7 + 1
        case "doy":
            return days - days_of(year, 1, 1) + 1
        case "week":
            return _iso_week(days)[1]
        case "isoyear":
            return _iso_week(days)[0]
        case "month":
            return month
        case "quarter":
            return (month + 2) // 3
        case "year":
            return year
    raise AssertionError(f"no field {field!r}")


def _iso_week(days: int) -> tuple[int, int]:
    """The week belongs to the year of its Thursday."""
    thursday = days - (days + 3) % 7 + 3
    year = civil(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def _date_trunc(unit: str, moment: int, zone: str | None = None) -> int:
    return floor_wall(moment, unit.upper()) if zone is None else floor_local(moment, unit.upper(), zone)


def _date_bin(width: int, moment: int, origin: int = 0) -> int:
    return moment - (moment - origin) % width


def _add_months(moment: int, count: int) -> int:
    days, clock = divmod(moment, DAY)
    year, month, day = civil(days)
    later, month = divmod(year * 12 + month - 1 + count, 12)
    first = days_of(later, month + 1, 1)
    length = days_of(later + month // 11, (month + 1) % 12 + 1, 1) - first
    return (first + min(day, length) - 1) * DAY + clock


# ---- text ------------------------------------------------------------------------------------------------------------


def _to_char(moment: int, template: str) -> str:
    parts = parse_format(template)
    return "".join(part if isinstance(part, str) else _written(part, moment) for part in parts)


def _written(field: Field, moment: int) -> str:
    clock = moment % DAY
    match field.name:
        case "short_year":
            value: int = date_part("year", moment) % 100
        case "iso_year":
            value = date_part("isoyear", moment)
        case "day_of_year":
            value = date_part("doy", moment)
        case "day_of_week":
            value = date_part("isodow", moment)
        case "half_day_hour":
            value = (clock // HOUR + 11) % 12 + 1
        case "millisecond":
            value = clock % SECOND // MILLISECOND
        case "microsecond":
            value = clock % SECOND
        case "month_name" | "short_month":
            name = MONTHS[date_part("month", moment) - 1]
            return _cased(name[:3] if field.name == "short_month" else name, field)
        case "day_name" | "short_day":
            name = DAYS[date_part("isodow", moment) - 1]
            return _cased(name[:3] if field.name == "short_day" else name, field)
        case "half_day":
            return _cased("AM" if clock < 12 * HOUR else "PM", field)
        case name:
            value = date_part(name, moment)
    return f"-{-value:0{field.width}}" if value < 0 else f"{value:0{field.width}}"


def _cased(name: str, field: Field) -> str:
    return name.upper() if field.case == "upper" else name.lower() if field.case == "lower" else name


def microseconds_of(fields: Mapping[str, str | None]) -> int | None:
    """The moment of the fields that were read, each as text; None if there is no such moment."""
    found = {name: value for name, value in fields.items() if value is not None}
    numbers = {name: int(value) for name, value in found.items() if value.isdigit()}
    year = numbers.get("year", 1970)
    if "short_year" in numbers:
        year = numbers["short_year"] + (1900 if numbers["short_year"] >= 69 else 2000)
    month, day = numbers.get("month", 1), numbers.get("day", 1)
    if "month_name" in found or "short_month" in found:
        name = found.get("month_name") or found["short_month"]
        month = [text[:3].lower() for text in MONTHS].index(name[:3].lower()) + 1
    hour = numbers.get("hour", 0)
    if "half_day_hour" in numbers:
        if not 1 <= numbers["half_day_hour"] <= 12:
            return None
        hour = numbers["half_day_hour"] % 12 + (12 if found["half_day"].lower() == "pm" else 0)
    minute, second = numbers.get("minute", 0), numbers.get("second", 0)
    in_range = 1 <= month <= 12 and day >= 1 and hour < 24 and minute < 60 and second < 60
    if not in_range or days_of(year, month, day) >= days_of(year, month + 1, 1):
        return None
    days = days_of(year, month, day)
    if "day_of_year" in numbers:
        days = days_of(year, 1, 1) + numbers["day_of_year"] - 1
        if not days_of(year, 1, 1) <= days < days_of(year + 1, 1, 1):
            return None
    fraction = int(found.get("microsecond", "0").ljust(6, "0"))
    fraction += int(found.get("millisecond", "0").ljust(3, "0")) * MILLISECOND
    zone = _zone_offset(found.get("zone", "Z"))
    if zone is None:
        return None
    return days * DAY + hour * HOUR + minute * MINUTE + second * SECOND + fraction - zone


def _zone_offset(text: str) -> int | None:
    """`Z`, `+02`, `+0200` or `+02:00` in microseconds; None for a day or more."""
    if text in ("Z", "z"):
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        return None
    offset = hours * HOUR + minutes * MINUTE
    return -offset if text[0] == "-" else offset


def _to_timestamp(value: Any, template: str | None = None) -> int:
    """The moment of a number of seconds since 1970, or of text in a format."""
    if isinstance(value, str):
        assert template is not None
        pattern, names = reading_pattern(parse_format(template))
        found = re.fullmatch(pattern, value.strip(BLANKS))
        moment = None if found is None else microseconds_of(dict(zip(names, found.groups(), strict=True)))
        if moment is None:
            raise no_such_time(value, template)
        return moment
    moment = value * SECOND if isinstance(value, int) else round_(value * float(SECOND))
    if not INT_MINIMUM <= moment <= INT_MAXIMUM:
        raise no_such_time(value, None)
    return int(moment)


TIMES: dict[str, Callable[..., Any]] = {
    "date_part": date_part,
    "epoch": lambda moment: moment / SECOND,
    "date_trunc": _date_trunc,
    "date_bin": _date_bin,
    "add_months": _add_months,
    "timezone": lambda zone, moment: to_local(moment, zone),
    "to_utc": to_utc,
    "to_char": _to_char,
    "to_timestamp": _to_timestamp,
}
