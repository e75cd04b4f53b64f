"""The door behind `without_doubles`, against a naive twin that takes one reading after the other, however they are cut into batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Sensor, Stream, stream_columns
from nilometer.dataflow.attributes import attach, attribute_frame
from nilometer.dataflow.door import NEVER, Door
from nilometer.dataflow.ledger import Ledger
from nilometer.dataflow.sources import Batch, Entry, Heartbeat, without_doubles
from nilometer.errors import DataError
from nilometer.operators.logic import ID, POSITION, TICK, TIME
from nilometer.types import FLOAT, INT, POINT, STRING, Column, floor_to

Item = dict[str, Any] | int
SCHEMA = {"time": pl.Int64, "id": pl.Int64, "depth": pl.Int64}


def frame(readings: Sequence[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(readings, schema=SCHEMA, orient="row")


def naive(stream: Stream, items: Sequence[Item]) -> tuple[list[dict[str, Any]], Ledger, int]:
    """One reading after the other, straight from the language."""
    accepted = []
    counts = dict.fromkeys(("received", "garbled", "duplicate", "late", "accepted"), 0)
    watermark = NEVER
    seen = set()
    for item in items:
        if isinstance(item, int):
            watermark = max(watermark, item)
            continue
        counts["received"] += 1
        if item["time"] is None:
            counts["garbled"] += 1
            continue
        tick = item["time"] if stream.every is None else floor_to(item["time"], stream.every)
        key = tuple(tick if name == "TICK" else item[name.lower()] for name in stream.key)
        if key in seen and stream.key:
            counts["duplicate"] += 1
        elif tick < watermark:
            counts["late"] += 1
            seen.add(key)
        else:
            counts["accepted"] += 1
            seen.add(key)
            accepted.append({**item, TICK: tick})
            watermark = max(watermark, tick - stream.delay)
    return accepted, Ledger(**counts), watermark


readings = st.fixed_dictionaries(
    {
        "time": st.one_of(st.integers(-20, 60), st.none()),
        "id": st.one_of(st.integers(1, 3), st.none()),
        "depth": st.integers(0, 3),
    }
)
streams = st.builds(
    Stream,
    name=st.just("river"),
    columns=st.just(stream_columns((Column("depth", INT),))),
    every=st.sampled_from([None, 5]),
    delay=st.sampled_from([0, 3, 1000]),
    key=st.sampled_from([(), ("id", "time"), ("depth", "id"), ("time",), ("TICK", "id"), ("id", "ID")]),
)


@given(
    stream=streams,
    items=st.lists(st.one_of(readings, st.integers(-10, 50)), max_size=40),
    cuts=st.lists(st.booleans(), min_size=40, max_size=40),
    snapshot=st.booleans(),
)
def test_the_door_is_its_naive_twin(
    stream: Stream, items: list[Item], cuts: list[bool], snapshot: bool
) -> None:
    entries: list[Entry] = []
    batch: list[dict[str, Any]] = []
    for item, cut in zip(items, cuts, strict=False):
        if cut or isinstance(item, int):
            entries.append(Batch(frame(batch)))
            batch.clear()
        if isinstance(item, int):
            entries.append(Heartbeat(item))
        else:
            batch.append(item)
    entries.append(Batch(frame(batch)))
    door = Door(stream)
    parts: list[pl.DataFrame] = []
    for entry in without_doubles(stream, entries):
        if isinstance(entry, Heartbeat):
            door.heartbeat(entry.tick)
            continue
        parts.append(door.admit_batch(entry))
        if snapshot:
            fresh = Door(stream)
            fresh.restore(door.snapshot())
            door = fresh
    rows = pl.concat(parts)
    accepted, ledger, watermark = naive(stream, items)
    assert rows.select("time", "id", "depth", TICK).to_dicts() == accepted
    assert door.ledger == ledger
    assert door.ledger.balanced
    assert door.watermark == watermark
    assert rows[POSITION].is_sorted()
    assert rows[POSITION].is_unique().all()
    assert rows[TIME].equals(rows["time"], check_names=False)
    assert rows[ID].equals(rows["id"], check_names=False)
    assert door.first_tick == (accepted[0][TICK] if accepted else None)
    assert door.greatest_tick == max((row[TICK] for row in accepted), default=None)
    assert door.greatest_time == max((row["time"] for row in accepted), default=None)


def test_a_tuple_at_the_watermark_is_in_time_and_one_below_it_is_late() -> None:
    door = Door(Stream("s", stream_columns((Column("depth", INT),)), delay=5))
    rows = door.admit(frame([{"time": t, "id": 1, "depth": 0} for t in (10, 5, 4, 20, 15, 14)]))
    assert rows["time"].to_list() == [10, 5, 20, 15]
    assert door.ledger == Ledger(received=6, late=2, accepted=4)
    assert door.ledger.appended == 6


def test_a_copy_is_found_however_long_ago_the_first_was() -> None:
    stream = Stream("s", stream_columns((Column("depth", INT),)), key=("id", "time"), delay=5)
    times = list(range(200_000))
    entries = []
    for start in range(0, 200_000, 10_000):
        batch = [*times[start : start + 10000], start // 2]
        entries.append(Batch(frame([{"time": time, "id": 1, "depth": 0} for time in batch])))
    door = Door(stream)
    for entry in without_doubles(stream, entries):
        assert isinstance(entry, Batch)
        door.admit_batch(entry)
    assert door.ledger == Ledger(received=200_020, duplicate=20, accepted=200_000)
    assert sum(map(len, door.snapshot().values())) < 1_000


def test_the_keys_of_an_older_programs_checkpoint_are_passed_over() -> None:
    stream = Stream("s", stream_columns((Column("depth", INT),)), key=("id", "time"))
    door = Door(stream)
    door.admit(frame([{"time": 1, "id": 1, "depth": 0}]))
    fresh = Door(stream)
    fresh.restore(door.snapshot() | {"seen/000000": b"keys"})
    assert (fresh.ledger, fresh.watermark) == (door.ledger, 1)
    assert set(fresh.snapshot()) == {"numbers"}


def test_the_garbled_rows_of_a_reader_are_in_the_books() -> None:
    door = Door(Stream("s", stream_columns((Column("depth", INT),))))
    door.admit(frame([{"time": 1, "id": 1, "depth": 0}, {"time": None, "id": 1, "depth": 0}]), garbled=2)
    assert door.ledger == Ledger(received=4, garbled=3, accepted=1)


def test_a_key_that_is_no_column_is_refused() -> None:
    with pytest.raises(DataError, match="names 'height'"):
        without_doubles(Stream("s", stream_columns(()), key=("height",)), [])


def test_static_attributes_are_joined_on_by_id() -> None:
    sensors = [
        Sensor(1, "river", (3.0, 4.0), (("kind", "gauge"), ("level", 2))),
        Sensor(2, "river", None, (("Kind", "float"),)),
    ]
    columns = (Column("kind", STRING), Column("location", POINT), Column("level", FLOAT))
    attributes = attribute_frame(sensors, columns, INT)
    rows = attach(pl.DataFrame({ID: [2, 1, 9, None]}, schema={ID: pl.Int64}), attributes)
    assert rows["kind"].to_list() == ["float", "gauge", None, None]
    assert rows["location"].to_list() == [None, {"x": 3.0, "y": 4.0}, None, None]
    assert rows["level"].to_list() == [None, 2.0, None, None]
