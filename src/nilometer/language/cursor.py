"""The cursor over the tokens, which all parsing functions share.

It remembers which tokens were tried at the current place, so that an error can say what could stand there.

>>> cursor = Cursor("SELECT depth")
>>> cursor.accept("WITH"), cursor.accept("SELECT"), cursor.name()
(False, True, 'depth')
"""

from __future__ import annotations

from typing import NoReturn

from nilometer.errors import QuerySyntaxError, Span
from nilometer.language.lexer import Token, TokenKind, tokenize
from nilometer.language.vocabulary import NOT_AN_ALIAS, RESERVED

# Far more than any real query needs, and well below Python's limit of 1,000 calls (a level takes up to six).
MAXIMUM_NESTING = 100

WORD, QUOTED, STRING, INT, FLOAT, SYMBOL, END = TokenKind


class Cursor:
    """A reading position; `token` is the next token, not yet taken."""

    __slots__ = ("depth", "expected", "index", "text", "token", "tokens", "wanted_before")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.index = 0
        self.token = self.tokens[0]
        self.expected: list[str] = []
        self.wanted_before: list[str] = []
        self.depth = 0

    def advance(self) -> Token:
        """Take the next token."""
        taken = self.token
        self.index += 1
        self.token = self.tokens[self.index]
        self.wanted_before = self.expected
        self.expected = []
        return taken

    def peek(self, distance: int = 1) -> Token:
        """The token `distance` places ahead, or the end."""
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def at_place(self, index: int) -> Cursor:
        """Another cursor over the same tokens, at that place."""
        other = Cursor.__new__(Cursor)
        other.text, other.tokens, other.index = self.text, self.tokens, index
        other.token, other.expected, other.wanted_before = self.tokens[index], [], []
        other.depth = self.depth
        return other

    def at(self, *keys: str) -> bool:
        """Whether the next token is one of these words or symbols; this is not remembered for the error
        message."""
        return self.token.key in keys

    def accept(self, key: str, label: str | None = None) -> bool:
        """Take the word or symbol if it is next; else remember that it could have stood here."""
        if self.token.key == key:
            self.advance()
            return True
        self.expected.append(label or label_of(key))
        return False

    def accept_any(self, *keys: str) -> str | None:
        """Take whichever of the words is next."""
        for key in keys:
            if self.accept(key):
                return key
        return None

    def expect(self, key: str, label: str | None = None) -> Token:
        """Take the word or symbol, which must be next."""
        if self.token.key == key:
            return self.advance()
        self.fail(label or label_of(key))

    def expect_any(self, *keys: str) -> str:
        """Take one of the words; one of them must be next."""
        key = self.accept_any(*keys)
        if key is None:
            self.fail()
        return key

    def at_name(self) -> bool:
        """Whether the next token may be a name."""
        token = self.token
        return token.kind is QUOTED or (token.kind is WORD and token.key not in RESERVED)

    def at_alias(self) -> bool:
        """Whether the next token may be an alias without AS."""
        token = self.token
        return token.kind is QUOTED or (token.kind is WORD and token.key not in NOT_AN_ALIAS)

    def name(self, label: str = "a name") -> str:
        """Take a name, which must be next."""
        if not self.at_name():
            self.fail(label)
        return self.advance().text

    def string(self, label: str = "a string in single quotes") -> str:
        """Take a string, which must be next."""
        if self.token.kind is not STRING:
            self.fail(label)
        return self.advance().text

    def span_from(self, start: int) -> Span:
        """From `start` to the end of the token taken last."""
        return Span(start, self.tokens[self.index - 1].end if self.index else start)

    def deepen(self) -> None:
        """Enter one level of nesting; raises long before Python's own limit. `self.depth -= 1` leaves the
        level again."""
        self.depth += 1
        if self.depth > MAXIMUM_NESTING:
            raise QuerySyntaxError(
                f"nested too deeply: more than {MAXIMUM_NESTING} levels",
                hint="split the query, or take out parentheses",
            ).at(self.text, self.token.span)

    def fail(self, *labels: str, hint: str | None = None) -> NoReturn:
        """Raise an error: what was found, what could stand here (these labels and all that was tried), and a
        hint."""
        # Only errors need the hints; the late import keeps `parse` quick to load.
        from nilometer.language.mistakes import syntax_error

        self.expected.extend(labels)
        raise syntax_error(self, hint)

    def refuse(self, message: str, span: Span, hint: str | None = None) -> NoReturn:
        """Raise an error with its own message."""
        raise QuerySyntaxError(message, hint=hint).at(self.text, span)


def label_of(key: str) -> str:
    """A word or symbol as messages show it: FROM, ')'."""
    return key if key[0].isalpha() else f"'{key}'"
