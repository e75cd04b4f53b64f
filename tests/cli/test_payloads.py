"""The stumbles of the first hour with foreign data, as the person at the terminal reads them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import paho.mqtt.client as paho
import pytest

import mosquitto_server
import nilometer
from nilometer.catalog.address import Address
from nilometer.cli import main as cli
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.live.identity import identity_of

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def field(directory: Path, schema: str, **files: str | bytes) -> str:
    (directory / "schema.sql").write_text(schema)
    for name, contents in files.items():
        data = contents if isinstance(contents, bytes) else contents.encode()
        (directory / name.replace("__", ".")).write_bytes(data)
    return str(directory)


def test_json_lines_that_do_not_match_are_told(run: Run, tmp_path: Path) -> None:
    lines = [
        {"time": "2026-03-01T06:00:00Z", "id": 1, "DS18B20": {"Temperature": 21.5}},
        {"time": "2026-03-01T06:01:00Z", "id": 1, "temp": 20.5, "rssi": -7},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    data = field(tmp_path, "CREATE STREAM air (temp FLOAT, humid FLOAT) PUSHED;", air__jsonl=text)
    code, out, err = run("query", "--data", data, "SELECT id, temp FROM air")
    assert code == 0
    assert out.splitlines()[2:] == ["1   20.5"]
    assert "1 garbled" in err
    assert (
        "air.jsonl, line 1: no declared column in it: it has time, id, $.DS18B20.Temperature; expected temp, humid"
    ) in err


def test_the_same_file_with_paths_is_read(run: Run, tmp_path: Path) -> None:
    schema = """CREATE STREAM air (time FROM '$.meta.ts', id FROM '$.meta.dev', temp FLOAT FROM '$.DS18B20.Temperature')
        PUSHED;"""
    text = json.dumps({"meta": {"ts": 1772344800, "dev": "kitchen"}, "DS18B20": {"Temperature": 21.5}})
    data = field(tmp_path, schema, air__jsonl=text + "\nbroken\n")
    code, out, err = run("query", "--data", data, "SELECT time, id, temp FROM air")
    assert code == 0, err
    assert out.splitlines()[2:] == ["2026-03-01T06:00:00Z  kitchen  21.5"]
    assert "air.jsonl, line 2: not JSON" in err


def test_a_json_file_of_one_object_with_an_array(run: Run, tmp_path: Path) -> None:
    schema = "CREATE STREAM air (time FROM t, id STRING FROM '$.station', v FLOAT) PUSHED EACH '$.obs';"
    whole = {"station": "north", "obs": [{"t": 1772344800, "v": 1}, {"t": 1772344860, "v": 2}]}
    data = field(tmp_path, schema, air__json=json.dumps(whole, indent=2))
    code, out, err = run("query", "--data", data, "SELECT id, v FROM air")
    assert code == 0, err
    assert out.splitlines()[2:] == ["north  1", "north  2"]


EUROPEAN = (
    "Export of logger 7\r\n\r\nZeitpunkt;Messger\xe4t;PM2.5 (ug/m3)\r\n"
    "01/03/2026 07:00;A;8,5\r\n01/03/2026 07:10;A;NA\r\n01/03/2026 07:20;A;1.000,5\r\n"
    "01/03/2026 07:30;A;1,000,5\r\n"
).encode("latin1")


def test_a_european_file_without_renaming(run: Run, tmp_path: Path) -> None:
    schema = """CREATE STREAM air (time FROM Zeitpunkt, id FROM 'Messger\xe4t', pm25 FLOAT FROM 'PM2.5 (ug/m3)') PUSHED
        FORMAT CSV (SKIP 2, DELIMITER ';', DECIMAL ',', TIME FORMAT '%d/%m/%Y %H:%M', TIMEZONE 'Europe/Zurich',
        NULL 'NA', ENCODING 'latin1');"""
    data = field(tmp_path, schema, air__csv=EUROPEAN)
    code, out, err = run("query", "--data", data, "SELECT time, id, pm25 FROM air")
    assert code == 0, err
    assert [line.split() for line in out.splitlines()[2:]] == [
        ["2026-03-01T06:00:00Z", "A", "8.5"],
        ["2026-03-01T06:10:00Z", "A", "NULL"],
        ["2026-03-01T06:20:00Z", "A", "1000.5"],
    ]
    assert "air.csv, line 7: pm25 is '1,000,5', not a FLOAT" in err
    code, out, err = run("streams", "--data", data)
    assert "time TIME FROM Zeitpunkt" in out
    assert "FORMAT CSV (DELIMITER ';', DECIMAL ',', NULL 'NA', SKIP 2, ENCODING 'iso8859-1'" in out


def test_a_file_without_a_header(run: Run, tmp_path: Path) -> None:
    rows = "1772344800,7,2.5\n1772344860,7,3.5\n"
    schema = "CREATE STREAM air (pm25 FLOAT) PUSHED FORMAT CSV (HEADER OFF);"
    data = field(tmp_path, schema, air__csv=rows)
    code, out, err = run("query", "--data", data, "SELECT time, id, pm25 FROM air")
    assert code == 0, err
    assert out.splitlines()[2:] == ["2026-03-01T06:00:00Z  7   2.5", "2026-03-01T06:01:00Z  7   3.5"]
    schema = (
        "CREATE STREAM air (time FROM column_1, pm25 FLOAT FROM column_3) PUSHED FORMAT CSV (HEADER OFF);"
    )
    data = field(tmp_path, schema, air__csv=rows)
    code, out, err = run("query", "--data", data, "SELECT time, pm25 FROM air")
    assert out.splitlines()[2:] == ["2026-03-01T06:00:00Z  2.5", "2026-03-01T06:01:00Z  3.5"], err
    schema = "CREATE STREAM air (pm25 FLOAT, a INT, b INT) PUSHED FORMAT CSV (HEADER OFF);"
    code, out, err = run("query", "--data", field(tmp_path, schema, air__csv=rows), "SELECT pm25 FROM air")
    assert code == 1
    assert "with 3 fields in a line where 5 columns are declared" in err


def test_the_guesses_without_a_schema_work_with_one(run: Run, tmp_path: Path) -> None:
    text = "ts_utc;id;pm25\n2026-03-01T06:00:00Z;7;2.5\n"
    data = field(tmp_path, "CREATE STREAM air (pm25 FLOAT) PUSHED;", air__csv=text)
    code, out, err = run("query", "--data", data, "SELECT time, pm25 FROM air")
    assert code == 0, err
    assert out.splitlines()[2:] == ["2026-03-01T06:00:00Z  2.5"]
    assert "air.csv has no column 'time': taking 'ts_utc'" in err
    text = "timestamp,id,pm25\n1772344800,7,2.5\n"
    data = field(tmp_path, "CREATE STREAM air (pm25 FLOAT) PUSHED;", air__csv=text)
    code, out, err = run("query", "--data", data, "SELECT time, pm25 FROM air")
    assert out.splitlines()[2:] == ["2026-03-01T06:00:00Z  2.5"], err


def test_a_local_time_that_comes_twice_is_noted(run: Run, tmp_path: Path) -> None:
    text = "time,id,v\n2026-10-25T02:30,1,1\n2026-10-25T04:30,1,2\n2026-03-29T02:30,1,3\n"
    schema = "CREATE STREAM s (v INT) PUSHED FORMAT CSV (TIMEZONE 'Europe/Zurich');"
    code, out, err = run("query", "--data", field(tmp_path, schema, s__csv=text), "SELECT time, v FROM s")
    assert code == 0, err
    assert out.splitlines()[2:] == ["2026-10-25T00:30:00Z  1", "2026-10-25T03:30:00Z  2"]
    assert "time of 1 rows of 's.csv': a time that the clocks show twice is taken as the first" in err
    assert "line 4: time is '2026-03-29T02:30', not a TIME in Europe/Zurich" in err


def test_a_table_with_a_form(run: Run, tmp_path: Path) -> None:
    schema = """CREATE STREAM air (v FLOAT) PUSHED;
        CREATE TABLE limits (id INT FROM Nr, most FLOAT FROM 'max. value') STORED AT 'limits.csv'
        FORMAT CSV (DECIMAL ',');"""
    data = field(
        tmp_path,
        schema,
        air__csv="time,id,v\n2026-03-01T06:00:00Z,7,2.5\n",
        limits__csv="Nr;max. value\n7;1,5\n",
    )
    code, out, err = run("query", "--data", data, "SELECT v, most FROM air, limits WHERE air.id = limits.id")
    assert code == 0, err
    assert out.splitlines()[2:] == ["2.5  1.5"]


# ---- live ------------------------------------------------------------------------------------------------------------


def test_trouble_that_never_ends_shows_in_the_exit_code(run: Run, tmp_path: Path) -> None:
    schema = """CREATE STREAM air (v FLOAT) PUSHED FROM 'mqtt://127.0.0.1:9/air/+';
        CREATE QUERY all_of_it AS SELECT v FROM air;"""
    data = field(tmp_path, schema)
    code, _, err = run("query", "--data", data, "--seconds", "2", "SELECT v FROM air")
    assert code == 1
    assert "no broker at 127.0.0.1:9" in err
    assert "in trouble to the end: air" in err
    code, _, err = run("run", "--data", data, "--seconds", "2")
    assert code == 1
    assert "in trouble to the end: air" in err


@pytest.fixture
def mosquitto() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running() as broker:
        yield broker


def _subscribe(folder: Path) -> None:
    """Let the broker keep messages for the stream before anybody publishes."""
    stream = nilometer.connect(folder).catalog.stream("rooms")
    adapter = MqttAdapter(stream, Address.parse(stream.url or ""), lambda: 0, identity=identity_of(folder))
    adapter.open()
    assert adapter.connected.wait(60), adapter.trouble
    adapter.close()


@pytest.mark.mosquitto
@pytest.mark.xdist_group("mosquitto")
@pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed")
def test_messages_of_tasmota_from_a_broker(
    run: Run, tmp_path: Path, mosquitto: mosquitto_server.Broker
) -> None:
    schema = f"""CREATE STREAM rooms (time FROM '$.Time', id STRING, temp FLOAT FROM '$.DS18B20.Temperature',
          humid FLOAT FROM '$.AM2301.Humidity')
        PUSHED FROM 'mqtt://127.0.0.1:{mosquitto.port}/tele/{{id}}/SENSOR' FUTURE 36500 DAYS
        FORMAT JSON (TIMEZONE 'Europe/Zurich');"""
    data = field(tmp_path, schema)
    messages = [
        ("tele/attic/SENSOR", {"Time": "2026-03-01T07:00:10", "ANALOG": {"A0": 512}}),
        (
            "tele/kitchen/SENSOR",
            {"Time": "2026-03-01T07:00:00", "DS18B20": {"Id": "0A", "Temperature": 21.4}},
        ),
    ]
    _subscribe(Path(data))
    client = paho.Client(paho.CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", mosquitto.port)
    client.loop_start()
    for topic, message in messages:
        client.publish(topic, json.dumps(message), qos=1).wait_for_publish(60)
    client.disconnect()
    client.loop_stop()
    # The messages come in their order, so the first is read when the second has its row.
    code, out, err = run(
        "query", "--data", data, "--limit", "1", "--json", "SELECT time, id, temp FROM rooms"
    )
    assert code == 0, err
    assert [json.loads(line) for line in out.splitlines()] == [
        {"time": "2026-03-01T06:00:00Z", "id": "kitchen", "temp": 21.4}
    ]
    assert (
        "no declared column in it: it has Time, $.ANALOG.A0; expected $.DS18B20.Temperature, $.AM2301.Humidity"
        in err
    )
    told = next(line for line in err.splitlines() if line.startswith("rooms: fields: "))
    for field_ in ("humid (no value, 1)", "$.ANALOG.A0 (not declared, 1)", "$.DS18B20.Id (not declared, 1)"):
        assert field_ in told
    code, out, err = run("streams", "--data", data, "--ledger")
    assert code == 0, err
    assert ["rooms", "humid", "no", "value", "1", "1"] in [line.split() for line in out.splitlines()]
    code, out, err = run("log", "dead", "rooms", "--data", data)
    assert "no declared column in it" in out
