"""SIMILAR in its three forms."""

from __future__ import annotations

from nilometer.algebra import SimilarForm
from nilometer.types import FLOAT, STRING
from plan import functions
from plan.reference.build import acquire, pushed, reading, run

S = acquire(pushed(delay=100))


def similar(log, *, epsilon=0.0, window=10, form=SimilarForm.PAIRS, stream=S, finished=True):
    return run(functions.similar(stream, "s.v", epsilon, window, form), s=log, finished=finished)


LOG = (
    reading(1, 5, 1),
    reading(2, 5, 2),
    reading(3, 5, 1),
    reading(4, 6, 3),
    reading(5, 5, 3),
)


def test_pairs():
    assert similar(LOG) == [
        (2, 2, 5, 1, 1, 5),
        (3, 1, 5, 2, 2, 5),
        (5, 3, 5, 1, 1, 5),
        (5, 3, 5, 2, 2, 5),
        (5, 3, 5, 3, 1, 5),
    ]


def test_list():
    assert similar(LOG, form=SimilarForm.LIST) == [
        (2, 2, 5, 2, [{"id": 1, "times": [1]}]),
        (3, 1, 5, 2, [{"id": 2, "times": [2]}]),
        (5, 3, 5, 3, [{"id": 1, "times": [1, 3]}, {"id": 2, "times": [2]}]),
    ]


def test_flatten_is_the_cartesian_product():
    assert similar(LOG, form=SimilarForm.FLATTEN) == [
        (2, 2, 5, 2, [{"id": 1, "time": 1}]),
        (3, 1, 5, 2, [{"id": 2, "time": 2}]),
        (5, 3, 5, 3, [{"id": 1, "time": 1}, {"id": 2, "time": 2}]),
        (5, 3, 5, 3, [{"id": 1, "time": 3}, {"id": 2, "time": 2}]),
    ]


def test_within_epsilon_included():
    log = (reading(1, 5, 1), reading(2, 7, 2), reading(3, 8, 3))
    assert similar(log, epsilon=2.0) == [(2, 2, 7, 1, 1, 5), (3, 3, 8, 2, 2, 7)]


def test_within_the_window_included():
    log = (reading(1, 5, 1), reading(11, 5, 2), reading(12, 5, 3))
    assert similar(log) == [(11, 2, 5, 1, 1, 5), (12, 3, 5, 11, 2, 5)]


def test_at_one_time_the_lesser_id_is_the_earlier():
    log = (reading(1, 5, 2), reading(1, 5, 1))
    assert similar(log) == [(1, 2, 5, 1, 1, 5)]


def test_never_with_its_own_source():
    assert similar((reading(1, 5, 1), reading(2, 5, 1))) == []


def test_neither_without_a_value_nor_without_a_source():
    log = (reading(1, None, 1), reading(2, None, 2), reading(3, 5, None), reading(4, 5, 3))
    assert similar(log) == []


def test_by_time_and_not_by_arrival():
    log = (reading(5, 5, 1), reading(3, 5, 2))
    assert similar(log) == [(5, 1, 5, 3, 2, 5)]


def test_of_text_and_floats():
    text = acquire(pushed(value=STRING))
    assert similar((reading(1, "a", 1), reading(2, "a", 2), reading(3, "b", 3)), stream=text) == [
        (2, 2, "a", 1, 1, "a")
    ]
    floats = acquire(pushed(value=FLOAT))
    assert similar((reading(1, 0.5, 1), reading(2, 0.75, 2)), stream=floats, epsilon=0.25) == [
        (2, 2, 0.75, 1, 1, 0.5)
    ]


def test_waits_for_the_watermark():
    stream = acquire(pushed())
    log = (reading(1, 5, 2), reading(2, 5, 3))
    assert similar(log, stream=stream, finished=False) == []
    assert similar((*log, 3), stream=stream, finished=False) == [(2, 3, 5, 1, 2, 5)]
