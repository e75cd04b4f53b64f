"""`inspect` on files as people have them: what it prints can be written to a schema.sql, and a query then answers."""

from __future__ import annotations

import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import mosquitto_server
from nilometer.cli import main as cli


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def rows(run, directory: Path, sql: str) -> list[dict[str, object]]:
    code, out, err = run("query", "--data", str(directory), "--json", "--strict", sql)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_a_regular_file_is_a_sensed_stream(run, tmp_path: Path) -> None:
    lines = [f"2026-01-01 {hour:02}:00:00,{site},{hour + 0.5}" for hour in range(20) for site in ("a", "b")]
    (tmp_path / "air.csv").write_text("\n".join(["ts_utc,monitor_id,pm25_ugm3", *lines]) + "\n")
    code, out, err = run("inspect", str(tmp_path / "air.csv"), "--write")
    assert code == 0
    assert out.endswith(
        "CREATE STREAM air (\n  time TIME FROM ts_utc,\n  id STRING FROM monitor_id,\n"
        "  pm25_ugm3 FLOAT UNIT 'ug/m3'\n) SENSED EVERY 1 HOUR;\n"
    )
    assert "-- air.csv: 40 readings, 2 sensors, 2026-01-01T00:00:00Z to 2026-01-01T19:00:00Z" in out
    assert "-- a sensor sends every 1 HOUR (on the grid)" in out
    assert err == f"written to {tmp_path / 'schema.sql'}\n"
    assert (tmp_path / "schema.sql").read_text() == out
    assert rows(
        run, tmp_path, "SELECT time, id, pm25_ugm3 AS v FROM air WHERE pm25_ugm3 > 19 AND id = 'a'"
    ) == [{"time": "2026-01-01T19:00:00Z", "id": "a", "v": 19.5}]
    code, _, err = run("inspect", str(tmp_path / "air.csv"), "--write")
    assert code == 1
    assert "'air' is declared in" in err


def test_a_european_spreadsheet(run, tmp_path: Path) -> None:
    lines = [
        f"{day}.03.2026 12:{minute:02};Bern;{minute},25" for day in (14, 15) for minute in range(0, 60, 10)
    ]
    lines[3] = lines[3].rsplit(";", 1)[0] + ";NA"
    (tmp_path / "luft werte.csv").write_text("\n".join(["Zeitstempel;station;Wert", *lines]) + "\n")
    code, out, _ = run("inspect", str(tmp_path / "luft werte.csv"), "--into", str(tmp_path))
    assert code == 0
    assert "FORMAT CSV (DECIMAL ',', TIME FORMAT '%d.%m.%Y %H:%M', NULL 'NA')" in out
    assert "time TIME FROM Zeitstempel" in out
    found = rows(run, tmp_path, "SELECT time, id, Wert FROM luft_werte WHERE Wert > 50 OR Wert IS NULL")
    assert found == [
        {"time": "2026-03-14T12:30:00Z", "id": "Bern", "Wert": None},
        {"time": "2026-03-14T12:50:00Z", "id": "Bern", "Wert": 50.25},
        {"time": "2026-03-15T12:50:00Z", "id": "Bern", "Wert": 50.25},
    ]


def test_a_file_without_a_header(run, tmp_path: Path) -> None:
    lines = [f"{1_767_225_600 + 60 * n}|7|{n}.5" for n in range(12)]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    code, out, _ = run("inspect", str(tmp_path / "log.csv"), "--write")
    assert code == 0
    assert "time INT UNIT 's' FROM column_1" in out
    assert ") SENSED EVERY 1 MINUTE FORMAT CSV (HEADER OFF, DELIMITER '|');" in out
    assert rows(run, tmp_path, "SELECT time, column_2, column_3 FROM log WHERE column_3 > 11") == [
        {"time": "2026-01-01T00:11:00Z", "column_2": 7, "column_3": 11.5}
    ]


def test_nested_json_gives_paths(run, tmp_path: Path) -> None:
    lines = [
        {"Time": f"2026-01-01T00:{n:02}:00", "DS18B20": {"Temperature": 20 + n / 2}, "device_id": "x1"}
        for n in range(10)
    ]
    (tmp_path / "tele.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run("inspect", str(tmp_path / "tele.jsonl"), "--write")
    assert code == 0
    assert "Temperature FLOAT FROM '$.DS18B20.Temperature'" in out
    assert "id STRING FROM device_id" in out
    assert rows(run, tmp_path, "SELECT id, Temperature FROM tele WHERE Temperature > 24") == [
        {"id": "x1", "Temperature": 24.5}
    ]


def test_disorder_doubles_gaps_and_faults_are_told(run, tmp_path: Path) -> None:
    times = [n * 10 + n % 3 for n in range(60) if not 30 <= n < 45]
    lines = [f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z,1,{n % 7}" for n, second in enumerate(times)]
    lines[10], lines[11] = lines[11], lines[10]
    lines[20:20] = [lines[19]]
    lines[5] = lines[5].rsplit(",", 1)[0] + ",-9999"
    lines[6] = lines[6].rsplit(",", 1)[0] + ",-9999"
    (tmp_path / "s.csv").write_text("\n".join(["time,id,level_cm", *lines]) + "\n")
    _, out, _ = run("inspect", str(tmp_path / "s.csv"))
    assert "1 rows (2.2 %) come after a later one, by up to" in out
    assert "1 reading has the sensor and time of another one, and is a copy" in out
    assert "level_cm is -9999 in 2 rows, which is probably a fault and not a value" in out
    assert "1 gaps are longer than 3 intervals" in out
    assert "level_cm INT UNIT 'cm'" in out
    assert ") PUSHED DELAY 15 SECONDS KEY (id, time) EXPECT EVERY 11 SECONDS;" in out


def test_a_file_grouped_by_sensor_needs_no_delay(run, tmp_path: Path) -> None:
    lines = [f"2026-01-01T{hour:02}:00:00Z,{site},1" for site in "abc" for hour in range(8)]
    (tmp_path / "s.csv").write_text("\n".join(["time,series,v", *lines]) + "\n")
    _, out, _ = run("inspect", str(tmp_path / "s.csv"), "--json")
    told = json.loads(out)
    assert any("the rows of each sensor stand together" in fact for fact in told["facts"])
    assert "id STRING FROM series" in told["declaration"]
    assert "DELAY" not in told["declaration"]


def test_disorder_is_told_in_round_units_and_geojson_is_for_sensors(run, tmp_path: Path) -> None:
    times = [0, 1, 2, 90_000, 3, 4, 90_060]
    rows = [f"{1_780_000_000_000 + 1_001 * t},a,{n}" for n, t in enumerate(times)]
    (tmp_path / "p.csv").write_text("\n".join(["ts,device,v", *rows]) + "\n")
    _, out, err = run("inspect", str(tmp_path / "p.csv"))
    assert "come after a later one, by up to 25 HOURS;" in out, err
    (tmp_path / "places.geojson").write_text('{"type": "FeatureCollection", "features": []}')
    code, _, err = run("inspect", str(tmp_path / "places.geojson"))
    assert code == 1
    assert "COPY SENSORS OF stream" in err


def test_longitudes_and_latitudes_become_places(run, tmp_path: Path) -> None:
    lines = [
        f"2026-01-01 00:{minute:02}:00,bus{bus},{47 + bus / 1000},{8 + minute / 1000},{minute}"
        for minute in range(0, 50, 5)
        for bus in (1, 2, 3)
    ]
    (tmp_path / "trips.csv").write_text("\n".join(["ts,bus,lat,lon,speed", *lines]) + "\n")
    code, out, err = run("inspect", str(tmp_path / "trips.csv"), "--write")
    assert code == 0, err
    assert "SENSED EVERY 5 MINUTES COORDINATES WGS84;" in out
    view = out.split("lon and lat are places: ")[1].split("\n")[0]
    with (tmp_path / "schema.sql").open("a") as schema:
        schema.write(view + "\n")
        schema.write(
            "CREATE PHENOMENON jam ON trips_placed.speed ABOVE 20 RANGE 5 MINUTES SLIDE 5 MINUTES "
            "NEIGHBOURS WITHIN 200 M MEMBERS 3;\n"
        )
    (first, *_) = rows(run, tmp_path, "SELECT time, kind, size FROM PHENOMENA(jam)")
    assert first == {"time": "2026-01-01T00:25:00Z", "kind": "APPEAR", "size": 3}
    code, out, err = run("field", "--data", str(tmp_path), "--plot", str(tmp_path / "map.svg"))
    assert code == 0, err
    assert out == "jam: 3 sensors, 45 to 45, around 47.0 N 8.0 E, since 20 min, moving east at 1.3 m/s\n"
    assert "<svg" in (tmp_path / "map.svg").read_text(), "places are those of the last readings"


def test_data_without_times_are_a_table(run, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id;my station;height m\n1;x;1,5\n2;y;-\n" + "3;z;2,5\n" * 18)
    code, out, _ = run("inspect", str(tmp_path / "s.csv"), "--write")
    assert code == 0
    assert out.splitlines()[-5:] == [
        "CREATE TABLE s (",
        "  id INT,",
        "  my_station STRING FROM 'my station',",
        "  height_m FLOAT UNIT 'm' FROM 'height m'",
        ") STORED AT 's.csv' FORMAT CSV (DECIMAL ',', NULL '-');",
    ]
    sql = "SELECT my_station, height_m FROM s WHERE id < 3"
    _, out, _ = run("query", "--json", "--data", str(tmp_path), sql)
    assert out == '{"my_station": "x", "height_m": 1.5}\n{"my_station": "y", "height_m": null}\n'
    other = tmp_path / "other"
    _, out, _ = run("inspect", str(tmp_path / "s.csv"), "--into", str(other), "--json")
    assert json.loads(out)["table"] == "s"
    _, out, _ = run("query", "--json", "--data", str(other), "SELECT COUNT(*) AS n FROM s")
    assert out == '{"n": 20}\n'
    code, _, err = run("inspect", "tcp://localhost:1")
    assert code == 1
    assert "cannot look at 'tcp://'" in err


class _Answer(BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


def test_an_http_server_is_asked(run) -> None:
    observed = [{"t": 1_767_225_600 + n, "temp": {"value": n + 0.5}} for n in range(4)]
    _Answer.body = json.dumps({"site": "Bern", "obs": observed}).encode()
    server = HTTPServer(("localhost", 0), _Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://localhost:{server.server_port}/now.json"
        code, out, err = run("inspect", url)
    finally:
        server.shutdown()
        server.server_close()
    assert code == 0, err
    assert f"FROM '{url}'" in out
    assert "EACH '$.obs'" in out
    assert "value FLOAT FROM '$.obs.temp.value'" in out
    assert "site STRING FROM '$.site'" in out


@pytest.mark.mosquitto
@pytest.mark.xdist_group("mosquitto")
@pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed")
def test_a_broker_is_listened_to(run) -> None:
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    with mosquitto_server.running() as broker:
        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", broker.port)
        client.loop_start()
        for name in ("kitchen", "cellar"):
            message = {"temperature": 20.5, "battery": {"pct": 90}}
            client.publish(f"home/{name}/state", json.dumps(message), retain=True).wait_for_publish(10)
        code, out, err = run("inspect", f"{broker.url}/home/#", "--messages", "2", "--seconds", "20")
        client.disconnect()
        client.loop_stop()
        assert code == 0, err
        code, _, err = run("inspect", f"{broker.url}/nothing/#", "--seconds", "0.5")
    assert f"FROM '{broker.url}/home/+/state'" in out
    assert "id STRING,\n" in out
    assert "pct INT UNIT '%' FROM '$.battery.pct'" in out or "pct INT FROM '$.battery.pct'" in out
    assert "temperature FLOAT" in out
    assert "a reading gets the time of its arrival" in out
    assert code == 1
    assert "no message came from" in err
