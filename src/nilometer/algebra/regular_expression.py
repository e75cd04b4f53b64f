r"""Regular expressions: the part of the syntax in which Python's `re` and Rust's `regex` agree.

`parse_pattern` reads a pattern and writes it for both engines, so that every host finds the same matches.

- Characters, `.` (any but a line end), `[a-z_]` and `[^...]`, `( )`, `(?: )`, `|`, `^` and `$` (the ends of the
  text), `* + ? {2} {2,} {2,5}` and the lazy `*?`.
- `\d \w \s` and `\D \W \S` know ASCII only, as RE2's do; `\b` is the edge of such a word; `\n \r \t`; a
  backslash before any other sign takes it as it is.
- Refused, with the reason: lookaround, references to groups, flags inside, possessive and stacked
  quantifiers, classes inside classes, and more than 1,000 repetitions. Matching takes linear time.

>>> found = parse_pattern(r"^(\d+)-(\w)$")
>>> found.python, found.rust, found.groups
('^([0-9]+)-([0-9A-Za-z_])\\Z', '^([0-9]+)-([0-9A-Za-z_])$', 2)
>>> parse_pattern(r"a(?=b)")
Traceback (most recent call last):
ValueError: '(?=' looks around, which would not take linear time
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MOST_REPETITIONS: Final = 1_000
LONGEST: Final = 1_000

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\r\f\x0b"}
_CONTROLS = {"n": r"\n", "r": r"\r", "t": r"\t", "f": r"\f"}
_SPECIAL = frozenset(".^$*+?{}[]|()\\")
_REFUSED_GROUPS = {
    "(?=": "looks around, which would not take linear time",
    "(?!": "looks around, which would not take linear time",
    "(?<=": "looks around, which would not take linear time",
    "(?<!": "looks around, which would not take linear time",
    "(?>": "is an atomic group, which not all hosts have",
    "(?P=": "refers back to a group, which would not take linear time",
    "(?#": "is a comment; leave it out",
    "(?P<": "names a group; groups are counted: write (",
    "(?<": "names a group; groups are counted: write (",
}
_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in both dialects, and the number of its groups."""

    python: str
    rust: str
    groups: int


@lru_cache
def parse_pattern(text: str, any_case: bool = False) -> Pattern:
    """The pattern for both engines; a ValueError says what is refused, and why."""
    if len(text) > LONGEST:
        raise ValueError(f"a pattern has at most {LONGEST} characters")
    reader = _Reader(text)
    reader.alternatives()
    if reader.place < len(text):
        raise ValueError("there is a ')' too many")
    prefix = "(?i)" if any_case else ""
    return Pattern(prefix + "".join(reader.python), prefix + "".join(reader.rust), reader.groups)


class _Reader:
    """Recursive descent; `repetitions` is how often the innermost group may be repeated in all."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.groups = 0
        self.python: list[str] = []
        self.rust: list[str] = []

    def write(self, python: str, rust: str | None = None) -> None:
        self.python.append(python)
        self.rust.append(python if rust is None else rust)

    def alternatives(self, depth: int = 0) -> int:
        """`a|b|c` up to a ')' or the end; the most repetitions inside."""
        if depth > 50:
            raise ValueError("groups are nested more than 50 deep")
        most = 1
        while self.place < len(self.text) and self.text[self.place] != ")":
            if self.text[self.place] == "|":
                self.place += 1
                self.write("|")
            else:
                most = max(most, self.term(depth))
        return most

    def term(self, depth: int) -> int:
        """One item and its quantifier; the repetitions inside, times its own."""
        character = self.text[self.place]
        repeatable, inside = True, 1
        if character == "(":
            inside = self.group(depth)
        elif character == "[":
            self.bracket()
        elif character == "\\":
            repeatable = self.escape()
        elif character in "^$":
            self.place += 1
            self.write(character, character) if character == "^" else self.write(r"\Z", "$")
            repeatable = False
        elif character == ".":
            self.place += 1
            self.write(".")
        elif character in "*+?{":
            raise ValueError(f"'{character}' has nothing to repeat; as a sign it is written '\\{character}'")
        elif character in "}]":
            raise ValueError(f"'{character}' as a sign is written '\\{character}'")
        else:
            self.place += 1
            self.write(_literal(character))
        return self.quantifier(repeatable, inside)

    def quantifier(self, repeatable: bool, inside: int) -> int:
        found = _QUANTIFIER.match(self.text, self.place)
        if found is None:
            if self.text.startswith("{", self.place):
                raise ValueError("a repetition is {2}, {2,} or {2,5}; the sign is written '\\{'")
            return inside
        if not repeatable:
            raise ValueError(f"'{found[0]}' has nothing to repeat")
        times = max(int(found[1]), int(found[3] or 1)) if found[1] else 1
        if found[1] and found[3] and int(found[3]) < int(found[1]):
            raise ValueError(f"'{found[0]}' repeats from more to fewer")
        if inside * max(times, 1) > MOST_REPETITIONS:
            raise ValueError(f"a pattern repeats at most {MOST_REPETITIONS} times, nested ones multiplied")
        self.place = found.end()
        self.write(found[0])
        if self.text.startswith("?", self.place):
            self.place += 1
            self.write("?")
        if _QUANTIFIER.match(self.text, self.place):
            raise ValueError("two quantifiers stand side by side; put the first into (?: )")
        return inside * max(times, 1)

    def group(self, depth: int) -> int:
        for start, reason in _REFUSED_GROUPS.items():
            if self.text.startswith(start, self.place):
                raise ValueError(f"'{start}' {reason}")
        if self.text.startswith("(?:", self.place):
            self.place += 3
            self.write("(?:")
        elif self.text.startswith("(?", self.place):
            raise ValueError("flags inside a pattern are refused; give 'i' as a flag instead")
        else:
            self.place += 1
            self.groups += 1
            self.write("(")
        inside = self.alternatives(depth + 1)
        if not self.text.startswith(")", self.place):
            raise ValueError("a ')' is missing")
        self.place += 1
        self.write(")")
        return inside

    def escape(self) -> bool:
        """A backslash and what follows; whether it can be repeated."""
        letter = self.text[self.place + 1 : self.place + 2]
        self.place += 2
        if not letter:
            raise ValueError("a backslash stands at the end")
        if letter.lower() in _CLASSES:
            self.write(f"[{'^' if letter.isupper() else ''}{_CLASSES[letter.lower()]}]")
        elif letter in _CONTROLS:
            self.write(_CONTROLS[letter])
        elif letter == "b":
            self.write(r"(?a:\b)", r"(?-u:\b)")
            return False
        elif letter.isdigit():
            raise ValueError(f"'\\{letter}' refers back to a group, which would not take linear time")
        elif letter.isalpha():
            raise ValueError(f"'\\{letter}' means nothing here")
        else:
            self.write(_literal(letter))
        return True

    def bracket(self) -> None:
        """`[...]`: characters, ranges and \\d \\w \\s."""
        start = self.place
        self.place += 1
        negated = self.text.startswith("^", self.place)
        self.place += negated
        written: list[str] = []
        while True:
            if self.place >= len(self.text):
                raise ValueError("a ']' is missing")
            if self.text[self.place] == "]":
                break
            first, single = self.member()
            if single is not None and self._range_follows():
                self.place += 1
                last, other = self.member()
                if other is None or ord(other) < ord(single):
                    raise ValueError(f"'{self.text[start : self.place]}' has a range that goes backwards")
                first = f"{first}-{last}"
            written.append(first)
        if not written:
            raise ValueError("a class is empty; as a sign ']' is written '\\]'")
        self.place += 1
        self.write(f"[{'^' if negated else ''}{''.join(written)}]")

    def _range_follows(self) -> bool:
        return self.text.startswith("-", self.place) and self.text[self.place + 1 : self.place + 2] not in (
            "]",
            "",
        )

    def member(self) -> tuple[str, str | None]:
        """One member of a class as it is written, and the character if it is one."""
        character = self.text[self.place]
        self.place += 1
        if character == "[":
            raise ValueError("a class inside a class is refused; as a sign '[' is written '\\['")
        if character != "\\":
            return _member(character), character
        letter = self.text[self.place : self.place + 1]
        self.place += 1
        if letter in _CLASSES:
            return _CLASSES[letter], None
        if letter in _CONTROLS:
            return _CONTROLS[letter], {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}[letter]
        if not letter or letter.isalnum():
            raise ValueError(f"'\\{letter}' means nothing in a class")
        return _member(letter), letter


def _literal(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character


def _member(character: str) -> str:
    return f"\\{character}" if character in r"\]^-[&~" else character


# ---- replacement -----------------------------------------------------------------------------------------------------


@lru_cache
def parse_replacement(text: str, groups: int) -> tuple[str | int, ...]:
    r"""The parts of a replacement: text, and the numbers of groups, written \0 (the whole match) to \9.

    >>> parse_replacement(r"<\1>", 1)
    ('<', 1, '>')
    """
    parts: list[str | int] = []
    for literal, escaped in re.findall(r"([^\\]+)|\\(.?)", text, re.DOTALL):
        if literal or escaped == "\\":
            parts.append(literal or escaped)
        elif not (escaped.isascii() and escaped.isdigit()):
            raise ValueError(f"'\\{escaped}' means nothing in a replacement; a backslash is written '\\\\'")
        elif int(escaped) > groups:
            raise ValueError(f"there is no group {escaped}: the pattern has {groups}")
        else:
            parts.append(int(escaped))
    return tuple(parts)
