"""OGC 18-088, A.1: the sensing core. Every entity by every path, over a stream and over a client's entities."""

from __future__ import annotations

from typing import Any

import pytest

from server.sensorthings.conftest import Things

SETS = {
    "Things": ("name", "description", "Datastreams", "Locations", "HistoricalLocations"),
    "Locations": ("name", "description", "encodingType", "location", "Things", "HistoricalLocations"),
    "HistoricalLocations": ("time", "Thing", "Locations"),
    "Datastreams": (
        "name",
        "description",
        "observationType",
        "unitOfMeasurement",
        "Thing",
        "Sensor",
        "ObservedProperty",
        "Observations",
    ),
    "Sensors": ("name", "description", "encodingType", "metadata", "Datastreams"),
    "ObservedProperties": ("name", "definition", "description", "Datastreams"),
    "Observations": ("phenomenonTime", "result", "resultTime", "Datastream", "FeatureOfInterest"),
    "FeaturesOfInterest": ("name", "description", "encodingType", "feature", "Observations"),
}


@pytest.fixture(scope="module", autouse=True)
def observed(things: Things) -> None:
    things.post("Datastreams(3)/Observations", {"phenomenonTime": "2026-03-01T06:00:00Z", "result": 20.5})


def test_the_root_lists_the_sets_and_what_is_met(things: Things) -> None:
    root: Any = things.get("")
    assert {entry["name"] for entry in root["value"]} == set(SETS)
    assert all(entry["url"].endswith(f"/v1.1/{entry['name']}") for entry in root["value"])
    met = root["serverSettings"]["conformance"]
    assert "http://www.opengis.net/spec/iot_sensing/1.1/req/datamodel" in met
    assert not any("mqtt" in each for each in met), "no broker is configured"


@pytest.mark.parametrize("name", SETS)
def test_every_entity_has_its_properties_and_its_links_lead_somewhere(things: Things, name: str) -> None:
    entities: Any = things.get(name)
    assert entities["value"], name
    for entity in entities["value"]:
        path = entity["@iot.selfLink"].partition("/v1.1/")[2]
        alone = things.caller.get(f"/v1.1/{path}")
        assert alone == entity
        for each in SETS[name]:
            if f"{each}@iot.navigationLink" in entity:
                link = entity[f"{each}@iot.navigationLink"]
                reply = things.caller("GET", "/v1.1" + link.partition("/v1.1")[2])
                nowhere = each == "FeatureOfInterest" and "air" in str(entity["@iot.id"])
                assert reply.status == 200 or (nowhere and reply.status == 404), link
            else:
                assert each in entity, (name, each)


def test_links_lead_both_ways(things: Things) -> None:
    for one in things.ids("Datastreams"):
        key = one if isinstance(one, int) else f"'{one}'"
        for link, back in (
            ("Thing", "Datastreams"),
            ("Sensor", "Datastreams"),
            ("ObservedProperty", "Datastreams"),
        ):
            assert one in things.ids(f"Datastreams({key})/{link}/{back}"), (one, link)
    assert things.ids("Things(1)/Locations(2)/Things") == [1]
    assert things.ids("Things('air:roof')/Locations") == ["air:roof"]
    assert things.ids("Locations('air:roof')/Things") == ["air:roof"]
    assert things.ids("Things('air:a:1/2')/Locations") == []
    assert things("GET", "Observations('air:pm25:2')/FeatureOfInterest").status == 404
    assert len(things.ids("FeaturesOfInterest('air:roof')/Observations")) == 10


def test_properties_values_and_references(things: Things) -> None:
    assert things.get("Things(1)/name") == {"name": "hut"}
    raw = things("GET", "Things(1)/name/$value")
    assert (raw.body, raw.headers["content-type"].split(";")[0]) == (b"hut", "text/plain")
    assert things("GET", "Things(1)/properties/$value").json == {"owner": "me", "rooms": 2}
    assert things.get("Things(1)/properties/rooms") == {"rooms": 2}
    assert things("GET", "Datastreams('air:pm25:roof')/unitOfMeasurement/symbol/$value").body == b"ug/m3"
    references: Any = things.get("Things(1)/Datastreams/$ref")
    assert [each["@iot.selfLink"].rpartition("/")[2] for each in references["value"]] == ["Datastreams(3)"]
    found: Any = things.get("Datastreams(3)/Observations(1)/$ref")
    assert found["@iot.selfLink"].endswith("/Observations(1)")


def test_a_stream_as_entities(things: Things) -> None:
    one: Any = things.get("Datastreams('air:pm25:a:1/2')")
    assert one["unitOfMeasurement"] == {
        "name": "ug/m3",
        "symbol": "ug/m3",
        "definition": "http://www.opengis.net/def/uom/UCUM/0/ug%2Fm3",
    }
    assert one["phenomenonTime"] == "2026-03-01T06:00:00Z/2026-03-01T06:04:00Z"
    assert one["observationType"].endswith("OM_Measurement")
    truth: Any = things.get("Datastreams('air:wet:roof')")
    assert truth["observationType"].endswith("OM_TruthObservation")
    place: Any = things.get("Things('air:roof')/Locations('air:roof')")
    assert place["location"] == {"type": "Point", "coordinates": [-121.5, 38.2]}
    assert place["encodingType"] == "application/geo+json"
    gauge: Any = things.get("Things('air:roof')")
    assert gauge["properties"] == {"stream": "air", "declared": True, "kind": "gauge"}


@pytest.mark.parametrize(
    "path",
    [
        "Nothing",
        "Things(99)",
        "Things('nothing')",
        "Things('air:nothing')",
        "Things(1)/Nothing",
        "Things(1)/Datastreams(99)",
        "Things('air:roof')/Datastreams(3)",
        "Observations(99)",
        "Observations('air:pm25:99')",
        "Observations('air:nothing:0')",
        "Datastreams(3)/Observations('air:pm25:0')",
        "Things(1)/name/x",
        "Things(1)/name/$value/x",
        "Things/name",
        "Things(x)",
        "Things(1",
        "Things(99999999999999999999)",
        "$metadata",
    ],
)
def test_what_is_not_there_is_not_found(things: Things, path: str) -> None:
    reply = things("GET", path)
    assert (reply.status, reply.headers["content-type"]) == (404, "application/problem+json")


def test_an_observation_belongs_to_its_own_datastream(things: Things) -> None:
    assert things.ids("Observations('air:pm25:0')/Datastream/Observations", top="1") == ["air:pm25:0"]
    found: Any = things.get("Observations('air:pm25:0')/Datastream")
    assert found["@iot.id"] == "air:pm25:roof"
