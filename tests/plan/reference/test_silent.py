"""SILENT: who has not been heard, and who is back."""

from __future__ import annotations

from plan import functions
from plan.reference.build import acquire, pushed, reading, run, sensed

S = acquire(pushed())


def events(*log, duration=10, sensors=(), stream=S, finished=False):
    """Events as (time, id, state, last_time), by time."""
    return run(functions.silent(stream, duration, sensors=frozenset(sensors)), s=log, finished=finished)


def test_silent_after_the_duration_and_back_again():
    assert events(reading(0), reading(25), 26) == [(10, 1, "silent", 0), (25, 1, "returned", 0)]


def test_not_before_the_watermark_has_passed():
    assert events(reading(0), 10) == []
    assert events(reading(0), 11) == [(10, 1, "silent", 0)]
    # Back at 25, but something at 24 could still come: only the silence is certain.
    assert events(reading(0), reading(25)) == [(10, 1, "silent", 0)]


def test_heard_at_the_very_last_moment_is_not_silent():
    assert events(reading(0), reading(10), 20) == []
    assert events(reading(0), reading(11), 20) == [(10, 1, "silent", 0), (11, 1, "returned", 0)]


def test_each_sensor_for_itself():
    log = (reading(0, id=1), reading(5, id=2), reading(12, id=2), 30)
    assert events(*log) == [(10, 1, "silent", 0), (22, 2, "silent", 12)]


def test_again_and_again():
    assert events(reading(0), reading(20), reading(40), 51) == [
        (10, 1, "silent", 0),
        (20, 1, "returned", 0),
        (30, 1, "silent", 20),
        (40, 1, "returned", 20),
        (50, 1, "silent", 40),
    ]


def test_a_declared_sensor_never_heard():
    log = (reading(5, id=1), reading(14, id=1), reading(20, id=2), 22)
    assert events(*log, sensors=(1, 2, 3)) == [
        (15, 2, "silent", None),
        (15, 3, "silent", None),
        (20, 2, "returned", None),
    ]


def test_a_declared_sensor_heard_in_time():
    assert events(reading(5, id=1), reading(15, id=2), 16, sensors=(1, 2)) == [(15, 1, "silent", 5)]


def test_nothing_is_due_before_the_first_tuple():
    assert events(100, sensors=(1,)) == []


def test_the_first_tick_of_a_sensed_stream_counts():
    assert events(reading(17, id=1), 40, sensors=(2,), stream=acquire(sensed(10)))[0] == (
        20,
        2,
        "silent",
        None,
    )


def test_disorder():
    log = (reading(0), reading(18), reading(9), 30)
    assert events(*log, stream=acquire(pushed(delay=20))) == [(28, 1, "silent", 18)]


def test_the_end_of_a_stream_tells_no_silence():
    assert events(reading(0), reading(30, id=2), finished=True) == [(10, 1, "silent", 0)]


def test_a_tuple_without_an_id_is_nobodys():
    assert events(reading(0, id=None), 50) == []
