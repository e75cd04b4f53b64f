"""The answers of standing queries: every form, every row once for a client that remembers its place, and the end."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from websockets.sync.client import connect as connect_websocket

from nilometer.server import tails
from server.serving import AIR, Caller, Events, calling, minute

RESULTS = "/api/v1/queries/everything/results"
SCHEMA = AIR + "CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air;\n"


def told(rows: list[dict[str, Any]]) -> list[float]:
    return [row["pm25"] for row in rows]


def test_every_form_has_the_same_rows(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        sent = [minute(count) for count in range(25)]
        caller.send("air", sent)
        events = Events(caller.port, RESULTS)
        first = next(iter(events))
        assert first.name == "schema"
        assert first.data["columns"][2] == {"name": "pm25", "type": "FLOAT", "unit": "ug/m3"}
        assert (first.data["query"], first.data["position"]) == ("everything", 0)
        assert first.data["version"] == caller.get("/api/v1/queries/everything")["version"]
        rows, last = events.rows(25)
        events.close()
        assert rows == sent
        lines = caller("GET", RESULTS, Accept="application/x-ndjson")
        assert [json.loads(line) for line in lines.body.splitlines()] == sent
        assert lines.headers["nilometer-position"] == "0"
        csv = caller("GET", RESULTS + "?from=23", Accept="text/csv")
        assert csv.body == b"time,id,pm25\n2026-03-01T06:23:00Z,a1,23.0\n2026-03-01T06:24:00Z,a1,24.0\n"
        arrow = caller("GET", RESULTS, Accept="application/vnd.apache.arrow.stream")
        schema = pa.ipc.open_stream(arrow.body).schema
        assert schema.field("pm25").metadata == {b"unit": b"ug/m3"}
        assert schema.metadata[b"nilometer.position"] == b"0"
        assert pl.read_ipc_stream(io.BytesIO(arrow.body)).get_column("pm25").to_list() == told(sent)
        paged, path = [], RESULTS + "?limit=7"
        while path:
            page = caller.get(path)
            paged += page["rows"]
            path = page["next"]
        assert paged == sent
        assert caller("GET", RESULTS, Accept="image/png").status == 406
        nothing = caller("GET", RESULTS + "?from=25", Accept="text/csv")
        assert nothing.body == b"time,id,pm25\n"
        with connect_websocket(f"ws://127.0.0.1:{caller.port}{RESULTS}?from=20") as socket:
            assert json.loads(socket.recv())["event"] == "schema"
            message = json.loads(socket.recv())
            assert (message["event"], message["position"], told(message["rows"])) == (
                "rows",
                20,
                told(sent[20:]),
            )
            assert message["id"] == last


def test_a_client_that_is_cut_off_at_random_has_every_row_once(tmp_path: Path) -> None:
    dice = random.Random(17)
    with calling(tmp_path, SCHEMA) as caller:
        have: list[dict[str, Any]] = []
        last: str | None = None
        sent: list[dict[str, Any]] = []
        for _ in range(20):
            fresh = [minute(len(sent) + count) for count in range(dice.randrange(1, 12))]
            caller.send("air", fresh)
            sent += fresh
            events = Events(caller.port, RESULTS, **({"Last_Event_ID": last} if last else {}))
            # It takes some of what is there, and is gone in the middle of it.
            rows, seen = events.rows(dice.randrange(0, len(sent) - len(have) + 1))
            events.close()
            have += rows
            last = seen or last
        events = Events(caller.port, RESULTS, **({"Last_Event_ID": last} if last else {}))
        have += events.rows(len(sent) - len(have))[0]
        events.close()
        assert have == sent


def test_a_file_is_read_from_its_beginning_by_every_query(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("time,id,x\n2026-03-01T06:00:00Z,1,7\n2026-03-01T06:01:00Z,1,9\n")
    with calling(tmp_path, "CREATE STREAM old (x INT) PUSHED;") as caller:
        for name in ("first", "second"):
            caller.sql(f"CREATE QUERY {name} AS SELECT time, x FROM old")
            events = Events(caller.port, f"/api/v1/queries/{name}/results")
            rows, _ = events.rows(2)
            events.close()
            assert [row["x"] for row in rows] == [7, 9]


def test_the_next_server_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    have: list[dict[str, Any]] = []
    last: str | None = None
    for turn in range(3):
        with calling(tmp_path, SCHEMA) as caller:
            caller.send("air", [minute(5 * turn + count) for count in range(5)])
            events = Events(caller.port, RESULTS, **({"Last_Event_ID": last} if last else {}))
            rows, last = events.rows(5)
            events.close()
            have += rows
    assert have == [minute(count) for count in range(15)]


def test_an_event_may_be_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "CHUNK_ROWS", 4)
    with calling(tmp_path, SCHEMA) as caller:
        caller.send("air", [minute(count) for count in range(10)])
        events = Events(caller.port, RESULTS)
        ids = []
        for event in events:
            if event.name == "rows":
                ids.append((event.id, event.data["position"] + len(event.data["rows"])))
                if ids[-1][1] == 10:
                    break
        events.close()
        assert [end for _, end in ids] == [4, 8, 10]
        for identity, end in ids:
            again = Events(caller.port, RESULTS + "?follow=false", Last_Event_ID=str(identity))
            assert told(again.rows(10 - end)[0]) == [float(count) for count in range(end, 10)]
            again.close()


def test_it_ends_when_all_streams_have_ended(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("time,id,x\n2026-03-01T06:00:00Z,1,7\n2026-03-01T06:01:00Z,1,8\n")
    schema = "CREATE STREAM old (x INT) PUSHED; CREATE QUERY q STARTING AT BEGINNING AS SELECT x FROM old;"
    with calling(tmp_path, schema) as caller:
        events = list(Events(caller.port, "/api/v1/queries/q/results"))
        assert [event.name for event in events] == ["schema", "rows", "end"]
        assert events[1].data["rows"] == [{"x": 7}, {"x": 8}]
        assert events[2].data == {"position": 2}
        after = list(Events(caller.port, "/api/v1/queries/q/results", Last_Event_ID=str(events[1].id)))
        assert [event.name for event in after] == ["schema", "end"]
        with connect_websocket(f"ws://127.0.0.1:{caller.port}/api/v1/queries/q/results") as socket:
            assert [json.loads(message)["event"] for message in socket] == ["schema", "rows", "end"]


def test_other_columns_are_announced(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        caller.send("air", minute(0))
        caller.sql("REPLACE QUERY everything AS SELECT id, pm25 AS soot FROM air")
        caller.send("air", minute(1))
        events, found = Events(caller.port, RESULTS), []
        for event in events:
            found.append(event)
            if event.name == "rows" and event.data["position"] == 1:
                break
        events.close()
        columns = [
            [column["name"] for column in event.data["columns"]] for event in found if event.name == "schema"
        ]
        assert columns[-1] == ["id", "soot"]
        assert ["time", "id", "pm25"] in columns
        assert found[-1].data["rows"] == [{"id": "a1", "soot": 1.0}]


def test_places_that_are_none(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        caller.send("air", [minute(count) for count in range(3)])
        assert caller("GET", "/api/v1/queries/none/results").status == 404
        for wrong in ("nonsense", "0-99-0-0", "0-1-99-99"):
            reply = caller("GET", RESULTS + "?follow=false", Accept="text/event-stream", Last_Event_ID=wrong)
            assert reply.status == (200 if wrong == "0-1-99-99" else 409), reply.body
        assert caller("GET", RESULTS + "?from=soon").status == 409
        assert caller.get(RESULTS + "?from=now")["rows"] == []
        page = caller.get(RESULTS)
        caller.sql("DROP QUERY everything")
        caller.sql("CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air")
        gone = caller("GET", RESULTS, Accept="text/event-stream", Last_Event_ID=page["last_event_id"])
        assert (gone.status, gone.json["type"]) == (410, "urn:nilometer:problem:gone")


def test_a_dropped_query_ends_its_subscriptions(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        caller.send("air", minute(0))
        events = Events(caller.port, RESULTS)
        events.rows(1)
        caller.sql("DROP QUERY everything")
        assert [event.name for event in events][-1] == "problem"


def test_subscribers_share_what_is_read(tmp_path: Path) -> None:
    with calling(tmp_path, SCHEMA) as caller:
        many = [Events(caller.port, RESULTS) for _ in range(20)]
        sent = [minute(count) for count in range(30)]
        for reading in sent:
            caller.send("air", reading)
        for events in many:
            rows, _ = events.rows(30)
            assert rows == sent
            events.close()


def test_a_path_that_asks_for_too_many_rows_at_once_is_refused(caller: Caller) -> None:
    assert caller("GET", RESULTS + "?limit=0").status == 422
    assert caller("GET", RESULTS + "?limit=2000000").status == 422
