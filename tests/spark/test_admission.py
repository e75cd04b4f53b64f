"""Micro-batches of random logs, cut anywhere: what the driver makes of headers is what a door that sees every row knows."""

from __future__ import annotations

import tempfile

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import Batch, Entry, Heartbeat, without_doubles
from nilometer.log import LogDirectory, LogSettings, Offset
from nilometer.operators.logic import POSITION
from nilometer.plan import physical
from nilometer.spark.admission import Admission
from nilometer.spark.job import Job, TablesAtHand
from nilometer.spark.places import LogPlace, Places
from nilometer.spark.reading import admitted_rows
from nilometer.types import FLOAT, INT, SECOND, TIME, Column

COLUMNS = (Column("id", INT), Column("time", TIME), Column("v", FLOAT))

batches = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=6)
entries = st.lists(st.one_of(batches, st.integers(0, 40)), max_size=8)
"""Rows as (id, second), or a heartbeat."""


def stream_of(every: int | None, delay: int, key: tuple[str, ...] = ()) -> Stream:
    return Stream("s", COLUMNS, every=every, delay=delay * SECOND, key=key)


def job_of(stream: Stream, place: str) -> Job:
    plan = physical.Deliver(physical.SpAcquire(stream, "s", COLUMNS), tick=False)
    return Job("test", plan, TablesAtHand(), place, {"s": Offset()}, buckets=2, partitions=2)


@settings(max_examples=60, deadline=None)
@given(
    entries,
    st.sampled_from([None, 5 * SECOND]),
    st.integers(0, 12),
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([(), ("id", "time"), ("v",), ("tick", "v")]),
)
def test_places_and_pieces_are_those_of_a_door(
    log_entries: list[list[tuple[int, int]] | int],
    every: int | None,
    delay: int,
    limits: list[int],
    tasks: int,
    key: tuple[str, ...],
) -> None:
    """Of a log with doubles, whose KEY was declared when it had been written, too."""
    stream = stream_of(every, delay, key)
    whole = Door(stream)
    received: list[Entry] = []
    with tempfile.TemporaryDirectory() as folder:
        # Segments of one or two records: the walk goes from one to the next.
        with LogDirectory(folder, LogSettings(segment_bytes=2048)).log(stream_of(every, delay)) as log:
            for entry in log_entries:
                if isinstance(entry, int):
                    log.heartbeat(entry * SECOND)
                    received.append(Heartbeat(entry * SECOND))
                elif entry:
                    rows = pl.DataFrame(
                        {
                            "id": [source for source, _ in entry],
                            "time": [second * SECOND for _, second in entry],
                            "v": [float((source + second) % 5) or None for source, second in entry],
                        },
                        schema_overrides={"v": pl.Float64},
                    )
                    log.append(rows)
                    received.append(Batch(rows))
            end = log.end
        expected: list[pl.DataFrame] = []
        for entry in without_doubles(stream, received):
            if isinstance(entry, Heartbeat):
                whole.heartbeat(entry.tick)
            else:
                expected.append(whole.admit_batch(entry))
        job = job_of(stream, folder)
        job.keep_keys()
        admission = Admission(job.streams, job.logs)
        places, found, turn = Places.at(job.start), [], 0
        while places.streams["s"].offset < end:
            following = admission.latest(places, limits[turn % len(limits)])
            assert following != places, "no progress although the log goes on"
            # Planned again by another process, which has read nothing yet: the same pieces.
            fresh = Admission(job.streams, job.logs)
            pieces = fresh.pieces(places, following, tasks)
            assert pieces == admission.pieces(places, following, tasks)
            for piece in (piece for part in pieces for piece in part):
                found.append(admitted_rows(job, piece)[0])
            admission.forget(following)
            places, turn = following, turn + 1
        assert admission.latest(places, 1) == places
    place = places.streams["s"]
    assert (place.watermark, place.first_tick) == (whole.watermark, whole.first_tick)
    assert (place.greatest_tick, place.greatest_time) == (whole.greatest_tick, whole.greatest_time)
    rows = pl.concat([frame for frame in found if frame.height] or [pl.DataFrame({POSITION: []})])
    accepted = pl.concat([frame for frame in expected if frame.height] or [pl.DataFrame({POSITION: []})])
    assert rows.drop(POSITION).rows() == accepted.drop(POSITION).rows()
    assert rows[POSITION].is_unique().all()
    assert rows[POSITION].is_sorted()


def test_the_stream_that_is_furthest_behind_comes_first() -> None:
    ahead, behind = stream_of(None, 0), Stream("t", COLUMNS, every=None, delay=0)
    with tempfile.TemporaryDirectory() as folder:
        for stream, first in ((ahead, 100), (behind, 0)):
            with LogDirectory(folder).log(stream) as log:
                for second in range(first, first + 10):
                    log.append(pl.DataFrame({"id": [1], "time": [second * SECOND], "v": [0.0]}))
        streams = {"s": ahead, "t": behind}
        logs = {name: LogDirectory(folder).log(stream) for name, stream in streams.items()}
        admission = Admission(streams, logs)
        start = Places({"s": LogPlace(), "t": LogPlace()})
        first = admission.latest(start, 6)
    # One of `s`, since nothing is known of either at first; then `t`, until it would have caught up.
    assert {name: place.number for name, place in first.streams.items()} == {"s": 1, "t": 5}
