"""The catalog in memory: lookups, static columns, the relation `sensors`, ids, drops; and its errors, read aloud."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import golden
from catalog import strategies
from nilometer.catalog import (
    Catalog,
    CostProfile,
    Link,
    Network,
    NetworkNode,
    QueryDefinition,
    Sensor,
    Stream,
    Table,
    stream_columns,
)
from nilometer.catalog.form import Form
from nilometer.errors import CatalogError
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, Column, list_of

RIVER = Stream("River", stream_columns((Column("depth", INT),)), every=900_000_000)
AIR = Stream("air", stream_columns((Column("pm25", FLOAT, "ug/m3"),)), url="mqtt://localhost/air/+")


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    made.add_stream(RIVER)
    made.add_stream(AIR)
    made.add_table(Table("incidents", (Column("id", INT),), "incidents.csv"))
    return made


def test_lookups_ignore_case_and_keep_the_order(catalog: Catalog) -> None:
    assert catalog.extent("RIVER") == RIVER
    assert catalog.extent("nowhere") is None
    assert [extent.name for extent in catalog.extents()] == ["River", "air", "incidents"]
    assert [stream.name for stream in catalog.streams()] == ["River", "air"]
    assert [table.name for table in catalog.tables()] == ["incidents"]


def test_static_columns_are_the_union_of_the_sensors_attributes(catalog: Catalog) -> None:
    assert catalog.static_columns("river") == ()
    catalog.add_sensor(Sensor(1, "river", None, (("Height", 3), ("kind", "gauge"))))
    assert catalog.static_columns("river") == (Column("Height", INT), Column("kind", STRING))
    catalog.add_sensor(Sensor(2, "RIVER", (1, 2), (("height", 3.5), ("active", True), ("note", None))))
    assert catalog.static_columns("river") == (
        Column("location", POINT),
        Column("Height", FLOAT),
        Column("kind", STRING),
        Column("active", BOOLEAN),
        Column("note", STRING),
    )
    first, second = catalog.sensors("river")
    assert first.attributes == (("Height", 3.0), ("kind", "gauge"))
    assert isinstance(first.attributes[0][1], float)
    assert second == Sensor(2, "River", (1.0, 2.0), (("Height", 3.5), ("active", True), ("note", None)))


def test_static_columns_are_of_the_streams_own_sensors(catalog: Catalog) -> None:
    catalog.add_sensors(
        [Sensor(1, "river", (0, 0), (("kind", "gauge"),)), Sensor(1, "air", None, (("roof", True),))]
    )
    assert catalog.static_columns("air") == (Column("roof", BOOLEAN),)
    assert catalog.static_columns("river") == (Column("location", POINT), Column("kind", STRING))


def test_a_stream_that_reports_its_location_has_no_static_one(catalog: Catalog) -> None:
    catalog.add_stream(Stream("drifters", stream_columns((Column("location", POINT),))))
    catalog.add_sensor(Sensor(1, "drifters", (0, 0)))
    assert catalog.static_columns("drifters") == ()


def test_the_relation_sensors(catalog: Catalog) -> None:
    empty = catalog.extent("SENSORS")
    assert empty == Table(
        "sensors", (Column("id", INT), Column("stream", STRING), Column("location", POINT)), "catalog:sensors"
    )
    catalog.add_sensor(Sensor(5, "river", (1, 2), (("height", 1),)))
    catalog.add_sensor(Sensor(7, "air", None, (("height", 2.5),)))
    assert catalog.sensor_rows() == [
        {"id": 5, "stream": "River", "location": (1.0, 2.0), "height": 1.0},
        {"id": 7, "stream": "air", "location": None, "height": 2.5},
    ]
    catalog.add_sensor(Sensor("roof", "air", None, (("kind", "dust"),)))
    relation = catalog.extent("sensors")
    assert relation is not None
    assert [str(column) for column in relation.columns] == [
        "id STRING",
        "stream STRING",
        "location POINT",
        "height FLOAT",
        "kind STRING",
    ]
    assert [row["id"] for row in catalog.sensor_rows()] == ["5", "7", "roof"]


def test_a_users_extent_may_be_called_sensors(catalog: Catalog) -> None:
    mine = Table("Sensors", (), "mine.csv")
    catalog.add_table(mine)
    assert catalog.extent("sensors") == mine
    catalog.drop("TABLE", "sensors")
    assert catalog.extent("sensors") != mine


def test_a_name_makes_the_ids_of_its_stream_strings(catalog: Catalog) -> None:
    catalog.add_sensor(Sensor(5, "river"))
    catalog.add_sensor(Sensor("weir", "river"))
    catalog.add_sensor(Sensor(6, "river"))
    assert [sensor.id for sensor in catalog.sensors("river")] == ["5", "weir", "6"]
    assert catalog.stream("river").id_type == STRING
    with pytest.raises(CatalogError, match="there is a sensor '5' of 'River' already"):
        catalog.add_sensor(Sensor(5, "river"))


def test_ids_follow_the_stream_when_it_is_declared_anew(catalog: Catalog) -> None:
    catalog.add_sensors([Sensor(5, "river"), Sensor(6, "river")])
    catalog.replace_stream(Stream("river", stream_columns((Column("depth", INT),), STRING), every=1))
    assert [sensor.id for sensor in catalog.sensors("river")] == ["5", "6"]
    catalog.replace_stream(RIVER)
    assert [sensor.id for sensor in catalog.sensors("river")] == [5, 6]
    assert catalog.extents()[0] == RIVER


def test_a_key_may_name_the_tick(catalog: Catalog) -> None:
    catalog.add_stream(Stream("tide", stream_columns(()), every=1, key=("id", "tick")))
    assert catalog.stream("tide").key == ("id", "tick")


def test_dropping(catalog: Catalog) -> None:
    catalog.add_sensors([Sensor(5, "river"), Sensor(5, "air"), Sensor(6, "air")])
    catalog.add_query(QueryDefinition("wet", "SELECT * FROM river", "BEGINNING"))
    assert catalog.drop("SENSOR", 5, stream="AIR")
    assert catalog.drop("SENSOR", "6")
    assert catalog.drop("stream", "river")
    assert catalog.sensors() == ()
    assert catalog.drop("QUERY", "WET")
    assert catalog.queries() == ()
    assert not catalog.drop("NETWORK", "brook", if_exists=True)
    assert not catalog.drop("SENSOR", 9, if_exists=True)


@settings(max_examples=settings().max_examples // 3)
@given(st.data())
def test_the_sensors_have_the_columns_that_are_declared(data: st.DataObject) -> None:
    catalog = data.draw(strategies.filled(Catalog()))
    relation = catalog.extent("sensors")
    assert relation is not None
    python = {INT: int, FLOAT: float, STRING: str, BOOLEAN: bool, POINT: tuple}
    for row in catalog.sensor_rows():
        assert list(row) == [column.name for column in relation.columns]
        for column in relation.columns:
            assert row[column.name] is None or type(row[column.name]) is python[column.type]
    # Grown sensor by sensor, or made at once: the same.
    whole = Catalog(catalog._contents)
    assert whole.sensors() == catalog.sensors()
    assert whole.sensor_rows() == catalog.sensor_rows()
    for stream in catalog.streams():
        static = catalog.static_columns(stream.name)
        assert whole.static_columns(stream.name) == static
        names = {name for sensor in catalog.sensors(stream.name) for name, _ in sensor.attributes}
        assert names == {column.name for column in static} - {"location"}


def test_errors_say_what_is_wrong_and_what_to_do(catalog: Catalog, rewrite: bool) -> None:
    catalog.add_sensors([Sensor(5, "river", (1, 2), (("kind", "gauge"),)), Sensor(5, "air")])
    catalog.add_stream(Stream("tide", stream_columns((Column("id", INT),)), id_declared=True))
    catalog.add_network(Network("brook", 0, (NetworkNode(0),), ()))
    catalog.add_query(QueryDefinition("wet", "SELECT * FROM river"))
    names = {
        name: value
        for name, value in globals().items()
        if isinstance(value, type) or name in ("stream_columns", "INT", "FLOAT", "STRING", "RIVER", "list_of")
    }

    def answer(text: str) -> str:
        try:
            eval(text, names | {"catalog": catalog})
        except CatalogError as error:
            return str(error)
        return "no error"

    golden.read(Path(__file__).with_name("errors.txt")).check(answer, rewrite=rewrite)


_ = (CostProfile, Link, list_of)  # for errors.txt


def test_a_form_must_fit_its_extent() -> None:
    river = Stream("river", stream_columns((Column("depth", INT),)), every=900_000_000)
    for form in (Form((("deep", "level"),)), Form((("depth", "$.a[*]"),)), Form(each="obs")):
        with pytest.raises(CatalogError):
            Catalog().add_stream(replace(river, form=form))
