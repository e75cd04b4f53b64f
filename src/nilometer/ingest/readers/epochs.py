"""Numbers as times: the unit of a number since 1970, by its size.

A present-day time is about 1.8e9 seconds, 1.8e12 milliseconds, 1.8e15 microseconds or 1.8e18 nanoseconds, so its
size tells the unit of any time from 2001 to 5138. Smaller numbers are microseconds: the first quarter of an hour of
1970. Each number is judged by itself, so how messages are cut into batches changes nothing.

Microseconds of 1970 that go on beyond 10^9, and seconds that begin before 2001, look like both. So a whole column, of a
file or of a frame, is refused if it has numbers below 10^9 beside larger ones that are no seconds or milliseconds of these
decades.

>>> guessed(pl.Series([5, 1_763_400_000, 1_763_400_000_000, 1_763_400_000_000_000])).to_list()
[5, 1763400000000000, 1763400000000000, 1763400000000000]
>>> looks_like(1_763_400_000_000)
'milliseconds'
"""

from __future__ import annotations

import polars as pl

from nilometer.errors import DataError
from nilometer.ingest.readers.times import TIME_LIMIT
from nilometer.types import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND

SECONDS, MILLISECONDS, MICROSECONDS, NANOSECONDS = 1e9, 1e11, 1e14, 1e17
"""The least numbers that are taken for seconds, milliseconds, microseconds and nanoseconds since 1970."""

LATEST = 10**17
"""The year 5138. Beyond it, a time was read in a wrong unit."""

EARLIEST = 10**14
"""The year 1973. A time before it may have been read in a wrong unit."""

THESE_DECADES = (1_500_000_000, 4_100_000_000)
"""From July 2017 to the end of 2099, in seconds."""

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


def refuse_mixed(found: pl.Series, what: str, *, small: bool = False) -> None:
    """Refuse a column of numbers that tell no unit. `small`: the column goes on from one with numbers below 10^9.

    >>> refuse_mixed(
    ...     pl.Series([12, 1_763_400_000]), "river.csv"
    ... )  # a clock that was not set, and one that was
    >>> refuse_mixed(pl.Series([999_999_999, 1_000_000_000]), "river.csv")
    Traceback (most recent call last):
    nilometer.errors.DataError: the times of river.csv tell no unit
      detail: 999999999 looks like microseconds since 1970, and 1000000000 beside it like seconds
      hint: declare the unit: time INT UNIT 'us', 'ms' or 's'
    """
    numbers = found if found.dtype.is_numeric() else found.cast(pl.Float64, strict=False)
    greatest, least = numbers.max(), numbers.min()
    if greatest is None or greatest < SECONDS or (not small and least >= SECONDS):  # type: ignore[operator]
        return
    below = numbers.filter((numbers > 0) & (numbers < SECONDS))
    first, last = THESE_DECADES
    seconds = (numbers < MILLISECONDS) & ((numbers < first) | (numbers > last))
    thousandths = (numbers < MICROSECONDS) & ((numbers < first * 1_000) | (numbers > last * 1_000))
    doubtful = numbers.filter((numbers >= SECONDS) & (seconds | ((numbers >= MILLISECONDS) & thousandths)))
    if not len(doubtful) or not (small or len(below)):
        return
    shown = f"{below.cast(pl.Int64).top_k(1)[0]} looks" if len(below) else "numbers before it look"
    one = doubtful.cast(pl.Int64).bottom_k(1)[0]
    raise DataError(
        f"the times of {what} tell no unit",
        detail=f"{shown} like microseconds since 1970, and {one} beside it like {looks_like(one)}",
        hint="declare the unit: time INT UNIT 'us', 'ms' or 's'",
    )


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
