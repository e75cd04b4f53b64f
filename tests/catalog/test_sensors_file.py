"""Sensors from files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import golden
from nilometer.catalog import Catalog, Sensor, Stream, stream_columns
from nilometer.catalog.sensors_file import read_sensors
from nilometer.errors import CatalogError

DATA = Path(__file__).with_name("data")


def test_csv() -> None:
    assert read_sensors(DATA / "sensors.csv") == [
        Sensor(
            4,
            "hilltop",
            (-1.9, 53.51),
            (("kind", "rain"), ("height", 410.0), ("active", True), ("serial", "007")),
        ),
        Sensor(
            5,
            "river",
            (-1.91, 53.5),
            (("kind", "gauge"), ("height", 220.5), ("active", True), ("serial", "008")),
        ),
        Sensor(6, "river", (-1.92, 53.49), (("kind", "gauge"), ("active", False), ("serial", "010"))),
        Sensor(7, "river", None, (("kind", "gauge"), ("height", 215.0), ("serial", "011"))),
    ]


def test_geojson() -> None:
    assert read_sensors(DATA / "sensors.geojson") == [
        Sensor(5, "river", (-1.91, 53.5), (("kind", "gauge"), ("height", 220.5))),
        Sensor(6, "river"),
        Sensor("h-1", "hilltop", (-1.9, 53.51), (("active", True),)),
    ]


@pytest.mark.parametrize("name", ["sensors.csv", "sensors.geojson"])
def test_the_sensors_of_one_stream(name: str) -> None:
    assert {sensor.stream for sensor in read_sensors(DATA / name, "RIVER")} == {"river"}


@pytest.mark.parametrize("name", ["sensors.csv", "sensors.geojson"])
def test_the_catalog_takes_them(name: str) -> None:
    catalog = Catalog()
    catalog.add_stream(Stream("river", stream_columns(())))
    catalog.add_stream(Stream("hilltop", stream_columns(())))
    catalog.add_sensors(read_sensors(DATA / name))
    assert len(catalog.sensors("river")) in (2, 3)


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("id,x,y", "1,120,44.5"),
        ("ID,X,Y", "1,120,44.5"),
        ("id\tlat\tlon", "1\t44.5\t120"),
        ("id;latitude;longitude", "1;44.5;120"),
        ("id,location", '1,"120, 44.5"'),
        ("id,location", '1,"(120.0, 44.5)"'),
        ("id,location", "1,POINT(120 44.5)"),
        ("id,location", "1,120 44.5"),
    ],
)
def test_places_are_written_in_many_ways(tmp_path: Path, header: str, cells: str) -> None:
    path = tmp_path / "sensors.csv"
    path.write_text(f"\ufeff{header}\r\n{cells}\r\n\r\n", encoding="utf-8")
    assert read_sensors(path, "river") == [Sensor(1, "river", (120.0, 44.5))]


def test_ids_are_numbers_only_where_all_of_a_stream_are(tmp_path: Path) -> None:
    path = tmp_path / "sensors.csv"
    path.write_text("id,stream\n1,river\n02,river\n3,air\n")
    assert [sensor.id for sensor in read_sensors(path)] == ["1", "02", 3]


values = st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
words = st.text("abc ,;\"'é\n", min_size=1).filter(lambda text: text == text.strip() and text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 9999), st.none() | st.tuples(st.floats(-180, 180), st.floats(-90, 90)), words, values),
             min_size=1, max_size=6, unique_by=lambda row: row[0])
)  # fmt: skip
def test_what_is_written_is_read(
    tmp_path: Path, rows: list[tuple[int, tuple[float, float] | None, str, object]]
) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "lon", "lat", "kind", "value"])
    for identifier, place, word, value in rows:
        writer.writerow([identifier, *(place or ("", "")), word, value])
    path = tmp_path / "sensors.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    read = read_sensors(path, "river")
    assert [sensor.id for sensor in read] == [row[0] for row in rows]
    assert [sensor.location for sensor in read] == [row[1] for row in rows]
    assert [dict(sensor.attributes)["kind"] for sensor in read] == [row[2] for row in rows]
    kinds = {type(row[3]) for row in rows}
    for sensor, row in zip(read, rows, strict=True):
        value = dict(sensor.attributes)["value"]
        if len(kinds) == 1:
            assert value == row[3]
            assert type(value) is type(row[3])
        elif bool in kinds:
            assert value == str(row[3])
        else:
            assert value == float(row[3])  # type: ignore[arg-type]


def test_files_that_are_refused(rewrite: bool, tmp_path: Path) -> None:
    """A block is a file's name, optionally a stream, and the file's text."""

    def answer(text: str) -> str:
        head, _, content = text.partition("\n")
        name, _, stream = head.partition(" OF ")
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        try:
            sensors = read_sensors(path, stream or None)
        except CatalogError as error:
            return str(error)
        return f"{len(sensors)} sensors"

    golden.read(Path(__file__).with_name("sensors_file_errors.txt")).check(answer, rewrite=rewrite)


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "sensors.csv"
    path.write_bytes("id,kind\n1,Pegelhäuschen\n".encode("latin-1"))
    with pytest.raises(CatalogError) as caught:
        read_sensors(path, "river")
    assert caught.value.detail == "it is not text in UTF-8"
