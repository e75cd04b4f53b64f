"""The relevance matrix: its bounds, how fast heads come and go, and what is drawn from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nilometer.errors import ConfigurationError
from nilometer.sensornet.snjoin import Feedback, Note
from nilometer.sensornet.snjoin.relevance import base_matrix, buckets_of, chosen_heads, learned, noted

HEADS = 4
PAPER = {"least_reference": 0.0, "greatest_reference": 1.0}


def note(probed: list[int], contributed: list[int], bucket: int = 0) -> Note:
    return Note(np.array([bucket]), np.array([probed]), np.array([contributed]))


counts = arrays.arrays(np.int64, (2, HEADS), elements=st.integers(0, 5))
feedbacks = st.builds(
    Feedback,
    buckets=st.just(2),
    base=st.floats(0, 1),
    rate=st.floats(0.01, 3),
    least_reference=st.floats(0, 0.5),
    greatest_reference=st.floats(0.5, 1),
)


@given(feedbacks, st.lists(st.tuples(st.integers(0, 1), counts), max_size=20))
def test_entries_stay_probabilities(feedback: Feedback, notes: list[tuple[int, np.ndarray]]) -> None:
    matrix = base_matrix(feedback, HEADS)
    for bucket, (probed, contributed) in notes:
        before = matrix
        matrix = learned(
            matrix, note(probed.tolist(), np.minimum(probed, contributed).tolist(), bucket), feedback
        )
        assert matrix.min() >= 0
        assert matrix.max() <= 1
        assert (matrix[1 - bucket] == before[1 - bucket]).all()
        assert (matrix[bucket][probed == 0] == before[bucket][probed == 0]).all()


def test_the_papers_rule() -> None:
    """Section 6: an entry less the mean of the weights, plus its own weight."""
    feedback = Feedback(buckets=1, **PAPER)
    matrix = learned(base_matrix(feedback, 3), note([4, 4, 0], [2, 1, 0]), feedback)
    assert matrix.tolist() == [[0.5 - 0.375 + 0.5, 0.5 - 0.375 + 0.25, 0.5]]


@pytest.mark.parametrize("contributed", [[0, 0, 0, 0], [3, 3, 3, 3]])
def test_by_the_papers_rule_notes_without_differences_teach_nothing(contributed: list[int]) -> None:
    same = note([3, 3, 3, 3], contributed)
    paper, ours = Feedback(buckets=1, **PAPER), Feedback(buckets=1)
    assert (learned(base_matrix(paper, HEADS), same, paper) == 0.5).all()
    assert (learned(base_matrix(ours, HEADS), same, ours) != 0.5).all()


@given(feedbacks.filter(lambda feedback: feedback.greatest_reference < 0.99), counts)
def test_a_head_that_matches_again_is_back_after_the_stated_number_of_notes(
    feedback: Feedback, others: np.ndarray
) -> None:
    matrix = np.zeros((2, HEADS))
    probed, contributed = others[0], np.minimum(others[0], others[1])
    probed[2] = contributed[2] = 3
    for _ in range(feedback.notes_to_regain()):
        matrix = learned(matrix, note(probed.tolist(), contributed.tolist()), feedback)
    assert matrix[0, 2] == pytest.approx(1)


@given(feedbacks.filter(lambda feedback: feedback.least_reference > 0.01), counts)
def test_a_head_that_matches_nothing_is_out_after_the_stated_number_of_notes(
    feedback: Feedback, others: np.ndarray
) -> None:
    matrix = np.ones((2, HEADS))
    probed, contributed = others[0], np.minimum(others[0], others[1])
    probed[2], contributed[2] = 3, 0
    for _ in range(feedback.notes_to_lose()):
        matrix = learned(matrix, note(probed.tolist(), contributed.tolist()), feedback)
    assert matrix[0, 2] == pytest.approx(0)


def test_the_default_numbers() -> None:
    assert (Feedback().notes_to_regain(), Feedback().notes_to_lose()) == (2, 20)
    assert Feedback(rate=0.5).notes_to_regain(0.75) == 8
    with pytest.raises(ConfigurationError):
        Feedback().notes_to_regain(0.5)
    with pytest.raises(ConfigurationError):
        Feedback(least_reference=0.0).notes_to_lose()


def test_notes_count_by_bucket_and_name_those_who_had_nothing() -> None:
    made = noted(
        np.array([5, 1, 5]),
        np.array([[True, True, False], [True, False, False], [True, True, False]]),
        np.array([[False, True, True], [False, False, False], [False, True, False]]),
    )
    assert made.bucket.tolist() == [1, 5]
    assert made.probed.tolist() == [[1, 0, 0], [2, 2, 0]]
    assert made.contributed.tolist() == [[0, 0, 0], [0, 2, 0]]
    assert made.size() == 4 + 2 * 2 + 3 * 3


def test_a_head_is_drawn_with_its_probability_but_never_its_own() -> None:
    matrix = np.array([[1.0, 0.0, 0.5, 1.0]])
    drawn = chosen_heads(
        matrix, np.zeros(20_000, dtype=np.int64), 3, Feedback(buckets=1), np.random.default_rng(1)
    )
    assert drawn.mean(axis=0) == pytest.approx([1.0, 0.02, 0.5, 0.0], abs=0.012)


def test_the_roulette_draws_so_many_without_replacement() -> None:
    matrix = np.array([[1.0, 0.0, 0.5, 1.0]])
    rows = np.zeros(20_000, dtype=np.int64)
    for length in (1, 2, 3, 7):
        feedback = Feedback(buckets=1, length=length)
        drawn = chosen_heads(matrix, rows, 3, feedback, np.random.default_rng(1))
        assert (drawn.sum(axis=1) == min(length, 3)).all()
        assert not drawn[:, 3].any()
    one = chosen_heads(matrix, rows, 3, Feedback(buckets=1, length=1), np.random.default_rng(1))
    assert one.mean(axis=0) == pytest.approx([1 / 1.52, 0.02 / 1.52, 0.5 / 1.52, 0.0], abs=0.012)
    alone = chosen_heads(np.array([[1.0]]), rows, 0, Feedback(buckets=1, length=2), np.random.default_rng(1))
    assert not alone.any()


def test_buckets_are_filled_and_the_same_for_ever() -> None:
    assert np.bincount(buckets_of(np.arange(6400), 64), minlength=64).min() > 50
    assert (
        buckets_of(np.array([1, 2, 3, -1]), 64).tolist() == buckets_of(np.array([1, 2, 3, -1]), 64).tolist()
    )


@pytest.mark.parametrize(
    "wrong",
    [{"base": 1.5}, {"rate": 0.0}, {"floor": -0.1}, {"buckets": 0}, {"length": 0}, {"least_reference": 0.9}],
)
def test_impossible_feedback_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        Feedback(**wrong)
