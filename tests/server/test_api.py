"""The resources of the HTTP API: lists, pages, declarations, plans, questions, errors."""

from __future__ import annotations

import io
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import polars as pl
import pytest

from nilometer.engine import connect
from nilometer.errors import ConfigurationError
from server.serving import AIR, Caller, Events, calling, minute


def test_it_is_there_and_ready(caller: Caller) -> None:
    assert caller.get("/healthz")["status"] == "ok"
    assert caller.get("/readyz")["status"] == "ready"


def test_streams_are_listed_page_by_page(caller: Caller) -> None:
    names, path = [], "/api/v1/streams?limit=1"
    while path:
        page = caller.get(path)
        names += [stream["name"] for stream in page["items"]]
        path = page["next"]
    assert names == sorted(names)
    assert {"air", "old", "river"} <= set(names)
    air = caller.get("/api/v1/streams/air")
    assert air["columns"][2] == {"name": "pm25", "type": "FLOAT", "unit": "ug/m3"}
    assert air["takes_readings"]
    assert not caller.get("/api/v1/streams/old")["takes_readings"]
    assert caller("GET", "/api/v1/streams/everything").status == 404, "a query's answers are no stream here"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"CREATE STREAM s1 (x FLOAT UNIT 'Cel') PUSHED KEY (id, time)", "application/sql"),
        (b'{"sql": "CREATE STREAM s2 (x FLOAT UNIT \'Cel\') PUSHED KEY (id, time)"}', "application/json"),
        (
            {"name": "s3", "columns": [{"name": "x", "type": "FLOAT", "unit": "Cel"}], "key": ["id", "time"]},
            None,
        ),
    ],
)
def test_a_stream_is_declared_by_sql_or_json_and_dropped(caller: Caller, body: Any, kind: str | None) -> None:
    made = caller("POST", "/api/v1/streams", body, kind)
    assert made.status == 201, made.body
    found = caller.get(made.headers["location"])
    assert (found["key"], found["columns"][-1]["unit"]) == (["id", "time"], "Cel")
    again = caller("POST", "/api/v1/streams", body, kind)
    assert again.status == 409
    assert caller("DELETE", made.headers["location"]).status == 200
    assert caller("GET", made.headers["location"]).status == 404


def test_statistics_and_ledger(caller: Caller) -> None:
    caller.send("air", [minute(count, "statistics") for count in range(10)])
    assert caller.get("/api/v1/streams/air/statistics")["readings"] >= 10
    ledger = caller.get("/api/v1/streams/air/ledger")
    assert ledger["received"] == sum(
        ledger[name] for name in ("appended", "garbled", "future", "duplicate", "shed")
    )


def test_a_query_is_installed_changed_paused_resumed_and_dropped(caller: Caller) -> None:
    put = caller(
        "PUT", "/api/v1/queries/high", b"SELECT time, id, pm25 FROM air WHERE pm25 > 40", "application/sql"
    )
    assert put.json["told"] == "high begins"
    found = caller.get("/api/v1/queries/high")
    assert (found["state"], found["rows"]) == ("running", 0)
    assert {"version", "offsets", "rows_per_second", "late", "lag_seconds", "state_bytes"} <= found.keys()
    caller(
        "PUT", "/api/v1/queries/high", b"SELECT time, id, pm25 FROM air WHERE pm25 > 30", "application/sql"
    )
    assert caller.get("/api/v1/queries/high")["sql"].endswith("pm25 > 30")
    assert caller("POST", "/api/v1/queries/high/pause").json["told"] == "high is paused"
    assert caller.get("/api/v1/queries/high")["state"] == "paused"
    assert caller("POST", "/api/v1/queries/high/resume").json["told"] == "high goes on"
    made = caller(
        "POST", "/api/v1/queries", {"sql": "CREATE QUERY higher AS SELECT id FROM high WHERE pm25 > 45"}
    )
    assert made.status == 201, made.body
    refused = caller("DELETE", "/api/v1/queries/high")
    assert (refused.status, refused.json["detail"]) == (409, "'high' is read by higher")
    for name in ("higher", "high"):
        assert caller("DELETE", f"/api/v1/queries/{name}").status == 200
    assert caller("GET", "/api/v1/queries/high").status == 404
    named = "/api/v1/queries/my%20query"
    assert caller("PUT", named, b"SELECT id FROM air", "application/sql").json["told"] == "my query begins"
    assert caller("POST", named + "/pause").status == 200
    assert caller("DELETE", named).json["told"] == "query my query is dropped"
    assert caller("PUT", "/api/v1/queries/..%5C", b"SELECT id FROM air", "application/sql").status == 403


def test_the_versions_of_a_query_are_listed(caller: Caller) -> None:
    def install(limit: int, asked: str = "") -> None:
        text = f"SELECT time, id FROM air WHERE pm25 > {limit}"
        assert (
            caller("PUT", f"/api/v1/queries/changing{asked}", text.encode(), "application/sql").status == 200
        )

    install(1)
    count = caller.get("/api/v1/streams/air/ledger")["appended"]
    caller.send("air", [minute(number, "versions") for number in range(10)])
    install(2, "?state=empty")
    found = caller.get("/api/v1/queries/CHANGING/versions")
    newest, oldest = found["items"]
    assert (found["name"], newest["current"], oldest["current"]) == ("changing", True, False)
    assert [one["text"][-3:] for one in found["items"]] == ["> 2", "> 1"]
    assert (newest["state"], oldest["state"]) == ("EMPTY STATE", None)
    assert (newest["offsets"], oldest["offsets"]) == ({"air": count + 10}, {"air": count})
    assert newest["installed"] > oldest["installed"]
    assert caller("DELETE", "/api/v1/queries/changing").status == 200
    assert caller("GET", "/api/v1/queries/changing/versions").status == 404
    install(3)
    assert len(caller.get("/api/v1/queries/changing/versions")["items"]) == 1, "a dropped one began anew"
    assert caller("DELETE", "/api/v1/queries/changing").status == 200
    (declared,) = caller.get("/api/v1/queries/everything/versions")["items"]
    assert declared["origin"] == "schema.sql"


def test_models_have_classes_and_versions(tmp_path: Path) -> None:
    (tmp_path / "library.csv").write_text("label,f\na,0 0\nb,5 5\n")
    declared = "CREATE TABLE library (label STRING, f FLOAT[2]) STORED AT 'library.csv';\n"
    with calling(tmp_path, AIR + declared) as caller:
        caller.sql("CREATE MODEL m FROM (SELECT label, f FROM library) USING NEAREST 1")
        (found,) = caller.get("/api/v1/models")["items"]
        shown = {name: found[name] for name in ("name", "kind", "method", "classes", "examples", "elements")}
        assert shown == {
            "name": "m",
            "kind": "nearest",
            "method": "NEAREST 1",
            "classes": ["a", "b"],
            "examples": 2,
            "elements": 2,
        }
        caller.sql("REPLACE MODEL m FROM (SELECT label, f FROM library) USING TREE")
        again = caller.get("/api/v1/models/M")
        assert [one["text"].rpartition(" ")[2] for one in again["versions"]] == ["TREE", "1"]
        assert (again["kind"], again["versions"][0]["current"]) == ("tree", True)
        assert caller("GET", "/api/v1/models/x").json["hint"] == "declared are: m"
    assert [one["current"] for one in connect(tmp_path).versions("m")] == [True, False]
    with pytest.raises(ConfigurationError, match="no standing query or model 'x'"):
        connect(tmp_path).versions("x")


def test_a_plan_has_every_stage_as_text_json_and_picture(caller: Caller) -> None:
    asked = {"sql": "SELECT id, AVG(pm25) AS m FROM air [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id"}
    for stage in ("ast", "logical", "optimized", "physical", "spark", "demand", "analyze"):
        as_json = caller("POST", "/api/v1/explain", asked | {"stage": stage})
        assert as_json.status == 200, as_json.body
        text = caller("POST", "/api/v1/explain", asked | {"stage": stage}, Accept="text/plain")
        assert text.headers["content-type"].startswith("text/plain")
        assert text.body.strip()
        assert as_json.json["text"]
        drawn = caller("POST", "/api/v1/explain", asked | {"stage": stage}, Accept="image/svg+xml")
        assert (drawn.status, drawn.headers["content-type"]) == (200, "image/svg+xml")
        assert ElementTree.fromstring(drawn.body).tag == "{http://www.w3.org/2000/svg}svg"
    by_address = f"/api/v1/explain?sql={quote(asked['sql'])}&stage=physical"
    assert caller("GET", by_address, Accept="text/plain").body.startswith(b"DELIVER")
    assert caller("GET", by_address, Accept="image/avif,image/*,*/*;q=0.8").body.startswith(b"<svg")
    assert caller("GET", by_address, Accept="image/png").status == 406
    linked = caller("GET", f"{by_address}&form=svg", Accept="text/html,*/*;q=0.8")
    assert linked.body.startswith(b"<svg")
    assert caller("GET", f"{by_address}&form=gif").status == 422
    assert caller("POST", "/api/v1/explain", asked | {"stage": "routing"}).status == 400
    assert (
        caller("POST", "/api/v1/explain", asked | {"stage": "routing", "network": "/etc/passwd"}).status
        == 404
    )


def test_an_error_has_message_caret_and_hint(caller: Caller) -> None:
    refused = caller("POST", "/api/v1/query", {"sql": "SELECT id,\n  pm26 FROM air"})
    assert refused.status == 400
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json
    assert (problem["line"], problem["column"], problem["length"]) == (2, 3, 4)
    assert problem["hint"] == "did you mean 'pm25'?"
    assert "    ^^^^" in problem["shown"]
    assert problem["type"] == "urn:nilometer:problem:bind"
    nowhere = caller("GET", "/api/v1/nothing")
    assert (nowhere.status, nowhere.headers["content-type"]) == (404, "application/problem+json")
    wrong = caller("POST", "/api/v1/query", {"text": "SELECT 1"})
    assert (wrong.status, wrong.json["errors"][0]["where"]) == (422, "body.sql")
    deep = caller("POST", "/api/v1/query", {"sql": "SELECT " + "(" * 20_000 + "1"})
    assert deep.status == 400, deep.body


def test_data_at_hand_is_answered_in_every_form(caller: Caller) -> None:
    asked = {"sql": "SELECT time, x FROM old"}
    whole = caller("POST", "/api/v1/query", asked).json
    assert whole["rows"] == [{"time": "2026-03-01T06:00:00Z", "x": 7}]
    lines = caller("POST", "/api/v1/query", asked, Accept="application/x-ndjson")
    assert [json.loads(line) for line in lines.body.splitlines()] == whole["rows"]
    csv = caller("POST", "/api/v1/query", asked, Accept="text/csv")
    assert csv.body == b"time,x\n2026-03-01T06:00:00Z,7\n"
    arrow = caller("POST", "/api/v1/query", asked, Accept="application/vnd.apache.arrow.stream")
    assert pl.read_ipc_stream(io.BytesIO(arrow.body)).get_column("x").to_list() == [7]
    assert caller("POST", "/api/v1/query", asked, Accept="image/png").status == 406
    by_address = caller.get("/api/v1/query?sql=SELECT%20COUNT(*)%20AS%20n%20FROM%20old")
    assert by_address["rows"] == [{"n": 1}]


def test_a_question_ends_whatever_it_reads_unless_it_is_asked_live(tmp_path: Path) -> None:
    schema = f"{AIR}CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air;"
    with calling(tmp_path, schema) as caller:
        caller.send("air", [minute(count) for count in range(3)])
        answers = Events(caller.port, "/api/v1/queries/everything/results")
        answers.rows(3)
        answers.close()
        for sql in ("SELECT time, pm25 FROM everything", "SELECT pm25 FROM air"):
            for kind in ("*/*", "application/json", "application/x-ndjson", "text/csv"):
                reply = caller("POST", "/api/v1/query", {"sql": sql}, Accept=kind)
                assert (reply.status, reply.headers["nilometer-rows"]) == (200, "3"), (sql, kind, reply.body)
        asked = "/api/v1/query?sql=SELECT%20id%20FROM%20everything"
        events = Events(caller.port, asked)  # it accepts nothing but events
        assert next(iter(events)).name == "schema"
        events.close()
        assert caller("GET", f"{asked}&live=false", Accept="text/event-stream").status == 406


def test_a_live_question_goes_on_where_its_client_left(caller: Caller) -> None:
    path = "/api/v1/query?live=true&sql=SELECT%20id,%20pm25%20FROM%20air%20WHERE%20id%20=%20'live'"
    events = Events(caller.port, path)
    first = next(iter(events))
    assert (first.name, first.data["columns"][0]["name"]) == ("schema", "id")
    caller.send("air", [minute(count, "live", 1.0) for count in range(3)])
    rows, last = events.rows(3)
    events.close()
    caller.send("air", [minute(count, "live", 2.0) for count in range(3, 5)])
    again = Events(caller.port, path, Last_Event_ID=str(last))
    more, _ = again.rows(2)
    again.close()
    assert [row["pm25"] for row in rows + more] == [1.0, 1.0, 1.0, 2.0, 2.0]
    assert caller("GET", path, Accept="text/event-stream", Last_Event_ID="nonsense").status == 409


def test_sensors_have_a_place_a_last_value_and_a_status(caller: Caller) -> None:
    caller.send("river", {"time": "2026-03-01T06:00:00Z", "id": 5, "depth": 112})
    near = caller.get("/api/v1/sensors?near=38,-121,100km&stream=river")["items"]
    assert [(one["id"], one["last"]["depth"], one["status"]) for one in near] == [(5, 112, "silent")]
    assert 70_000 < near[0]["distance"] < 71_000
    buoys = caller.get("/api/v1/sensors?where=kind%20=%20'buoy'")["items"]
    assert [(one["id"], one["last"]) for one in buoys] == [(6, None)]
    assert caller("GET", "/api/v1/sensors?where=nonsense").status == 400
    assert caller("GET", "/api/v1/sensors?near=here").status == 400
    page = caller.get("/api/v1/sensors?stream=river&limit=1")
    assert [one["id"] for one in caller.get(page["next"])["items"]] == [6]


def test_dead_letters_and_demand(caller: Caller) -> None:
    caller("POST", "/api/v1/streams/air/readings", b'{"id": "bad", "pm25": "soot"}')
    letter = caller.get("/api/v1/dead-letters?stream=air")["items"][0]
    assert letter["payload"] == '{"id": "bad", "pm25": "soot"}'
    assert "soot" in letter["reason"]
    demand = caller.get("/api/v1/demand?stream=air")
    assert demand["items"][-1]["queries"] == ["everything"]
    assert [(one["stream"], one["sensor"]) for one in demand["sensors"]] == [("air", "roof")]
    assert demand["sensors"][0]["state"]


def test_metrics_are_prometheus_text(caller: Caller) -> None:
    reply = caller("GET", "/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = reply.body.decode().splitlines()
    assert any(line.startswith('nilometer_rows_in_total{stream="air"} ') for line in lines)
    for word in ("in", "out", "late", "shed", "malformed"):
        assert f"# TYPE nilometer_rows_{word}_total counter" in lines
    for name in ("nilometer_completeness_ratio", "nilometer_watermark_lag_seconds"):
        assert f"# TYPE {name} gauge" in lines
    assert 'nilometer_sensors_silent{stream="air"} 0' in lines
    assert f'nilometer_build_info{{version="{version("nilometer")}"}} 1' in lines


def test_the_page_of_the_routes_loads_nothing_from_elsewhere(caller: Caller) -> None:
    document = caller.get("/openapi.json")
    assert document["openapi"].startswith("3.1")
    page = caller("GET", "/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    text = page.body.decode()
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text
    for path in document["paths"]:
        assert f"<code>{path}</code>" in text
