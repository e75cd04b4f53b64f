"""Errors with a culprit, a place and a hint.

Every error that a user can see is a `NilometerError`: a message (lower case, no full stop), a detail that
says what was found, and a hint that says what to do. Errors in query text also carry the text and the place,
and print a caret.

>>> text = "SELECT depht FROM river"
>>> print(BindError("no column 'depht' in 'river'", hint="did you mean 'depth'?").at(text, Span(7, 12)))
no column 'depht' in 'river'
  line 1, column 8
    SELECT depht FROM river
           ^^^^^
  hint: did you mean 'depth'?

The credentials of an address that an error quotes are hidden.

>>> print(ConfigurationError("'mqtt://me:secret@host/air' is no address"))
'mqtt://me:***@host/air' is no address
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nilometer.redaction import redacted_text


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in the query text."""

    start: int
    end: int

    def __or__(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


class NilometerError(Exception):
    """The base of all our errors; `exit_code` is the exit status of the CLI."""

    exit_code = 1

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        self.message = redacted_text(message)
        super().__init__(self.message)
        self.detail = detail
        self.hint = hint
        self.text: str | None = None
        self.span: Span | None = None
        self.file: str | None = None
        """The file that the text is from, if it is from one."""

    def within(self, file: str) -> Self:
        """The same error, with the file that its text is from (the first one given wins)."""
        self.file = self.file or file
        return self

    def at(self, text: str | None, span: Span | None) -> Self:
        """The same error, with a place in the query text (the first place given wins)."""
        if self.span is None and span is not None and span != NOWHERE:
            self.span = span
        if self.text is None:
            self.text = text
        return self

    @property
    def line(self) -> int | None:
        """The 1-based line of the place, if there is one."""
        if self.text is None or self.span is None:
            return None
        return self.text.count("\n", 0, self.span.start) + 1

    @property
    def column(self) -> int | None:
        """The 1-based column of the place, if there is one."""
        if self.text is None or self.span is None:
            return None
        return self.span.start - (self.text.rfind("\n", 0, self.span.start) + 1) + 1

    def __str__(self) -> str:
        lines = [self.message]
        if (
            self.text is not None
            and self.span is not None
            and self.line is not None
            and self.column is not None
        ):
            source = self.text.split("\n")[self.line - 1] if self.text else ""
            width = max(1, min(self.span.end - self.span.start, len(source) - self.column + 1))
            shown, indent = _clipped(*_redacted_line(source.replace("\t", " "), self.column - 1))
            where = "" if self.file is None else f"{self.file}, "
            lines.append(f"  {where}line {self.line}, column {self.column}")
            lines.append("    " + shown)
            lines.append("    " + " " * indent + "^" * min(width, len(shown) - indent or 1))
        elif self.file is not None:
            lines.append(f"  {self.file}")
        if self.detail:
            lines.append(f"  detail: {redacted_text(self.detail)}")
        if self.hint:
            lines.append(f"  hint: {redacted_text(self.hint)}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str | int | None]:
        """The error as JSON for `--json` output and the server."""
        return {
            "error": type(self).__name__,
            "message": self.message,
            "detail": self.detail and redacted_text(self.detail),
            "hint": self.hint and redacted_text(self.hint),
            "line": self.line,
            "column": self.column,
        } | ({} if self.file is None else {"file": self.file})


LINE = 100
"""How much of a long line is shown around the caret."""


def _redacted_line(source: str, start: int) -> tuple[str, int]:
    """The line without credentials, and where the place is in it."""
    shown = redacted_text(source)
    if shown == source:
        return source, start
    same = next(
        place for place, (a, b) in enumerate(zip(source + "\0", shown + "\1", strict=False)) if a != b
    )
    # All that was replaced lies between the part that is the same from the left and from the right.
    tail = next(
        n for n, (a, b) in enumerate(zip(source[::-1] + "\0", shown[::-1] + "\1", strict=False)) if a != b
    )
    if start <= same:
        return shown, start
    return shown, max(same, len(shown) - len(source) + start) if start >= len(source) - tail else same


def _clipped(source: str, start: int) -> tuple[str, int]:
    """The part of a long line around a place, and where the place is in it."""
    if len(source) <= LINE:
        return source, start
    begin = max(0, min(start - 30, len(source) - LINE))
    end = begin + LINE
    head, tail = "... " if begin else "", " ..." if end < len(source) else ""
    return head + source[begin:end] + tail, start - begin + len(head)


class QuerySyntaxError(NilometerError):
    """The text is not in the language; the author of the query must correct it."""


class BindError(NilometerError):
    """The text is well formed but has no meaning here: an unknown name, a clash of types, a missing
    window."""


class CatalogError(NilometerError):
    """An invalid declaration: a name in use, an impossible network, an unknown unit."""


class UnsupportedError(NilometerError):
    """The query is valid, but the chosen host cannot run it."""


class InfeasibleError(NilometerError):
    """The query is valid, but no plan meets its expectations: the bound that fails, and the nearest that
    holds.

    `kept` is the number of bounds that the plan keeps before the one that fails. `gap` is the factor between
    the expected and the achievable value. Of several refusals, the one that keeps most is reported, because
    nothing was tried beyond the bound that fails; among equals, the one with the smallest gap.
    """

    kept: int = 0
    gap: float = float("inf")

    def with_gap(self, gap: float, kept: int) -> Self:
        """The same error, with its gap and what the plan keeps."""
        self.gap, self.kept = gap, kept
        return self


class DataError(NilometerError):
    """The readings differ from the declaration: a garbled file, a value of the wrong type, an overflow."""


class FunctionFailedError(DataError):
    """A function in Python has raised for a row."""


class ResourceError(NilometerError):
    """An external resource is missing: Java, a database, a package, disk space."""


class ConfigurationError(NilometerError):
    """A setting or option is invalid."""


class InternalError(NilometerError):
    """A bug in Nilometer: no input should ever cause it."""

    exit_code = 70
