"""`/healthz`, `/readyz` and `/metrics`, for those who watch over the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.responses import Response

from nilometer.catalog.peer_streams import shown
from nilometer.server.desk import Desk
from nilometer.server.roles import READ

if TYPE_CHECKING:
    from nilometer.live.station import Station

READY_SECONDS = 2.0
"""How soon the station's loop must answer to be called ready."""

Sample = tuple[dict[str, str], float]


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/healthz", tags=["health"])
    async def healthz() -> dict[str, Any]:
        """Whether the server is there."""
        return {"status": "ok", "release": version("nilometer")}

    @router.get("/readyz", tags=["health"])
    async def readyz() -> Response:
        """Whether the station's loop turns: 503 if it does not answer within two seconds."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(READY_SECONDS):
                await desk.live(lambda: desk.owner.submit(lambda: None))
        except TimeoutError:
            return JSONResponse({"status": "busy"}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready", "loop_seconds": round(time.monotonic() - began, 6)})

    @router.get("/metrics", dependencies=[READ], tags=["health"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """The metrics of all streams and queries, in Prometheus' text format."""
        found = await desk.station(lambda station: _collect(station, desk))
        return PlainTextResponse(text_of(found), media_type="text/plain; version=0.0.4; charset=utf-8")


def _collect(station: Station, desk: Desk) -> dict[str, tuple[str, str, list[Sample]]]:
    """Every metric: its kind, its meaning, and its samples."""
    catalog, manager = station.database.catalog, station.manager
    streams = [manager.status(name) for name in shown(catalog, manager.streams)]
    standing = {query.name for query in station.database.catalog.queries()}
    queries = {name: station.reports.metrics(name) for name in station.queries if name in standing}

    def of_streams(values: Iterable[float | None]) -> list[Sample]:
        found = zip(streams, values, strict=True)
        return [({"stream": s.stream}, value) for s, value in found if value is not None]

    def of_queries(values: Iterable[float | None]) -> list[Sample]:
        found = zip(queries, values, strict=True)
        return [({"query": name}, float(value)) for name, value in found if value is not None]

    alerting = desk.alerting
    alerts = {} if alerting is None else alerting.metrics()
    ledgers = [status.ledger for status in streams]
    completeness = [None if not s.expected else 1.0 - (s.missing or 0) / s.expected for s in streams]
    running = list(queries.values())
    return {
        "nilometer_rows_in_total": (
            "counter",
            "Readings received by a stream, or read by a query.",
            of_streams(one.received for one in ledgers) + of_queries(q.rows_in for q in running),
        ),
        "nilometer_rows_out_total": (
            "counter",
            "Readings appended to a stream's log, or rows answered by a query.",
            of_streams(one.appended for one in ledgers) + of_queries(q.rows_out for q in running),
        ),
        "nilometer_rows_late_total": (
            "counter",
            "Readings that came after the watermark.",
            of_streams(s.late for s in streams) + of_queries(q.late for q in running),
        ),
        "nilometer_rows_shed_total": (
            "counter",
            "Readings given up for lack of room.",
            of_streams(one.shed for one in ledgers),
        ),
        "nilometer_rows_malformed_total": (
            "counter",
            "Garbled readings, which are dead letters now.",
            of_streams(one.garbled for one in ledgers),
        ),
        "nilometer_rows_future_total": (
            "counter",
            "Readings stamped too far ahead of their arrival, which are dead letters now.",
            of_streams(one.future for one in ledgers),
        ),
        "nilometer_rows_duplicate_total": (
            "counter",
            "Readings whose key the log had already.",
            of_streams(one.duplicate for one in ledgers),
        ),
        "nilometer_completeness_ratio": (
            "gauge",
            "The part that came of the readings that the sensors owed.",
            of_streams(completeness) + of_queries(q.completeness for q in running),
        ),
        "nilometer_sensors_silent": (
            "gauge",
            "Sensors that have sent nothing for three intervals.",
            of_streams(len(s.silent) for s in streams),
        ),
        "nilometer_watermark_lag_seconds": (
            "gauge",
            "How far a query's watermark is behind the clock.",
            of_queries(None if q.lag is None else q.lag / 1e6 for q in running),
        ),
        "nilometer_state_bytes": ("gauge", "A query's state.", of_queries(q.state_bytes for q in running)),
        "nilometer_query_failed": (
            "gauge",
            "Whether a query has stopped with an error.",
            of_queries(float(q.failed) for q in running),
        ),
        "nilometer_stream_in_trouble": (
            "gauge",
            "Whether a stream's source is in trouble.",
            of_streams(float(s.trouble is not None) for s in streams),
        ),
        "nilometer_backlog_rows": (
            "gauge",
            "Readings that wait to be appended.",
            of_streams(s.backlog for s in streams),
        ),
        "nilometer_alert_firing": (
            "gauge",
            "Groups of an alert that fire.",
            [({"alert": name}, float(one["firing"])) for name, one in alerts.items()],
        ),
        "nilometer_alert_fired_total": (
            "counter",
            "Firings that were decided.",
            [({"alert": name}, float(one["fired"])) for name, one in alerts.items()],
        ),
        "nilometer_alert_messages_sent_total": (
            "counter",
            "Messages of an alert that were taken.",
            [({"alert": name}, float(one["sent"])) for name, one in alerts.items()],
        ),
        "nilometer_alert_messages_failed_total": (
            "counter",
            "Messages of an alert that were given up.",
            [({"alert": name}, float(one["failed"])) for name, one in alerts.items()],
        ),
        "nilometer_alert_messages_waiting": (
            "gauge",
            "Messages of an alert that wait.",
            [({"alert": name}, float(one["waiting"])) for name, one in alerts.items()],
        ),
        "nilometer_subscribers": ("gauge", "Open result streams.", [({}, float(desk.tails.subscribers))]),
        "nilometer_build_info": (
            "gauge",
            "The release that runs.",
            [({"version": version("nilometer")}, 1.0)],
        ),
    }


def text_of(found: dict[str, tuple[str, str, list[Sample]]]) -> str:
    r"""The text format, version 0.0.4.

    >>> print(text_of({"rows": ("counter", "All rows.", [({"stream": 'a"b'}, 3.0)])}), end="")
    # HELP rows All rows.
    # TYPE rows counter
    rows{stream="a\"b"} 3
    """
    lines = []
    for name, (kind, meaning, samples) in found.items():
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        for labels, value in samples:
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            number = str(int(value)) if float(value).is_integer() else repr(float(value))
            lines.append(f"{name}{{{shown}}} {number}" if shown else f"{name} {number}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
