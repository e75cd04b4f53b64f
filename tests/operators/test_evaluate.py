"""Columnar expressions mean what language.md says."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from nilometer.errors import DataError
from nilometer.expressions import Call, Case, ColumnReference, Expression, InList, Literal, Now
from nilometer.operators.evaluate.evaluate import (
    apply_predicate,
    compile_predicate,
    compile_projection,
    evaluate,
)
from nilometer.operators.frames import dtype
from nilometer.types import (
    BOOLEAN,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    NULL,
    POINT,
    STRING,
    TIME,
    Type,
)

ROWS: dict[str, tuple[Type, list[Any]]] = {
    "i": (INT, [7, -7, 0, None]),
    "j": (INT, [2, 2, 0, 3]),
    "f": (FLOAT, [2.5, -2.5, 0.0, None]),
    "g": (FLOAT, [2.0, -2.0, 0.0, 1.0]),
    "s": (STRING, ["a.b", "Ärger\n%", "", None]),
    "b": (BOOLEAN, [True, False, None, None]),
    "p": (POINT, [{"x": 3.0, "y": 4.0}, {"x": 0.0, "y": 0.0}, None, None]),
    "n": (NULL, [None] * 4),
}
FRAME = pl.DataFrame(
    {"@tick": [10, 20, 30, 40], **{name: pl.Series(v, dtype=dtype(t)) for name, (t, v) in ROWS.items()}}
)


def column(name: str) -> ColumnReference:
    return ColumnReference(name, ROWS[name][0])


def call(function: str, *arguments: Expression | str, type_: Type = INT) -> Call:
    return Call(function, tuple(column(a) if isinstance(a, str) else a for a in arguments), type_)


def integer(value: int | None) -> Literal:
    return Literal(value, INT)


def real(value: float | None) -> Literal:
    return Literal(value, FLOAT)


CASES: list[tuple[Expression, list[Any]]] = [
    (call("+", "i", "j"), [9, -5, 0, None]),
    (call("-", "i", "j"), [5, -9, 0, None]),
    (call("*", "i", "j"), [14, -14, 0, None]),
    (call("/", "i", "j"), [3, -3, None, None]),
    (call("/", "i", integer(-2)), [-3, 3, 0, None]),
    (call("%", "i", "j"), [1, -1, None, None]),
    (call("mod", "i", integer(-2)), [1, -1, 0, None]),
    (call("/", "f", "g", type_=FLOAT), [1.25, 1.25, None, None]),
    (call("%", "f", "g", type_=FLOAT), [0.5, -0.5, None, None]),
    (call("%", "f", real(-2.0), type_=FLOAT), [0.5, -0.5, 0.0, None]),
    (call("^", "f", "g", type_=FLOAT), [6.25, 0.16, 1.0, None]),
    (call("power", "f", real(0.5), type_=FLOAT), [2.5**0.5, None, 0.0, None]),
    (call("power", "f", real(0.0), type_=FLOAT), [1.0, 1.0, 1.0, None]),
    (call("^", real(0.0), "g", type_=FLOAT), [0.0, None, 1.0, 0.0]),
    (call("negative", "i"), [-7, 7, 0, None]),
    (call("abs", "f", type_=FLOAT), [2.5, 2.5, 0.0, None]),
    (call("float", "i", type_=FLOAT), [7.0, -7.0, 0.0, None]),
    (call("sqrt", "f", type_=FLOAT), [2.5**0.5, None, 0.0, None]),
    (call("sqr", "i"), [49, 49, 0, None]),
    (call("ceil", "f", type_=FLOAT), [3.0, -2.0, 0.0, None]),
    (call("floor", "f", type_=FLOAT), [2.0, -3.0, 0.0, None]),
    (call("round", "f", type_=FLOAT), [3.0, -3.0, 0.0, None]),
    (call("round", "i"), [7, -7, 0, None]),
    (call("ln", "f", type_=FLOAT), [0.9162907318741551, None, None, None]),
    (call("log10", real(1000.0), type_=FLOAT), [3.0] * 4),
    (call("exp", real(1000.0), type_=FLOAT), [None] * 4),
    (call("sin", real(0.0), type_=FLOAT), [0.0] * 4),
    (call("sign", "i"), [1, -1, 0, None]),
    (call("sign", "f"), [1, -1, 0, None]),
    (call("least", "i", "j"), [2, -7, 0, 3]),
    (call("greatest", "i", "j", Literal(None, NULL)), [7, 2, 0, 3]),
    (call("/", "i", "j", type_=FLOAT), [3.5, -3.5, None, None]),
    (InList(column("i"), ()), [False] * 4),
    (call("coalesce", "i", "j"), [7, -7, 0, 3]),
    (call("coalesce", call("sqrt", "f", type_=FLOAT), "g", type_=FLOAT), [2.5**0.5, -2.0, 0.0, 1.0]),
    (call("lower", "s", type_=STRING), ["a.b", "ärger\n%", "", None]),
    (call("upper", "s", type_=STRING), ["A.B", "ÄRGER\n%", "", None]),
    (call("length", "s"), [3, 7, 0, None]),
    (call("concat", "s", Literal("!", STRING), type_=STRING), ["a.b!", "Ärger\n%!", "!", None]),
    (call("like", "s", Literal("a._", STRING), type_=BOOLEAN), [True, False, False, None]),
    (call("like", "s", Literal("%r\n%", STRING), type_=BOOLEAN), [False, True, False, None]),
    (call("like", "s", Literal("", STRING), type_=BOOLEAN), [False, False, True, None]),
    (call("like", Literal("a.b", STRING), "s", type_=BOOLEAN), [True, False, False, None]),
    (call("distance", "p", Literal((0.0, 0.0), POINT), type_=FLOAT), [5.0, 0.0, None, None]),
    (call("x", "p", type_=FLOAT), [3.0, 0.0, None, None]),
    (call("=", "p", Literal((3, 4), POINT), type_=BOOLEAN), [True, False, None, None]),
    (call("!=", "p", Literal((3, 4), POINT), type_=BOOLEAN), [False, True, None, None]),
    (call("string", "i", type_=STRING), ["7", "-7", "0", None]),
    (call("string", "f", type_=STRING), ["2.5", "-2.5", "0.0", None]),
    (call("<", "i", "j", type_=BOOLEAN), [False, True, False, None]),
    (call("=", "i", "n", type_=BOOLEAN), [None] * 4),
    (call("+", "i", Literal(None, NULL)), [None] * 4),
    (call("is_null", call("/", "f", "g", type_=FLOAT), type_=BOOLEAN), [False, False, True, True]),
    # infinities are NULL at once, not at the end: 1 / (huge * huge) is not 0
    (
        call("/", real(1.0), call("*", real(1e300), real(1e300), type_=FLOAT), type_=FLOAT),
        [None] * 4,
    ),
    (
        call("-", call("*", real(1e300), real(1e300), type_=FLOAT), "g", type_=FLOAT),
        [None] * 4,
    ),
    (call("and", "b", Literal(None, BOOLEAN), type_=BOOLEAN), [None, False, None, None]),
    (call("or", "b", Literal(None, NULL), type_=BOOLEAN), [True, None, None, None]),
    (call("not", "b", type_=BOOLEAN), [False, True, None, None]),
    (InList(column("i"), (integer(7), integer(1))), [True, False, False, None]),
    (InList(column("i"), (integer(7), integer(None))), [True, None, None, None]),
    (InList(column("p"), (Literal((3.0, 4.0), POINT),)), [True, False, None, None]),
    (InList(column("s"), (Literal("", STRING),)), [False, False, True, None]),
    (
        Case(
            (call(">", "i", integer(0), type_=BOOLEAN), column("b")),
            (column("j"), integer(1)),
            integer(5),
            INT,
        ),
        [2, 5, 5, 5],
    ),
    (Case((column("b"),), (column("i"),), Literal(None, NULL), INT), [7, None, None, None]),
    (call("-", Now(), Literal(10, TIME), type_=TIME), [0, 10, 20, 30]),
    (Literal(3, INT), [3] * 4),
    (Literal((1.0, 2.0), POINT), [{"x": 1.0, "y": 2.0}] * 4),
]


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=lambda value: str(value)[:60])
def test_meaning(expression: Expression, expected: list[Any]) -> None:
    answer = evaluate(expression, FRAME)
    assert answer.dtype == dtype(expression.type)  # type: ignore[attr-defined]
    assert [round(v, 12) if isinstance(v, float) else v for v in answer.to_list()] == [
        round(v, 12) if isinstance(v, float) else v for v in expected
    ]
    assert evaluate(expression, FRAME.clear()).dtype == answer.dtype
    assert evaluate(expression, FRAME.clear()).len() == 0


BIG = pl.DataFrame({"a": [INT_MAXIMUM, INT_MINIMUM, 3_037_000_500, 1, None]})
A = ColumnReference("a", INT)


@pytest.mark.parametrize(
    ("expression", "bad"),
    [
        (Call("+", (A, Literal(1, INT)), INT), {0}),
        (Call("-", (A, Literal(1, INT)), INT), {1}),
        (Call("*", (A, Literal(2, INT)), INT), {0, 1}),
        (Call("/", (A, Literal(-1, INT)), INT), {1}),
        (Call("/", (A, Literal(-2, INT)), INT), set()),
        (Call("%", (A, Literal(-1, INT)), INT), set()),
        (Call("negative", (A,), INT), {1}),
        (Call("abs", (A,), INT), {1}),
        (Call("sqr", (A,), INT), {0, 1, 2}),
        (Call("abs", (Call("/", (A, Literal(2, INT)), INT),), INT), set()),
    ],
    ids=str,
)
def test_overflow_is_an_error_in_exactly_the_rows_that_overflow(
    expression: Expression, bad: set[int]
) -> None:
    for row in range(BIG.height):
        frame = BIG.slice(row, 1)
        if row in bad:
            with pytest.raises(DataError, match="integer overflow in "):
                evaluate(expression, frame)
        else:
            evaluate(expression, frame)


def test_an_overflow_that_nobody_needs_is_none() -> None:
    small = Call("<", (A, Literal(100, INT)), BOOLEAN)
    positive = Call(">", (A, Literal(0, INT)), BOOLEAN)
    square = Call("sqr", (A,), INT)
    case = Case((Call("and", (small, positive), BOOLEAN),), (square,), Literal(0, INT), INT)
    assert evaluate(case, BIG).to_list() == [0, 0, 0, 1, 0]
    below = Call("<", (square, Literal(5, INT)), BOOLEAN)
    predicate = Call("and", (small, positive, below), BOOLEAN)
    assert apply_predicate(BIG, predicate)["a"].to_list() == [1]
    assert evaluate(Call("coalesce", (A, square), INT), BIG).to_list() == BIG["a"].to_list()
    with pytest.raises(DataError):
        apply_predicate(BIG, below)


def test_select_keeps_what_is_true() -> None:
    assert apply_predicate(FRAME, column("b"))["@tick"].to_list() == [10]
    assert apply_predicate(FRAME, None).height == 4
    assert apply_predicate(FRAME, Literal(None, NULL)).height == 0
    assert compile_predicate(column("b")).mask(FRAME).to_list() == [True, False, False, False]


def test_project_keeps_system_columns_and_swaps_names() -> None:
    projector = compile_projection([("i", column("j")), ("j", column("i")), ("one", integer(1))])
    frame = projector(FRAME, ["@tick"])
    assert frame.columns == ["@tick", "i", "j", "one"]
    assert frame.row(1) == (20, 2, -7, 1)
