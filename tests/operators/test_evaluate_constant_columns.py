"""A column that Polars keeps as one value is a column all the same."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.expressions import Call, Case, ColumnReference, Expression, Literal
from nilometer.operators.evaluate.evaluate import compile_expression, compile_predicate, compile_projection
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


NOTHING = pl.DataFrame({"a": [1.0, 2.0], "v": [None, None]}, schema={"a": pl.Float64, "v": pl.Float64})


@pytest.mark.parametrize(
    "constant", [Literal(1.0, FLOAT), Call("+", (Literal(1.0, FLOAT), Literal(1.0, FLOAT)), FLOAT)]
)
@pytest.mark.parametrize("symbol", ["=", "!=", "<", "<=", ">", ">="])
def test_a_constant_is_compared_with_what_is_null_all_over(symbol: str, constant: Expression) -> None:
    total = Call("+", (ColumnReference("a", FLOAT), ColumnReference("v", FLOAT)), FLOAT)
    test = Call(symbol, (constant, total), BOOLEAN)
    assert compile_expression(test)(NOTHING).to_list() == [None] * 2
    assert compile_projection([("c", test)])(NOTHING).to_dict(as_series=False) == {"c": [None] * 2}
    assert compile_predicate(test).mask(NOTHING).to_list() == [False] * 2
