"""A server over a data directory, as `nilometer serve --http` makes it, with its loop in a thread; and small clients."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nilometer.engine import connect
from nilometer.engine.peering import open_peering
from nilometer.ingest.adapters.push import Pushes
from nilometer.live.alerts.alerting import Alerting
from nilometer.live.outside import Outside
from nilometer.live.owner.changes import take_up
from nilometer.live.owner.owner import Owner
from nilometer.live.peers.peering import PeerOptions
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.server.http_server import HttpServer
from nilometer.server.settings import HttpSettings

AIR = "CREATE STREAM air (id STRING, pm25 FLOAT UNIT 'ug/m3') PUSHED DELAY 1 SECONDS FUTURE 10 DAYS KEY (id, time);\n"
PATIENCE = 30.0


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Caller:
    """A client of one server, with one connection."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def __call__(
        self, method: str, path: str, body: Any = None, kind: str | None = None, **headers: str
    ) -> Reply:
        """Send a request and read the whole response. A body that is no bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = dict(self.headers)
        if data is not None:
            sent["Content-Type"] = kind or "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, data, sent)
        response = self._connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, response.read())

    def get(self, path: str, **headers: str) -> Any:
        """The JSON of a GET that succeeds."""
        reply = self("GET", path, **headers)
        assert reply.status == 200, reply.body
        return reply.json

    def sql(self, text: str) -> str:
        """Carry out a statement."""
        reply = self("POST", "/api/v1/statements", text.encode(), "application/sql")
        assert reply.status == 200, reply.body
        return str(reply.json["told"])

    def send(self, stream: str, readings: Any) -> Any:
        """Add readings."""
        reply = self("POST", f"/api/v1/streams/{stream}/readings", readings)
        assert reply.status == 200, reply.body
        return reply.json

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    name: str
    id: str | None
    data: Any


class Events:
    """A subscription by server-sent events."""

    def __init__(self, port: int, path: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        sent = {"Accept": "text/event-stream"} | {k.replace("_", "-"): v for k, v in headers.items()}
        self._connection.request("GET", path, headers=sent)
        self.response = self._connection.getresponse()
        assert self.response.status == 200, self.response.read()

    def __iter__(self) -> Iterator[Event]:
        lines: dict[str, str] = {}
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                lines[name] = value
            elif not line and "event" in lines:
                yield Event(lines["event"], lines.get("id"), json.loads(lines["data"]))
                lines = {}
            elif not line:
                lines = {}
        self.close()

    def rows(self, count: int) -> tuple[list[dict[str, Any]], str | None]:
        """The next rows, and the id of the last event."""
        found: list[dict[str, Any]] = []
        last = None
        if count:
            for event in self:
                last = event.id or last
                if event.name == "rows":
                    found += event.data["rows"]
                if len(found) >= count:
                    break
        return found, last

    def close(self) -> None:
        if self._connection.sock is not None:
            self._connection.sock.close()
        self.response.close()
        self._connection.close()


@contextmanager
def served(
    folder: Path, schema: str = AIR, settings: HttpSettings | None = None, peer: PeerOptions | None = None
) -> Iterator[HttpServer]:
    """What `nilometer serve --http` does."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "schema.sql").exists():
        (folder / "schema.sql").write_text(schema)
    database, pushes = connect(folder), Pushes()
    owner = Owner(folder, lambda: Station(database, folder, outside=Outside(pushes=pushes)))
    roster = Roster(owner.station, database.catalog.queries())
    assert database.keeping is not None
    database.keeping.refresh(owner=False)
    database.keeping = None
    owner.changes = take_up(database, roster, lambda _: None)
    roster.begin(alone=False)
    roster.alerting = alerting = Alerting(owner.station)
    owner.watchers.append(alerting.look)
    alerting.__enter__()
    server = HttpServer(owner, settings or HttpSettings(port=0), pushes)
    peering = None if peer is None else open_peering(owner.station, peer, lambda _: None)
    if peering is not None:
        owner.watchers.append(peering.look)
    stop = threading.Event()
    thread = threading.Thread(target=owner.run, args=(stop.is_set,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        stop.set()
        owner.station.manager.bell.set()
        thread.join(PATIENCE)
        alerting.__exit__(None, None, None)
        server.close()
        if peering is not None:
            peering.close()
        owner.close()


@contextmanager
def calling(folder: Path, schema: str = AIR, settings: HttpSettings | None = None) -> Iterator[Caller]:
    """A client of a server over a directory."""
    with served(folder, schema, settings) as server:
        caller = Caller(server.port)
        try:
            yield caller
        finally:
            caller.close()


def minute(count: int, sensor: str = "a1", value: float | None = None) -> dict[str, Any]:
    """A reading of some minute of 1 March 2026."""
    time = f"2026-03-01T{6 + count // 60:02}:{count % 60:02}:00Z"
    return {"time": time, "id": sensor, "pm25": float(count % 50) if value is None else value}
