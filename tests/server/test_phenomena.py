"""The phenomena of a served directory: definitions, and the regions there are as GeoJSON."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from nilometer.cli.main import application
from server.serving import Events, calling

SCHEMA = """
CREATE STREAM air (pm25 FLOAT UNIT 'ug/m3') PUSHED EXPECT EVERY 1 MINUTE FUTURE 10 DAYS COORDINATES WGS84;
CREATE SENSOR 1 OF air AT (-121.0, 38.0);
CREATE SENSOR 2 OF air AT (-121.2, 38.0);
CREATE SENSOR 3 OF air AT (-121.1, 38.2);
CREATE SENSOR 4 OF air AT (-100.0, 38.0);
CREATE PHENOMENON smoke ON air.pm25 ABOVE 35 RANGE 5 MINUTES SLIDE 1 MINUTE NEIGHBOURS WITHIN 60 KM MEMBERS 3;
"""


def test_definitions_and_current_regions(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        (listed,) = caller.get("/api/v1/phenomena")["items"]
        assert listed["name"] == "smoke"
        assert listed["text"].startswith("CREATE PHENOMENON smoke ON air.pm25 ABOVE 35")
        readings = [
            {"time": f"2026-03-01T06:0{minute}:00Z", "id": sensor, "pm25": 80.0 if sensor < 4 else 5.0}
            for minute in range(3)
            for sensor in (1, 2, 3, 4)
        ]
        caller.send("air", readings)
        found = caller.get("/api/v1/phenomena/smoke/current")
        assert (found["type"], found["time"], found["coordinates"]) == (
            "FeatureCollection",
            "2026-03-01T06:02:00Z",
            "WGS84",
        )
        (feature,) = found["features"]
        assert feature["id"] == "smoke/above/2026-03-01T06:00:00Z/1"
        ring = [[-121.2, 38.0], [-121.0, 38.0], [-121.1, 38.2], [-121.2, 38.0]]
        assert feature["geometry"] == {"type": "Polygon", "coordinates": [ring]}
        assert feature["properties"]["members"] == [1, 2, 3]
        assert feature["properties"]["born"] == "2026-03-01T06:00:00Z"
        assert feature["properties"]["sentence"].startswith(
            "smoke: 3 sensors, 80 to 80 ug/m3, around 38.1 N 121.1 W"
        )
        earlier = caller.get("/api/v1/phenomena/smoke/current?at=2026-03-01T05:00:00Z")
        assert earlier["features"] == []
        told = CliRunner().invoke(application, ["field", "--server", f"http://127.0.0.1:{caller.port}"])
        assert told.exit_code == 0, told.output
        assert told.stdout.startswith("smoke: 3 sensors, 80 to 80 ug/m3, around 38.1 N 121.1 W")
        assert caller("GET", "/api/v1/phenomena/fog/current").status == 404
        assert caller("GET", "/api/v1/phenomena/smoke/current?at=noon").status == 400
        caller.sql("CREATE PHENOMENON clean ON air.pm25 BELOW 10 RANGE 5 MINUTES MEMBERS 1")
        assert [one["name"] for one in caller.get("/api/v1/phenomena")["items"]] == ["clean", "smoke"]
        caller.sql("DROP PHENOMENON clean")
        assert len(caller.get("/api/v1/phenomena")["items"]) == 1
        caller.sql("CREATE QUERY updates STARTING AT BEGINNING AS SELECT kind, size FROM PHENOMENA(smoke)")
        events = Events(caller.port, "/api/v1/queries/updates/results")
        rows, _ = events.rows(1)
        events.close()
        assert rows == [{"kind": "APPEAR", "size": 3}]
        assert caller("POST", "/api/v1/statements", b"DROP PHENOMENON smoke", "application/sql").status >= 400
