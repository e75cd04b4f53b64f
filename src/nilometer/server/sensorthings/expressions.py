"""$filter and $orderby: the expressions of SensorThings 1.1 (OGC 18-088, 9.3.3), a part of OData 4.

    expression  ::= and {"or" and}          and ::= unary {"and" unary}       unary ::= "not" unary | comparison
    comparison  ::= sum [(eq ne gt ge lt le) sum]     sum ::= product {(add sub) product}
    product     ::= factor {(mul div mod) factor}     factor ::= ["-"] (literal | path | function | "(" expression ")")

>>> parse("result gt 5 and not startswith(Datastream/name, 'it''s')")  # doctest: +ELLIPSIS
Binary(name='and', left=Binary(name='gt', left=Path(parts=('result',), ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from nilometer.errors import NOWHERE, QuerySyntaxError, Span
from nilometer.server.sensorthings import geometry, times
from nilometer.server.sensorthings.functions import FUNCTIONS, Length

LONGEST = 32 << 10
"""The longest expression in characters."""
DEEPEST = 50
"""How deeply expressions may be nested."""


@dataclass(frozen=True)
class Literal:
    """A value: None, a boolean, a number, a text, a time (`times.Span`), a Length, or a shape."""

    value: Any
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Path:
    """A property, of the entity or of one that it is linked to."""

    parts: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Call:
    """A function of functions.py."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Binary:
    """A comparison, an arithmetic operation, `and`, or `or`."""

    name: str
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Unary:
    """`not` or `-`."""

    name: str
    operand: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expression = Literal | Path | Call | Binary | Unary

COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")
_TOKEN = re.compile(
    rf"""(?P<blank>\s+)
      | (?P<time>{times.TEXT}(?:/{times.TEXT})?)
      | (?P<date>\d{{4}}-\d\d-\d\d(?![\dT]))
      | (?P<typed>(?:geography|geometry|duration|datetimeoffset)'(?:[^']|'')*')
      | (?P<text>'(?:[^']|'')*')
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<word>@?[A-Za-z_][\w.@]*(?:/[\w.@$-]+)*)
      | (?P<sign>[(),-])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    span: Span


def parse(text: str) -> Expression:
    """The expression. Raises QuerySyntaxError with the place."""
    if len(text) > LONGEST:
        raise QuerySyntaxError(f"an expression has at most {LONGEST} characters")
    parser = _Parser(text)
    found = parser.expression()
    parser.expect_end()
    return found


def parse_order(text: str) -> tuple[tuple[Expression, bool], ...]:
    """The keys of $orderby, and whether each is descending.

    >>> parse_order("phenomenonTime desc, id")
    ((Path(parts=('phenomenonTime',)), True), (Path(parts=('id',)), False))
    """
    parser = _Parser(text)
    keys = []
    while True:
        key = parser.expression()
        word = parser.word("asc", "desc")
        keys.append((key, word == "desc"))
        if not parser.sign(","):
            break
    parser.expect_end()
    return tuple(keys)


class _Parser:
    """Recursive descent; `place` is the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        self.place = 0
        self.depth = 0
        self.tokens = list(self._tokens())

    def _tokens(self) -> Any:
        at = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                raise self.error("this is not understood", Span(at, at + 1))
            if found.lastgroup != "blank":
                assert found.lastgroup is not None
                yield _Token(found.lastgroup, found[0], Span(*found.span()))
            at = found.end()

    def error(self, message: str, span: Span | None = None, hint: str | None = None) -> QuerySyntaxError:
        """An error at a place; by default at the next token."""
        end = len(self.text)
        here = self.tokens[self.place].span if self.place < len(self.tokens) else Span(max(0, end - 1), end)
        return QuerySyntaxError(message, hint=hint).at(self.text, span or here)

    def expect_end(self) -> None:
        """Refuse more."""
        if self.place < len(self.tokens):
            raise self.error("an operator or the end is expected here", hint="strings stand in single quotes")

    def peek(self) -> _Token | None:
        """The next token."""
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def word(self, *words: str) -> str | None:
        """Take the next token if it is one of these words; case does not matter."""
        token = self.peek()
        if token is not None and token.kind == "word" and token.text.lower() in words:
            self.place += 1
            return token.text.lower()
        return None

    def sign(self, sign: str) -> bool:
        """Take the next token if it is this sign."""
        token = self.peek()
        if token is not None and token.kind == "sign" and token.text == sign:
            self.place += 1
            return True
        return False

    # ---- by precedence -----------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        """Whatever may stand in parentheses."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"expressions are nested at most {DEEPEST} deep")
        left = self.conjunction()
        while self.word("or"):
            right = self.conjunction()
            left = Binary("or", left, right, left.span | right.span)
        self.depth -= 1
        return left

    def conjunction(self) -> Expression:
        """a and b"""
        left = self.negation()
        while self.word("and"):
            right = self.negation()
            left = Binary("and", left, right, left.span | right.span)
        return left

    def negation(self) -> Expression:
        """not a"""
        count = 0
        begin = self.peek()
        while self.word("not"):
            count += 1
        found = self.comparison()
        return Unary("not", found, begin.span | found.span) if count % 2 and begin is not None else found

    def comparison(self) -> Expression:
        """a eq b"""
        left = self.sum()
        name = self.word(*COMPARISONS)
        if name is None:
            return left
        right = self.sum()
        return Binary(name, left, right, left.span | right.span)

    def sum(self) -> Expression:
        """a add b"""
        left = self.product()
        while name := self.word("add", "sub"):
            right = self.product()
            left = Binary(name, left, right, left.span | right.span)
        return left

    def product(self) -> Expression:
        """a mul b"""
        left = self.factor()
        while name := self.word("mul", "div", "mod"):
            right = self.factor()
            left = Binary(name, left, right, left.span | right.span)
        return left

    def factor(self) -> Expression:
        """A value."""
        token = self.peek()
        if token is None:
            raise self.error("a value is expected at the end")
        self.place += 1
        match token.kind:
            case "sign" if token.text == "(":
                found = self.expression()
                if not self.sign(")"):
                    raise self.error("')' is expected here")
                return found
            case "sign" if token.text == "-":
                operand = self.factor()
                if isinstance(operand, Literal) and isinstance(operand.value, int | float):
                    return Literal(-operand.value, token.span | operand.span)
                return Unary("-", operand, token.span | operand.span)
            case "text":
                return Literal(_unquoted(token.text), token.span)
            case "number":
                whole = token.text.isdecimal()
                return Literal(int(token.text) if whole else float(token.text), token.span)
            case "time" | "date":
                return self._time(token)
            case "typed":
                return self._typed(token)
            case "word":
                return self._word(token)
        self.place -= 1
        raise self.error("a value is expected here")

    def _time(self, token: _Token) -> Expression:
        try:
            return Literal(times.parse(token.text), token.span)
        except ValueError as error:
            raise self.error(f"no time: {error}", token.span) from None

    def _typed(self, token: _Token) -> Expression:
        kind, _, rest = token.text.partition("'")
        text = _unquoted("'" + rest)
        try:
            if kind == "duration":
                return Literal(Length(times.duration(text)), token.span)
            if kind == "datetimeoffset":
                return Literal(times.parse(text), token.span)
            return Literal(geometry.from_text(text), token.span)
        except ValueError as error:
            raise self.error(f"no {kind}: {error}", token.span) from None

    def _word(self, token: _Token) -> Expression:
        plain = token.text.lower()
        if plain in ("true", "false", "null"):
            return Literal({"true": True, "false": False, "null": None}[plain], token.span)
        follows = self.peek()
        if follows is None or follows.text != "(" or follows.kind != "sign":
            return Path(tuple(token.text.split("/")), token.span)
        function = FUNCTIONS.get(plain)
        if function is None:
            raise self.error(
                f"there is no function '{token.text}'", token.span, hint=f"there are: {', '.join(FUNCTIONS)}"
            )
        self.place += 1
        arguments: list[Expression] = []
        if not self.sign(")"):
            while True:
                arguments.append(self.expression())
                if self.sign(")"):
                    break
                if not self.sign(","):
                    raise self.error("',' or ')' is expected here")
        if len(arguments) not in function.arguments:
            counts = " or ".join(map(str, function.arguments))
            raise self.error(f"{plain} takes {counts} arguments, not {len(arguments)}", token.span)
        return Call(plain, tuple(arguments), token.span)


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")


def paths_of(expression: Expression) -> list[Path]:
    """All properties that an expression asks for."""
    match expression:
        case Path():
            return [expression]
        case Call(arguments=arguments):
            return [path for argument in arguments for path in paths_of(argument)]
        case Binary(left=left, right=right):
            return [*paths_of(left), *paths_of(right)]
        case Unary(operand=operand):
            return paths_of(operand)
    return []
