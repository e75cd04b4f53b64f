"""COPY SENSORS from files whose columns have other names; units that probably mean something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nilometer
from nilometer import NilometerError
from nilometer.language import parse, print_statement

STATEMENT = "COPY SENSORS OF air FROM 'stations.csv' (id FROM station, location FROM (lon, \"the lat\"), place FROM name)"


def database(directory: Path) -> nilometer.Database:
    made = nilometer.connect()
    made.data.base = directory
    made.execute("CREATE STREAM air (id STRING, pm25 FLOAT) PUSHED")
    return made


def test_the_statement_prints_as_it_reads() -> None:
    tree = parse(STATEMENT)
    assert parse(print_statement(tree)) == tree
    assert print_statement(parse("COPY SENSORS OF air FROM 'x.csv' (id FROM 'a b')")) == (
        "COPY SENSORS OF air FROM 'x.csv' (id FROM \"a b\")"
    )


def test_columns_are_taken_by_the_names_given(tmp_path: Path) -> None:
    (tmp_path / "stations.csv").write_text(
        "id,station,lon,The Lat,name,kind\n1,a,7.5,46.5,Bern,x\n2,b,8.5,47.5,Uri,y\n"
    )
    made = database(tmp_path)
    made.execute(STATEMENT)
    assert made.show("SENSORS") == [
        {"id": "a", "stream": "air", "location": (7.5, 46.5), "place": "Bern", "kind": "x"},
        {"id": "b", "stream": "air", "location": (8.5, 47.5), "place": "Uri", "kind": "y"},
    ]


def test_one_column_may_be_the_id_and_an_attribute(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("name,place\na,POINT(1 2)\n")
    made = database(tmp_path)
    made.execute("COPY SENSORS OF air FROM 's.csv' (id FROM name, label FROM name, location FROM place)")
    assert made.show("SENSORS") == [{"id": "a", "stream": "air", "location": (1.0, 2.0), "label": "a"}]


def test_the_points_of_a_feature_collection_are_sensors(tmp_path: Path) -> None:
    feature = {
        "type": "Feature",
        "properties": {"code": "a", "id": 7, "town": "Bern"},
        "geometry": {"type": "Point", "coordinates": [7.5, 46.5, 540]},
    }
    (tmp_path / "s.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    made = database(tmp_path)
    made.execute("COPY SENSORS OF air FROM 's.geojson' (id FROM code)")
    assert made.show("SENSORS") == [{"id": "a", "stream": "air", "location": (7.5, 46.5), "town": "Bern"}]
    with pytest.raises(NilometerError, match="the location of a sensor is its Point"):
        made.execute("COPY SENSORS OF air FROM 's.geojson' (id FROM code, location FROM town)")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("(id FROM nothing)", "there is no column 'nothing'"),
        ("(id FROM name, location FROM (x, y))", "there is no column 'x'"),
        ("(id FROM name, id FROM lat)", "'id' stands twice"),
        ("(id FROM (name, lat))", "two columns give a location"),
        ("(id FROM name, location FROM (lat, lat, lat))", "two columns give a location"),
        ("(id FROM name, location FROM (name, lat))", "not a number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, mapping: str, message: str) -> None:
    (tmp_path / "s.csv").write_text("name,lat\na,46\n")
    with pytest.raises(NilometerError) as raised:
        database(tmp_path).execute(f"COPY SENSORS OF air FROM 's.csv' {mapping}")
    assert message in str(raised.value)


def test_units_that_are_probably_not_meant_are_told() -> None:
    made = nilometer.connect()
    made.execute(
        "CREATE STREAM s (t FLOAT UNIT 'C', u FLOAT UNIT 'F', k FLOAT UNIT 'K', charge FLOAT UNIT 'C') PUSHED"
    )
    assert made.notes == [
        "s: t UNIT 'C' is the coulomb; for degrees Celsius write UNIT 'Cel'",
        "s: u UNIT 'F' is the farad; for degrees Fahrenheit write UNIT '[degF]'",
    ]
