"""The index of an age against its definition, and the three cases of Srivastava and Widom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels import age_curve
from nilometer.kernels.age_curve import AGES, AgeCurve

ages = st.lists(st.integers(0, 100), max_size=20)


@given(st.lists(st.tuples(ages, ages, st.integers(0, 5)), max_size=5), st.integers(0, 100), st.floats(1, 300))
def test_worth_is_the_best_mean_of_what_is_to_come(
    rounds: list[tuple[list[int], list[int], int]], reach: int, memory: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(age_curve, "MEMORY", memory)
        curve = AgeCurve(reach)
        length = max(1, -(-(reach + 1) // AGES))
        matches, exposures = [0.0] * AGES, [0.0] * AGES
        for matched, exposed, comers in rounds:
            curve.matched(np.array(matched, dtype=np.int64))
            for age in matched:
                matches[min(age // length, AGES - 1)] += 1
            curve.exposed(np.array(exposed, dtype=np.int64), comers)
            for age in exposed:
                exposures[min(age // length, AGES - 1)] += comers
            if sum(exposures) > memory:
                matches, exposures = [m / 2 for m in matches], [e / 2 for e in exposures]
    rates = [(m + 1) / (e + 1) for m, e in zip(matches, exposures, strict=True)]
    naive = [
        max(sum(rates[start:stop]) / (stop - start) for stop in range(start + 1, AGES + 1))
        for start in range(AGES)
    ]
    asked = np.arange(0, AGES * length, length)
    assert curve.worth(asked) == pytest.approx(naive)
    again = AgeCurve(reach)
    again.restore(curve.to_bytes())
    assert np.array_equal(again.worth(asked), curve.worth(asked))


def learnt(productive: np.ndarray) -> np.ndarray:
    """The worth of each age once the curve is known."""
    curve = AgeCurve(AGES - 1)
    for age, rate in enumerate(productive):
        curve.exposed(np.full(100, age), 100)
        curve.matched(np.full(int(rate * 10_000), age))
    return curve.worth(np.arange(AGES))


def test_falling_rising_and_peaked_curves() -> None:
    assert (np.diff(learnt(np.linspace(0.9, 0.1, AGES))) < 0).all()  # the newest stay
    assert (np.diff(learnt(np.linspace(0.1, 0.9, AGES))) > 0).all()  # the oldest stay
    peak = np.full(AGES, 0.01)
    peak[20] = 0.9
    worth = learnt(peak)
    assert (np.diff(worth[:21]) > 0).all()
    assert worth[21:].max() < worth[0]  # past the peak they go first


def test_an_age_that_was_never_seen_is_tried() -> None:
    curve = AgeCurve(AGES - 1)
    curve.exposed(np.zeros(1_000, dtype=np.int64), 10)
    worth = curve.worth(np.arange(AGES))
    assert worth[0] < worth[1] == 1.0
