"""Bands: what a comparison says of two columns' difference holds wherever the comparison does, and is no wider than it must be."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Call, ColumnReference, Expression, Literal
from nilometer.operators.bands import Band, band_of, bands_of
from nilometer.types import BOOLEAN, FLOAT, INT, STRING

A, B, C = (ColumnReference(f"{name}.x", INT) for name in "abc")


def five(value: int = 5) -> Literal:
    return Literal(value, INT)


def less(one: Expression, other: Expression) -> Call:
    return Call("-", (one, other), INT)


def compare(one: Expression, symbol: str, other: Expression) -> Call:
    return Call(symbol, (one, other), BOOLEAN)


def distance(one: Expression, other: Expression) -> Call:
    return Call("abs", (less(one, other),), INT)


@pytest.mark.parametrize(
    ("condition", "band"),
    [
        (compare(A, "<", B), Band("a.x", "b.x", None, 0, 0)),
        (compare(A, ">=", Call("+", (B, five()), INT)), Band("a.x", "b.x", 5, None, 5)),
        (compare(five(), ">", less(A, B)), Band("a.x", "b.x", None, 5, 5)),
        (compare(distance(A, B), "<=", five()), Band("a.x", "b.x", -5, 5, 5)),
        (compare(five(), ">=", distance(A, less(B, five(2)))), Band("a.x", "b.x", -7, 3, 7)),
        (compare(Call("negative", (A,), INT), "<", less(five(), B)), Band("b.x", "a.x", None, 5, 5)),
    ],
    ids=str,
)
def test_a_band(condition: Expression, band: Band) -> None:
    assert band_of(condition) == band


@pytest.mark.parametrize(
    "condition",
    [
        compare(A, "=", B),
        compare(A, "!=", B),
        compare(Call("+", (A, B), INT), "<", five()),
        compare(Call("*", (A, five()), INT), "<", B),
        compare(less(A, A), "<", less(B, C)),
        compare(distance(A, B), ">", five()),
        compare(distance(A, B), "<", Literal(None, INT)),
        compare(A, "<", five()),
        compare(ColumnReference("a.s", STRING), "<", ColumnReference("b.s", STRING)),
        compare(ColumnReference("a.f", FLOAT), "<", B),
        Literal(True, BOOLEAN),
    ],
    ids=str,
)
def test_no_band(condition: Expression) -> None:
    assert band_of(condition) is None


HOLDS: dict[str, Callable[[int, int], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}

small = st.integers(-4, 4)


@given(st.integers(-9, 9), st.integers(-9, 9), small, small, st.sampled_from(sorted(HOLDS)), st.booleans())
def test_what_the_condition_keeps_is_in_the_band(
    a: int, b: int, one: int, other: int, symbol: str, distant: bool
) -> None:
    """And nothing else, but that a strict bound is taken for one that is not."""
    left, right = Call("+", (A, five(one)), INT), less(B, five(other))
    if distant:
        condition, holds = (
            compare(distance(left, right), symbol, five()),
            HOLDS[symbol](abs(a + one - b + other), 5),
        )
    else:
        condition, holds = compare(left, symbol, right), HOLDS[symbol](a + one, b - other)
    band = band_of(condition)
    if band is None:
        assert distant
        assert symbol in (">", ">=")
        return
    seen = band.seen_from("b.x")
    assert seen.seen_from("a.x") == band
    inside = (seen.low is None or b - a >= seen.low) and (seen.high is None or b - a <= seen.high)
    assert inside if holds else not inside or symbol in ("<", ">")


def test_bands_of_one_pair_become_one() -> None:
    between = [compare(A, ">=", less(B, five())), compare(Call("+", (B, five()), INT), ">=", A)]
    assert bands_of(between) == (Band("a.x", "b.x", -5, 5, 5),)
    assert bands_of(between)[0].closed
    assert len(bands_of([*between, compare(A, "<", C)])) == 2
