"""The stream of the observations of Datastreams that clients make, `observations`. Its sensors are these Datastreams,
by number, with the names of thing, property and unit as attributes: so SQL can ask it.

    SELECT thing, property, AVG(result) AS mean FROM observations [RANGE 1 HOUR] GROUP BY thing, property

A result that is no number is JSON in `value`. `until` is the end of a phenomenonTime that is an interval. `extra` is JSON of what is seldom given.
"""

from __future__ import annotations

import json
from typing import Any

from nilometer.catalog import Stream
from nilometer.errors import CatalogError
from nilometer.types import FLOAT, INT, STRING, TIME, Column

NAME = "observations"
RESULT = "result"
COLUMNS = (
    Column(RESULT, FLOAT),
    Column("value", STRING),
    Column("until", TIME),
    Column("result_time", TIME),
    Column("feature", INT),
    Column("extra", STRING),
)
STATEMENT = (
    f"CREATE STREAM {NAME} (id INT, result FLOAT, value STRING, until TIME, result_time TIME, feature INT, extra STRING) "
    "PUSHED DELAY 1 MINUTES FUTURE 1 DAYS COORDINATES WGS84"
)
EXACT = 2**53
"""Whole numbers up to this size are exact as FLOAT."""


def is_own(stream: Stream) -> bool:
    """Whether this is the stream of clients' observations."""
    return stream.name.lower() == NAME and fits(stream)


def fits(stream: Stream) -> bool:
    """Whether a stream has the columns that clients' observations need, and takes them."""
    same = all(
        (found := stream.column(column.name)) is not None and found.type.plain == column.type
        for column in COLUMNS
    )
    return same and stream.url is None and stream.id_type == INT


def check(stream: Stream) -> None:
    """Refuse a stream of the user's that has our name and not our columns."""
    if not fits(stream):
        raise CatalogError(
            f"the stream '{stream.name}' has other columns than observations of clients need",
            hint=f"rename it, or declare it so: {STATEMENT}",
        )


def reading(
    datastream: int,
    time: int,
    until: int | None,
    result: Any,
    result_time: int | None,
    feature: int | None,
    extra: dict[str, Any],
) -> dict[str, Any]:
    """An observation as a reading of the stream."""
    exact = (
        isinstance(result, float) or (isinstance(result, int) and abs(result) <= EXACT)
    ) and not isinstance(result, bool)
    return {
        "time": time,
        "id": datastream,
        RESULT: float(result) if exact else None,
        "value": None if exact or result is None else json.dumps(result),
        "until": until,
        "result_time": result_time,
        "feature": feature,
        "extra": json.dumps(extra) if extra else None,
    }


def result_of(row: dict[str, Any]) -> Any:
    """The result of a row: the number, or what the JSON says."""
    if row[RESULT] is not None:
        return row[RESULT]
    return None if row["value"] is None else json.loads(row["value"])
