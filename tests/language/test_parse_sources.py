"""What stands in FROM."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse, parse_expression
from nilometer.language.ast import (
    Amount,
    AsofSource,
    ExtentSource,
    FunctionSource,
    JoinSource,
    NowWindow,
    QuerySource,
    RangeWindow,
)


def sources(text: str) -> tuple[ast.Source, ...]:
    query = parse(f"SELECT * FROM {text} WHERE TRUE")
    assert isinstance(query, ast.Select)
    return query.sources


QUERY = parse("SELECT a FROM s")
OTHER = parse("SELECT b FROM s")
assert isinstance(QUERY, ast.QueryNode)
assert isinstance(OTHER, ast.QueryNode)
NOW = NowWindow()
A, B, C = ExtentSource("a"), ExtentSource("b"), ExtentSource("c")
SAME = parse_expression("a.id = b.id")
RANGE = RangeWindow(Amount(5, "MINUTES"))
DEPTH = ast.Name(("depth",))


def similar(
    *settings: tuple[str, float | str | None],
    of: ast.Source = A,
    window: ast.Window | None = None,
    alias: str | None = None,
) -> FunctionSource:
    given = tuple(ast.Setting(word, () if value is None else (Amount(value),)) for word, value in settings)
    return FunctionSource("SIMILAR", of, (DEPTH,), given, window, alias)


def silent(duration: Amount, window: ast.Window | None = None, alias: str | None = None) -> FunctionSource:
    return FunctionSource("SILENT", A, (), (ast.Setting("FOR", (duration,)),), window, alias)


TRUE = ast.Constant(True)
LEFT_THEN_USING = JoinSource(
    JoinSource(A, B, "LEFT", TRUE), C, "INNER", None, (ast.Name(("id",)), ast.Name(("time",)))
)
LEFT_OF_JOIN = JoinSource(C, JoinSource(A, B, "INNER", SAME), "LEFT", TRUE)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("river", ExtentSource("river")),
        ("river R", ExtentSource("river", None, "R")),
        ("river AS R", ExtentSource("river", None, "R")),
        ("river [NOW]", ExtentSource("river", NOW)),
        ("River[NOW]", ExtentSource("River", NOW)),
        ("river [NOW] R", ExtentSource("river", NOW, "R")),
        ("river [NOW] AS R", ExtentSource("river", NOW, "R")),
        ("river R [NOW]", ExtentSource("river", NOW, "R")),
        ("river AS R [NOW]", ExtentSource("river", NOW, "R")),
        ('"odd name" "other name"', ExtentSource("odd name", None, "other name")),
        ("river AS window", ExtentSource("river", None, "window")),
        ('river "where"', ExtentSource("river", None, "where")),
        ("similar", ExtentSource("similar")),
        ("silent s", ExtentSource("silent", None, "s")),
        ("(river [NOW] R)", ExtentSource("river", NOW, "R")),
        ("(SELECT a FROM s)", QuerySource(QUERY)),
        ("(SELECT a FROM s) q", QuerySource(QUERY, None, "q")),
        ("(SELECT a FROM s) [NOW] q", QuerySource(QUERY, NOW, "q")),
        ("(SELECT a FROM s) AS q [NOW]", QuerySource(QUERY, NOW, "q")),
        ("((SELECT a FROM s)) q", QuerySource(QUERY, None, "q")),
        ("(SELECT a FROM s UNION SELECT b FROM s) q", QuerySource(ast.Union(QUERY, OTHER), None, "q")),
        ("((SELECT a FROM s) UNION (SELECT b FROM s)) q", QuerySource(ast.Union(QUERY, OTHER), None, "q")),
        ("a ASOF JOIN b ON a.id = b.id", AsofSource(A, B, SAME)),
        ("a asof join b on a.id = b.id within 5 min", AsofSource(A, B, SAME, Amount(5, "MINUTES"))),
        ("a ASOF JOIN b ON a.id = b.id WITHIN w", AsofSource(A, B, SAME, Amount("w"))),
        (
            "a x ASOF JOIN b AS y ON TRUE",
            AsofSource(ExtentSource("a", None, "x"), ExtentSource("b", None, "y"), ast.Constant(True)),
        ),
        (
            "a ASOF JOIN b ON a.id = b.id ASOF JOIN c ON TRUE",
            AsofSource(AsofSource(A, B, SAME), C, ast.Constant(True)),
        ),
        (
            "c ASOF JOIN (a ASOF JOIN b ON a.id = b.id) ON TRUE",
            AsofSource(C, AsofSource(A, B, SAME), ast.Constant(True)),
        ),
        ("a ASOF LEFT JOIN b ON a.id = b.id", AsofSource(A, B, SAME)),
        ("a LEFT OUTER ASOF JOIN b ON a.id = b.id", AsofSource(A, B, SAME)),
        ("a ASOF INNER JOIN b ON a.id = b.id", AsofSource(A, B, SAME, None, True)),
        ("a JOIN b ON a.id = b.id", JoinSource(A, B, "INNER", SAME)),
        ("a inner join b on a.id = b.id", JoinSource(A, B, "INNER", SAME)),
        ("a LEFT JOIN b ON a.id = b.id", JoinSource(A, B, "LEFT", SAME)),
        ("a RIGHT OUTER JOIN b ON a.id = b.id", JoinSource(A, B, "RIGHT", SAME)),
        ("a FULL OUTER JOIN b USING (id)", JoinSource(A, B, "FULL", None, (ast.Name(("id",)),))),
        ("a CROSS JOIN b", JoinSource(A, B, "INNER")),
        ("a LEFT JOIN b ON TRUE JOIN c USING (id, time)", LEFT_THEN_USING),
        ("c LEFT JOIN (a JOIN b ON a.id = b.id) ON TRUE", LEFT_OF_JOIN),
        ("(a JOIN b ON a.id = b.id)", JoinSource(A, B, "INNER", SAME)),
        ('"left" LEFT JOIN b ON TRUE', JoinSource(ExtentSource("left"), B, "LEFT", ast.Constant(True))),
        (
            "(SELECT a FROM s) q ASOF JOIN b ON TRUE",
            AsofSource(QuerySource(QUERY, None, "q"), B, ast.Constant(True)),
        ),
        ("SIMILAR(a, depth)", similar()),
        ("similar(a, depth WITHIN 0.5)", similar(("WITHIN", 0.5))),
        ("SIMILAR(a, depth WITHIN eps)", similar(("WITHIN", "eps"))),
        (
            "SIMILAR(a x, x.depth) [RANGE 5 MINUTES] s",
            FunctionSource(
                "SIMILAR", ExtentSource("a", None, "x"), (ast.Name(("x", "depth")),), (), RANGE, "s"
            ),
        ),
        (
            "SIMILAR(a, depth WITHIN 1 PAIRS) [RANGE 5 MINUTES]",
            similar(("WITHIN", 1), ("PAIRS", None), window=RANGE),
        ),
        (
            "SIMILAR(a, depth PAIRS WITHIN 1) [RANGE 5 MINUTES]",
            similar(("WITHIN", 1), ("PAIRS", None), window=RANGE),
        ),
        ("SIMILAR(a, depth) PAIRS [RANGE 5 MINUTES] p", similar(("PAIRS", None), window=RANGE, alias="p")),
        (
            "SIMILAR(a, depth) [RANGE 5 MINUTES] FLATTEN p",
            similar(("FLATTEN", None), window=RANGE, alias="p"),
        ),
        (
            "SIMILAR(a, depth) p [RANGE 5 MINUTES] FLATTEN",
            similar(("FLATTEN", None), window=RANGE, alias="p"),
        ),
        ("SIMILAR(a, depth COUNTS)", similar(("COUNTS", None))),
        ("SIMILAR(a, depth SAMPLE 3 WITHIN 1)", similar(("WITHIN", 1), ("SAMPLE", 3))),
        ("SIMILAR(a, depth SAMPLE n)", similar(("SAMPLE", "n"))),
        ("SIMILAR(a, depth FLATTEN) AS pairs", similar(("FLATTEN", None), alias="pairs")),
        ("SIMILAR(a, depth) [NOW] list", similar(window=NOW, alias="list")),
        ("SIMILAR((SELECT a FROM s), depth)", similar(of=QuerySource(QUERY))),
        ("SIMILAR((SELECT a FROM s) q, depth)", similar(of=QuerySource(QUERY, None, "q"))),
        ("SILENT(a)", FunctionSource("SILENT", A)),
        ("silent(a for 5 minutes) x", silent(Amount(5, "MINUTES"), alias="x")),
        ("SILENT(a FOR d) [NOW]", silent(Amount("d"), window=NOW)),
    ],
)
def test_sources(text: str, tree: ast.Source) -> None:
    assert sources(text) == (tree,)


def test_commas_list_sources() -> None:
    assert sources("a [NOW] x, b, (SELECT a FROM s) q") == (
        ExtentSource("a", NOW, "x"),
        B,
        QuerySource(QUERY, None, "q"),
    )
    assert sources("SensorTables A, B, C") == (
        ExtentSource("SensorTables", None, "A"),
        ExtentSource("B"),
        ExtentSource("C"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "river [NOW] [NOW]",
        "river R S",
        "river AS",
        "river NOW NOW",
        "river, ",
        "(river",
        "(SELECT a FROM s",
        "river JOIN b",
        "river CROSS JOIN b ON TRUE",
        "river LEFT b ON TRUE",
        "river OUTER JOIN b ON TRUE",
        "river INNER OUTER JOIN b ON TRUE",
        "river NATURAL JOIN b",
        "river JOIN b USING id",
        "river JOIN b USING ()",
        "river JOIN b USING (a.id)",
        "a ASOF FULL JOIN b ON TRUE",
        "a RIGHT ASOF JOIN b ON TRUE",
        "a ASOF b ON TRUE",
        "a ASOF JOIN b",
        "a ASOF JOIN b ON",
        "a ASOF JOIN b ON TRUE WITHIN 5",
        "a ASOF JOIN b ON TRUE WITHIN 5 ROWS",
        "SIMILAR(a)",
        "SIMILAR(a, 5)",
        "SIMILAR(a, depth WITHIN -1)",
        "SIMILAR(a, depth PAIRS) FLATTEN",
        "SIMILAR(a, depth PAIRS FLATTEN)",
        "SIMILAR(a, depth PAIRS SAMPLE 3)",
        "SIMILAR(a, depth WITHIN 1 WITHIN 2)",
        "SIMILAR(a, depth SAMPLE 1.5)",
        "SIMILAR(a, depth, rain)",
        "SIMILAR(a, depth WITHIN)",
        "SILENT()",
        "SILENT(a FOR)",
        "SILENT(a FOR 5 ROWS)",
        "(a ASOF JOIN b ON TRUE) [NOW]",
        "5",
        "'river'",
        "select",
    ],
)
def test_what_is_no_source(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        sources(text)
