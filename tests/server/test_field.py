"""The field now and then: every sensor's newest reading by HTTP is what a plain loop over the readings finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.log import LogSettings, StreamLog
from nilometer.operators.logic import POSITION
from nilometer.server.field import LogView, history_of, lookback, merged, readings_at
from nilometer.server.field.lookback import View
from nilometer.types import MINUTE, parse_time
from server.serving import Caller, Events, calling, minute

SCHEMA = """
CREATE STREAM air (id STRING, pm25 FLOAT UNIT 'ug/m3') PUSHED FUTURE 3650 DAYS KEY (id, time) EXPECT EVERY 1 MINUTE;
CREATE SENSOR 'a1' OF air AT (3, 4) WITH kind = 'roof';
CREATE SENSOR 'a9' OF air;
CREATE STREAM filed (x INT) PUSHED;
CREATE STREAM replayed (x INT) PUSHED FROM 'file:{folder}/filed.csv' EXPECT EVERY 1 MINUTE;
CREATE QUERY again AS SELECT time, id, x FROM replayed;
"""


def at(text: str) -> int:
    return parse_time(text)


# ---- over HTTP -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("field")
    (folder / "filed.csv").write_text(
        "time,id,x\n2026-03-01T06:00:00Z,1,7\n2026-03-01T06:05:00Z,1,8\n2026-03-01T06:01:00Z,2,9\n"
    )
    with calling(folder, SCHEMA.format(folder=folder)) as found:
        yield found


def test_the_newest_reading_of_each_sensor_and_then_only_what_has_changed(field: Caller) -> None:
    field.send(
        "air", [minute(0, "a1", 1.0), minute(2, "a1", 3.0), minute(1, "a1", 2.0), minute(0, "b2", 7.0)]
    )
    whole = field.get("/api/v1/field?stream=air")
    assert whole["sensors"] == {
        "id": ["a1", "a9"],
        "x": [3.0, None],
        "y": [4.0, None],
        "attributes": [{"kind": "roof"}, {}],
    }
    assert dict(zip(whole["id"], whole["values"]["pm25"], strict=True)) == {"a1": 3.0, "b2": 7.0}
    assert whole["time"][whole["id"].index("a1")] == at("2026-03-01T06:02:00Z")
    assert whole["slow_after"] == 2 * MINUTE
    field.send("air", [minute(5, "b2", 8.5)])
    later = field.get(f"/api/v1/field?stream=air&after={whole['position']}")
    assert "sensors" not in later
    assert (later["id"], later["values"]["pm25"]) == (["b2"], [8.5])
    nothing = field.get(f"/api/v1/field?stream=air&after={later['position']}")
    assert nothing["id"] == []


def test_the_field_as_it_was(field: Caller) -> None:
    field.send("air", [minute(0, "a1", 1.0), minute(2, "a1", 3.0), minute(1, "a1", 2.0)])
    then = field.get("/api/v1/field?stream=air&at=2026-03-01T06:01:30Z")
    assert then["values"]["pm25"][then["id"].index("a1")] == 2.0
    assert then["complete"] is True
    before = field.get("/api/v1/field?stream=air&at=2020-01-01T00:00:00Z")
    assert before["id"] == []
    refused = field("GET", "/api/v1/field?stream=air&at=yesterday")
    assert (refused.status, refused.json["detail"]) == (400, "'yesterday' is no time")
    assert field("GET", "/api/v1/field?stream=nothing").status == 404


def test_a_file_is_a_field_too(field: Caller) -> None:
    now = field.get("/api/v1/field?stream=filed")
    assert now["finite"] is True
    assert dict(zip(now["id"], now["values"]["x"], strict=True)) == {"1": 8, "2": 9}
    then = field.get("/api/v1/field?stream=filed&at=2026-03-01T06:02:00Z")
    assert dict(zip(then["id"], then["values"]["x"], strict=True)) == {"1": 7, "2": 9}
    span = field.get("/api/v1/streams/filed/span")
    assert (span["since"], span["until"]) == (at("2026-03-01T06:00:00Z"), at("2026-03-01T06:05:00Z"))
    assert (span["rows"], round(sum(span["parts"]))) == (3, 3)


def test_a_replay_is_as_late_as_its_own_newest_reading_says(field: Caller) -> None:
    """By the clock on the wall, every sensor of old data would be silent."""
    answers = Events(field.port, "/api/v1/queries/again/results?from=0")
    rows, _ = answers.rows(2)
    answers.close()
    assert [row["x"] for row in rows] == [7, 8], "the third is late"
    assert field.get("/api/v1/field?stream=replayed")["now"] == at("2026-03-01T06:05:00Z")
    assert field.get("/api/v1/field?stream=air")["now"] > at("2026-03-01T06:05:00Z")


def test_the_history_of_a_sensor(field: Caller) -> None:
    field.send("air", [minute(count, "c3", float(count)) for count in range(100)])
    found = field.get("/api/v1/streams/air/history?id=c3&limit=10")
    assert found["values"]["pm25"] == [float(count) for count in range(90, 100)]
    assert found["more"] is True
    until = quote("2026-03-01T06:05:00Z")
    assert field.get(f"/api/v1/streams/air/history?id=c3&until={until}")["time"] == [
        at(f"2026-03-01T06:0{count}:00Z") for count in range(6)
    ]
    assert field.get("/api/v1/streams/air/history?id=nobody")["time"] == []


def test_a_mended_letter_goes_through_the_entrance(field: Caller) -> None:
    reply = field("POST", "/api/v1/streams/air/readings", {"id": "d4", "pm25": "thick"})
    assert reply.status == 422
    letter = field.get("/api/v1/dead-letters?stream=air")["items"][0]
    assert "d4" in letter["payload"]
    still = field("POST", "/api/v1/dead-letters/submit", {"stream": "air", "payload": letter["payload"]})
    assert (still.status, still.json["detail"]) == (422, "the payload is still garbled")
    mended = '{"id": "d4", "pm25": 41.5, "time": "2026-03-01T06:00:00Z"}'
    before = field.get("/api/v1/streams/air/ledger")
    done = field("POST", "/api/v1/dead-letters/submit", {"stream": "air", "payload": mended})
    assert (done.status, done.json) == (200, {"received": 1, "rows": 1})
    after = field.get("/api/v1/streams/air/ledger")
    assert after["appended"] == before["appended"] + 1
    assert after["received"] == sum(
        after[name] for name in ("appended", "garbled", "future", "duplicate", "shed")
    )
    assert "d4" in field.get("/api/v1/field?stream=air")["id"]
    file = field("POST", "/api/v1/dead-letters/submit", {"stream": "filed", "payload": mended})
    assert file.status == 409


def test_what_an_editor_completes(field: Caller) -> None:
    words = field.get("/api/v1/words")
    assert {"SELECT", "SLIDE", "MINUTES"} <= set(words["keywords"])
    assert {"avg", "sqrt", "SILENT"} <= {one["name"] for one in words["functions"]}
    assert {"air", "filed"} <= {one["name"] for one in words["extents"]}
    assert field.get("/api/v1/networks") == {"items": [], "total": 0, "next": None}


# ---- against a plain loop --------------------------------------------------------------------------------------------


class Listed(View):
    """Rows in memory, divided into segments as a log is."""

    identity, time, columns = "id", "time", ["id", "time", "value"]

    def __init__(self, rows: list[tuple[int, int, int]], segments: int) -> None:
        frame = pl.DataFrame(rows, schema={"id": pl.Int64, "time": pl.Int64, "value": pl.Int64}, orient="row")
        frame = frame.with_row_index(POSITION).with_columns(pl.col(POSITION).cast(pl.Int64))
        size = max(1, -(-frame.height // segments))
        self.parts = [frame[begin : begin + size] for begin in range(0, frame.height, size)]

    def between(self, low: int, high: int, columns: list[str]) -> Any:
        for part in self.parts:
            yield part.filter((pl.col("time") >= low) & (pl.col("time") < high))

    def spans(self) -> list[tuple[int, int, int]]:
        return [(p["time"].min(), p["time"].max(), p.height) for p in self.parts if p.height]  # type: ignore[misc]


READINGS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 40) | st.integers(0, 10_000_000_000), st.integers(0, 9)),
    max_size=40,
)


@given(READINGS, st.integers(0, 10_000_000_000) | st.integers(0, 40), st.integers(1, 5), st.integers(0, 8))
def test_any_readings_at_any_moment(
    rows: list[tuple[int, int, int]], moment: int, segments: int, sensors: int
) -> None:
    view = Listed(rows, segments)
    naive: dict[int, tuple[int, int]] = {}
    for sensor, time, value in rows:
        if time <= moment and (sensor not in naive or time >= naive[sensor][0]):
            naive[sensor] = (time, value)
    found, complete = readings_at(view, moment, max(sensors, len(naive)), 1)
    assert complete
    assert {row["id"]: (row["time"], row["value"]) for row in found.iter_rows(named=True)} == naive


@given(READINGS, st.integers(0, 10_000_000_000), st.integers(1, 5), st.integers(1, 50))
def test_any_history(rows: list[tuple[int, int, int]], until: int, segments: int, most: int) -> None:
    own = sorted(
        (time, place, value) for place, (one, time, value) in enumerate(rows) if one == 3 and time <= until
    )
    found = history_of(Listed(rows, segments), "3", ["value"], None, until, most)
    shown = [] if not found.rows.height else found.rows.select("time", "value").rows()
    assert shown == [(time, value) for time, _, value in own[-most:]]
    assert found.more or len(own) <= most


def test_a_look_back_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookback, "MOST", 100)
    monkeypatch.setattr(lookback, "WINDOW", 60)
    rows = [(0, 0, 1)] + [(1, 1_000_000 * count, 2) for count in range(1, 1_000)]
    found, complete = readings_at(Listed(rows, 4), 999_000_000, 2, None)
    assert not complete
    assert found["id"].to_list() == [1]


def test_a_log_of_many_segments_is_followed_and_looked_back_into(tmp_path: Path) -> None:
    from nilometer.engine import connect

    (tmp_path / "schema.sql").write_text("CREATE STREAM s (v INT) PUSHED;")
    stream = connect(tmp_path).catalog.stream("s")
    log = StreamLog(tmp_path / "log", stream, LogSettings(segment_bytes=4_096))

    def reading(turn: int, sensor: int, value: int) -> pl.DataFrame:
        return pl.DataFrame({"time": [turn * MINUTE], "id": [sensor], "v": [value]})

    with log:
        for turn in range(40):
            log.append(reading(turn, turn % 4, turn))
        log.flush()
        view = LogView(stream, log)
        newest, position = view.newest()
        assert position == 40
        assert dict(newest.select("id", "v").iter_rows()) == {0: 36, 1: 37, 2: 38, 3: 39}
        log.append(reading(50, 2, 99))
        log.flush()
        newest, position = view.newest()
        assert dict(newest.select("id", "v").iter_rows()) == {0: 36, 1: 37, 2: 99, 3: 39}
        found, _ = readings_at(view, 10 * MINUTE, 4, MINUTE)
        assert dict(found.select("id", "v").iter_rows()) == {0: 8, 1: 9, 2: 10, 3: 7}
        assert len(view.spans()) > 1


def test_of_equal_times_the_last_reading_counts() -> None:
    rows = pl.DataFrame({POSITION: [0, 1], "id": [1, 1], "time": [5, 5], "v": [1, 2]})
    assert merged(rows, "id", "time")["v"].to_list() == [2]
