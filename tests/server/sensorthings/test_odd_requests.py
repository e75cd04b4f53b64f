"""Whatever is sent to /v1.1, the server answers, and never with a 500."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote

from server.sensorthings.conftest import Things
from server.sensorthings.entities import datastream, location, observation, thing

WORDS = (
    "Things Datastreams Observations Locations Sensors FeaturesOfInterest ObservedProperties HistoricalLocations "
    "Thing Datastream Sensor name properties result phenomenonTime @iot.id id location $value $ref $count $batch "
    "CreateObservations (1) (3) ('air:pm25:roof') ('air:roof') ('') (') (9) (-1) x . .. %00 é"
).split()
EXPRESSIONS = (
    "result gt lt eq ne and or not ( ) , - 5 0 1e999 99999999999999999999 'a' '' ' null true name phenomenonTime id "
    "Datastream/Thing/name Datastream FeatureOfInterest/feature properties/x/0 now() 2026-03-01T06:00:00Z "
    "2026-03-01T06:00:00Z/2026-03-01T07:00:00Z 0000-00-00T00:00:00Z duration'PT1H' duration'x' add sub mul div mod "
    "geography'POINT(1 2)' geography'x' length( startswith( year( geo.distance( st_relate( substring( round( floor( "
    "time( date( mindatetime() maxdatetime() é 💧"
).split()
OPTIONS = (
    "$filter",
    "$orderby",
    "$top",
    "$skip",
    "$count",
    "$select",
    "$expand",
    "$resultFormat",
    "$skiptoken",
    "$x",
    "y",
)
VALUES = ("", "0", "1", "-1", "x", "true", "dataArray", "id", "name,id", "Datastreams", "Observations($top=1)", "(", "Observations/Datastream", "a:b:1", "9" * 30)  # fmt: skip
PATHS = (
    "Things Things(1) Locations Datastreams Things(1)/Datastreams Datastreams(3)/Observations Observations "
    "CreateObservations $batch HistoricalLocations FeaturesOfInterest"
).split()
BODIES: list[Any] = [
    None,
    {},
    [],
    5,
    "x",
    thing(),
    location(),
    datastream(),
    observation(1, 1),
    {"name": None, "description": None},
    {"name": "x", "description": "y", "Locations": [[]]},
    {"name": "x", "description": "y", "Datastreams": [5]},
    {"result": {"a": 1}, "Datastream": {"@iot.id": 3}},
    {"result": 1, "Datastream": {"@iot.id": {}}},
    {"result": 1e308, "Datastream": {"@iot.id": "air:pm25:roof"}},
    {"result": 10**400, "Datastream": {"@iot.id": 3}},
    {"result": 1, "phenomenonTime": "9999-12-31T23:59:59Z", "Datastream": {"@iot.id": 3}},
    {"result": 1, "phenomenonTime": "0001-01-01T00:00:00Z", "Datastream": {"@iot.id": 3}},
    {"name": "\ud800", "description": "\x00"},
    {"requests": [{"id": "1", "method": "post", "url": "Things", "body": []}]},
    {"requests": [{"id": "1", "method": "get", "url": "http://[", "headers": 5}]},
    [{"op": "replace", "path": "/name", "value": 5}],
    [{"op": "move", "from": "/a", "path": ""}],
    [{"Datastream": {"@iot.id": 3}, "components": ["result", "phenomenonTime"], "dataArray": [[1, 5]]}],
    b"{",
    b"\xff",
    b"[" * 100_000,
    b'{"result": NaN}',
]


def test_no_request_is_a_500(things: Things) -> None:
    dice = random.Random(17)
    for _ in range(150):
        path = quote(
            "".join(dice.choice(WORDS) + dice.choice(("", "", "/")) for _ in range(dice.randrange(1, 5)))
        )
        _check(things, dice.choice(("GET", "GET", "POST", "PATCH", "PUT", "DELETE")), path, dice)


def test_no_query_is_a_500(things: Things) -> None:
    dice = random.Random(18)
    for _ in range(250):
        path = dice.choice(
            ("Things", "Datastreams", "Observations", "Locations", "Things(1)", "Datastreams(3)/Observations")
        )
        name = dice.choice(OPTIONS)
        if name in ("$filter", "$orderby"):
            value = " ".join(dice.choice(EXPRESSIONS) for _ in range(dice.randrange(1, 7)))
        else:
            value = dice.choice(VALUES)
        _check(things, "GET", f"{path}?{name}={quote(value, safe='')}", dice)


def test_no_body_is_a_500(things: Things) -> None:
    dice = random.Random(19)
    for _ in range(150):
        path, method = dice.choice(PATHS), dice.choice(("POST", "POST", "PATCH"))
        kind = dice.choice(("application/json", "application/json", "application/json-patch+json"))
        body = dice.choice(BODIES)
        reply = things.caller(method, f"/v1.1/{path}", body, kind)
        assert reply.status < 500 or reply.status in (501, 503), (method, path, body, reply.body)


def _check(things: Things, method: str, path: str, dice: random.Random) -> None:
    body = None if method in ("GET", "DELETE") else dice.choice(BODIES)
    reply = things.caller(method, f"/v1.1/{path}", body)
    assert reply.status < 500 or reply.status in (501, 503), (method, path, body, reply.body)
