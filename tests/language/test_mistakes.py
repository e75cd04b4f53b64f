"""Syntax errors: the golden file, and what the printed form does not show."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden
from nilometer.errors import QuerySyntaxError
from nilometer.language import parse, parse_script


def _error(text: str) -> str:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    return str(caught.value)


def test_errors(rewrite: bool) -> None:
    errors = golden.read(Path(__file__).with_name("errors.txt"))
    assert len(errors.blocks) >= 100
    errors.check(_error, rewrite=rewrite)


@pytest.mark.parametrize("text", ["", "  \n", "-- a comment", "/* one */ -- two"])
def test_empty_text(text: str) -> None:
    with pytest.raises(QuerySyntaxError, match="the text is empty"):
        parse(text)


def test_an_error_knows_its_place_in_a_script() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_script("SHOW STREAMS;\nSELECT a FROM b;\n  SHOW STREEMS;")
    assert (caught.value.line, caught.value.column) == (3, 8)
    assert caught.value.hint == "did you mean STREAMS?"


def test_the_end_of_the_text_is_behind_the_last_word() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse("SELECT a\nFROM b WHERE\n\n  -- what?\n\n")
    assert (caught.value.line, caught.value.column) == (2, 13)


def test_as_json() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse("SELECT a FORM b")
    assert caught.value.as_dict() == {
        "error": "QuerySyntaxError",
        "message": "expected ',' or FROM, found 'FORM'",
        "detail": None,
        "hint": "did you mean FROM?",
        "line": 1,
        "column": 10,
    }
