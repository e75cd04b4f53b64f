"""Patterns: what is taken, what is refused, and that both engines agree on what is taken."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra.regular_expression import parse_pattern, parse_replacement


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)", "looks around"),
        ("(?<!a)b", "looks around"),
        (r"(a)\1", "refers back"),
        ("(?P<name>a)", "names a group"),
        ("(?i)a", "flags inside"),
        ("a**", "side by side"),
        ("a*+", "side by side"),
        ("*a", "nothing to repeat"),
        ("^*", "nothing to repeat"),
        ("a{2", "a repetition is"),
        ("a{5,2}", "from more to fewer"),
        ("a{1001}", "at most 1000"),
        ("(a{40}){40}", "at most 1000"),
        ("[a", "']' is missing"),
        ("[]", "a class is empty"),
        ("[[:alpha:]]", "a class inside a class"),
        ("[z-a]", "goes backwards"),
        ("(a", "')' is missing"),
        ("a)", "')' too many"),
        ("a\\", "at the end"),
        (r"\p{L}", "means nothing"),
        (r"\Z", "means nothing"),
        (r"[\W]", "means nothing in a class"),
        ("a]", r"is written '\]'"),
        ("a" * 1001, "at most 1000 characters"),
        ("(" * 60 + ")" * 60, "more than 50 deep"),
    ],
)
def test_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_pattern(pattern)


ITEMS = st.sampled_from(
    [
        "a",
        "b",
        "é",
        "日",
        ".",
        "[ab]",
        "[^a]",
        r"[\d_-]",
        r"\d",
        r"\w",
        r"\S",
        r"\b",
        "^",
        "$",
        r"\.",
        "(a|b)",
        "(?:ab|)",
        "-",
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,1}", "*?", "+?"])


@given(
    st.lists(st.tuples(ITEMS, QUANTIFIERS), min_size=1, max_size=4),
    st.lists(st.text("abé日_-1 .\n", max_size=6), max_size=4),
)
def test_both_engines_agree(items: list[tuple[str, str]], texts: list[str]) -> None:
    text = "".join(item if item in ("^", "$", r"\b") else item + quantifier for item, quantifier in items)
    pattern = parse_pattern(text)
    found = [re.search(pattern.python, line) for line in texts]
    column = pl.Series(texts, dtype=pl.String)
    assert column.str.contains(pattern.rust).to_list() == [match is not None for match in found]
    matches = column.str.extract(pattern.rust, 0).to_list()
    assert matches == [None if match is None else match.group() for match in found]


def test_the_largest_pattern_is_compiled() -> None:
    pattern = parse_pattern("(?:[^a]{30}){33}" + "." * 900)
    assert pl.Series(["b" * 2000]).str.contains(pattern.rust).to_list() == [True]


@pytest.mark.parametrize(
    ("text", "reason"), [(r"\2", "no group 2"), (r"\x", "means nothing"), ("\\", "means nothing")]
)
def test_refused_replacements(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_replacement(text, 1)
