"""`/api/v1/sensors`, `/api/v1/dead-letters` and `/api/v1/demand`: what is known of the sensors, what they sent that
could not be read, and what they are asked for."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl
from fastapi import APIRouter, Query, Request

from nilometer.algebra.places import EARTH_RADIUS, WGS84
from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.peer_streams import is_inner
from nilometer.errors import ConfigurationError
from nilometer.kernels.great_circle import central_angle
from nilometer.log import LogDirectory
from nilometer.server.desk import Desk, stream_of
from nilometer.server.roles import READ
from nilometer.sinks.values import to_json
from nilometer.types import format_time

if TYPE_CHECKING:
    from nilometer.engine import Database
    from nilometer.live.station import Station

NEWEST = 50_000
"""A sensor's last value is looked for among this many newest readings of its stream."""
SLOW, SILENT = 2, 5
"""A sensor is slow after two intervals without a reading, and silent after five."""

StreamName = Annotated[str | None, Query(max_length=100, description="only of this stream")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="how many on a page")]
Skip = Annotated[int, Query(ge=0, le=10_000_000, description="leave so many out")]
_NEAR = re.compile(r"(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?),(\d+(?:\.\d+)?)(km|m|)")


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/sensors", dependencies=[READ], tags=["sensors"])
    async def sensors(
        request: Request,
        near: Annotated[
            str | None,
            Query(
                max_length=100,
                description="latitude,longitude,distance (km or m), or x,y,distance in a plane",
                examples=["38,-121,50km"],
            ),
        ] = None,
        where: Annotated[
            str | None, Query(max_length=4_000, description="a condition on the relation `sensors`")
        ] = None,
        stream: StreamName = None,
        limit: Limit = 100,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """The sensors that are declared or were heard, each with its place, last reading and status: live, slow,
        silent, asleep, or unknown where no interval is."""
        asleep = await desk.station(_asleep)
        found = await desk.with_database(lambda database: _sensors(database, stream, near, where, asleep))
        return _part(found, limit, skip, request)

    @router.get("/dead-letters", dependencies=[READ], tags=["streams"])
    async def dead_letters(
        request: Request, stream: StreamName = None, limit: Limit = 100, skip: Skip = 0
    ) -> dict[str, Any]:
        """Readings that were garbled or stamped in the future, newest first, with the reason and the payload."""
        found = await desk.with_database(lambda database: _letters(database, stream, limit + skip + 1))
        return _part(found, limit, skip, request, total=False)

    @router.get("/demand", dependencies=[READ], tags=["sensors"])
    async def demand(
        request: Request, stream: StreamName = None, limit: Limit = 100, skip: Skip = 0
    ) -> dict[str, Any]:
        """What the live queries ask of the sensors now (`sensors`), and how that changed, newest first (`items`)."""
        now = await desk.station(_told)
        name = None if stream is None else await desk.with_database(lambda d: stream_of(d, stream).name)
        found = await desk.with_database(lambda database: _demands(database, stream))
        told = [one for one in now if name is None or one["stream"].lower() == name.lower()]
        return {**_part(found, limit, skip, request), "sensors": told[:10_000]}


def _part(
    items: list[dict[str, Any]], limit: int, skip: int, request: Request, *, total: bool = True
) -> dict[str, Any]:
    shown = items[skip : skip + limit]
    more = len(items) > skip + limit
    following = str(request.url.include_query_params(skip=skip + limit, limit=limit)) if more else None
    if following is not None:
        following = following[following.index("/", 8) :]
    counted = {"total": len(items)} if total else {}
    return {"items": shown, **counted, "next": following}


# ---- sensors ---------------------------------------------------------------------------------------------------------


def _asleep(station: Station) -> set[tuple[str, str]]:
    rows = station.fleet.rows().filter(pl.col("state") == "asleep")
    return {(stream.lower(), sensor) for stream, sensor in rows.select("stream", "sensor").iter_rows()}


def _sensors(
    database: Database,
    only: str | None,
    near: str | None,
    where: str | None,
    asleep: set[tuple[str, str]],
) -> list[dict[str, Any]]:
    streams = [stream_of(database, only)] if only is not None else list(database.catalog.streams())
    wanted: set[tuple[str, str]] | None = None
    if where is not None:
        rows = database.sql(f"SELECT id, stream FROM sensors WHERE {where}").run().rows
        wanted = {(str(stream).lower(), str(identity)) for identity, stream in rows}
    found: list[dict[str, Any]] = []
    for stream in streams:
        if is_answers(stream) or is_inner(stream):
            continue
        declared = {str(sensor.id): sensor for sensor in database.catalog.sensors(stream.name)}
        last = _last_values(database, stream)
        ids = list(dict.fromkeys([*declared, *last]))
        for identity in ids:
            sensor = declared.get(identity)
            key = (stream.name.lower(), identity)
            if wanted is not None and key not in wanted:
                continue
            value = last.get(identity)
            found.append(
                {
                    "id": identity if sensor is None else sensor.id,
                    "stream": stream.name,
                    "declared": sensor is not None,
                    "location": None if sensor is None or sensor.location is None else list(sensor.location),
                    "attributes": {} if sensor is None else dict(sensor.attributes),
                    "last": value,
                    "status": "asleep" if key in asleep else _status(stream, value),
                    "coordinates": stream.coordinates,
                }
            )
    return found if near is None else _near(found, near)


def _last_values(database: Database, stream: Stream) -> dict[str, dict[str, Any]]:
    """By the id as text, the last reading of each sensor, among the newest of the log or of the file."""
    assert database.data.base is not None
    identity = stream.column("id")
    log = LogDirectory(database.data.base).log(stream)
    if identity is None or not log.exists:
        return {}
    rows = log.tail(NEWEST)
    if identity.name not in rows.columns:
        return {}
    rows = rows.unique(subset=[identity.name], keep="last", maintain_order=True)
    columns = [column for column in stream.columns if column.name in rows.columns]
    found = {}
    for row in rows.select([column.name for column in columns]).iter_rows():
        values = {
            column.name: to_json(value, column.type) for column, value in zip(columns, row, strict=True)
        }
        found[str(values[identity.name])] = values
    return found


def _status(stream: Stream, last: dict[str, Any] | None) -> str:
    from nilometer.types import parse_time

    if stream.interval is None:
        return "unknown"
    if last is None:
        return "silent"
    text = next(str(value) for name, value in last.items() if name.lower() == "time")
    try:
        age = time.time_ns() // 1_000 - parse_time(text)
    except ValueError:
        return "unknown"
    if age <= SLOW * stream.interval + stream.delay:
        return "live"
    return "slow" if age <= SILENT * stream.interval + stream.delay else "silent"


def _near(sensors: list[dict[str, Any]], near: str) -> list[dict[str, Any]]:
    """The sensors within a distance, the nearest first, each with its distance."""
    asked = _NEAR.fullmatch(near.strip())
    if asked is None:
        raise ConfigurationError(
            f"near={near[:80]}",
            hint="write latitude,longitude,distance: 38,-121,50km; in a plane x,y,distance",
        )
    one, two, distance = (float(asked[group]) for group in (1, 2, 3))
    placed = [sensor for sensor in sensors if sensor["location"] is not None]
    if not placed:
        return []
    places = np.array([sensor["location"] for sensor in placed], dtype=np.float64)
    globe = np.array([sensor["coordinates"] == WGS84 or bool(asked[4]) for sensor in placed])
    most = distance * (1_000.0 if asked[4] == "km" else 1.0)
    count = len(placed)
    angles = central_angle(places[:, 0], places[:, 1], np.full(count, two), np.full(count, one))
    plane = np.hypot(places[:, 0] - one, places[:, 1] - two)
    away = np.where(globe, angles * EARTH_RADIUS, plane)
    order = [place for place in np.argsort(away, kind="stable").tolist() if away[place] <= most]
    return [placed[place] | {"distance": round(float(away[place]), 3)} for place in order]


# ---- dead letters and demand -----------------------------------------------------------------------------------------


def _letters(database: Database, only: str | None, most: int) -> list[dict[str, Any]]:
    assert database.data.base is not None
    logs = LogDirectory(database.data.base)
    streams = [stream_of(database, only)] if only is not None else list(database.catalog.streams())
    found = []
    for stream in streams:
        log = logs.log(stream)
        if is_answers(stream) or is_inner(stream) or not log.exists:
            continue
        for row in log.letters(most).iter_rows(named=True):
            arrived = row["arrived"]
            payload = row["payload"][:10_000].decode(errors="backslashreplace")
            found.append(
                (
                    arrived or 0,
                    {
                        "stream": stream.name,
                        "arrived": None if arrived is None else format_time(arrived),
                        "source": row["source"],
                        "reason": row["reason"],
                        "count": row["count"],
                        "bytes": len(row["payload"]),
                        "payload": payload,
                    },
                )
            )
    return [letter for _, letter in sorted(found, key=lambda one: -one[0])]


def _told(station: Station) -> list[dict[str, Any]]:
    rows = station.fleet.rows().with_columns(pl.col("heard_at", "latest"))
    return [
        row
        | {
            "heard_at": None if row["heard_at"] is None else format_time(row["heard_at"]),
            "latest": None if row["latest"] is None else format_time(row["latest"]),
            "interval": None if row["interval"] is None else row["interval"] / 1_000_000,
        }
        for row in rows.head(10_000).iter_rows(named=True)
    ]


def _demands(database: Database, only: str | None) -> list[dict[str, Any]]:
    assert database.data.base is not None
    logs = LogDirectory(database.data.base)
    streams = [stream_of(database, only)] if only is not None else list(database.catalog.streams())
    found: list[dict[str, Any]] = []
    for stream in streams:
        log = logs.log(stream)
        if not is_answers(stream) and not is_inner(stream) and log.exists:
            found += [
                {"stream": stream.name} | change | {"time": format_time(change["time"])}
                for change in log.demands()
            ]
    return list(reversed(found))
