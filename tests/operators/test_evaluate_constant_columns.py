"""A column that Polars keeps as one value is a column all the same."""

from __future__ import annotations

import polars as pl

from nilometer.expressions import Call, Case, ColumnReference, Literal
from nilometer.operators.evaluate import compile_expression, compile_predicate, compile_projection
from nilometer.types import BOOLEAN, FLOAT, INT

UNMATCHED = pl.DataFrame({"k": [1, 1, 1, 1]}).join(
    pl.DataFrame({"k": [2], "v": [1.0]}), on="k", how="left", maintain_order="left"
)
TEST = Call(">=", (Literal(1.0, FLOAT), ColumnReference("v", FLOAT)), BOOLEAN)
CHOICE = Case((TEST,), (Literal(1, INT),), Literal(None, INT), INT)


def test_an_expression_has_a_value_for_every_row() -> None:
    assert compile_expression(CHOICE)(UNMATCHED).to_list() == [None] * 4
    assert compile_projection([("c", CHOICE)])(UNMATCHED).to_dict(as_series=False) == {"c": [None] * 4}
    assert compile_predicate(TEST)(UNMATCHED).height == 0
    assert compile_predicate(TEST).mask(UNMATCHED).to_list() == [False] * 4
