"""OGC 18-088, A.4 and A.6: $batch, and data arrays in."""

from __future__ import annotations

from typing import Any

import pytest

from server.sensorthings.conftest import Things
from server.sensorthings.entities import datastream, location, observation, thing


def batch(things: Things, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    reply = things("POST", "$batch", {"requests": list(requests)})
    assert reply.status == 200, reply.body
    found: list[dict[str, Any]] = reply.json["responses"]
    return found


def test_requests_in_order_that_refer_to_each_other(things: Things) -> None:
    found = batch(
        things,
        {"id": "a", "method": "post", "url": "Things", "body": thing("first", Datastreams=[])},
        {"id": "b", "method": "POST", "url": "/v1.1/$a/Datastreams", "body": datastream()},
        {
            "id": "c",
            "method": "post",
            "url": "Observations",
            "body": observation(1, 5) | {"Datastream": {"@iot.id": "$b"}},
        },
        {"id": "d", "method": "get", "url": "$b/Observations?$select=result"},
        {"id": "e", "method": "get", "url": "Nothing"},
        {"id": "f", "method": "patch", "url": "$a", "body": {"name": "renamed"}},
        {"id": "g", "method": "get", "url": "$a/name"},
    )
    assert [(each["id"], each["status"]) for each in found] == [
        ("a", 201), ("b", 201), ("c", 201), ("d", 200), ("e", 404), ("f", 200), ("g", 200),
    ]  # fmt: skip
    assert found[0]["location"].endswith(f"Things({found[0]['body']['@iot.id']})")
    assert found[3]["body"]["value"] == [{"result": 5.0}]
    assert "there is no 'Nothing'" in found[4]["body"]["detail"]
    assert found[6]["body"] == {"name": "renamed"}


def test_an_atomicity_group_is_done_whole_or_not_at_all(things: Things) -> None:
    before = things.ids("Things"), things.ids("Locations")
    failed = batch(
        things,
        {"id": "1", "atomicityGroup": "g", "method": "post", "url": "Things", "body": thing()},
        {"id": "2", "atomicityGroup": "g", "method": "post", "url": "Locations", "body": location()},
        {
            "id": "3",
            "atomicityGroup": "g",
            "method": "post",
            "url": "Things",
            "body": {"name": "no description"},
        },
        {"id": "4", "method": "get", "url": "Things(1)/name"},
    )
    assert [each["status"] for each in failed] == [424, 424, 400, 200]
    assert (things.ids("Things"), things.ids("Locations")) == before
    done = batch(
        things,
        {
            "id": "1",
            "atomicityGroup": "g",
            "method": "post",
            "url": "Things",
            "body": {"name": "n", "description": "d"},
        },
        {"id": "2", "atomicityGroup": "g", "method": "post", "url": "$1/Locations", "body": location()},
        {"id": "3", "atomicityGroup": "g", "method": "patch", "url": "$1", "body": {"name": "m"}},
        {"id": "4", "method": "get", "url": "$1?$expand=Locations"},
    )
    assert [each["status"] for each in done] == [201, 201, 200, 200]
    assert (done[3]["body"]["name"], len(done[3]["body"]["Locations"])) == ("m", 1)
    (refused,) = batch(
        things,
        {
            "id": "1",
            "atomicityGroup": "g",
            "method": "post",
            "url": "Datastreams(3)/Observations",
            "body": observation(1, 1),
        },
    )
    assert refused["status"] == 501


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"requests": [1]},
        {"requests": [{"method": "get", "url": "Things"}]},
        {"requests": [{"id": "1", "url": "x", "method": "get"}] * 2},
        {"requests": [{"id": str(n), "url": "Things", "method": "get"} for n in range(1_001)]},
    ],
)
def test_what_is_no_batch(things: Things, body: Any) -> None:
    assert things("POST", "$batch", body).status == 400


def test_odd_requests_in_a_batch(things: Things) -> None:
    found = batch(
        things,
        {"id": "1", "method": "get"},
        {"id": "2", "method": 5, "url": "Things"},
        {"id": "3", "method": "post", "url": "$batch", "body": {"requests": []}},
        {"id": "4", "method": "trace", "url": "Things"},
        {"id": "5", "method": "get", "url": "$nothing/Things"},
    )
    assert [each["status"] for each in found] == [400, 400, 400, 405, 404]
    multipart = things("POST", "$batch", b"--x", "multipart/mixed; boundary=x")
    assert multipart.status == 415


def test_data_arrays_in(things: Things) -> None:
    body = [
        {
            "Datastream": {"@iot.id": 3},
            "components": ["phenomenonTime", "result", "resultTime", "parameters"],
            "dataArray@iot.count": 2,
            "dataArray": [
                ["2026-03-01T06:10:00Z", 1, "2026-03-01T06:10:00Z", {"a": 1}],
                ["2026-03-01T06:11:00Z", "two", None, None],
            ],
        },
        {"Datastream": {"@iot.id": "air:pm25:roof"}, "components": ["phenomenonTime", "result"], "dataArray": [["2026-03-02T06:00:00Z", 1.5], ["2026-03-02T06:00:00Z", "x"]]},
        {"Datastream": {"@iot.id": "air:wet:roof"}, "components": ["phenomenonTime", "result"], "dataArray": [["2026-03-02T06:00:00Z", True]]},
        {"Datastream": {"@iot.id": 99}, "components": ["result"], "dataArray": [[1]]},
    ]  # fmt: skip
    reply = things("POST", "CreateObservations", body)
    assert reply.status == 201
    links = reply.json
    first, second = (link.partition("/v1.1/")[2] for link in links[:2])
    assert first.startswith("Observations(")
    assert links[3].startswith("error: the result of air.pm25 is FLOAT")
    assert links[5] == "error: there is no Datastreams(99)"
    assert things.get(f"{first}/parameters") == {"parameters": {"a": 1}}
    assert things.get(f"{second}/result") == {"result": "two"}
    one, two = (link.partition("/v1.1")[2] for link in (links[2], links[4]))
    assert things.caller.get("/v1.1" + one)["result"] == 1.5
    assert things.caller.get("/v1.1" + two)["result"] is True
    assert one.rpartition(":")[2] == two.rpartition(":")[2], (
        "two columns of one sensor and time are one reading"
    )


@pytest.mark.parametrize(
    "body",
    [
        {},
        [1],
        [{"components": ["result"], "dataArray": []}],
        [{"Datastream": {"@iot.id": 3}, "components": ["nothing"], "dataArray": []}],
        [{"Datastream": {"@iot.id": 3}, "components": ["phenomenonTime"], "dataArray": []}],
        [{"Datastream": {"@iot.id": 3}, "components": ["result"], "dataArray": [[1, 2]]}],
        [{"Datastream": {"@iot.id": 3}, "components": ["result"], "dataArray": [1]}],
    ],
)
def test_what_is_no_data_array(things: Things, body: Any) -> None:
    assert things("POST", "CreateObservations", body).status == 400
