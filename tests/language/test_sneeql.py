"""Old SNEEql: each spelling of its papers, grammars and query files has the tree of its modern twin."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import parse
from nilometer.language.printer import print_statement


def same(old: str, new: str) -> None:
    tree = parse(old)
    assert tree == parse(new)
    assert print_statement(tree) == print_statement(parse(new))
    assert parse(print_statement(tree)) == tree


WINDOWS = [
    ("[NEW]", "[NOW]"),
    ("[NEw]", "[NOW]"),
    ("[AT 1 Min]", "[AT NOW - 1 MINUTE]"),
    ("[AT 3 seconds]", "[AT NOW - 3 SECONDS]"),
    ("[at now - 10 sec]", "[AT NOW - 10 SECONDS]"),
    ("[AT 10 SLIDE 5 sec]", "[AT NOW - 10 SLIDE 5 SECONDS]"),
    ("[RANGE 12 seconds until 5 second slide 8 seconds]", "[FROM NOW - 12 SEC TO NOW - 5 SEC SLIDE 8 SEC]"),
    ("[RANGE 1 minute until 1 minute]", "[FROM NOW - 1 MINUTE TO NOW - 1 MINUTE]"),
    ("[RANGE 12 seconds up to 5 seconds]", "[FROM NOW - 12 SECONDS TO NOW - 5 SECONDS]"),
    ("[RANGE 10 until 5 seconds]", "[FROM NOW - 10 TO NOW - 5 SECONDS]"),
    ("[ROWS 5]", "[RANGE 5 ROWS]"),
    ("[row 1]", "[RANGE 1 ROW]"),
    ("[ROWS 5 slide 2 rows]", "[RANGE 5 ROWS SLIDE 2 ROWS]"),
    ("[ROWS 5 until 3 slide 1 rows]", "[FROM NOW - 5 ROWS TO NOW - 3 ROWS SLIDE 1 ROW]"),
    ("[Partition By id Rows 10]", "[RANGE 10 ROWS PER id]"),
    ("[PARTITION BY id, site ROWS 10 SLIDE 5 ROWS]", "[RANGE 10 ROWS SLIDE 5 ROWS PER id, site]"),
    ("[from 5 rows until 2 rows slide 3 rows]", "[FROM NOW - 5 ROWS TO NOW - 2 ROWS SLIDE 3 ROWS]"),
    ("[from 50 seconds to 20 seconds]", "[FROM NOW - 50 SECONDS TO NOW - 20 SECONDS]"),
    ("[from now - 5 to 2 seconds]", "[FROM NOW - 5 TO NOW - 2 SECONDS]"),
    ("[from now - 10 seconds]", "[FROM NOW - 10 SECONDS TO NOW]"),
    ("[FROM NOW - 10 seconds slide 5 seconds]", "[FROM NOW - 10 SECONDS TO NOW SLIDE 5 SECONDS]"),
    ("[FROM NOW - 10 minutes, NOW - 5 minutes]", "[FROM NOW - 10 MINUTES TO NOW - 5 MINUTES]"),
    ("[NOW - 10 TO NOW SLIDE 5 SECONDS]", "[FROM NOW - 10 TO NOW SLIDE 5 SECONDS]"),
    ("[NOW - 10 minutes, NOW]", "[FROM NOW - 10 MINUTES TO NOW]"),
    ("[-10 TO -5 SECONDS]", "[FROM NOW - 10 TO NOW - 5 SECONDS]"),
    ("[-10 MINUTES]", "[FROM NOW - 10 MINUTES TO NOW]"),
    ("[RANGE 10 tuples]", "[RANGE 10 ROWS]"),
    ("[RANGE 10 millisecs]", "[RANGE 10 MILLISECONDS]"),
    ("[Range Unbounded]", "[UNBOUNDED]"),
]


@pytest.mark.parametrize(("old", "new"), WINDOWS)
def test_a_window(old: str, new: str) -> None:
    same(f"SELECT depth FROM river {old} r", f"SELECT depth FROM river {new} r")


BARE = [
    ("iron range 10 seconds i", "iron [RANGE 10 SECONDS] i"),
    ("iron range 10 seconds", "iron [RANGE 10 SECONDS]"),
    ("iron range w i", "iron [RANGE w] i"),
    ("iron RANGE 12 seconds until 5 second slide 8 seconds i", "iron [RANGE 12 s UNTIL 5 s SLIDE 8 s] i"),
    ("flow rows 4 f", "flow [RANGE 4 ROWS] f"),
    ("flow rows 4 s", "flow [RANGE 4 ROWS] s"),
    ("flow ROWS 5 until 3 slide 1 rows f", "flow [FROM NOW - 5 ROWS TO NOW - 3 ROWS SLIDE 1 ROW] f"),
    ("iron NOW", "iron [NOW]"),
    ("iron NOW i", "iron [NOW] i"),
    ("iron NOW - 7 days i", "iron [NOW - 7 DAYS] i"),
    ("iron AT 1 min i", "iron [AT NOW - 1 MINUTE] i"),
    ("iron FROM NOW - 2 hours TO NOW i", "iron [FROM NOW - 2 HOURS TO NOW] i"),
    ("iron UNBOUNDED i", "iron [UNBOUNDED] i"),
    ("iron UNBOUNDED", "iron [UNBOUNDED]"),
    ("iron NEW i", "iron [NOW] i"),
    ("iron NEW AS i", "iron [NOW] i"),
    ("iron i NEW", "iron [NOW] i"),
    ("(SELECT AVG(temp) FROM b [NOW]) NOW f", "(SELECT AVG(temp) FROM b [NOW]) [NOW] f"),
    ("LATEST(iron) NOW", "LATEST(iron) [NOW]"),
]


@pytest.mark.parametrize("behind", ["", " WHERE depth > 3", ", river [NOW]", " JOIN river [NOW] ON a = b"])
@pytest.mark.parametrize(("old", "new"), BARE)
def test_a_window_without_brackets(old: str, new: str, behind: str) -> None:
    same(f"SELECT depth FROM {old}{behind}", f"SELECT depth FROM {new}{behind}")


QUERIES = [
    ("ISTREAM(SELECT depth FROM river [NOW])", "ISTREAM SELECT depth FROM river [NOW]"),
    ("Dstream (SELECT depth FROM river [NOW]);", "DSTREAM SELECT depth FROM river [NOW]"),
    ("RSTREAM((SELECT depth FROM river [NOW]))", "RSTREAM SELECT depth FROM river [NOW]"),
    ("SELECT RSTREAM depth FROM river [NOW]", "RSTREAM SELECT depth FROM river [NOW]"),
    ("Select Istream(id, depth as d) From river [Now]", "ISTREAM SELECT id, depth AS d FROM river [NOW]"),
    ("Select Rstream(r.*) From river [Now] r", "RSTREAM SELECT r.* FROM river [NOW] r"),
    ("Select Rstream(*) From river [Now] r", "RSTREAM SELECT * FROM river [NOW] r"),
    ("SELECT ISTREAM(depth) + 1 FROM river [NOW]", "ISTREAM SELECT depth + 1 FROM river [NOW]"),
    ("SELECT (id, depth) FROM river", "SELECT id, depth FROM river"),
    ("SELECT (id), (depth) FROM river", "SELECT id, depth FROM river"),
    (
        "ISTREAM(SELECT id FROM a [NOW]) UNION ISTREAM(SELECT id FROM b [NOW])",
        "ISTREAM SELECT id FROM a [NOW] UNION ISTREAM SELECT id FROM b [NOW]",
    ),
    (
        "ISTREAM(SELECT id FROM a [NOW] ORDER BY id LIMIT 3)",
        "ISTREAM SELECT id FROM a [NOW] ORDER BY id LIMIT 3",
    ),
    (
        "SELECT * FROM ISTREAM(SELECT id FROM a [NOW]) [NOW] x, (ISTREAM(SELECT id FROM b [NOW]))",
        "SELECT * FROM (ISTREAM SELECT id FROM a [NOW]) [NOW] x, (ISTREAM SELECT id FROM b [NOW])",
    ),
    ("SELECT id FROM a [NOW] GROUPBY id", "SELECT id FROM a [NOW] GROUP BY id"),
    (
        "SELECT id FROM a [NOW] x WHERE b = 2 GROUPBY id, b",
        "SELECT id FROM a [NOW] x WHERE b = 2 GROUP BY id, b",
    ),
]


@pytest.mark.parametrize(("old", "new"), QUERIES)
def test_a_query(old: str, new: str) -> None:
    same(old, new)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT new, until, rescan, up, rows, groupby, at FROM s WHERE new > until GROUP BY rescan",
        "SELECT new.depth FROM river new WHERE new.depth > 3",
        "SELECT new.depth FROM river [NOW] new, hilltop [NOW] rows",
        "SELECT rows.depth FROM river rows WHERE rows.depth > 3",
        "SELECT groupby.depth FROM river groupby WHERE groupby.depth > 3",
        "SELECT until.depth FROM river until, rescan",
        "SELECT depth FROM new, until [NOW], rescan new",
        "SELECT depth FROM river [RANGE until SLIDE new]",
        "SELECT depth FROM a new ASOF JOIN b ON new.id = b.id",
        "SELECT depth FROM LATEST(river new)",
        "SELECT depth FROM (SELECT depth FROM river) new",
        "SELECT (RSTREAM SELECT a AS b FROM t [NOW]) FROM s [NOW]",
        "SELECT (WITH x AS (SELECT a FROM t [NOW]) SELECT a AS b FROM x) FROM s [NOW]",
        "SELECT (SELECT a FROM t [NOW] UNION SELECT b AS c FROM u [NOW]) FROM s [NOW]",
        "SELECT (VALUES (1), (2)) FROM s",
    ],
)
def test_what_parsed_before_parses_as_before(text: str) -> None:
    tree = parse(text)
    assert print_statement(tree) == text
    assert parse(print_statement(tree)) == tree


def test_a_query_in_parentheses_is_no_list() -> None:
    one = parse("SELECT ((SELECT a FROM t [NOW]) UNION SELECT b AS c FROM u [NOW]) FROM s [NOW]")
    assert one == parse("SELECT (SELECT a FROM t [NOW] UNION SELECT b AS c FROM u [NOW]) FROM s [NOW]")


def test_rescan_prints_as_it_stands() -> None:
    text = "SELECT site FROM limits [rescan 24 hours] l"
    assert print_statement(parse(text)) == "SELECT site FROM limits [RESCAN 24 HOURS] l"


@pytest.mark.parametrize(
    "window", ["SCAN 24 hours", "NEW SLIDE 5 MINUTES", "FROM NOW", "UNTIL 5 MINUTES", "5 MINUTES"]
)
def test_what_is_no_window(window: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse(f"SELECT * FROM river [{window}]")
