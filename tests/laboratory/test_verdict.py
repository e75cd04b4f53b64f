"""The one rule of verdicts, case by case."""

from __future__ import annotations

import doctest
import math

import pytest

from nilometer.laboratory.reproductions import text, verdict
from nilometer.laboratory.reproductions.verdict import Ratio, Verdict, claimed, exact, measured

MET = Ratio("quicker", 2.0, 1.9)
NOT_MET = Ratio("quicker", 2.0, 1.1)


@pytest.mark.parametrize(
    ("paper", "ours", "met"),
    [
        (2.0, 2.0, True),
        (2.0, math.sqrt(2), True),  # half the effect
        (2.0, 1.4, False),
        (2.0, 4.0, True),
        (2.0, 4.01, False),
        (10.0, 5.1, True),
        (10.0, 4.9, False),  # its logarithm is near enough, it is not
        (10.0, 20.1, False),
        (0.5, 0.6, True),
        (0.5, 0.8, False),
        (0.2, 0.86, False),  # Fig. 10: the tree loses 80 per cent, ours 14
        (0.8, 1.02, False),  # the other way
        (1.43, 1.02, False),  # Fig. 8d
        (1.0, 1.09, True),
        (1.0, 1.2, False),
        (0.95, 1.05, True),
        (2.0, 0.0, False),
        (2.0, math.inf, False),
        (2.0, math.nan, False),
        (2.0, None, False),
    ],
)
def test_a_ratio_is_met_within_a_factor_of_two_of_its_effect(
    paper: float, ours: float | None, met: bool
) -> None:
    assert Ratio("x", paper, ours).met is met
    if ours is not None and math.isfinite(ours) and ours:
        assert Ratio("x", 1 / paper, 1 / ours).met is met, "whichever way it is divided"


@pytest.mark.parametrize(
    ("wins", "everywhere", "ratios", "wanted"),
    [
        (True, True, [MET], Verdict.SHAPE),
        (True, True, [], Verdict.SHAPE),
        (True, True, [MET, NOT_MET], Verdict.ORDER),
        (True, False, [MET], Verdict.ORDER),
        (False, True, [MET], Verdict.MISSED),
        (False, False, [], Verdict.MISSED),
    ],
)
def test_the_order_at_every_size_and_every_ratio_are_the_shape(
    wins: bool, everywhere: bool, ratios: list[Ratio], wanted: Verdict
) -> None:
    assert measured("p", "o", wins=wins, everywhere=everywhere, ratios=ratios)["verdict"] == wanted


def test_what_is_exact_is_the_same_or_missed() -> None:
    assert [exact("p", "o", same)["verdict"] for same in (True, False)] == ["the same", "missed"]
    assert [claimed("p", "o", holds)["verdict"] for holds in (True, False)] == [Verdict.HOLDS, "missed"]


def test_ratios_and_misses_are_printed() -> None:
    figure = measured("up", "down", wins=False, everywhere=True, ratios=[MET, NOT_MET], data=[1])
    shown = text({"title": "t", "figures": {"Fig. 1": figure}, "assumptions": []})
    assert "Fig. 1: missed" in shown
    assert "quicker: paper 2, ours 1.9\n" in shown
    assert "quicker: paper 2, ours 1.1 (not met)" in shown


def test_the_examples_are_right() -> None:
    assert doctest.testmod(verdict).failed == 0
