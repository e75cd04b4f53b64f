"""The entry points: one statement, a script, an expression; and how long they take."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import time

import pytest

import nilometer.language
from language.papers import PAPER_QUERIES
from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse, parse_expression, parse_script


@pytest.mark.parametrize(
    "text", ["SHOW STREAMS", "SHOW STREAMS;", " SHOW\nSTREAMS ; ;-- done", "/* first */ show streams"]
)
def test_a_semicolon_may_end_a_statement(text: str) -> None:
    assert parse(text) == ast.Show("STREAMS")


def test_several_statements_are_a_script() -> None:
    text = "SHOW STREAMS;\n\n-- and\nSHOW TABLES; ; SHOW SENSORS"
    assert parse_script(text) == (ast.Show("STREAMS"), ast.Show("TABLES"), ast.Show("SENSORS"))
    with pytest.raises(QuerySyntaxError, match="more than one statement"):
        parse(text)


@pytest.mark.parametrize("text", ["", " ", ";", ";;", "-- nothing"])
def test_an_empty_script_has_no_statements(text: str) -> None:
    assert parse_script(text) == ()


def test_statements_of_a_script_need_semicolons() -> None:
    with pytest.raises(QuerySyntaxError, match="found 'SHOW'"):
        parse_script("SHOW STREAMS SHOW TABLES")


def test_statements_of_a_script_know_their_text() -> None:
    text = "SHOW STREAMS; SELECT a FROM b;"
    assert [text[node.span.start : node.span.end] for node in parse_script(text)] == [
        "SHOW STREAMS",
        "SELECT a FROM b",
    ]


def test_an_expression_has_nothing_behind_it() -> None:
    with pytest.raises(QuerySyntaxError, match="the end of the text"):
        parse_expression("a > 1;")


def test_keywords_in_any_case_and_names_as_written() -> None:
    assert parse("SeLeCt Depth fRoM River wHeRe Depth iS nOt nUlL") == parse(
        "SELECT Depth FROM River WHERE Depth IS NOT NULL"
    )
    assert parse("SELECT depth FROM river") != parse("SELECT Depth FROM river")


def test_the_running_example_parses_in_under_a_millisecond() -> None:
    text = PAPER_QUERIES["snee fig. 5"]
    parse(text)
    best = min(_seconds(text) for _ in range(20))
    assert best < 0.001


def _seconds(text: str) -> float:
    start = time.perf_counter()
    parse(text)
    return time.perf_counter() - start


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(nilometer.language.__path__)]
)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(f"nilometer.language.{name}")
    assert doctest.testmod(module).failed == 0
