"""The public client of FROST (frost-sta-client) with our server: make, find, change, query, page, delete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import frost_sta_client as fsc
import pytest
from geojson import Point

from server.sensorthings.conftest import SCHEMA
from server.sensorthings.entities import MEASUREMENT
from server.serving import minute, served

pytestmark = pytest.mark.filterwarnings("ignore:furl.pathstr is deprecated:DeprecationWarning")
POINT = "application/geo+json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fsc.SensorThingsService]:
    folder: Path = tmp_path_factory.mktemp("frost")
    with served(folder, SCHEMA) as server:
        yield fsc.SensorThingsService(f"{server.address}/v1.1")


def made(service: fsc.SensorThingsService, name: str) -> tuple[fsc.Thing, fsc.Datastream]:
    """A Thing with a Location and a Datastream."""
    place = fsc.Location(
        name="here", description="and there", location=Point((-115.81, 37.24)), encoding_type=POINT
    )
    thing = fsc.Thing(name=name, description="a thing", locations=[place], properties={"floor": 3})
    service.create(thing)
    unit = fsc.UnitOfMeasurement(name="degree Celsius", symbol="Cel", definition="ucum:Cel")
    sensor = fsc.Sensor(name="s", description="d", encoding_type="application/pdf", metadata="http://x/y.pdf")
    temperature = fsc.ObservedProperty(name="Temperature", definition="http://x/t", description="d")
    stream = fsc.Datastream(
        name=f"{name} temperature",
        description="d",
        observation_type=MEASUREMENT,
        unit_of_measurement=unit,
        thing=thing,
        sensor=sensor,
        observed_property=temperature,
    )
    service.create(stream)
    return thing, stream


def test_make_find_change_delete(service: fsc.SensorThingsService) -> None:
    thing, stream = made(service, "first")
    found = service.things().find(thing.id)
    assert (found.name, found.properties) == ("first", {"floor": 3})
    found.name = "renamed"
    service.update(found)
    assert service.things().find(thing.id).name == "renamed"
    service.patch(found, [{"op": "replace", "path": "/properties/floor", "value": 4}])
    assert service.things().find(thing.id).properties == {"floor": 4}
    (place,) = list(found.get_locations().query().list())
    assert place.location["coordinates"] == [-115.81, 37.24]
    service.delete(found)
    assert [each.id for each in service.things().query().list()].count(thing.id) == 0
    assert [each.id for each in service.datastreams().query().filter(f"id eq {stream.id}").list()] == []


def test_observations_queries_and_pages(service: fsc.SensorThingsService) -> None:
    thing, stream = made(service, "second")
    for number in range(7):
        service.create(
            fsc.Observation(
                phenomenon_time=f"2026-03-01T06:0{number}:00Z",
                result=float(number),
                datastream=fsc.Datastream(id=stream.id),
            )
        )
    query = service.datastreams().find(stream.id).get_observations().query()
    assert [each.result for each in query.list()] == [0, 1, 2, 3, 4, 5, 6]
    dao = service.datastreams().find(stream.id).get_observations()
    pages = dao.query().top(3).orderby("phenomenonTime", "ASC").count().list()
    assert [each.result for each in pages] == [0, 1, 2, 3, 4, 5, 6]
    assert pages.count == 7
    warm = dao.query().filter("result gt 2 and phenomenonTime lt 2026-03-01T06:05:00Z").list()
    assert [each.result for each in warm] == [3, 4]
    things = service.things().query().filter("name eq 'second'")
    (one,) = list(
        things.expand("Locations,Datastreams($expand=Observations($top=2;$orderby=result desc))").list()
    )
    assert one.id == thing.id
    assert [each.result for each in one.datastreams.entities[0].observations.entities] == [6, 5]


def test_data_arrays(service: fsc.SensorThingsService) -> None:
    _, stream = made(service, "third")
    values = fsc.model.ext.data_array_value.DataArrayValue()
    values.components = {values.Property.PHENOMENON_TIME, values.Property.RESULT}
    values.datastream = fsc.Datastream(id=stream.id)
    for number in range(3):
        values.add_observation(fsc.Observation(phenomenon_time=f"2026-03-01T06:0{number}:00Z", result=number))
    document = fsc.model.ext.data_array_document.DataArrayDocument()
    document.add_data_array_value(values)
    links = service.observations().create(document)
    assert len(links) == 3
    found = service.datastreams().find(stream.id).get_observations().query().list()
    assert [each.result for each in found] == [0, 1, 2]


def test_a_stream_seen_by_the_client(service: fsc.SensorThingsService) -> None:
    import requests

    base = str(service.url).rpartition("/")[0]
    rows = [minute(number, "roof") for number in range(3)]
    assert requests.post(f"{base}/api/v1/streams/air/readings", json=rows, timeout=30).status_code == 200
    stream = service.datastreams().find("air:pm25:roof")
    assert stream.unit_of_measurement.symbol == "ug/m3"
    assert [each.result for each in stream.get_observations().query().list()] == [0, 1, 2]
    service.create(
        fsc.Observation(
            phenomenon_time="2026-03-01T07:00:00Z", result=7.5, datastream=fsc.Datastream(id="air:pm25:roof")
        )
    )
    last = service.datastreams().find("air:pm25:roof").get_observations().query()
    assert next(iter(last.orderby("phenomenonTime", "desc").top(1).list())).result == 7.5
