"""Expressions: precedence, every construct, and the trees they become."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse, parse_expression
from nilometer.language.ast import Binary, Constant, DurationConstant, FunctionCall, In, Name, Unary


def name(*parts: str) -> Name:
    return Name(parts)


A, B, C, D = name("a"), name("b"), name("c"), name("d")
ONE, TWO = Constant(1), Constant(2)
QUERY = parse("SELECT a FROM s")
assert isinstance(QUERY, ast.QueryNode)
OTHER = parse("SELECT b FROM s")
assert isinstance(OTHER, ast.QueryNode)


def check(text: str, tree: ast.Expression) -> None:
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a OR b AND c", "a OR (b AND c)"),
        ("a AND b OR c", "(a AND b) OR c"),
        ("a OR b OR c", "(a OR b) OR c"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT NOT a", "NOT (NOT a)"),
        ("NOT a IN (1)", "NOT (a IN (1))"),
        ("NOT a IS NULL", "NOT (a IS NULL)"),
        ("a = b AND c = d", "(a = b) AND (c = d)"),
        ("a + b = c * d", "(a + b) = (c * d)"),
        ("a - b - c", "(a - b) - c"),
        ("a - b + c", "(a - b) + c"),
        ("a / b * c % d", "((a / b) * c) % d"),
        ("a + b * c", "a + (b * c)"),
        ("a * b + c", "(a * b) + c"),
        ("a ^ b ^ c", "a ^ (b ^ c)"),
        ("a * b ^ c", "a * (b ^ c)"),
        ("-a ^ b", "-(a ^ b)"),
        ("-2 ^ 2", "-(2 ^ 2)"),
        ("2 ^ -a", "2 ^ (-a)"),
        ("-a * b", "(-a) * b"),
        ("a * -b", "a * (-b)"),
        ("a - -b", "a - (-b)"),
        ("a BETWEEN b + 1 AND c AND d", "(a BETWEEN (b + 1) AND c) AND d"),
        ("a LIKE b + c OR d", "(a LIKE (b + c)) OR d"),
        ("a + b IN (1) AND c", "((a + b) IN (1)) AND c"),
        ("a + b IS NULL", "(a + b) IS NULL"),
        ("CASE WHEN a THEN b END + c", "(CASE WHEN a THEN b END) + c"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    assert parse_expression(text) == parse_expression(grouped)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(a = b) = c", "a = b = c"),
        ("(a ^ b) ^ c", "a ^ b ^ c"),
        ("a - (b - c)", "a - b - c"),
        ("-(2)", "-2"),
        ("(-2) ^ 2", "-2 ^ 2"),
        ("NOT (a AND b)", "NOT a AND b"),
        ("1", "1.0"),
        ("TRUE", "1"),
    ],
)
def test_different_trees(one: str, other: str) -> None:
    assert parse_expression(one) != parse_expression(other)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("depth", name("depth")),
        ("R.depth", name("R", "depth")),
        ("S.SensorValue.temperature", name("S", "SensorValue", "temperature")),
        ('R."odd name"', name("R", "odd name")),
        ("R.group", name("R", "group")),
        ('"select"', name("select")),
        ("time", name("time")),
        ("42", Constant(42)),
        ("-42", Constant(-42)),
        ("- 42", Constant(-42)),
        ("+42", Constant(42)),
        ("-9223372036854775808", Constant(-(2**63))),
        ("4.5e1", Constant(45.0)),
        ("-.5", Constant(-0.5)),
        ("'it''s'", Constant("it's")),
        ("true", Constant(True)),
        ("False", Constant(False)),
        ("null", Constant(None)),
        ("now", ast.NowConstant()),
        ("NOW()", ast.NowConstant()),
        ("TIME '2026-11-15T00:00:00Z'", ast.TimeConstant(1_794_700_800_000_000)),
        ("time '2026-11-15 01:00+01:00'", ast.TimeConstant(1_794_700_800_000_000)),
        ("TIME '-5 us'", ast.TimeConstant(-5)),
        ("POINT(120, -44.5)", ast.PointConstant(120.0, -44.5)),
        ("POINT(x, 1)", FunctionCall("POINT", (name("x"), ONE))),
        ('"POINT"(1, 2)', FunctionCall("POINT", (ONE, TWO))),
        ("15 MINUTES", DurationConstant(15, "MINUTES")),
        ("1 hour", DurationConstant(1, "HOURS")),
        ("-1.5 hr", DurationConstant(-1.5, "HOURS")),
        ("10ms", DurationConstant(10, "MILLISECONDS")),
        ("3 rows", DurationConstant(3, "ROWS")),
        ("-(5 SEC)", Unary("-", DurationConstant(5, "SECONDS"))),
        ("-a", Unary("-", A)),
        ("-(1)", Unary("-", ONE)),
    ],
)
def test_operands(text: str, tree: ast.Expression) -> None:
    check(text, tree)


@pytest.mark.parametrize("unit", "MICROSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS ROWS".split())
def test_units_in_singular_and_plural_in_any_case(unit: str) -> None:
    for spelling in (unit, unit.removesuffix("S"), unit.lower(), unit.removesuffix("S").title()):
        check(f"7 {spelling}", DurationConstant(7, unit))


@pytest.mark.parametrize(
    ("spelling", "unit"),
    [
        *[(spelling, "SECONDS") for spelling in ("sec", "secs", "s")],
        *[(spelling, "MINUTES") for spelling in ("min", "mins")],
        *[(spelling, "HOURS") for spelling in ("hr", "hrs", "h")],
        *[(spelling, "MILLISECONDS") for spelling in ("ms", "msec")],
        ("us", "MICROSECONDS"),
        ("d", "DAYS"),
        ("tuple", "ROWS"),
        ("tuples", "ROWS"),
    ],
)
def test_short_units(spelling: str, unit: str) -> None:
    check(f"7 {spelling}", DurationConstant(7, unit))


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("a = b", "="),
        ("a != b", "!="),
        ("a <> b", "!="),
        ("a ≠ b", "!="),
        ("a<=b", "<="),
        ("a ≥ b", ">="),
        ("a<b", "<"),
    ],
)
def test_comparisons(text: str, operator: str) -> None:
    check(text, Binary(operator, A, B))


def test_chains_are_conjunctions() -> None:
    check("a = b = c", Binary("AND", Binary("=", A, B), Binary("=", B, C)))
    check("a < b <= c", Binary("AND", Binary("<", A, B), Binary("<=", B, C)))
    check(
        "a = b = c = d",
        Binary("AND", Binary("AND", Binary("=", A, B), Binary("=", B, C)), Binary("=", C, D)),
    )
    check("a = b = c AND d", Binary("AND", parse_expression("a = b = c"), D))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a IN (1, 2)", In(A, (ONE, TWO))),
        ("a IN {1, 2}", In(A, (ONE, TWO))),
        ("a ∈ {1, 2}", In(A, (ONE, TWO))),
        ("a NOT IN (1)", In(A, (ONE,), True)),
        ("a ∉ {1}", In(A, (ONE,), True)),
        ("a NOT ∈ {1}", In(A, (ONE,), True)),
        ("a IN known", In(A, (name("known"),))),
        ("a ∈ known", In(A, (name("known"),))),
        ("a ∈ {known}", In(A, (name("known"),))),
        ("a IN (known)", In(A, (name("known"),))),
        ("a IN p.known", In(A, (name("p", "known"),))),
        ("a IN (SELECT a FROM s)", ast.InQuery(A, QUERY)),
        ("a NOT IN (SELECT a FROM s)", ast.InQuery(A, QUERY, True)),
        ("a IN ((SELECT a FROM s))", ast.InQuery(A, QUERY)),
        ("a IN ((SELECT a FROM s) UNION (SELECT b FROM s))", ast.InQuery(A, ast.Union(QUERY, OTHER))),
        ("a IN {(SELECT a FROM s)}", In(A, (ast.ScalarQuery(QUERY),))),
        ("a IN ((SELECT a FROM s), 1)", In(A, (ast.ScalarQuery(QUERY), ONE))),
        ("a IS NULL", ast.IsNull(A)),
        ("a IS NOT NULL", ast.IsNull(A, True)),
        ("a BETWEEN 1 AND 2", ast.Between(A, ONE, TWO)),
        ("a NOT BETWEEN 1 AND 2", ast.Between(A, ONE, TWO, True)),
        ("a LIKE 'g%'", ast.Like(A, Constant("g%"))),
        ("a NOT LIKE 'g%'", ast.Like(A, Constant("g%"), True)),
        ("EXISTS (SELECT a FROM s)", ast.Exists(QUERY)),
        ("NOT EXISTS (SELECT a FROM s)", Unary("NOT", ast.Exists(QUERY))),
        ("(SELECT a FROM s)", ast.ScalarQuery(QUERY)),
        ("((SELECT a FROM s))", ast.ScalarQuery(QUERY)),
        ("((SELECT a FROM s) UNION SELECT b FROM s)", ast.ScalarQuery(ast.Union(QUERY, OTHER))),
        ("((SELECT a FROM s) + 1)", Binary("+", ast.ScalarQuery(QUERY), ONE)),
        ("1 < (RSTREAM SELECT a FROM s)", Binary("<", ONE, parse_expression("(RSTREAM SELECT a FROM s)"))),
    ],
)
def test_predicates_and_subqueries(text: str, tree: ast.Expression) -> None:
    check(text, tree)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("CASE WHEN a THEN 1 END", ast.Case(None, ((A, ONE),), None)),
        ("CASE WHEN a THEN 1 WHEN b THEN 2 ELSE c END", ast.Case(None, ((A, ONE), (B, TWO)), C)),
        ("CASE a WHEN 1 THEN b ELSE c END", ast.Case(A, ((ONE, B),), C)),
        (
            "case a when 1 then case when b then 2 end end",
            ast.Case(A, ((ONE, ast.Case(None, ((B, TWO),), None)),), None),
        ),
        ("COUNT(*)", FunctionCall("COUNT", (ast.Star(),))),
        ("count ( * )", FunctionCall("count", (ast.Star(),))),
        ("COUNT(DISTINCT a)", FunctionCall("COUNT", (A,), True)),
        ("AVG(a)", FunctionCall("AVG", (A,))),
        ("AVG(s.speed, w)", FunctionCall("AVG", (name("s", "speed"), name("w")))),
        (
            "AVG(s.speed, 10 MINUTES)",
            FunctionCall("AVG", (name("s", "speed"), DurationConstant(10, "MINUTES"))),
        ),
        ("LAG(a, 2)", FunctionCall("LAG", (A, TWO))),
        ("COMPLETENESS()", FunctionCall("COMPLETENESS", ())),
        (
            "distance(location, POINT(0, 0))",
            FunctionCall("distance", (name("location"), ast.PointConstant(0.0, 0.0))),
        ),
        ("min(min)", FunctionCall("min", (name("min"),))),
        ("left(a)", FunctionCall("left", (A,))),
        ("now - 15 MINUTES", Binary("-", ast.NowConstant(), DurationConstant(15, "MINUTES"))),
        ("i.time >= now - w", Binary(">=", name("i", "time"), Binary("-", ast.NowConstant(), name("w")))),
    ],
)
def test_calls_and_cases(text: str, tree: ast.Expression) -> None:
    check(text, tree)


@pytest.mark.parametrize(
    "word",
    """time id location kind key delay range value state at sample deliver window every sensed stream query row rows
    minute within asof order limit left point unit for pairs to first all sink of if with copy show""".split(),
)
def test_most_words_are_free_to_be_columns(word: str) -> None:
    check(word, name(word))
    check(f"{word} + 1", Binary("+", name(word), ONE))
    check(f"R.{word} > 1", Binary(">", name("R", word), ONE))
    check(f"AVG({word})", FunctionCall("AVG", (name(word),)))


def test_spans_cover_parentheses_of_operands_only() -> None:
    text = "(a + b) * c"
    tree = parse_expression(text)
    assert isinstance(tree, Binary)
    assert text[tree.span.start : tree.span.end] == text
    assert text[tree.left.span.start : tree.left.span.end] == "a + b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a +",
        "(a",
        "a)",
        "a b",
        "a = = b",
        "f(a",
        "f(a,)",
        "f(,a)",
        "IN (1)",
        "a IN ()",
        "CASE END",
        "CASE WHEN a END",
        "*",
        "a BETWEEN 1",
        "a IS b",
        "a NOT b",
        "R.*",
        "f(R.*)",
        "f(*, a)",
        "COUNT(DISTINCT *)",
        "a = b IS NULL",
        "a IS NULL = b",
        "SELECT a FROM b",
        "EXISTS a",
        "{1}",
        "a..b",
        "a.b.c.d",
        "TIME 'noon'",
        "9223372036854775808",
        "a = NOT b",
    ],
)
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse_expression(text)
