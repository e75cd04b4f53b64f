"""Readings by HTTP: every form, one entrance, acknowledged once durable, bounded."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import polars as pl
import pytest

from nilometer.ingest.adapters import push
from nilometer.log import LogDirectory
from nilometer.server.routes import readings as route
from server.serving import AIR, PATIENCE, Caller, calling, minute, served

READINGS = "/api/v1/streams/air/readings"
SENML = [
    {"bn": "a1:", "bt": 1772344800, "n": "pm25", "v": 3.5},
    {"n": "pm25", "v": 4.5, "t": 60},
]


def arrow(frame: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.write_ipc_stream(sink)
    return sink.getvalue()


FORMS = {
    "application/json": json.dumps([minute(0), minute(1)]).encode(),
    "application/x-ndjson": b"\n".join(json.dumps(minute(count)).encode() for count in range(2)),
    "application/senml+json": json.dumps(SENML).encode(),
    "text/csv": b"time,id,pm25\n2026-03-01T06:00:00Z,a1,3.5\n2026-03-01T06:01:00Z,a1,4.5\n",
    "application/vnd.influx.line-protocol": b"air,id=a1 pm25=3.5 1772344800000000000\n"
    b"air,id=a1 pm25=4.5 1772344860000000000",
    "application/vnd.apache.arrow.stream": arrow(
        pl.DataFrame({"time": [1772344800000000, 1772344860000000], "id": ["a1", "a1"], "pm25": [3.5, 4.5]})
    ),
}


def test_every_form_is_read_and_durable_when_it_is_acknowledged(tmp_path: Path) -> None:
    schema = "".join(AIR.replace("STREAM air", f"STREAM air{n}") for n in range(len(FORMS)))
    with calling(tmp_path, schema) as caller:
        for number, (kind, body) in enumerate(FORMS.items()):
            reply = caller("POST", f"/api/v1/streams/air{number}/readings", body, kind)
            assert (reply.status, reply.json["received"]) == (200, 2), (kind, reply.body)
            rows = LogDirectory(tmp_path).log(f"air{number}").tail(10)
            assert rows.get_column("time").to_list() == [1772344800000000, 1772344860000000], kind
            assert rows.get_column("id").to_list() == ["a1", "a1"]
            again = caller("POST", f"/api/v1/streams/air{number}/readings", body, kind)
            assert again.status == 200
            ledger = caller.get(f"/api/v1/streams/air{number}/ledger")
            assert (ledger["received"], ledger["appended"], ledger["duplicate"]) == (4, 2, 2)


def test_what_cannot_be_read_is_a_dead_letter_and_a_422(tmp_path: Path) -> None:
    with calling(tmp_path) as caller:
        bad = caller("POST", READINGS, {"id": "a1", "pm25": "soot"})
        assert (bad.status, bad.json["garbled"]) == (422, 1)
        assert "soot" in bad.json["found"]
        mixed = caller("POST", READINGS, [minute(0), {"id": "a1", "pm25": "soot"}, minute(1)])
        assert (mixed.status, mixed.json["received"], mixed.json["garbled"]) == (200, 3, 1)
        assert caller("POST", READINGS, b"no arrow", "application/vnd.apache.arrow.stream").status == 422
        assert caller("POST", READINGS, b"no line", "application/vnd.influx.line-protocol").status == 422
        assert caller("POST", READINGS, b"\xff\xfe{", "application/json").status == 422
        assert caller("POST", READINGS, b"[" * 50_000, "application/json").status == 422
        assert caller("POST", READINGS, b"<x/>", "application/xml").status == 415
        ahead = {"id": "a1", "pm25": 1.0, "time": "2126-01-01T00:00:00Z"}
        assert caller("POST", READINGS, ahead).status == 200
        ledger = caller.get("/api/v1/streams/air/ledger")
        assert (ledger["appended"], ledger["garbled"], ledger["future"]) == (2, 6, 1)
        assert len(caller.get("/api/v1/dead-letters")["items"]) == 7
        assert caller("POST", "/api/v1/streams/none/readings", minute(0)).status == 404


def test_each_bad_reading_of_a_batch_is_its_own_dead_letter(tmp_path: Path) -> None:
    """The good ones are kept, whatever the others are."""
    bad = [{"id": "a1", "pm25": "soot"}, {"id": "a2", "pm25": "ash"}, {"id": "a3", "time": "soon"}]
    with calling(tmp_path) as caller:
        reply = caller("POST", READINGS, [minute(0), *bad, minute(1)])
        assert (reply.status, reply.json["received"], reply.json["garbled"]) == (200, 5, 3)
        assert len(reply.json["reasons"]) == 3
        letters = caller.get("/api/v1/dead-letters")["items"]
        found = {letter["payload"]: letter["reason"] for letter in letters}
        assert [json.loads(payload) for payload in sorted(found)] == bad
        assert [reason for _, reason in sorted(found.items())] == reply.json["reasons"]
        assert LogDirectory(tmp_path).log("air").tail(10).height == 2


def test_one_by_one_and_at_once_each_gets_its_own_receipt(tmp_path: Path) -> None:
    """Offers that wait together are decoded together; a garbled one is the fault of its own sender."""
    replies: dict[int, tuple[int, int]] = {}

    def send(number: int, port: int) -> None:
        caller = Caller(port)
        body = {"id": f"s{number}", "pm25": "soot"} if number % 5 == 0 else minute(number, f"s{number}")
        reply = caller("POST", READINGS, [body, minute(number, f"t{number}")] if number % 3 == 0 else body)
        replies[number] = reply.json["received"], reply.json["garbled"]
        caller.close()

    with served(tmp_path) as server:
        threads = [threading.Thread(target=send, args=(number, server.port)) for number in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        caller = Caller(server.port)
        ledger = caller.get("/api/v1/streams/air/ledger")
        caller.close()
    assert replies == {n: (1 + (n % 3 == 0), int(n % 5 == 0)) for n in range(30)}
    assert (ledger["received"], ledger["garbled"]) == (40, 6)


def test_a_stream_with_a_source_of_its_own_takes_no_readings(caller: Caller) -> None:
    refused = caller("POST", "/api/v1/streams/old/readings", {"id": 1, "x": 2})
    assert refused.status == 409


def test_a_changed_stream_takes_readings_as_it_is_declared_now(tmp_path: Path) -> None:
    with calling(tmp_path) as caller:
        caller.send("air", minute(0))
        caller.sql("REPLACE STREAM air (id STRING, pm25 FLOAT, pm10 FLOAT) PUSHED KEY (id, time)")
        caller.send("air", minute(1) | {"pm10": 7.0})
        rows = caller("POST", "/api/v1/query", {"sql": "SELECT pm25, pm10 FROM air"}).json["rows"]
        assert rows == [{"pm25": 0.0, "pm10": None}, {"pm25": 1.0, "pm10": 7.0}]


def test_too_much_at_once_is_refused_with_a_time_to_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as server:
        caller = Caller(server.port)
        caller.send("air", minute(0))
        large = caller("POST", READINGS, b" " * (17 << 20))
        assert large.status == 413
        caller.close()
        adapter = server.desk.pushes.find("air")
        assert adapter is not None
        monkeypatch.setattr(adapter, "read", adapter.nothing)  # the disk is full: nothing is read
        monkeypatch.setattr(route, "DURABLE_SECONDS", 0.2)
        slow = Caller(server.port)
        late = slow("POST", READINGS, minute(1))
        assert (late.status, late.headers["retry-after"], late.json["found"]) == (
            503,
            "1",
            "none of them was kept",
        )
        monkeypatch.setattr(server.desk.pushes, "_most", lambda: 1_000)
        adapter.put(push.Offer([b"x"], push.Format.AUTO, "", 0, 900))
        full = slow("POST", READINGS, minute(2))
        assert (full.status, full.headers["retry-after"]) == (429, "1")
        slow.close()
