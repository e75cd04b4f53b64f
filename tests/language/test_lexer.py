"""Tokens: what each is, where it is, and what is none."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language.lexer import TokenKind, tokenize

WORD, QUOTED, STRING, INT, FLOAT, SYMBOL, END = TokenKind


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("depth", WORD, "depth"),
        ("_x9", WORD, "_x9"),
        ("Größe", WORD, "Größe"),
        ('"odd name"', QUOTED, "odd name"),
        ('"say ""hi"""', QUOTED, 'say "hi"'),
        ("'it''s'", STRING, "it's"),
        ("''", STRING, ""),
        ("'two\nlines'", STRING, "two\nlines"),
        ("42", INT, "42"),
        ("007", INT, "007"),
        ("9223372036854775808", INT, "9223372036854775808"),
        ("4.5", FLOAT, "4.5"),
        ("4.", FLOAT, "4."),
        (".5", FLOAT, ".5"),
        ("1e9", FLOAT, "1e9"),
        ("1.5E-3", FLOAT, "1.5E-3"),
        ("<=", SYMBOL, "<="),
        ("∈", SYMBOL, "∈"),
    ],
)
def test_one_token(text: str, kind: TokenKind, content: str) -> None:
    token, end = tokenize(text)
    assert (token.kind, token.text, token.start, token.end) == (kind, content, 0, len(text))
    assert (end.kind, end.start) == (END, len(text))


def test_keys_fold_ascii_only() -> None:
    assert [token.key for token in tokenize('Select "Select" ſelect <> ≤')] == [
        "SELECT",
        "",
        "ſelect",
        "!=",
        "<=",
        "",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a -- rest\n b",
        "a /* in */ b",
        "a/**/b",
        "a /* two\nlines */ b",
        "a -- x /* y\n b",
        "\ufeffa\u00a0b",
        "a --\nb",
    ],
)
def test_comments_and_space_separate(text: str) -> None:
    assert [token.text for token in tokenize(text)] == ["a", "b", ""]


def test_a_comment_may_end_the_text() -> None:
    assert [token.text for token in tokenize("a -- b")] == ["a", ""]


@pytest.mark.parametrize("text", ["NOW-10", "now - 10", "now -10"])
def test_a_sign_is_no_part_of_a_number(text: str) -> None:
    assert [token.text for token in tokenize(text)][1:] == ["-", "10", ""]


@pytest.mark.parametrize("text", ["10min", "10 min", "10/**/min"])
def test_a_unit_may_stick_to_its_number(text: str) -> None:
    assert [token.text for token in tokenize(text)] == ["10", "min", ""]


@pytest.mark.parametrize(
    ("text", "message", "start", "end"),
    [
        ("a = 'it''s", "the string is not closed", 4, 10),
        ("a = 'x\nb", "the string is not closed", 4, 6),
        ('a "b', "the quoted name is not closed", 2, 4),
        ('a ""', "an empty name", 2, 4),
        ("a /* b", "the comment is not closed", 2, 6),
        ("a /* b /* c", "the comment is not closed", 2, 11),
        ("a @", "unexpected character '@'", 2, 3),
        ("2fast", "'2fast' is neither a number nor a name", 0, 5),
        ("1_000", "'1_000' is neither a number nor a name", 0, 5),
        ("0x1F", "'0x1F' is neither a number nor a name", 0, 4),
        ("9223372036854775809", "the whole number is too large for INT", 0, 19),
        ("9" * 5_000, "the whole number is too large for INT", 0, 5_000),
        ("1e999", "the number is too large for FLOAT", 0, 5),
    ],
)
def test_what_is_no_token(text: str, message: str, start: int, end: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        tokenize(text)
    assert caught.value.message == message
    assert caught.value.span is not None
    assert (caught.value.span.start, caught.value.span.end) == (start, end)
