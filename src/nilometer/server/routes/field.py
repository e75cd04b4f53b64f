"""`/api/v1/field`: the newest reading of every sensor of a stream, column by column, now or at a moment of the past;
`/api/v1/streams/NAME/history` and `/span`: one sensor's readings, and the times that the log has.

A map asks for the whole field once, and then only for what has changed since a position.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
import polars as pl
from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from nilometer.catalog import Sensor, Stream
from nilometer.catalog.address import scheme_of
from nilometer.errors import ConfigurationError
from nilometer.log import LogDirectory
from nilometer.operators.logic import POSITION
from nilometer.server.desk import Desk, stream_of
from nilometer.server.encoding import schema_json
from nilometer.server.field import FileView, LogView, history_of, readings_at
from nilometer.server.roles import READ
from nilometer.server.routes.observed import SILENT, SLOW
from nilometer.types import Kind, Schema, format_time, parse_time

if TYPE_CHECKING:
    from nilometer.engine import Database
    from nilometer.live.station import Station

T = TypeVar("T")

VIEWS = 16
"""The most streams whose newest readings are kept; the one that was not asked for longest goes first."""
REPLAYED = ("file", "directory")
"""The schemes of sources that replay what was recorded."""
PARTS = 160
"""The parts into which the times of a log are divided."""
FRESH = 2.0
"""Seconds for which it is remembered what the sensors were told."""

Moment = Annotated[str | None, Query(max_length=40, description="a time, such as 2026-03-01T06:00:00Z")]


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""
    views = _Views()

    @router.get("/field", dependencies=[READ], tags=["sensors"])
    async def field(
        stream: Annotated[str, Query(max_length=100, description="the stream")],
        at: Moment = None,
        after: Annotated[
            int | None, Query(ge=0, description="only readings from this position of the log on")
        ] = None,
    ) -> JSONResponse:
        """The newest reading of every sensor of a stream, as columns; with `at` as it was then, by the readings' own
        times. `position` is the `after` of the next request. Times are microseconds since 1970."""
        demand = await desk.wait_for(lambda: views.demand_of(desk))
        moment = None if at is None else _moment(at)
        seen = await desk.with_database(lambda database: _seen(database, views, stream, places=after is None))
        return JSONResponse(
            await desk.wait_for(
                lambda: views.alone(lambda: _field(seen, moment, after, desk.owner.station.clock(), demand))
            )
        )

    @router.get("/streams/{name}/span", dependencies=[READ], tags=["streams"])
    async def span(name: str) -> dict[str, Any]:
        """The times of the readings that the log has, and about how many there are in each part of that time."""
        seen = await desk.with_database(lambda database: _seen(database, views, name))
        return await desk.wait_for(lambda: views.alone(lambda: _span(seen)))

    @router.get("/streams/{name}/history", dependencies=[READ], tags=["streams"])
    async def history(
        name: str,
        id: Annotated[str, Query(max_length=200, description="the sensor")],
        since: Moment = None,
        until: Moment = None,
        limit: Annotated[int, Query(ge=1, le=10_000, description="at most so many, the newest")] = 500,
    ) -> dict[str, Any]:
        """One sensor's readings, oldest first, as columns."""
        begin = None if since is None else _moment(since)
        end = None if until is None else _moment(until)
        seen = await desk.with_database(lambda database: _seen(database, views, name))
        return await desk.wait_for(lambda: views.alone(lambda: _history(seen, id, begin, end, limit)))


@dataclass(frozen=True)
class _Seen:
    """A stream, its declared sensors, and the view of its readings, if there are any."""

    stream: Stream
    declared: tuple[Sensor, ...]
    view: FileView | LogView | None


class _Views:
    """The views of the streams that were asked for. One thread at a time looks at them."""

    def __init__(self) -> None:
        self._views: dict[str, tuple[object, FileView | LogView]] = {}
        self._turn, self._looking = threading.Lock(), threading.Lock()
        self._demand: tuple[float, _Demand] = (0.0, {})

    def of(self, database: Database, stream: Stream) -> FileView | LogView | None:
        """The view of a stream; None if there are no readings yet."""
        base = database.data.base
        assert base is not None
        key = stream.name.lower()
        files = database.data.files.get(key)
        log = LogDirectory(base).log(stream)
        if files is None and not log.exists:
            return None
        # A stream that is declared or attached anew has another view; so has a log that was deleted and begun again.
        mark: object = (
            (stream, tuple((str(path), path.stat().st_mtime_ns) for path in files.paths))
            if files is not None
            else (stream, log.start.number if log.end.position == 0 else None)
        )
        known = self._views.pop(key, None)
        view = (
            known[1]
            if known is not None and known[0] == mark
            else FileView(stream, database)
            if files is not None
            else LogView(stream, log)
        )
        self._views[key] = (mark, view)
        while len(self._views) > VIEWS:
            self._views.pop(next(iter(self._views)))
        return view

    def alone(self, call: Callable[[], T]) -> T:
        """The result of a call that looks at a view. It does not hold up those who make plans."""
        with self._looking:
            return call()

    def demand_of(self, desk: Desk) -> _Demand:
        """What the sensors were told, by the lower-case name of their stream."""
        with self._turn:
            at, demand = self._demand
            if time.monotonic() - at >= FRESH:
                demand = desk.owner.submit(lambda: _demand(desk.owner.station))
                self._demand = time.monotonic(), demand
            return demand


_Demand = dict[str, tuple[list[str], dict[str, int]]]
"""By stream, the sensors that sleep, and the intervals of those that sample."""


def _demand(station: Station) -> _Demand:
    found: _Demand = {}
    rows = station.fleet.rows().select("stream", "sensor", "state", "interval")
    for stream, sensor, state, interval in rows.iter_rows():
        asleep, intervals = found.setdefault(stream.lower(), ([], {}))
        if state == "asleep":
            asleep.append(sensor)
        elif interval is not None:
            intervals[sensor] = interval
    return found


def _seen(database: Database, views: _Views, name: str, *, places: bool = False) -> _Seen:
    stream = stream_of(database, name)
    declared = database.catalog.sensors(stream.name) if places else ()
    return _Seen(stream, declared, views.of(database, stream))


def _field(seen: _Seen, at: int | None, after: int | None, now: int, demand: _Demand) -> dict[str, Any]:
    stream, declared, view = seen.stream, seen.declared, seen.view
    wait = stream.interval
    asleep, intervals = demand.get(stream.name.lower(), ([], {}))
    found: dict[str, Any] = {
        "stream": stream.name,
        "columns": schema_json(Schema(stream.columns)),
        "coordinates": stream.coordinates,
        "now": _clock(stream, view, now),
        "at": at,
        "finite": isinstance(view, FileView),
        "slow_after": None if wait is None else SLOW * wait + stream.delay,
        "silent_after": None if wait is None else SILENT * wait + stream.delay,
        "delay": stream.delay,
        "asleep": asleep,
        # Sensors that a query has slowed down are not late.
        "slowed": {one: each for one, each in intervals.items() if wait is not None and each > wait},
        "complete": True,
        "position": 0,
    }
    if after is None:
        places = [(str(one.id), one.location, dict(one.attributes)) for one in declared]
        found["sensors"] = {
            "id": [one for one, _, _ in places],
            "x": [None if place is None else place[0] for _, place, _ in places],
            "y": [None if place is None else place[1] for _, place, _ in places],
            "attributes": [attributes for _, _, attributes in places],
        }
    if view is None:
        return found | {"id": [], "time": [], "values": {}}
    if at is not None:
        # Sensors that are heard, but not declared, are looked for, too.
        known = max(len(declared), view.newest()[0].height)
        rows, found["complete"] = readings_at(view, at, known, stream.interval)
    else:
        rows, found["position"] = view.newest()
        if after is not None:
            rows = rows.filter(pl.col(POSITION) >= after)
    return found | _columns(stream, view, rows)


def _clock(stream: Stream, view: FileView | LogView | None, now: int) -> int:
    """The time by which sensors are late. A replay has a clock of its own: its newest reading's, which may be years old."""
    if view is None or stream.url is None or scheme_of(stream.url) not in REPLAYED:
        return now
    newest = view.newest()[0]
    return int(newest.get_column(view.time).to_numpy().max()) if newest.height else now


def _columns(stream: Stream, view: FileView | LogView, rows: pl.DataFrame) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column in stream.columns:
        if column.name in (view.identity, view.time) or column.name not in rows.columns:
            continue
        series = rows.get_column(column.name)
        match column.type.kind:
            case Kind.FLOAT:
                values[column.name] = _finite(series)
            case Kind.INT | Kind.BOOLEAN | Kind.TIME | Kind.DURATION:
                values[column.name] = series.to_list()
            case Kind.STRING:
                values[column.name] = series.str.slice(0, 200).to_list()
            case Kind.POINT:
                values[column.name] = [
                    None if one is None else [one["x"], one["y"]] for one in series.to_list()
                ]
    return {
        "id": rows.get_column(view.identity).cast(pl.String).to_list()
        if view.identity in rows.columns
        else [],
        "time": rows.get_column(view.time).to_list() if view.identity in rows.columns else [],
        "values": values,
    }


def _finite(series: pl.Series) -> list[float | None]:
    """JSON has no NaN. Seven digits are enough for a picture."""
    numbers = series.cast(pl.Float64)
    return numbers.set(~numbers.is_finite(), None).round_sig_figs(7).to_list()


def _span(seen: _Seen) -> dict[str, Any]:
    stream, view = seen.stream, seen.view
    spans = [] if view is None else view.spans()
    if not spans:
        return {"stream": stream.name, "since": None, "until": None, "rows": 0, "parts": []}
    since, until = min(span[0] for span in spans), max(span[1] for span in spans)
    edges = np.linspace(since, until + 1, PARTS + 1)
    counts = np.zeros(PARTS)
    for low, high, rows in spans:
        overlap = np.clip(np.minimum(edges[1:], high + 1) - np.maximum(edges[:-1], low), 0, None)
        counts += rows * overlap / max(1.0, float(overlap.sum()))
    return {
        "stream": stream.name,
        "since": since,
        "until": until,
        "rows": sum(span[2] for span in spans),
        "parts": counts.round(3).tolist(),
    }


def _history(seen: _Seen, sensor: str, since: int | None, until: int | None, limit: int) -> dict[str, Any]:
    stream, view = seen.stream, seen.view
    about = {"stream": stream.name, "id": sensor, "columns": schema_json(Schema(stream.columns))}
    spans = [] if view is None else view.spans()
    if view is None or not spans:
        return about | {"time": [], "values": {}, "more": False}
    end = max(span[1] for span in spans) if until is None else until
    found = history_of(view, sensor, view.columns, since, end, limit)
    columns = _columns(stream, view, found.rows) if found.rows.height else {"time": [], "values": {}}
    return about | {"time": columns["time"], "values": columns["values"], "more": found.more}


def _moment(text: str) -> int:
    try:
        return parse_time(text)
    except ValueError:
        raise ConfigurationError(
            f"'{text[:40]}' is no time", hint=f"write it like {format_time(0)}, in UTC"
        ) from None
