"""A server with a stream, its readings, and an entity of a client."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from server.sensorthings.entities import thing
from server.serving import Caller, Reply, calling

SCHEMA = """
CREATE STREAM air (id STRING, pm25 FLOAT UNIT 'ug/m3', wet BOOLEAN) PUSHED FUTURE 10 DAYS KEY (id, time)
  COORDINATES WGS84;
CREATE SENSOR 'roof' OF air AT (-121.5, 38.2) WITH kind = 'gauge';
CREATE SENSOR 'yard' OF air AT (-121.4, 38.3) WITH kind = 'buoy';
CREATE STREAM count (id INT, n INT) PUSHED FUTURE 10 DAYS;
"""
READINGS = [
    {
        "time": f"2026-03-01T06:{minute:02}:00Z",
        "id": sensor,
        "pm25": float(10 * minute + len(sensor)),
        "wet": minute > 2,
    }
    for minute in range(5)
    for sensor in ("roof", "yard", "a:1/2")
]


class Things:
    """A client of /v1.1."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def __call__(
        self, method: str, path: str, body: object = None, kind: str | None = None, **options: str
    ) -> Reply:
        return self.caller(method, self.url(path, **options), body, kind)

    def get(self, path: str, **options: str) -> object:
        """The JSON of a GET that succeeds; options without their $."""
        reply = self("GET", path, **options)
        assert reply.status == 200, (path, options, reply.body)
        return reply.json

    def ids(self, path: str, **options: str) -> list[object]:
        """The ids of a set."""
        found = self.get(path, **options)
        assert isinstance(found, dict)
        return [entity["@iot.id"] for entity in found["value"]]

    def post(self, path: str, body: object) -> object:
        """Make an entity; returns its id."""
        reply = self("POST", path, body)
        assert reply.status == 201, (path, reply.body)
        assert reply.headers["location"] == reply.json["@iot.selfLink"]
        return reply.json["@iot.id"]

    @staticmethod
    def url(path: str, **options: str) -> str:
        query = "&".join(f"${name}={quote(value, safe='')}" for name, value in options.items())
        return f"/v1.1/{quote(path, safe='()')}" + (f"?{query}" if query else "")


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    """Readings of `air`, and Things(1) with Datastreams(3)."""
    with calling(tmp_path_factory.mktemp("field"), SCHEMA) as caller:
        caller.send("air", READINGS)
        found = Things(caller)
        assert found.post("Things", thing()) == 1
        yield found
