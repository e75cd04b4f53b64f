"""Times as a FORMAT declares them: in a pattern of their own, and in a time zone.

A time without an offset is a time of the zone's clocks. A time that the clocks skip in spring does not exist and is
garbled. Of the two moments that the clocks show twice in autumn, the first is taken, and the readings are counted.

>>> rules = Format("CSV", time_format="%d/%m/%Y %H:%M", timezone="Europe/Zurich")
>>> found = parse_local_times(pl.Series(["25/10/2026 02:30", "29/03/2026 02:30", "x"]), rules)
>>> found.values.to_list(), found.repeated
([1792888200000000, None, None], 1)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from nilometer.catalog.form import Format
from nilometer.errors import DataError
from nilometer.ingest.readers.times import parse_iso_times

REPEATED = "a time that the clocks show twice is taken as the first"
"""The remark on readings at a time that occurs twice."""

_OFFSET = r"\d{2}:\d{2}.*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$"


@dataclass(frozen=True)
class LocalTimes:
    """Microseconds, NULL where there is no such time; and how many of them occur twice in the zone."""

    values: pl.Series
    repeated: int = 0


def parse_local_times(texts: pl.Series, format: Format) -> LocalTimes:
    """Times by the declared pattern (without one: ISO-8601) in the declared zone (without one: UTC)."""
    if format.time_format is None:
        moments = parse_iso_times(texts)
        if format.timezone is None:
            return LocalTimes(moments)
        absolute = texts.str.contains(_OFFSET)
        found = localized(
            moments.set(absolute.fill_null(False), None).cast(pl.Datetime("us")), format.timezone
        )
        both = pl.select(pl.when(absolute).then(moments).otherwise(found.values).alias(texts.name))
        return LocalTimes(both.to_series(), found.repeated)
    pattern = chrono(format.time_format)
    try:
        moments = texts.str.to_datetime(pattern, time_unit="us", strict=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).split("\n")[0]
        raise DataError(f"TIME FORMAT '{format.time_format}' gives no time", detail=reason) from None
    if format.timezone is None or re.search(r"%[zs]", pattern):
        return LocalTimes(moments.dt.replace_time_zone(None).cast(pl.Int64))
    return localized(moments, format.timezone)


def localized(moments: pl.Series, zone: str) -> LocalTimes:
    """Times of a zone's clocks as microseconds since 1970."""

    def at(ambiguous: str) -> pl.Series:
        aware = moments.dt.replace_time_zone(zone, ambiguous=ambiguous, non_existent="null")  # type: ignore[arg-type]
        return aware.dt.convert_time_zone("UTC").dt.replace_time_zone(None).cast(pl.Int64)

    first = at("earliest")
    return LocalTimes(first, int((first != at("latest")).sum()))


def chrono(time_format: str) -> str:
    """Our pattern in Polars' words: a fraction of a second includes its point."""
    return time_format.replace(".%f", "%.f")


def rule(format: Format | None) -> str:
    """How times are read, for the message about one that cannot be."""
    if format is None:
        return ""
    pattern = f" by '{format.time_format}'" if format.time_format is not None else ""
    return pattern + (f" in {format.timezone}" if format.timezone is not None else "")
