"""OGC 18-088, A.2: the query options, over streams and over clients' entities."""

from __future__ import annotations

from typing import Any

import pytest

from server.sensorthings.conftest import Things
from server.sensorthings.entities import observation

ALL = "Observations"
ROOF = "Datastreams('air:pm25:roof')/Observations"


@pytest.fixture(scope="module", autouse=True)
def observed(things: Things) -> None:
    for minute, result in enumerate((20.5, "warm", None, True, {"a": [1]})):
        more = {"parameters": {"gain": minute}, "resultTime": "2026-03-01T07:00:00Z"} if minute else {}
        things.post("Datastreams(3)/Observations", observation(minute, result, **more))


def results(things: Things, path: str, **options: str) -> list[Any]:
    found: Any = things.get(path, **options)
    return [each["result"] for each in found["value"]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("result gt 24", [34, 44]),
        ("result ge 24 and result lt 40", [24, 34]),
        ("not (result gt 24)", [4, 14, 24]),
        ("result eq 4 or result eq 44", [4, 44]),
        ("result ne 4 and result le 14", [14]),
        ("result add 1 eq 5", [4]),
        ("result sub 4 eq 0 or result mul 2 eq 88 or result div 2 eq 7", [4, 14, 44]),
        ("result mod 20 eq 4", [4, 24, 44]),
        ("-result lt -40", [44]),
        ("round(result div 10) eq 2", [24]),
        ("floor(result div 10) eq 1 or ceiling(result div 10) eq 1", [4, 14]),
        ("phenomenonTime gt 2026-03-01T06:03:00Z", [44]),
        ("phenomenonTime ge 2026-03-01T07:03:00+01:00", [34, 44]),
        ("phenomenonTime eq 2026-03-01T06:01:00.000Z", [14]),
        ("2026-03-01T06:01:00Z gt phenomenonTime", [4]),
        ("phenomenonTime lt 2026-03-01T06:01:00Z/2026-03-01T06:05:00Z", [4, 14]),
        ("phenomenonTime add duration'PT1H' gt 2026-03-01T07:03:30Z", [44]),
        ("phenomenonTime sub 2026-03-01T06:00:00Z gt duration'PT3M'", [44]),
        (
            "year(phenomenonTime) eq 2026 and month(phenomenonTime) eq 3 and day(phenomenonTime) eq 1",
            [4, 14, 24, 34, 44],
        ),
        (
            "hour(phenomenonTime) eq 6 and minute(phenomenonTime) ge 3 and second(phenomenonTime) eq 0",
            [34, 44],
        ),
        ("date(phenomenonTime) eq date(2026-03-01T23:00:00Z) and result eq 4", [4]),
        ("time(phenomenonTime) eq duration'PT6H2M'", [24]),
        (
            "totaloffsetminutes(phenomenonTime) eq 0 and fractionalseconds(phenomenonTime) eq 0 and result eq 4",
            [4],
        ),
        (
            "phenomenonTime lt now() and phenomenonTime gt mindatetime() and phenomenonTime lt maxdatetime() and result eq 4",
            [4],
        ),
        ("resultTime le 2026-03-01T06:00:00Z", [4]),
        ("id eq 'air:pm25:3'", [14]),
        ("@iot.id ne 'air:pm25:3' and result lt 20", [4]),
        ("validTime eq null and result eq 4", [4]),
        ("result eq null", []),
        ("result gt 'a'", []),
        ("Datastream/id eq 'air:pm25:roof' and result gt 40", [44]),
        ("Datastream/Thing/name eq 'yard'", []),
        ("Datastream/Thing/properties/kind eq 'gauge' and result lt 10", [4]),
        ("Datastream/unitOfMeasurement/symbol eq 'ug/m3' and result gt 40", [44]),
        ("startswith(FeatureOfInterest/name, 'ro') and result gt 40", [44]),
        (
            "st_within(FeatureOfInterest/feature, geography'POLYGON ((-122 38, -121 38, -121 39, -122 39, -122 38))') and result gt 40",
            [44],
        ),
        ("Datastream/Thing/properties/nothing ne 5", []),
        ("Datastream/Thing/properties/nothing eq null and result gt 40", [44]),
    ],
)
def test_filters_of_a_streams_observations(things: Things, condition: str, expected: list[float]) -> None:
    assert results(things, ROOF, filter=condition) == expected
    counted: Any = things.get(ROOF, filter=condition, count="true", top="1")
    assert counted["@iot.count"] == len(expected)


def test_filters_over_all_observations(things: Things) -> None:
    assert results(things, ALL, filter="result gt 40 and Datastream/ObservedProperty/name eq 'pm25'") == [
        44,
        44,
        45,
    ]
    assert results(things, ALL, filter="Datastream/Thing/name eq 'roof' and result eq true") == [True, True]
    assert results(things, ALL, filter="Datastream/id eq 3") == [20.5, "warm", None, True, {"a": [1]}]
    assert results(things, ALL, filter="result eq 'warm'") == ["warm"]
    assert results(things, ALL, filter="Datastream/id eq 3 and result eq null") == [None]
    assert results(things, ALL, filter="parameters/gain gt 3") == [{"a": [1]}]
    assert results(
        things, ALL, filter="FeatureOfInterest/name eq 'roof' and Datastream/id eq 3 and result gt 1"
    ) == [20.5]
    assert results(things, ALL, filter="Datastream/id eq 3 and id gt 4", select="result") == [{"a": [1]}]


@pytest.mark.parametrize(
    ("path", "condition", "expected"),
    [
        ("Things", "name eq 'hut'", [1]),
        ("Things", "properties/rooms gt 1 and properties/owner eq 'me'", [1]),
        ("Things", "startswith(name, 'r') or endswith(name, 'rd')", ["air:roof", "air:yard"]),
        ("Things", "substringof('oo', name)", ["air:roof"]),
        ("Things", "contains(name, 'ar')", ["air:yard"]),
        ("Things", "length(name) eq 3 and indexof(name, 'u') eq 1", [1]),
        ("Things", "substring(name, 1) eq 'oof' or substring(name, 1, 1) eq 'u'", [1, "air:roof"]),
        ("Things", "tolower(concat(trim(' H '), 'UT')) eq name", [1]),
        ("Things", "toupper(name) eq 'ROOF'", ["air:roof"]),
        ("Things", "Datastreams/ObservedProperty/name eq 'Temperature'", [1]),
        ("Things", "Datastreams/name eq 'air temperature' and Datastreams/Sensor/name eq 'nothing'", []),
        ("Things", "Locations/name eq 'roof'", [1, "air:roof"]),
        ("Datastreams", "unitOfMeasurement/symbol eq 'Cel'", [3]),
        ("Datastreams", "phenomenonTime gt 2026-03-01T07:00:00Z", []),
        ("Datastreams", "Thing/id eq 'air:yard' and ObservedProperty/name eq 'wet'", ["air:wet:yard"]),
        ("Locations", "geo.distance(location, geography'POINT (8 49)') lt 1", [2]),
        ("Locations", "geo.intersects(location, geography'LINESTRING (8.4 48, 8.4 50)')", [2]),
        (
            "Locations",
            "st_intersects(location, geography'POINT (8.4 49)') and st_equals(location, geography'POINT (8.4 49)')",
            [2],
        ),
        (
            "Locations",
            "st_disjoint(location, geography'POLYGON ((0 0, 90 0, 90 90, 0 90, 0 0))')",
            ["air:roof", "air:yard"],
        ),
        ("Locations", "st_touches(location, geography'POLYGON ((8.4 48, 9 48, 9 50, 8.4 50, 8.4 48))')", [2]),
        ("Locations", "st_contains(geography'POLYGON ((8 48, 9 48, 9 50, 8 50, 8 48))', location)", [2]),
        ("Locations", "st_crosses(location, geography'LINESTRING (8.4 48, 8.4 50)')", []),
        ("Locations", "st_overlaps(location, geography'POINT (8.4 49)')", []),
        ("Locations", "st_relate(location, geography'POINT (8.4 49)', 'T********')", [2]),
        ("Locations", "geo.length(location) eq 0 and name eq 'yard'", ["air:yard"]),
        ("HistoricalLocations", "time lt now() and Thing/name eq 'hut'", [8]),
        ("ObservedProperties", "name ne null and definition eq 'http://example.org/Temperature'", [5]),
    ],
)
def test_filters_of_other_entities(things: Things, path: str, condition: str, expected: list[Any]) -> None:
    found = things.ids(path, filter=condition)
    if path == "HistoricalLocations":
        assert len(found) == 1
    else:
        assert found == expected


def test_order_top_skip_count_and_pages(things: Things) -> None:
    assert results(things, ROOF, orderby="result desc", top="2") == [44, 34]
    assert results(things, ROOF, orderby="phenomenonTime desc", top="2", skip="1") == [34, 24]
    assert results(things, ROOF, orderby="result mod 20, phenomenonTime desc") == [44, 24, 4, 34, 14]
    assert results(things, ROOF, orderby="validTime,5,result desc", top="1") == [44]
    assert things.ids("Things", orderby="name") == ["air:a:1/2", 1, "air:roof", "air:yard"]
    assert things.ids("Things", orderby="properties/rooms desc,name desc", top="1") == [1]
    assert things.get("Things", count="true", top="0") == {"@iot.count": 4, "value": []}
    for path, options in (
        ("Things", {}),
        ("Observations", {}),
        ("Observations", {"orderby": "phenomenonTime"}),
        ("Observations", {"orderby": "result"}),
        ("Observations", {"filter": "result gt 10"}),
    ):
        whole: Any = things.get(path, **options)
        page: Any = things.get(path, top="2", count="true", **options)
        have = page["value"]
        while "@iot.nextLink" in page:
            assert len(page["value"]) == 2
            page = things.caller.get("/v1.1" + page["@iot.nextLink"].partition("/v1.1")[2])
            have += page["value"]
        assert have == whole["value"], (path, options)
        assert page["@iot.count"] == len(have)


def test_select_and_expand(things: Things) -> None:
    assert things.get("Things(1)", select="name,id") == {"@iot.id": 1, "name": "hut"}
    assert things.get("Things(1)", select="properties/rooms") == {"properties": {"rooms": 2}}
    found: Any = things.get(
        "Things",
        filter="name eq 'roof'",
        select="name,Datastreams",
        expand="Datastreams($select=name;$orderby=name desc;$expand=Observations($top=2;$select=result;$count=true;$filter=result ne null),Sensor($select=name)),Locations/HistoricalLocations",
    )
    one = found["value"][0]
    assert one["name"] == "roof"
    assert [each["name"] for each in one["Datastreams"]] == ["air wet roof", "air pm25 roof"]
    assert one["Datastreams"][1]["Observations"] == [{"result": 4.0}, {"result": 14.0}]
    assert one["Datastreams"][1]["Observations@iot.count"] == 5
    assert one["Datastreams"][1]["Sensor"] == {"name": "air"}
    following = one["Datastreams"][1]["Observations@iot.nextLink"]
    rest = things.caller.get("/v1.1" + following.partition("/v1.1")[2])
    assert rest["value"] == [{"result": 24.0}, {"result": 34.0}]
    assert one["Locations"][0]["HistoricalLocations"] == []
    again: Any = things.get("Observations(1)", expand="Datastream/Thing,FeatureOfInterest")
    assert again["Datastream"]["Thing"]["name"] == "hut"
    assert again["FeatureOfInterest"]["feature"] == {"type": "Point", "coordinates": [8.4, 49.0]}
    nothing: Any = things.get("Observations('air:pm25:2')", expand="FeatureOfInterest")
    assert nothing["FeatureOfInterest"] is None
    same: Any = things.get("Datastreams(3)", expand="Thing,Observations($top=1),Thing/Locations")
    assert same["Thing"]["Locations"][0]["name"] == "roof"


def test_the_last_value_of_every_datastream(things: Things) -> None:
    last = "Observations($top=1;$orderby=phenomenonTime desc)"
    found: Any = things.get("Datastreams", expand=last)
    assert {one["@iot.id"]: one["Observations"][0]["result"] for one in found["value"]} == {
        3: {"a": [1]},
        **{f"air:pm25:{sensor}": 40.0 + len(sensor) for sensor in ("roof", "yard", "a:1/2")},
        **{f"air:wet:{sensor}": True for sensor in ("roof", "yard", "a:1/2")},
    }
    for one in found["value"]:
        key = one["@iot.id"] if isinstance(one["@iot.id"], int) else f"'{one['@iot.id']}'"
        alone: Any = things.get(f"Datastreams({key})/Observations", top="1", orderby="phenomenonTime desc")
        assert alone["value"] == one["Observations"]
        assert ("@iot.nextLink" in alone) == ("Observations@iot.nextLink" in one) is True


def test_data_arrays_out(things: Things) -> None:
    found: Any = things.get(ROOF, resultFormat="dataArray", top="2", count="true")
    assert found["@iot.count"] == 5
    (group,) = found["value"]
    assert group["Datastream@iot.navigationLink"].endswith("Datastreams('air:pm25:roof')")
    assert group["components"] == ["id", "phenomenonTime", "result", "resultTime"]
    assert group["dataArray@iot.count"] == 2
    assert group["dataArray"][1] == ["air:pm25:3", "2026-03-01T06:01:00Z", 14.0, "2026-03-01T06:01:00Z"]
    several: Any = things.get(ALL, resultFormat="dataArray", select="result", filter="result gt 40")
    assert [(each["components"], len(each["dataArray"])) for each in several["value"]] == [
        (["result"], 1)
    ] * 3


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        ({"filter": "result gt"}, 400, "a value is expected"),
        ({"filter": "result gt 5 5"}, 400, "an operator or the end"),
        ({"filter": "nothing eq 5"}, 400, "Observation has no 'nothing'"),
        ({"filter": "Datastream eq 5"}, 400, "is a link"),
        ({"filter": "nothing(result)"}, 400, "no function 'nothing'"),
        ({"filter": "length(result, 1)"}, 400, "takes 1 arguments"),
        ({"filter": "Datastream/Observations/result gt 5"}, 501, "would read all readings"),
        ({"filter": "geo.distance(result, geography'POINT 5') lt 1"}, 400, "no geography"),
        ({"filter": "phenomenonTime gt 2026-13-01T00:00:00Z"}, 400, "no time"),
        ({"filter": "(" * 60 + "true" + ")" * 60}, 400, "at most 50 deep"),
        ({"orderby": "nothing"}, 400, "no 'nothing'"),
        ({"top": "-1"}, 400, "whole number"),
        ({"skip": "x"}, 400, "whole number"),
        ({"count": "maybe"}, 400, "true or false"),
        ({"select": "nothing"}, 400, "no 'nothing'"),
        ({"expand": "nothing"}, 400, "no link 'nothing'"),
        ({"expand": "Datastream(top=1)"}, 400, "stand options"),
        ({"expand": "Datastream($nothing=1)"}, 400, "no query option"),
        ({"expand": "/".join(["Datastream", "Observations"] * 4)}, 400, "at most 6 deep"),
        ({"nothing": "1"}, 400, "no query option"),
        ({"resultFormat": "csv"}, 400, "no $resultFormat"),
        ({"skiptoken": "x"}, 400, "not known here"),
    ],
)
def test_what_is_wrong_is_said(things: Things, options: dict[str, str], status: int, told: str) -> None:
    reply = things("GET", ALL, **options)
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    assert told in reply.json["detail"]


def test_a_problem_points_to_its_place(things: Things) -> None:
    problem = things("GET", ALL, filter="result gt 5 and nothing lt 1").json
    assert (problem["line"], problem["column"], problem["length"]) == (1, 17, 7)
