"""SELECT, its clauses, and UNION."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse, parse_expression
from nilometer.language.ast import Amount, ExtentSource, Select, SelectItem, Star, Union, WindowBound


def select(text: str) -> Select:
    query = parse(text)
    assert isinstance(query, Select)
    return query


def item(text: str, alias: str | None = None) -> SelectItem:
    return SelectItem(parse_expression(text), alias)


A, B, C = (select(f"SELECT {name} FROM s") for name in "abc")


@pytest.mark.parametrize(
    ("items", "trees"),
    [
        ("*", [SelectItem(Star())]),
        ("R.*", [SelectItem(Star("R"))]),
        ('"odd name".*', [SelectItem(Star("odd name"))]),
        ("* EXCLUDE (a, b)", [SelectItem(Star(excluded=("a", "b")))]),
        ("R.* EXCEPT (a)", [SelectItem(Star("R", ("a",)))]),
        ("*, R.*, a", [SelectItem(Star()), SelectItem(Star("R")), item("a")]),
        ("a", [item("a")]),
        ("a AS b", [item("a", "b")]),
        ("a b", [item("a", "b")]),
        ('a "odd name"', [item("a", "odd name")]),
        ("a AS sample", [item("a", "sample")]),
        ("R.depth * 2 twice, COUNT(*) AS n", [item("R.depth * 2", "twice"), item("COUNT(*)", "n")]),
        ("time, id, location, kind", [item("time"), item("id"), item("location"), item("kind")]),
        ("MAX(V.time) AS time", [item("MAX(V.time)", "time")]),
        ("RATE(depth) r, range", [item("RATE(depth)", "r"), item("range")]),
    ],
)
def test_items(items: str, trees: list[SelectItem]) -> None:
    assert select(f"SELECT {items} FROM s").items == tuple(trees)


@pytest.mark.parametrize("word", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_stream_words_stand_before_or_behind_select(word: str) -> None:
    assert select(f"{word} SELECT a FROM s").stream == word
    assert select(f"SELECT {word.lower()} a FROM s").stream == word
    with pytest.raises(QuerySyntaxError, match="in one SELECT"):
        parse(f"{word} SELECT RSTREAM a FROM s")


def test_no_stream_word_is_none() -> None:
    assert select("SELECT a FROM s").stream is None


def test_all_clauses() -> None:
    assert select(
        """istream select R.id, avg(R.depth) as depth from river [now] R, hill H
        window = 5 minutes where R.depth > 10 group by R.id, R.kind having avg(R.depth) > 20
        sample every 1 minute deliver within 10 seconds"""
    ) == Select(
        (item("R.id"), item("avg(R.depth)", "depth")),
        (ExtentSource("river", ast.NowWindow(), "R"), ExtentSource("hill", None, "H")),
        "ISTREAM",
        (WindowBound(None, None, Amount(5, "MINUTES")),),
        parse_expression("R.depth > 10"),
        (parse_expression("R.id"), parse_expression("R.kind")),
        parse_expression("avg(R.depth) > 20"),
        Amount(1, "MINUTES"),
        Amount(10, "SECONDS"),
    )


def test_sample_and_deliver_in_either_order() -> None:
    one = select("SELECT a FROM s SAMPLE EVERY 5 SECONDS DELIVER WITHIN w")
    assert one == select("SELECT a FROM s DELIVER WITHIN w SAMPLE EVERY 5 sec")
    assert (one.sample, one.deliver) == (Amount(5, "SECONDS"), Amount("w"))


@pytest.mark.parametrize(
    ("clause", "bounds"),
    [
        ("WINDOW = w", [WindowBound(None, None, Amount("w"))]),
        ("WINDOW =w", [WindowBound(None, None, Amount("w"))]),
        ("window=5min", [WindowBound(None, None, Amount(5, "MINUTES"))]),
        ("WINDOW(A,B) =w1", [WindowBound("A", "B", Amount("w1"))]),
        (
            "WINDOW (A, B) = 1 HOUR AND WINDOW(B,C) = w2",
            [WindowBound("A", "B", Amount(1, "HOURS")), WindowBound("B", "C", Amount("w2"))],
        ),
    ],
)
def test_window_clause(clause: str, bounds: list[WindowBound]) -> None:
    assert select(f"SELECT a FROM s A, B, C {clause} WHERE a = 1").bounds == tuple(bounds)
    assert select(f"SELECT a FROM s A, B, C {clause}").bounds == tuple(bounds)


def test_union_associates_to_the_left() -> None:
    text = "SELECT a FROM s UNION SELECT b FROM s UNION SELECT c FROM s"
    assert parse(text) == Union(Union(A, B), C)
    assert parse(f"({text});") == Union(Union(A, B), C)
    assert parse("SELECT a FROM s UNION (SELECT b FROM s UNION SELECT c FROM s)") == Union(A, Union(B, C))
    assert parse("(SELECT a FROM s) UNION ALL (SELECT b FROM s)") == Union(A, B)


def test_a_union_of_streams_keeps_their_words() -> None:
    tree = parse("ISTREAM SELECT a FROM s UNION DSTREAM SELECT b FROM s")
    assert isinstance(tree, Union)
    assert isinstance(tree.left, Select)
    assert isinstance(tree.right, Select)
    assert (tree.left.stream, tree.right.stream) == ("ISTREAM", "DSTREAM")


def test_parentheses_round_a_query_mean_nothing() -> None:
    assert parse("((SELECT a FROM s))") == A


@pytest.mark.parametrize(
    "text",
    [
        "SELECT",
        "SELECT a",
        "SELECT FROM s",
        "SELECT a, FROM s",
        "SELECT * AS x FROM s",
        "SELECT R.* x FROM s",
        "SELECT a FROM s WHERE",
        "SELECT a FROM s GROUP id",
        "SELECT a FROM s GROUP BY",
        "SELECT a FROM s HAVING",
        "SELECT a FROM s SAMPLE 5 SECONDS",
        "SELECT a FROM s SAMPLE EVERY 5",
        "SELECT a FROM s DELIVER WITHIN 5 ROWS",
        "SELECT a FROM s UNION",
        "UNION SELECT a FROM s",
        "SELECT a FROM s WINDOW 5 SECONDS",
        "SELECT a FROM s WINDOW = 5",
        "SELECT a FROM s WINDOW() = w",
        "SELECT DISTINCT FROM s",
        "SELECT a FROM s WHERE b WINDOW = w",
        "SELECT a FROM s WINDOW = w AND WINDOW(a, b) = v",
        "SELECT a FROM s ORDER a",
        "SELECT a FROM s SAMPLE EVERY 5 SECONDS SAMPLE EVERY 5 SECONDS",
        "SELECT a FROM s LIMIT",
        "SELECT a FROM s LIMIT 5 SECONDS",
        "SELECT a FROM s FETCH FIRST 5",
        "SELECT a FROM s ORDER BY a UNION SELECT b FROM s",
        "SELECT 1 WHERE TRUE",
        "VALUES",
        "VALUES ()",
        "WITH a AS SELECT b FROM s SELECT c FROM a",
        "WITH RECURSIVE a AS (SELECT b FROM s) SELECT c FROM a",
        "(SELECT a FROM s",
        "SELECT a s",
        "RSTREAM (a, b) FROM s",
        "SELECT a FROM s UNION DISTINCT",
        "FROM s SELECT a",
        "SELECT a AS FROM s",
    ],
)
def test_what_is_no_query(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse(text)
