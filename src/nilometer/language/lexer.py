"""Query text -> tokens, each with its place in the text.

Law: the tokens' places lie inside the text, are in ascending order, and do not overlap; the last token is the
end of the text.

>>> [token.text for token in tokenize("SELECT R.depth -- in mm")]
['SELECT', 'R', '.', 'depth', '']
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple, NoReturn

from nilometer.errors import QuerySyntaxError, Span
from nilometer.language.vocabulary import UNIT_SPELLINGS, fold
from nilometer.types import INT_MAXIMUM


class TokenKind(Enum):
    """The kind of a token; QUOTED is a name in double quotes, which is never a keyword."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    INT = "whole number"
    FLOAT = "number"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """`text` is the name, the string's content or the spelling; `key` is the upper-case word or the symbol, else ''."""

    kind: TokenKind
    text: str
    key: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The place in the text."""
        return Span(self.start, self.end)


# '==', '&&' and '!' are not operators of the language; as tokens they let the parser say what to write
# instead.
_PATTERN = re.compile(
    r"""(?P<space>(?:[\s\ufeff]+|--[^\n]*|/\*.*?\*/)+)
    |(?P<word>[^\W\d]\w*)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<symbol><=|>=|<>|!=|==|&&|\|\||::|[-+*/%^=<>(),.;\[\]{}∈∉≤≥≠!])
    |(?P<string>'(?:[^']|'')*+')
    |(?P<quoted>"(?:[^"]|"")*+")
    """,
    re.VERBOSE | re.DOTALL,
)

_SYMBOLS = {"≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "∈": "IN"}

_CHARACTER_HINTS = {
    "‘": "a string stands in straight single quotes: 'gauge'",
    "’": "a string stands in straight single quotes: 'gauge'",
    "“": "a string stands in straight single quotes: 'gauge'",
    "”": "a string stands in straight single quotes: 'gauge'",
    "`": 'a name with odd characters stands in double quotes: "odd name"',
    "?": "a parameter is a bare name: WHERE depth > threshold",
    ":": "a parameter is a bare name: WHERE depth > threshold",
    "$": "a parameter is a bare name: WHERE depth > threshold",
    "@": "a parameter is a bare name: WHERE depth > threshold",
    "−": "this is a typographic minus; write '-'",
    "–": "this is a dash; write '-'",
    "#": "a comment begins with '--'",
    "|": "write OR between conditions, and || between texts",
    "&": "write AND",
    "~": "write regexp_like(text, pattern)",
}


def tokenize(text: str) -> list[Token]:
    """All tokens of the text, ended by one of kind END; raises QuerySyntaxError if some text is not a
    token."""
    tokens: list[Token] = []
    position, length = 0, len(text)
    while position < length:
        match = _PATTERN.match(text, position)
        if match is None:
            _refuse_character(text, position)
        start, position = match.span()
        spelling = match.group()
        match match.lastgroup:
            case "space":
                continue
            case "word":
                token = Token(TokenKind.WORD, spelling, fold(spelling), start, position)
            case "symbol":
                if spelling == "/" and text.startswith("/*", start):
                    _fail(text, start, length, "the comment is not closed", "end it with '*/'")
                token = Token(TokenKind.SYMBOL, spelling, _SYMBOLS.get(spelling, spelling), start, position)
            case "number":
                token = _number(text, spelling, start, position)
            case "string":
                token = Token(TokenKind.STRING, spelling[1:-1].replace("''", "'"), "", start, position)
            case _:
                token = Token(TokenKind.QUOTED, spelling[1:-1].replace('""', '"'), "", start, position)
                if not token.text:
                    _fail(text, start, position, "an empty name", "write '' for the empty string")
        tokens.append(token)
    # The end lies directly behind the last token, not behind the blank lines after it: something is missing
    # there.
    last = tokens[-1].end if tokens else 0
    tokens.append(Token(TokenKind.END, "", "", last, last))
    return tokens


def _number(text: str, spelling: str, start: int, end: int) -> Token:
    """A number; letters may follow it without a space only if they are a unit (`10min`)."""
    following = _PATTERN.match(text, end)
    if following is not None and following.lastgroup == "word":
        _refuse_letters(text, spelling, following.group(), start)
    if spelling.isdigit():
        # -(2**63) is an INT, so 2**63 passes here; the parser accepts it only after a minus.
        digits = spelling.lstrip("0")
        if len(digits) > len(str(INT_MAXIMUM)) or (digits and int(digits) > INT_MAXIMUM + 1):
            hint = "write it as a FLOAT, such as 1e30"
            _fail(text, start, end, "the whole number is too large for INT", hint)
        return Token(TokenKind.INT, spelling, "", start, end)
    if float(spelling) == float("inf"):
        _fail(text, start, end, "the number is too large for FLOAT", "the largest FLOAT is about 1.8e308")
    return Token(TokenKind.FLOAT, spelling, "", start, end)


def _refuse_letters(text: str, digits: str, word: str, start: int) -> None:
    """Refuse letters directly behind a number, unless they are a unit."""
    if fold(word) in UNIT_SPELLINGS:
        return
    whole = digits + word
    if fold(word) == "M":
        hint = f"did you mean {digits} MINUTES?"
    else:
        hint = f'a name that begins with a digit stands in double quotes: "{whole}"'
    _fail(text, start, start + len(whole), f"'{whole}' is neither a number nor a name", hint)


def _refuse_character(text: str, position: int) -> NoReturn:
    """Say why no token begins here."""
    character = text[position]
    line_end = text.find("\n", position)
    line_end = len(text) if line_end < 0 else line_end
    if character == "'":
        _fail(
            text,
            position,
            line_end,
            "the string is not closed",
            "end it with a single quote; one inside is doubled: 'it''s'",
        )
    if character == '"':
        _fail(text, position, line_end, "the quoted name is not closed", "end it with a double quote")
    _fail(
        text, position, position + 1, f"unexpected character {character!r}", _CHARACTER_HINTS.get(character)
    )


def _fail(text: str, start: int, end: int, message: str, hint: str | None) -> NoReturn:
    raise QuerySyntaxError(message, hint=hint).at(text, Span(start, end))
