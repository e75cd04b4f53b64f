"""Numbers as times: the unit of a number since 1970, by its size.

A present-day time is about 1.8e9 seconds, 1.8e12 milliseconds, 1.8e15 microseconds or 1.8e18 nanoseconds, so its
size tells the unit of any time from 2001 to 5138. Smaller numbers are microseconds: the first quarter of an hour of
1970. The law: each number is judged by itself, so how readings are cut into batches changes nothing.

>>> guessed(pl.Series([5, 1_763_400_000, 1_763_400_000_000, 1_763_400_000_000_000])).to_list()
[5, 1763400000000000, 1763400000000000, 1763400000000000]
>>> looks_like(1_763_400_000_000)
'milliseconds'
"""

from __future__ import annotations

import polars as pl

from nilometer.ingest.readers.times import TIME_LIMIT
from nilometer.types import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND

SECONDS, MILLISECONDS, MICROSECONDS, NANOSECONDS = 1e9, 1e11, 1e14, 1e17
"""The least numbers that are taken for seconds, milliseconds, microseconds and nanoseconds since 1970."""

LATEST = 10**17
"""The year 5138. Beyond it, a time was read in a wrong unit."""

EARLIEST = 10**14
"""The year 1973. A time before it may have been read in a wrong unit."""

WORDS = {
    MICROSECOND: "microseconds",
    MILLISECOND: "milliseconds",
    SECOND: "seconds",
    MINUTE: "minutes",
    HOUR: "hours",
    DAY: "days",
}


def guessed(numbers: pl.Series) -> pl.Series:
    """Whole numbers since 1970 as microseconds, each in the unit that its size tells."""
    least, greatest = numbers.min(), numbers.max()
    if least is None or (least > -SECONDS and greatest < SECONDS):  # type: ignore[operator]
        return numbers
    if least >= MICROSECONDS and greatest < NANOSECONDS:  # type: ignore[operator]
        return numbers
    size = numbers.abs()
    scaled = (
        pl.when((size >= NANOSECONDS) & (size < TIME_LIMIT))
        .then(numbers // 1_000)
        .when(size >= MICROSECONDS)
        .then(numbers)
        .when(size >= MILLISECONDS)
        .then(numbers * MILLISECOND)
        .when(size >= SECONDS)
        .then(numbers * SECOND)
        .otherwise(numbers)
    )
    return pl.select(scaled.alias(numbers.name)).to_series()


def guessed_fractions(numbers: pl.Series) -> pl.Series:
    """Numbers with a fraction as microseconds, for those whose size tells seconds or milliseconds; else NULL."""
    size = numbers.abs()
    scaled = (
        pl.when((size >= SECONDS) & (size < MILLISECONDS))
        .then((numbers * SECOND).round())
        .when((size >= MILLISECONDS) & (size < MICROSECONDS))
        .then((numbers * MILLISECOND).round())
    )
    return pl.select(scaled.cast(pl.Int64).alias(numbers.name)).to_series()


def looks_like(number: float) -> str | None:
    """The unit that a number since 1970 has by its size; None for a small one."""
    size = abs(number)
    for least, word in (
        (NANOSECONDS, "nanoseconds"),
        (MICROSECONDS, "microseconds"),
        (MILLISECONDS, "milliseconds"),
        (SECONDS, "seconds"),
    ):
        if size >= least:
            return word
    return None


def too_late(text: str, unit: int | None) -> str | None:
    """Why a number cannot be a time in the declared unit, if its size tells another; else None."""
    if unit is None or unit not in WORDS:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    likely = looks_like(number)
    if likely is None or likely == WORDS[unit] or abs(number) * unit < LATEST:
        return None
    return f"it looks like {likely}, and the stream declares {WORDS[unit]}"
