"""Scalar evaluation and aggregates, clause by clause of "Types"."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nilometer.errors import DataError, InternalError
from nilometer.expressions import Aggregate, Call, Case, ColumnReference, Expression, InList, Literal, Now
from nilometer.plan.scalar import aggregate, evaluate
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    MINUTE,
    NULL,
    POINT,
    STRING,
    TIME,
    Type,
)

TYPES: dict[type, Type] = {int: INT, float: FLOAT, str: STRING, bool: BOOLEAN, type(None): NULL, tuple: POINT}


def literal(value: Any) -> Expression:
    return value if isinstance(value, Expression) else Literal(value, TYPES[type(value)])


def call(function: str, *values: Any, to: Type | None = None) -> Any:
    """The value of a call; its type is that of its first argument unless told."""
    arguments = tuple(literal(value) for value in values)
    known = next((a.type for a in arguments if a.type is not NULL), NULL)  # type: ignore[attr-defined]
    return evaluate(Call(function, arguments, to or known), {}, None)


def exactly(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and value == expected


class TestArithmetic:
    @pytest.mark.parametrize(
        ("left", "function", "right", "expected"),
        [
            (7, "+", 2, 9),
            (7, "-", 9, -2),
            (7, "*", -2, -14),
            (7, "/", 2, 3),
            (-7, "/", 2, -3),
            (7, "/", -2, -3),
            (-7, "/", -2, 3),
            (7, "%", 3, 1),
            (-7, "%", 3, -1),
            (7, "%", -3, 1),
            (-7, "mod", -3, -1),
            (7.0, "/", 2.0, 3.5),
            (-7.5, "%", 2.0, -1.5),
            (7.5, "%", -2.0, 1.5),
            (0.5, "+", 0.25, 0.75),
        ],
    )
    def test_numbers(self, left: Any, function: str, right: Any, expected: Any) -> None:
        assert exactly(call(function, left, right), expected)

    @pytest.mark.parametrize("function", ["/", "%", "mod"])
    @pytest.mark.parametrize(("left", "right"), [(1, 0), (0, 0), (1.0, 0.0), (1.0, -0.0), (0.0, 0.0)])
    def test_by_zero_is_null(self, function: str, left: Any, right: Any) -> None:
        assert call(function, left, right) is None

    @pytest.mark.parametrize("function", ["+", "-", "*", "/", "%", "^", "=", "<", "like", "concat", "power"])
    def test_null_in_null_out(self, function: str) -> None:
        assert call(function, None, 1) is None
        assert call(function, 1, None) is None

    @pytest.mark.parametrize(
        ("function", "values"),
        [
            ("+", (INT_MAXIMUM, 1)),
            ("-", (INT_MINIMUM, 1)),
            ("*", (2**32, 2**31)),
            ("/", (INT_MINIMUM, -1)),
            ("negative", (INT_MINIMUM,)),
            ("abs", (INT_MINIMUM,)),
            ("sqr", (2**32,)),
        ],
    )
    def test_overflow_is_an_error(self, function: str, values: tuple[int, ...]) -> None:
        with pytest.raises(DataError, match="integer overflow"):
            call(function, *values)

    def test_the_ends_of_int_are_no_overflow(self) -> None:
        assert call("+", INT_MAXIMUM - 1, 1) == INT_MAXIMUM
        assert call("%", INT_MINIMUM, -1) == 0
        assert call("*", 2**32, -(2**31)) == INT_MINIMUM

    @pytest.mark.parametrize(
        ("function", "values"),
        [
            ("+", (1e308, 1e308)),
            ("*", (1e308, 10.0)),
            ("/", (1e308, 1e-10)),
            ("exp", (1000.0,)),
            ("sqr", (1e200,)),
        ],
    )
    def test_a_float_that_is_not_finite_is_null(self, function: str, values: tuple[float, ...]) -> None:
        assert call(function, *values) is None

    @pytest.mark.parametrize(
        ("base", "exponent", "expected"),
        [
            (2, 10, 1024.0),
            (2, -1, 0.5),
            (-2.0, 3.0, -8.0),
            (0, 0, 1.0),
            (0, -1, None),
            (-8.0, 0.5, None),
            (10.0, 400.0, None),
        ],
    )
    def test_power_is_float(self, base: Any, exponent: Any, expected: Any) -> None:
        assert exactly(call("^", base, exponent, to=FLOAT), expected)
        assert exactly(call("power", base, exponent, to=FLOAT), expected)

    def test_times_and_durations_are_microseconds(self) -> None:
        later, earlier = Literal(10 * MINUTE, TIME), Literal(4 * MINUTE, TIME)
        minute = Literal(MINUTE, DURATION)
        assert call("-", later, earlier, to=DURATION) == 6 * MINUTE
        assert call("-", later, minute, to=TIME) == 9 * MINUTE
        assert call("+", minute, minute, to=DURATION) == 2 * MINUTE
        assert call("*", minute, 3, to=DURATION) == 3 * MINUTE
        assert call("/", minute, 7, to=DURATION) == MINUTE // 7
        ratio = [Call("float", (Literal(d, DURATION),), FLOAT) for d in (MINUTE, 8 * MINUTE)]
        assert call("/", *ratio, to=FLOAT) == 0.125


class TestLogic:
    @pytest.mark.parametrize(
        ("left", "right", "conjunction", "disjunction"),
        [
            (True, True, True, True),
            (True, False, False, True),
            (True, None, None, True),
            (False, False, False, False),
            (False, None, False, None),
            (None, None, None, None),
        ],
    )
    def test_and_or(self, left: Any, right: Any, conjunction: Any, disjunction: Any) -> None:
        for pair in ((left, right), (right, left)):
            assert call("and", *pair, to=BOOLEAN) is conjunction
            assert call("or", *pair, to=BOOLEAN) is disjunction

    def test_and_or_of_many(self) -> None:
        assert call("and", True, None, True, False) is False
        assert call("or", False, None, True) is True

    def test_not(self) -> None:
        assert [call("not", value, to=BOOLEAN) for value in (True, False, None)] == [False, True, None]

    def test_what_stands_behind_the_decision_cannot_fail(self) -> None:
        boom = Call(
            "=", (Call("+", (Literal(INT_MAXIMUM, INT), Literal(1, INT)), INT), Literal(0, INT)), BOOLEAN
        )
        assert call("and", False, boom) is False
        assert call("or", True, boom) is True
        with pytest.raises(DataError):
            call("and", None, boom, to=BOOLEAN)

    @pytest.mark.parametrize(
        ("left", "function", "right", "expected"),
        [
            (1, "=", 1, True),
            (0.0, "=", -0.0, True),
            (1, "!=", 1, False),
            ("Z", "<", "a", True),
            ("é", ">", "z", True),
            ("a", "<", "aa", True),
            (False, "<", True, True),
            (2, ">=", 3, False),
            ((1.0, 2.0), "=", (1.0, 2.0), True),
        ],
    )
    def test_comparisons(self, left: Any, function: str, right: Any, expected: bool) -> None:
        assert call(function, left, right, to=BOOLEAN) is expected

    def test_is_null(self) -> None:
        assert call("is_null", None, to=BOOLEAN) is True
        assert call("is_null", 0, to=BOOLEAN) is False

    @pytest.mark.parametrize(
        ("value", "items", "expected"),
        [
            (1, (1, 2), True),
            (3, (1, 2), False),
            (3, (1, None), None),
            (1, (1, None), True),
            (None, (1, 2), None),
            (None, (), False),
            (1, (), False),
        ],
    )
    def test_in(self, value: Any, items: tuple[Any, ...], expected: Any) -> None:
        expression = InList(Literal(value, INT), tuple(Literal(item, INT) for item in items))
        assert evaluate(expression, {}, None) is expected

    @pytest.mark.parametrize(
        ("text", "pattern", "expected"),
        [
            ("gauge", "g%", True),
            ("gauge", "G%", False),
            ("gauge", "g_u_e", True),
            ("gauge", "gaug", False),
            ("a\nb", "a%b", True),
            ("a\nb", "a_b", True),
            ("a.c", "a.c", True),
            ("abc", "a.c", False),
            ("[x]", "[x]", True),
            ("a\\b", "a\\b", True),
            ("", "%", True),
            ("", "_", False),
            ("gauge\n", "gauge", False),
            ("aba", "ab%ba", False),
            ("abba", "ab%ba", True),
            ("xaybzc", "%a_b%c", True),
            ("xaybzc", "%a__b%c", False),
            ("a" * 5_000, "%a" * 40 + "b", False),
            ("a" * 5_000, "%_a" * 40 + "b%", False),
        ],
    )
    def test_like(self, text: str, pattern: str, expected: bool) -> None:
        assert call("like", text, pattern, to=BOOLEAN) is expected


class TestFunctions:
    @pytest.mark.parametrize(
        ("function", "value", "expected"),
        [
            ("abs", -3, 3),
            ("abs", -2.5, 2.5),
            ("negative", 3, -3),
            ("sqr", 3, 9),
            ("ceil", 1.25, 2.0),
            ("ceil", -1.25, -1.0),
            ("floor", -1.25, -2.0),
            ("ceil", 3, 3),
            ("floor", 3, 3),
            ("round", 3, 3),
            ("round", 0.5, 1.0),
            ("round", -0.5, -1.0),
            ("round", 2.5, 3.0),
            ("round", 1.4, 1.0),
            ("round", 0.49999999999999994, 0.0),
            ("round", 1e300, 1e300),
        ],
    )
    def test_keep_the_type(self, function: str, value: Any, expected: Any) -> None:
        assert exactly(call(function, value), expected)

    @pytest.mark.parametrize(
        ("function", "value", "expected"),
        [
            ("sqrt", 9, 3.0),
            ("sqrt", -1.0, None),
            ("ln", 1.0, 0.0),
            ("ln", 0.0, None),
            ("ln", -1.0, None),
            ("log10", 1000.0, 3.0),
            ("log10", 0, None),
            ("exp", 0.0, 1.0),
            ("sin", 0.0, 0.0),
            ("cos", 0.0, 1.0),
            ("tan", 0.0, 0.0),
            ("float", 3, 3.0),
        ],
    )
    def test_give_float(self, function: str, value: Any, expected: Any) -> None:
        result = call(function, value, to=FLOAT)
        assert result is None if expected is None else exactly(result, expected)

    def test_sign_is_of_the_calls_type(self) -> None:
        assert [call("sign", value, to=INT) for value in (-2.5, 0.0, 7.0)] == [-1, 0, 1]
        assert exactly(call("sign", -2.5, to=INT), -1)
        assert exactly(call("sign", -2.5, to=FLOAT), -1.0)

    def test_least_and_greatest_ignore_nulls(self) -> None:
        assert call("least", 3, None, 1, 2) == 1
        assert call("greatest", None, "a", "b") == "b"
        assert call("least", None, None) is None

    def test_coalesce(self) -> None:
        assert call("coalesce", None, 2, 3) == 2
        assert call("coalesce", None, None) is None
        boom = Call("+", (Literal(INT_MAXIMUM, INT), Literal(1, INT)), INT)
        assert call("coalesce", 1, boom) == 1

    def test_text(self) -> None:
        assert call("lower", "GaUge") == "gauge"
        assert call("upper", "gauge") == "GAUGE"
        assert call("length", "naïve", to=INT) == 5
        assert call("concat", "a", "b", "c") == "abc"
        assert call("concat", "a", None) is None

    def test_string(self) -> None:
        assert call("string", -5, to=STRING) == "-5"
        assert call("string", "a", to=STRING) == "a"
        assert call("string", 0.5, to=STRING) == "0.5"
        assert call("string", True, to=STRING) == "TRUE"
        assert call("string", Literal(0, TIME), to=STRING) == "1970-01-01T00:00:00Z"
        assert call("string", Literal(MINUTE, DURATION), to=STRING) == "1 MINUTE"
        assert call("string", None, to=STRING) is None

    def test_points(self) -> None:
        assert call("distance", (0.0, 0.0), (3.0, 4.0), to=FLOAT) == 5.0
        assert call("x", (3.0, 4.0), to=FLOAT) == 3.0
        assert call("y", (3.0, 4.0), to=FLOAT) == 4.0
        assert call("distance", (0.0, 0.0), None, to=FLOAT) is None

    def test_one_that_does_not_exist(self) -> None:
        with pytest.raises(InternalError, match="no function 'frobnicate'"):
            call("frobnicate", 1)


class TestOtherExpressions:
    def test_columns_constants_and_now(self) -> None:
        assert evaluate(ColumnReference("R.depth", INT), {"R.depth": 7}, None) == 7
        assert evaluate(Now(), {}, 42) == 42
        assert evaluate(Now(), {}, None) is None
        assert exactly(evaluate(Literal(1, FLOAT), {}, None), 1.0)

    def test_case_takes_the_first_true_arm(self) -> None:
        depth = ColumnReference("depth", INT)
        above = [Call(">", (depth, Literal(limit, INT)), BOOLEAN) for limit in (10, 5)]
        case = Case(
            tuple(above), (Literal("high", STRING), Literal("middle", STRING)), Literal(None, NULL), STRING
        )
        assert [evaluate(case, {"depth": d}, None) for d in (11, 6, 5, None)] == [
            "high",
            "middle",
            None,
            None,
        ]

    def test_case_guards(self) -> None:
        boom = Call("+", (Literal(INT_MAXIMUM, INT), Literal(1, INT)), INT)
        assert evaluate(Case((Literal(False, BOOLEAN),), (boom,), Literal(0, INT), INT), {}, None) == 0

    def test_an_aggregate_is_no_scalar(self) -> None:
        with pytest.raises(InternalError, match="no scalar expression"):
            evaluate(Aggregate("count", None, False, INT), {}, None)


class TestAggregates:
    VALUES = (4, None, 1, 3, 1)

    @pytest.mark.parametrize(
        ("function", "expected", "distinct"),
        [
            ("count", 4, 3),
            ("sum", 9, 8),
            ("avg", 2.25, 8 / 3),
            ("min", 1, 1),
            ("max", 4, 4),
            ("variance", 2.25, 7 / 3),
            ("stdev", 1.5, math.sqrt(7 / 3)),
            ("median", 2.0, 3.0),
        ],
    )
    def test_of_ints(self, function: str, expected: Any, distinct: Any) -> None:
        assert exactly(aggregate(function, False, self.VALUES), expected)
        assert exactly(aggregate(function, True, self.VALUES), distinct)

    @pytest.mark.parametrize("function", ["sum", "avg", "min", "max", "variance", "stdev", "median"])
    @pytest.mark.parametrize("values", [(), (None, None)])
    def test_of_nothing(self, function: str, values: tuple[None, ...]) -> None:
        assert aggregate(function, False, values) is None
        assert aggregate("count", False, values) == 0

    def test_of_one(self) -> None:
        assert aggregate("variance", False, [5]) is None
        assert aggregate("stdev", True, [5, 5]) is None
        assert exactly(aggregate("median", False, [5]), 5.0)

    def test_float_sums_do_not_depend_on_the_order(self) -> None:
        assert aggregate("sum", False, [1e16, 1.0, -1e16]) == 1.0
        assert aggregate("avg", False, [1e16, 2.0, 1.0, -1e16, 1.0]) == 0.8

    def test_sum_overflows(self) -> None:
        assert aggregate("sum", False, [INT_MAXIMUM, 1, -1]) == INT_MAXIMUM
        with pytest.raises(DataError, match="integer overflow in a SUM"):
            aggregate("sum", False, [INT_MAXIMUM, 1])
        assert aggregate("avg", False, [INT_MAXIMUM, INT_MAXIMUM]) == float(INT_MAXIMUM)
        assert aggregate("sum", False, [1e308, 1e308]) is None
        assert aggregate("variance", False, [1e308, -1e308]) is None

    def test_of_other_types(self) -> None:
        assert aggregate("max", False, ["b", None, "é"]) == "é"
        assert aggregate("min", False, [True, False]) is False
        assert aggregate("count", True, ["a", "a", None]) == 1

    def test_one_that_does_not_exist(self) -> None:
        with pytest.raises(InternalError, match="no aggregate 'mode'"):
            aggregate("mode", False, [1])
