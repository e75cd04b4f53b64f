"""Every query printed in the papers parses, and means what its paper says."""

from __future__ import annotations

import pytest

from language.papers import PAPER_QUERIES
from nilometer.language import ast, parse, parse_expression, print_statement


def select(name: str) -> ast.Select:
    query = parse(PAPER_QUERIES[name])
    assert isinstance(query, ast.Select)
    return query


@pytest.mark.parametrize("name", PAPER_QUERIES)
def test_parses_and_prints(name: str) -> None:
    tree = select(name)
    assert parse(print_statement(tree)) == tree


def test_a_window_behind_its_alias_with_ends_in_either_order() -> None:
    window = ast.FromToWindow(None, ast.Amount(2, "HOURS"))
    assert select("snee fig. 1a").sources == (ast.ExtentSource("River", window, "R"),)


def test_now_minus_7_days_is_a_range() -> None:
    subquery = select("snee fig. 4d").sources[1]
    assert isinstance(subquery, ast.QuerySource)
    assert subquery.alias == "LastWeek"
    assert isinstance(subquery.query, ast.Select)
    assert subquery.query.sources == (
        ast.ExtentSource("River", ast.RangeWindow(ast.Amount(7, "DAYS")), "R2"),
    )


def test_fig_5_is_q3_of_fig_25() -> None:
    assert select("snee fig. 5") == select("snee fig. 25 q3")


def test_the_window_clause_of_steam() -> None:
    assert select("steam section 6.2 uniform").bounds == (ast.WindowBound(None, None, ast.Amount("w")),)
    assert select("steam section 6.2 different").bounds == (
        ast.WindowBound("A", "B", ast.Amount("w1")),
        ast.WindowBound("B", "C", ast.Amount("w2")),
        ast.WindowBound("A", "C", ast.Amount("w3")),
    )


def test_three_part_names() -> None:
    assert select("steam section 4").items == (ast.SelectItem(ast.Name(("S", "SensorValue", "temperature"))),)


def test_both_spellings_of_dhtjoins_first_query() -> None:
    one, other = select("dhtjoin q1 section 1"), select("dhtjoin q1 section 3")
    assert one.where == parse_expression("S1.dest = S2.dest AND S2.dest = S3.dest")
    assert other.where == parse_expression("X.dest = Y.dest AND Y.dest = Z.dest")


def test_membership_in_a_parameter() -> None:
    known = ast.In(ast.Name(("s", "segment")), (ast.Name(("knownSegments",)),))
    assert select("fjords query 1").where == known
    having = select("fjords query 2").having
    assert isinstance(having, ast.Binary)
    assert isinstance(having.right, ast.ScalarQuery)
    assert isinstance(having.right.query, ast.Select)
    assert isinstance(having.right.query.where, ast.Binary)
    assert having.right.query.where.right == known
