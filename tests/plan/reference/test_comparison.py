"""Answers compared as multisets, with a tolerance for floats."""

from __future__ import annotations

import pytest

from nilometer.plan.reference import Answer, normalise, rows_in_common, same_answer


def test_order_does_not_matter_but_number_does():
    assert same_answer([(1,), (2,), (2,)], [(2,), (1,), (2,)]) is None
    assert (
        same_answer([(1,), (2,)], [(2,), (1,), (2,)])
        == "2 rows expected, 3 given; first difference:\n  surplus: (2,)"
    )


def test_the_first_difference_is_shown():
    assert same_answer([(3, "x"), (1, "a")], [(1, "b"), (3, "x")]) == (
        "2 rows expected, 2 given; first difference:\n  missing: (1, 'a')\n  surplus: (1, 'b')"
    )


def test_types_count():
    assert same_answer([(1,)], [(1.0,)]) is not None
    assert same_answer([(1,)], [(True,)]) is not None
    assert same_answer([(None,)], [(0,)]) is not None


def test_floats_within_tolerance():
    assert same_answer([(0.1 + 0.2,)], [(0.3,)]) is None
    assert same_answer([(1e15,)], [(1e15 + 1,)]) is None
    assert same_answer([(1.0,)], [(1.0001,)]) is not None
    assert same_answer([(1.0,)], [(1.0001,)], tolerance=1e-3) is None
    assert same_answer([(0.0,)], [(-0.0,)]) is None
    assert same_answer([(float("nan"),)], [(float("nan"),)]) is not None


def test_floats_that_trade_places_when_sorted():
    # Sorted, the rows stand crosswise; only as a matching are they the same.
    close = 1e-12
    left = [(1.0, 5.0), (1.0 + close, 2.0)]
    right = [(1.0 + close, 5.0), (1.0, 2.0)]
    assert same_answer(left, right) is None


def test_structs_lists_and_points_in_any_clothes():
    assert (
        same_answer([((1.0, 2.0), [{"id": 1, "times": [3]}])], [({"x": 1.0, "y": 2.0}, ((1, (3,)),))]) is None
    )


def test_answers_themselves():
    answer = Answer(("v",), ((1,),), 0, ())
    assert same_answer(answer, [[1]]) is None


def test_rows_in_common():
    assert rows_in_common([(1, 0.3), (1, 0.3), (2, None)], [(2, None), (1, 0.1 + 0.2), (3, 1.0)]) == 2
    assert rows_in_common([], [(1,)]) == 0


def test_normalise():
    rows = [(2, "b"), (None, "a"), (1.00000000001, "c"), (-0.0, [1])]
    assert normalise(rows) == [(None, "a"), (0.0, (1,)), (1.0, "c"), (2, "b")]
    assert str(normalise([(-0.0,)])) == "[(0.0,)]"


def test_dictionaries_are_not_compared_by_their_keys() -> None:
    with pytest.raises(TypeError, match="tuples"):
        same_answer([{"x": 1}], [{"x": 2}])
