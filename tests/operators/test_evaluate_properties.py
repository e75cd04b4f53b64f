"""Columnar evaluation equals the row-wise judge on random expressions and rows."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nilometer.errors import DataError
from nilometer.expressions import Call, Case, ColumnReference, Expression, InList, Literal, Now
from nilometer.operators.evaluate.evaluate import apply_predicate, evaluate
from nilometer.operators.frames import dtype
from nilometer.plan import scalar
from nilometer.types import BOOLEAN, FLOAT, INT, INT_MAXIMUM, INT_MINIMUM, POINT, STRING, TIME, Type

TYPES = {"i": INT, "j": INT, "f": FLOAT, "g": FLOAT, "s": STRING, "b": BOOLEAN, "p": POINT}

small = st.integers(-5, 5)
integers = st.one_of(
    small, small, st.sampled_from([INT_MAXIMUM, INT_MINIMUM, 2**32, -(2**31), 3_037_000_500])
)
floats = st.one_of(st.integers(-640, 640).map(lambda n: n / 64), st.sampled_from([1e300, -1e-300, 0.5]))
texts = st.text(alphabet="aB%_.\n", max_size=3)
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    INT: integers,
    FLOAT: floats,
    STRING: texts,
    BOOLEAN: st.booleans(),
    POINT: st.tuples(st.sampled_from([0.0, 3.0]), st.sampled_from([0.0, 4.0])),
    TIME: integers,
}


@cache
def leaf(type_: Type) -> st.SearchStrategy[Expression]:
    literal = st.one_of(VALUES[type_], VALUES[type_], st.none()).map(lambda value: Literal(value, type_))
    names = [name for name, found in TYPES.items() if found == type_]
    columns = st.sampled_from(names or ["i"]).map(lambda name: ColumnReference(name, type_))
    return st.one_of(st.just(Now()), literal) if type_ == TIME else st.one_of(columns, columns, literal)


@cache  # a strategy is costly to build and to validate
def expressions(type_: Type, depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return leaf(type_)

    def call(function: str, *types: Type) -> st.SearchStrategy[Expression]:
        return st.tuples(*(expressions(t, depth - 1) for t in types)).map(lambda a: Call(function, a, type_))

    same = expressions(type_, depth - 1)
    condition = expressions(BOOLEAN, depth - 1)
    choices: list[st.SearchStrategy[Expression]] = [leaf(type_)]
    choices.append(st.builds(lambda c, v, e: Case((c,), (v,), e, type_), condition, same, same))
    choices.append(call("coalesce", type_, type_))
    if type_ in (INT, FLOAT):
        choices += [call(symbol, type_, type_) for symbol in ("+", "-", "*", "/", "%", "mod")]
        choices += [call(name, type_) for name in ("negative", "abs", "sqr", "round", "ceil", "floor")]
    if type_ in (INT, FLOAT, STRING):
        choices += [call("least", type_, type_), call("greatest", type_, type_, type_)]
    if type_ == INT:
        choices += [call("sign", FLOAT), call("length", STRING)]
    if type_ == FLOAT:
        choices += [call(name, FLOAT) for name in ("sqrt", "ln", "log10", "exp")]
        choices += [
            call("float", INT),
            call("^", FLOAT, FLOAT),
            call("distance", POINT, POINT),
            call("y", POINT),
        ]
    if type_ == STRING:
        choices += [call("lower", STRING), call("concat", STRING, STRING)]
        choices += [call("string", t) for t in (INT, FLOAT, BOOLEAN, POINT, TIME)]
    if type_ == BOOLEAN:
        for compared in (INT, FLOAT, STRING, BOOLEAN):
            choices.append(
                st.builds(
                    lambda symbol, a, b: Call(symbol, (a, b), BOOLEAN),
                    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
                    expressions(compared, depth - 1),
                    expressions(compared, depth - 1),
                )
            )
            items = st.lists(st.one_of(VALUES[compared], st.none()), max_size=3)
            choices.append(
                st.builds(
                    lambda operand, values, t=compared: InList(operand, tuple(Literal(v, t) for v in values)),
                    expressions(compared, depth - 1),
                    items,
                )
            )
        choices += [
            call("=", POINT, POINT),
            call("is_null", FLOAT),
            call("not", BOOLEAN),
            call("like", STRING, STRING),
        ]
        choices += [call(word, BOOLEAN, BOOLEAN, BOOLEAN) for word in ("and", "or")]
    return st.one_of(choices)


rows = st.fixed_dictionaries(
    {"@tick": small}
    | {name: st.one_of(VALUES[type_], VALUES[type_], st.none()) for name, type_ in TYPES.items()}
)


def frame_of(found: list[dict[str, Any]]) -> pl.DataFrame:
    def cell(value: Any) -> Any:
        return {"x": value[0], "y": value[1]} if isinstance(value, tuple) else value

    columns = {
        name: pl.Series([cell(row[name]) for row in found], dtype=dtype(t)) for name, t in TYPES.items()
    }
    return pl.DataFrame({"@tick": pl.Series([row["@tick"] for row in found], dtype=pl.Int64), **columns})


def close(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        left = (left["x"], left["y"])
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return type(left) is type(right) and bool(left == right)


# Shrinking nested expressions takes minutes and rarely helps.
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.data(), st.sampled_from([INT, FLOAT, STRING, BOOLEAN]), st.lists(rows, min_size=1, max_size=4))
def test_equals_the_row_wise_evaluation(
    data: st.DataObject, type_: Type, found: list[dict[str, Any]]
) -> None:
    expression = data.draw(expressions(type_, 2))
    frame = frame_of(found)
    try:
        expected = [scalar.evaluate(expression, row, row["@tick"]) for row in found]
    except DataError:
        with pytest.raises(DataError, match="integer overflow in "):
            evaluate(expression, frame)
        return
    answer = evaluate(expression, frame)
    assert answer.dtype == dtype(type_)
    assert all(map(close, answer.to_list(), expected)), (answer.to_list(), expected)
    if type_ == BOOLEAN:
        kept = apply_predicate(frame.with_row_index("@row"), expression)["@row"].to_list()
        assert kept == [number for number, value in enumerate(expected) if value is True]
