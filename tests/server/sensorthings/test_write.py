"""OGC 18-088, A.3: create, update, delete; with deep insert, links, and what cannot be changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nilometer.server.settings import HttpSettings
from nilometer.server.tokens import Role, Tokens
from server.sensorthings.conftest import READINGS, SCHEMA, Things
from server.sensorthings.entities import (
    COUNT,
    datastream,
    location,
    observation,
    observed_property,
    sensor,
    thing,
)
from server.serving import Caller, calling, served


def test_every_entity_alone_and_linked(things: Things) -> None:
    one = things.post("Things", {"name": "t", "description": "d"})
    place = things.post("Locations", location() | {"Things": [{"@iot.id": one}]})
    assert things.ids(f"Things({one})/Locations") == [place]
    assert len(things.ids(f"Things({one})/HistoricalLocations")) == 1
    moved = things.post(f"Things({one})/Locations", location(9.0, 50.0, "elsewhere"))
    assert things.ids(f"Things({one})/Locations") == [moved]
    assert len(things.ids(f"Things({one})/HistoricalLocations")) == 2
    assert len(things.ids(f"Locations({place})/HistoricalLocations")) == 1
    by, what = things.post("Sensors", sensor()), things.post("ObservedProperties", observed_property())
    linked = {"Sensor": {"@iot.id": by}, "ObservedProperty": {"@iot.id": what}}
    stream = things.post(f"Things({one})/Datastreams", datastream(**linked))
    other = things.post("Datastreams", datastream(**linked, Thing={"@iot.id": one}))
    assert (
        things.ids(f"Things({one})/Datastreams")
        == [stream, other]
        == things.ids(f"Sensors({by})/Datastreams")
    )
    past = things.post(
        "HistoricalLocations",
        {"time": "2025-01-01T00:00:00Z", "Thing": {"@iot.id": one}, "Locations": [{"@iot.id": place}]},
    )
    assert things.get(f"HistoricalLocations({past})/time") == {"time": "2025-01-01T00:00:00Z"}
    feature = things.post(
        "FeaturesOfInterest",
        {
            "name": "f",
            "description": "d",
            "encodingType": "application/geo+json",
            "feature": location()["location"],
        },
    )
    first = things.post(
        f"Datastreams({stream})/Observations", observation(1, 1) | {"FeatureOfInterest": {"@iot.id": feature}}
    )
    second = things.post("Observations", observation(2, 2) | {"Datastream": {"@iot.id": stream}})
    third = things.post(
        f"FeaturesOfInterest({feature})/Observations", observation(3, 3) | {"Datastream": {"@iot.id": stream}}
    )
    assert things.ids(f"FeaturesOfInterest({feature})/Observations") == [first, third]
    made: Any = things.get(f"Observations({second})/FeatureOfInterest")
    assert made["feature"]["coordinates"] == [9.0, 50.0], "from the Location of the Thing"
    fourth = things.post(f"Datastreams({stream})/Observations", observation(4, 4))
    again: Any = things.get(f"Observations({fourth})/FeatureOfInterest")
    assert again["@iot.id"] == made["@iot.id"], "one is used again"


def test_results_of_every_type_come_back(things: Things) -> None:
    stream = things.post("Things", thing(Datastreams=[]))
    one = things.post(f"Things({stream})/Datastreams", datastream(observationType=COUNT))
    sent = [5, 5.5, -1e300, "a'b\"é", True, False, None, [1, [2]], {"x": {"y": None}}, 2**60]
    for minute, result in enumerate(sent):
        things.post(f"Datastreams({one})/Observations", observation(minute, result))
    found: Any = things.get(f"Datastreams({one})/Observations")
    back = [each["result"] for each in found["value"]]
    assert back == sent
    assert [type(each) for each in back] == [type(each) for each in sent], "counts are whole numbers"
    long = {
        "phenomenonTime": "2026-03-01T06:00:00Z/2026-03-01T07:00:00Z",
        "resultTime": "2026-03-01T08:00:00+01:00",
        "validTime": "2026-03-01T06:00:00Z/2026-04-01T06:00:00Z",
        "resultQuality": {"status": "good"},
        "parameters": {"gain": 2},
        "result": 1,
    }
    identity = things.post(f"Datastreams({one})/Observations", long)
    whole: Any = things.get(f"Observations({identity})")
    assert {name: whole[name] for name in long} == long | {"resultTime": "2026-03-01T07:00:00Z"}


def test_update(things: Things) -> None:
    one = things.post("Things", thing())
    assert things("PATCH", f"Things({one})", {"description": "new", "properties": {"a": 1}}).status == 200
    found: Any = things.get(f"Things({one})")
    assert (found["name"], found["description"], found["properties"]) == ("hut", "new", {"a": 1})
    patch = [
        {"op": "replace", "path": "/properties/a", "value": 2},
        {"op": "add", "path": "/properties/b", "value": [1]},
    ]
    assert things("PATCH", f"Things({one})", patch, "application/json-patch+json").status == 200
    assert things.get(f"Things({one})/properties") == {"properties": {"a": 2, "b": [1]}}
    assert things("PUT", f"Things({one})", {"name": "only", "description": "this"}).status == 200
    replaced: Any = things.get(f"Things({one})")
    assert (replaced["name"], "properties" in replaced) == ("only", False)
    assert things.ids(f"Things({one})/Datastreams"), "links stay"
    elsewhere = things.post("Locations", location(1.0, 2.0))
    assert things("PATCH", f"Things({one})", {"Locations": [{"@iot.id": elsewhere}]}).status == 200
    assert things.ids(f"Things({one})/Locations") == [elsewhere]
    assert len(things.ids(f"Things({one})/HistoricalLocations")) == 2
    (stream,) = things.ids(f"Things({one})/Datastreams")
    other = things.post("Sensors", sensor("another"))
    assert things("PATCH", f"Datastreams({stream})", {"Sensor": {"@iot.id": other}}).status == 200
    assert things.get(f"Datastreams({stream})/Sensor/name") == {"name": "another"}


def test_delete_takes_what_cannot_be_without_it(things: Things) -> None:
    one = things.post("Things", thing())
    (stream,), (place,), (past,) = (
        things.ids(f"Things({one})/{link}") for link in ("Datastreams", "Locations", "HistoricalLocations")
    )
    number = things.post(f"Datastreams({stream})/Observations", observation(1, 1))
    before = len(things.ids("Observations", top="10000"))
    assert things("DELETE", f"Things({one})").status == 200
    for gone in (
        f"Things({one})",
        f"Datastreams({stream})",
        f"HistoricalLocations({past})",
        f"Observations({number})",
    ):
        assert things("GET", gone).status == 404, gone
    assert things.get(f"Locations({place})/name") == {"name": "roof"}
    assert len(things.ids("Observations", top="10000")) == before - 1
    assert things("DELETE", f"Locations({place})").status == 200
    two = things.post("Things", thing())
    assert isinstance(two, int)
    assert two > int(str(past)), "an id is never given twice"
    (stream,) = things.ids(f"Things({two})/Datastreams")
    (what,) = [things.get(f"Datastreams({stream})/ObservedProperty")]
    assert things("DELETE", f"ObservedProperties({what['@iot.id']})").status == 200  # type: ignore[index]
    assert things("GET", f"Datastreams({stream})").status == 404


def test_entities_of_a_stream_take_names_and_places(things: Things) -> None:
    path = "Things('air:yard')"
    assert things("PATCH", path, {"name": "the yard", "properties": {"floor": 0}}).status == 200
    found: Any = things.get(path)
    assert (found["name"], found["properties"]) == ("the yard", {"floor": 0})
    place = things.post(f"{path}/Locations", location(1.0, 2.0, "new"))
    assert things.ids(f"{path}/Locations") == [place]
    assert things.ids("Locations('air:yard')/Things") == []
    refused = things("PATCH", "Datastreams('air:pm25:yard')", {"unitOfMeasurement": {"name": "x"}})
    assert (refused.status, "comes from its stream" in refused.json["detail"]) == (405, True)
    for path in ("Things('air:yard')", "Sensors('air')", "Datastreams('air:pm25:yard')"):
        assert things("DELETE", path).status == 405
    for method in ("PATCH", "PUT", "DELETE"):
        reply = things(method, "Observations('air:pm25:0')", None if method == "DELETE" else {"result": 5})
        assert (reply.status, reply.headers["allow"]) == (405, "GET")
        assert "reading in a log" in reply.json["detail"]
    settings: Any = things.get("")["serverSettings"]
    deleting = "http://www.opengis.net/spec/iot_sensing/1.1/req/create-update-delete/delete-entity"
    assert settings[deleting]["except"] == ["Observations"]


def test_observations_of_a_stream(things: Things) -> None:
    path = "Datastreams('air:pm25:roof')/Observations"
    one = things.post(path, observation(30, 7))
    assert things.get(f"Observations('{one}')/result") == {"result": 7.0}
    assert things.post(path, observation(30, 7.0)) == one, "sent again after a lost reply"
    other = things("POST", path, observation(30, 8))
    assert (other.status, "KEY (id, time)" in other.json["found"]) == (409, True)
    future = things("POST", path, {"phenomenonTime": "2099-01-01T00:00:00Z", "result": 1})
    assert (future.status, "in the future" in future.json["detail"]) == (422, True)
    now = things.post(path, {"result": 9})
    assert str(things.get(f"Observations('{now}')/phenomenonTime")) > "2026"
    for body, told in (
        ({"result": "x"}, "is FLOAT"),
        ({"result": True}, "is FLOAT"),
        ({"result": None}, "is FLOAT"),
        ({}, "needs 'result'"),
        ({"result": 1, "parameters": {"a": 1}}, "no column for parameters"),
        ({"result": 1, "phenomenonTime": "yesterday"}, "no time"),
        ({"result": 1, "phenomenonTime": "2026-03-01T06:00:00Z/2026-03-01T07:00:00Z"}, "an interval"),
        ({"result": 1, "nothing": 1}, "has no 'nothing'"),
        ([1], "is a JSON object"),
    ):
        reply = things("POST", path, body)
        assert reply.status == 400, reply.body
        assert told in reply.json["detail"]
    counted = (
        things.post("Datastreams('count:n:1')/Observations", observation(1, 1))
        if things.caller.send("count", {"time": "2026-03-01T06:00:00Z", "id": 1, "n": 0})
        else None
    )
    twice = things.post("Datastreams('count:n:1')/Observations", observation(1, 1))
    assert counted != twice, "without a KEY there are no doubles"


def test_observations_that_come_together_are_answered_one_by_one(things: Things) -> None:
    """Posted by many connections at once, they go on in groups: one that is wrong concerns no other."""
    stream = things.post("Things", thing(Datastreams=[datastream()]))
    path = f"Datastreams({things.ids(f'Things({stream})/Datastreams')[0]})/Observations"
    asked = [(path, observation(minute, minute), 201) for minute in range(20)]
    asked += [(path, {"phenomenonTime": "soon", "result": 1}, 400), (path, [], 400), (path, None, 400)]
    asked += [("Datastreams(9999)/Observations", observation(1, 1), 404), ("Things/Observations", {}, 404)]
    roof = "Datastreams('air:pm25:roof')/Observations"
    asked += [(roof, observation(40, 1.5), 201), (roof, observation(41, "wet"), 400)]
    # The same again is the one that is there; another result at that time is refused.
    asked += [(roof, observation(40, 1.5), 201)]

    def send(one: tuple[str, Any, int]) -> tuple[int, Any]:
        caller = Caller(things.caller.port)
        try:
            reply = caller("POST", things.url(one[0]), b"{" if one[1] is None else one[1])
            return reply.status, reply.json.get("@iot.id")
        finally:
            caller.close()

    with ThreadPoolExecutor(len(asked)) as threads:
        replies = list(threads.map(send, asked))
    assert [status for status, _ in replies] == [status for _, _, status in asked]
    assert sorted(things.ids(path)) == sorted(identity for _, identity in replies[:20])
    assert [things.get(f"Observations({identity})/result") for _, identity in replies[:20]] == [
        {"result": float(minute)} for minute in range(20)
    ]
    assert replies[25][1] == replies[27][1]
    assert things("POST", roof, observation(40, 2.5)).status == 409


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("Things", {"name": "x"}, 400),
        ("Things", {"name": 5, "description": "d"}, 400),
        ("Things", {"name": "x", "description": "d", "properties": 5}, 400),
        ("Things", {"name": "x", "description": "d", "nothing": 5}, 400),
        ("Things", {"name": "x", "description": "d", "Locations": location()}, 400),
        ("Things", {"name": "x", "description": "d", "Locations": [{"@iot.id": 9999}]}, 400),
        ("Things", [], 400),
        ("Things", None, 400),
        ("Locations", location() | {"location": {"type": "Point", "coordinates": "x"}}, 400),
        ("Datastreams", datastream(), 400),
        ("Datastreams", datastream(Thing={"@iot.id": 9999}), 400),
        ("Datastreams", datastream(Thing={"@iot.id": 1}, unitOfMeasurement={"x": 1}), 400),
        ("Observations", observation(1, 1), 400),
        ("Observations", observation(1, 1) | {"Datastream": {"@iot.id": 9999}}, 404),
        ("Datastreams(3)/Observations", observation(1, 1) | {"FeatureOfInterest": {"@iot.id": 9999}}, 400),
        ("Things(1)", thing(), 405),
        ("Things(1)/name", {"name": "x"}, 405),
        ("Nothing", {}, 404),
        ("Things(9999)/Datastreams", datastream(), 404),
        ("Things", {"name": "x" * 300_000, "description": "d"}, 503),
    ],
)
def test_what_is_wrong_changes_nothing(things: Things, path: str, body: Any, status: int) -> None:
    before = things.get("", count="true"), things.ids("Things"), things.ids("Locations")
    reply = things("POST", path, body)
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    assert (things.get("", count="true"), things.ids("Things"), things.ids("Locations")) == before


def test_sql_sees_what_clients_make(things: Things) -> None:
    one = things.post(
        "Things",
        thing(
            "the'shed",
            Datastreams=[
                datastream(
                    Observations=[
                        {"phenomenonTime": f"2026-03-09T06:0{n}:00Z", "result": 3 + 2 * n} for n in (0, 1)
                    ]
                )
            ],
        ),
    )
    sql = "SELECT property, unit, AVG(result) AS mean FROM observations WHERE thing = 'the''shed' GROUP BY property, unit"
    rows = things.caller("POST", "/api/v1/query", {"sql": sql}).json["rows"]
    assert rows == [{"property": "Temperature", "unit": "Cel", "mean": 4.0}]
    things("PATCH", f"Things({one})", {"name": "barn"})
    asked = {"sql": "SELECT DISTINCT thing FROM sensors WHERE thing = 'barn'"}
    assert things.caller("POST", "/api/v1/query", asked).json["rows"] == [{"thing": "barn"}]


def test_roles_of_paths(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(SCHEMA)
    tokens = {role: Tokens(tmp_path).create(role.value, role) for role in Role}
    limited = Tokens(tmp_path).create("slow", Role.WRITE, rows=1)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        callers = {
            role: Things(Caller(server.port, {"Authorization": f"Bearer {secret}"}))
            for role, secret in tokens.items()
        }
        callers[Role.ADMIN].caller.send("air", READINGS)
        callers[Role.ADMIN].post("Things", thing())
        requests: list[tuple[str, str, Any, Role]] = [
            ("GET", "Things", None, Role.READ),
            ("GET", "Observations('air:pm25:0')", None, Role.READ),
            ("POST", "Datastreams(3)/Observations", observation(1, 1), Role.WRITE),
            ("POST", "Observations", observation(1, 1) | {"Datastream": {"@iot.id": 3}}, Role.WRITE),
            ("POST", "CreateObservations", [], Role.WRITE),
            ("POST", "Things", {"name": "x", "description": "d"}, Role.ADMIN),
            ("POST", "Things(1)/Datastreams", datastream(), Role.ADMIN),
            ("PATCH", "Things(1)", {"name": "y"}, Role.ADMIN),
            ("PUT", "Things(1)", {"name": "y", "description": "d"}, Role.ADMIN),
            ("DELETE", "Locations(2)", None, Role.ADMIN),
        ]
        for method, path, body, needed in requests:
            for role, caller in callers.items():
                batched = caller(
                    "POST", "$batch", {"requests": [{"id": "1", "method": method, "url": path, "body": body}]}
                )
                assert batched.status == 200
                (inside,) = batched.json["responses"]
                if role.allows(needed):
                    assert inside["status"] in (200, 201), (method, path, role, inside)
                    if method != "DELETE":
                        assert caller(method, path, body).status in (200, 201), (method, path, role)
                else:
                    assert inside["status"] == 403, (method, path, role)
                    assert caller(method, path, body).status == 403, (method, path, role)
        noted = callers[Role.ADMIN].caller.get("/api/v1/audit")["items"]
        assert any(each["who"] == "admin" and "put Things(1)" in each["what"] for each in noted)
        slow = Things(Caller(server.port, {"Authorization": f"Bearer {limited}"}))
        rows = [["2026-03-02T06:00:00Z", number] for number in range(500)]
        many = [{"Datastream": {"@iot.id": 3}, "components": ["phenomenonTime", "result"], "dataArray": rows}]
        assert slow("POST", "CreateObservations", many).status == 201
        assert slow("POST", "Datastreams(3)/Observations", observation(1, 1)).status == 429
        assert slow("GET", "Things").status == 200
        for caller in (slow, *callers.values()):
            caller.caller.close()


def test_entities_and_ids_outlive_the_server(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        caller.send("air", READINGS)
        things = Things(caller)
        one = things.post("Things", thing(Datastreams=[datastream(Observations=[observation(1, 3)])]))
        before = [things.get(name, expand="Datastreams/Observations") for name in ("Things",)]
        before += [
            things.get(name)
            for name in (
                "Locations",
                "HistoricalLocations",
                "Datastreams",
                "Observations",
                "FeaturesOfInterest",
            )
        ]
    with calling(tmp_path) as caller:
        again = Things(caller)
        after = [again.get(name, expand="Datastreams/Observations") for name in ("Things",)]
        after += [
            again.get(name)
            for name in (
                "Locations",
                "HistoricalLocations",
                "Datastreams",
                "Observations",
                "FeaturesOfInterest",
            )
        ]
        assert _without_port(after) == _without_port(before)
        assert int(str(again.post("Things", thing()))) > int(str(one))


def _without_port(found: Any) -> str:
    import re

    return re.sub(r"127\.0\.0\.1:\d+", "", str(found))
