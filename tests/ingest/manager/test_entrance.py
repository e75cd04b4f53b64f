"""The entrance against a naive twin, restarted at any point; and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.manager.streams import KEYED, PUSHED, SENSED, UNTIMED, Reading, result
from log.logs import CrashError, FailAt, no_space, scratch
from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.errors import ResourceError
from nilometer.ingest.manager import Entrance
from nilometer.ingest.payloads import FieldCounts, Garbled
from nilometer.log import LogSettings, StreamLog
from nilometer.log.letters import last_letters
from nilometer.log.local_files import LocalFiles
from nilometer.types import MINUTE, SECOND

NOW = 10_000 * SECOND


def open_entrance(
    stream: Stream, folder: Path | str, failpoint: object = None, keys: int = 4, **options: object
) -> Entrance:
    files = LocalFiles(folder, failpoint) if failpoint is not None else LocalFiles(folder)  # type: ignore[arg-type]
    options = {"segment_bytes": 3_000} | options
    log = StreamLog(files, stream, LogSettings(**options), clock=lambda: 0.0)  # type: ignore[arg-type]
    return Entrance(stream, log, source="here", keys=keys)


class Twin:
    """Says of each reading what becomes of it, one by one, with a set of all keys."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.seen: set[object] = set()
        self.rows: list[Reading] = []
        self.books = dict.fromkeys(StreamLedger().as_dict(), 0)

    def key(self, reading: Reading) -> object:
        time, identity, depth = reading
        assert time is not None
        if self.stream.key == ("depth",):
            return depth
        if self.stream.key:
            return identity, time
        return (identity, time // self.stream.every) if self.stream.every else None

    def take(self, reading: Reading, arrived: int | None) -> None:
        self.books["received"] += 1
        if reading[0] is None:
            account = "garbled"
        elif arrived is not None and reading[0] > arrived + MINUTE:
            account = "future"
        elif (key := self.key(reading)) is not None and key in self.seen:
            account = "duplicate"
        else:
            self.seen.add(key)
            self.rows.append(reading)
            account = "appended"
        self.books[account] += 1


TIMES = st.one_of(
    st.none(), st.integers(0, 60).map(lambda n: NOW - n * 3 * SECOND), st.just(NOW + 2 * MINUTE)
)
READINGS = st.tuples(TIMES, st.integers(1, 2), st.integers(0, 9).map(float))
RESULTS = st.lists(
    st.tuples(
        st.lists(READINGS, max_size=12), st.integers(0, 2), st.sampled_from([None, NOW]), st.booleans()
    ),
    max_size=10,
)
STREAMS = st.sampled_from([PUSHED, KEYED, UNTIMED, SENSED])


@pytest.mark.slow
@settings(max_examples=80)
@given(STREAMS, RESULTS, st.integers(1, 8), st.sampled_from([0, 10]))
def test_as_its_naive_twin_however_cut_and_restarted(
    stream: Stream,
    results: list[tuple[list[Reading], int, int | None, bool]],
    keys: int,
    gather: int,
) -> None:
    twin = Twin(stream)
    with scratch() as folder:
        entrance = open_entrance(stream, folder, keys=keys, gather_rows=gather)
        for readings, garbled, arrived, restart in results:
            letters = (Garbled(b"\xff", "broken", "s", garbled),) if garbled else ()
            entrance.admit(result(readings, garbled=letters, arrived=arrived), NOW)
            for reading in readings:
                twin.take(reading, arrived)
            twin.books["received"] += garbled
            twin.books["garbled"] += garbled
            if restart:
                entrance.log.abandon()
                entrance = open_entrance(stream, folder, keys=keys, gather_rows=gather)
            assert entrance.ledger.as_dict() == twin.books
            assert entrance.ledger.balanced
            assert entrance.keys is None or len(entrance.keys) <= 2 * keys + 12 or stream is UNTIMED
        entrance.log.close()
        found = [row for rows in entrance.log.scan() for row in rows.rows()]
        assert found == twin.rows
        letters = entrance.log.letters()
        assert letters["count"].sum() == twin.books["garbled"] + twin.books["future"]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.sampled_from([KEYED, SENSED]),
    st.lists(st.lists(READINGS, min_size=1, max_size=8), min_size=1, max_size=6),
    st.integers(1, 150),
    st.booleans(),
)
def test_killed_anywhere_and_delivered_again(
    stream: Stream, batches: list[list[Reading]], at: int, full: bool
) -> None:
    """Until it returned, a result is delivered again: nothing is lost, nothing with a KEY doubled, the books balance."""
    twin = Twin(stream)
    for readings in batches:
        for reading in readings:
            twin.take(reading, NOW)
    with scratch() as folder:
        fail = FailAt(no_space if full else CrashError, at)
        entrance: Entrance | None = None
        waiting = [result(readings, arrived=NOW) for readings in batches]
        received = 0
        while waiting:
            try:
                if entrance is None:
                    entrance = open_entrance(stream, folder, fail)
                    assert entrance.ledger.balanced
                    assert entrance.ledger.received in (received, received + waiting[0].received)
                    received = entrance.ledger.received
                entrance.admit(waiting[0], NOW)
                received = entrance.ledger.received
                waiting.pop(0)
            except CrashError:
                if entrance is not None:
                    entrance.log.abandon()
                entrance = None
            except ResourceError:
                pass
        assert entrance is not None
        entrance.log.abandon()
        entrance = open_entrance(stream, folder)
        found = [row for rows in entrance.log.scan() for row in rows.rows()]
        assert sorted(found) == sorted(twin.rows)
        assert entrance.ledger.balanced
        assert entrance.ledger.appended == len(found)
        entrance.log.close()
        assert not entrance.log.verify().damages


def test_fields_are_counted_with_the_rows_and_found_again(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    for number in range(2):
        read = result([(NOW + number, 1, 0.5)], arrived=NOW)
        entrance.admit(replace(read, fields=FieldCounts({"x": 1}, {"rssi": 1}, looked=1)))
    entrance.log.close()
    again = open_entrance(PUSHED, tmp_path)
    assert again.fields == entrance.fields == FieldCounts({"x": 2}, {"rssi": 2}, looked=2)
    again.log.close()


def test_a_reading_that_is_an_hour_ahead_may_be_in_local_time(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    hour = 3_600 * SECOND
    entrance.admit(
        result([(NOW + hour - SECOND, 1, 0.5), (NOW + hour // 2 + 5 * 60 * SECOND, 1, 0.5)], arrived=NOW)
    )
    assert [letter["reason"] for letter in entrance.log.letters().rows(named=True)] == [
        "stamped 3599 seconds ahead of its arrival: a local time? FORMAT ... (TIMEZONE '...') names its zone",
        "stamped 2100 seconds ahead of its arrival",
    ]
    entrance.log.close()


def test_refused_rows_are_letters_with_their_reason(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    garbled = (Garbled(b"{", "no JSON", "river/3", 2),)
    read = result([(None, 1, 0.5), (NOW + 90 * SECOND, 2, 1.5), (NOW, 3, 2.5)], arrived=NOW, garbled=garbled)
    batch = entrance.admit(read)
    assert batch is not None
    assert batch.rows.rows() == [(NOW, 3, 2.5)]
    assert entrance.ledger == StreamLedger(received=5, appended=1, garbled=3, future=1)
    letters = entrance.log.letters().rows(named=True)
    assert [letter["reason"] for letter in letters] == [
        "no JSON",
        "a reading without a time",
        "stamped 90 seconds ahead of its arrival",
    ]
    assert [letter["source"] for letter in letters] == ["river/3", "1", "2"]
    assert json.loads(letters[2]["payload"]) == {"time": NOW + 90 * SECOND, "id": 2, "depth": 1.5}
    assert entrance.admit(result([])) is None
    entrance.log.close()


def test_a_clock_put_back_refuses_nobody(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    entrance.admit(result([(NOW, 1, 0.5)], arrived=NOW - 24 * 60 * MINUTE), lead=24 * 60 * MINUTE)
    assert entrance.ledger.appended == 1
    assert next(entrance.log.read()).arrived == NOW
    entrance.log.close()


@pytest.mark.parametrize("cut", [1, 3, 10])
def test_a_numbered_source_is_taken_once_however_it_is_cut(tmp_path: Path, cut: int) -> None:
    rows: list[Reading] = [(n, 1, 0.0) for n in range(10)]
    entrance = open_entrance(PUSHED, tmp_path)
    entrance.admit(result(rows[:4], sequence=0))
    entrance.log.abandon()
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.consumed == {"": 4}
    for start in range(0, 10, cut):
        entrance.admit(result(rows[start : start + cut], sequence=start))
    assert pl.concat(entrance.log.scan())["time"].to_list() == list(range(10))
    assert entrance.ledger == StreamLedger(received=14, appended=10, duplicate=4)
    entrance.log.close()
    other = Entrance(PUSHED, entrance.log, source="elsewhere")
    assert (other.consumed, other.ledger.received) == ({}, 14)
    entrance.log.close()


def test_each_part_of_a_source_is_counted_for_itself(tmp_path: Path) -> None:
    rows: list[Reading] = [(n, 1, 0.0) for n in range(10)]
    entrance = open_entrance(PUSHED, tmp_path)
    entrance.admit(result(rows[5:8], sequence=0, part="b"))
    entrance.admit(result(rows[:2], sequence=0, part="a"))
    entrance.log.abandon()
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.consumed == {"a": 2, "b": 3}
    entrance.admit(result(rows[:5], sequence=0, part="a"))
    entrance.admit(result(rows[5:8], sequence=0, part="b"))
    assert entrance.ledger == StreamLedger(received=13, appended=8, duplicate=5)
    # The source says that "b" is gone; another of that name is new.
    entrance.admit(result(rows[8:9], sequence=0, part="c", kept={"a": 5}))
    assert entrance.consumed == {"a": 5, "c": 1}
    entrance.admit(result(rows[9:], sequence=0, part="b"))
    assert entrance.ledger.appended == 10
    entrance.log.close()


def test_the_count_of_a_log_from_before_sources_had_parts(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    entrance.log.append(
        result([(0, 1, 0.0)]).rows,
        note={"ledger": StreamLedger(received=1, appended=1).as_dict(), "consumed": {"here": 1, "other": 7}},
    )
    entrance.log.close()
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.consumed == {"": 1}
    entrance.admit(result([(0, 1, 0.0), (1, 1, 0.0)], sequence=0))
    assert entrance.consumed == {"": 2}
    assert entrance.ledger.appended == 2
    entrance.log.close()
    assert Entrance(PUSHED, entrance.log, source="other").consumed == {"": 7}
    entrance.log.close()


def test_the_greatest_time_of_the_log(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.greatest() is None
    for start in range(0, 400, 20):
        entrance.admit(result([(n, 1, 0.0) for n in range(start, start + 20)]))
        assert entrance.greatest() == start + 19
    assert len(entrance.log.segments()) > 2
    entrance.log.heartbeat(1_000)
    entrance.log.close()
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.greatest() == 999, "nothing before 1000 was promised"
    entrance.log.close()


def test_old_keys_are_looked_up_in_the_log(tmp_path: Path) -> None:
    entrance = open_entrance(KEYED, tmp_path, keys=8)
    for start in range(0, 400, 20):
        entrance.admit(result([(n, 1, 0.0) for n in range(start, start + 20)]))
    assert entrance.keys is not None
    assert len(entrance.keys) <= 36
    assert not entrance.keys.looked_up, "what is new is not looked for among the old"
    entrance.admit(result([(n, 1, 9.0) for n in range(-5, 30)]))
    assert entrance.ledger.duplicate == 30
    assert entrance.ledger.appended == 405
    entrance.log.close()


def test_what_was_shed_is_settled_at_the_end(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    entrance.shed(7)
    entrance.settle()
    entrance.log.abandon()
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.ledger == StreamLedger(received=7, shed=7)
    entrance.log.close()


def test_a_log_from_before_there_were_books(tmp_path: Path) -> None:
    with StreamLog(tmp_path, PUSHED) as log:
        log.append(result([(1, 1, 0.0), (2, 1, 0.0)]).rows)
    entrance = open_entrance(PUSHED, tmp_path)
    assert entrance.ledger == StreamLedger(received=2, appended=2)
    entrance.log.close()


@pytest.mark.promise("unknown-ids")
def test_new_ids_beyond_the_bound_are_dead_letters(tmp_path: Path) -> None:
    entrance = open_entrance(PUSHED, tmp_path)
    entrance.ids.most = 3
    first = entrance.admit(result([(NOW, 1, 1.0), (NOW, 2, 1.0), (NOW, 2, 2.0)]), NOW)
    assert first is not None
    second = entrance.admit(result([(NOW, 2, 3.0), (NOW, 9, 1.0), (NOW, 8, 1.0), (NOW, 9, 2.0)]), NOW)
    assert second is not None
    assert second.rows["id"].to_list() == [2, 9, 9]
    assert entrance.admit(result([(NOW, 8, 1.0), (NOW, 7, 1.0)]), NOW) is None
    assert (entrance.ledger.appended, entrance.ledger.garbled, entrance.ledger.balanced) == (6, 3, True)
    letters = last_letters(entrance.log.files)
    assert letters["source"].to_list() == ["8", "8", "7"]
    assert set(letters["reason"]) == {"a new id, and the stream has sent 3 ids already"}
