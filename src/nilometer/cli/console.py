"""Prints rows to stdout, as text or JSON lines, and messages to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from nilometer.cli.typed_name import as_typed
from nilometer.errors import ConfigurationError, NilometerError
from nilometer.printable import printable, printable_json, printable_text

if TYPE_CHECKING:
    from nilometer.engine import Answer, Database


NOTES = 12
"""The number of notes about files that are printed."""

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool = True) -> Iterator[None]:
    """Print no messages within; errors are still printed."""
    token = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(token)


def message(text: str) -> None:
    """Print a line to stderr, for the person and not for the pipe."""
    if not _QUIET.get():
        print(printable_text(as_typed(text)), file=sys.stderr, flush=True)


def fail(error: NilometerError, as_json: bool) -> NoReturn:
    """Print an error and exit."""
    if as_json:
        found = {
            name: as_typed(value) if isinstance(value, str) else value
            for name, value in error.as_dict().items()
        }
        print_json(found, file=sys.stderr)
    else:
        colour = sys.stderr.isatty()
        label = "\033[1;31merror:\033[0m " if colour else "error: "
        print(label + printable_text(as_typed(str(error))), file=sys.stderr, flush=True)
    sys.exit(error.exit_code)


def print_json(value: Any, file: TextIO | None = None) -> None:
    """Print one line of JSON that a terminal can show: a string, or what becomes one."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    print(printable_json(text), file=file, flush=True)


def check_output(path: str | Path, option: str) -> None:
    """Refuse a directory that cannot be created or written, before the long work begins. Creates nothing."""
    nearest = next(
        folder for folder in (Path(path).absolute(), *Path(path).absolute().parents) if folder.exists()
    )
    reason = None
    if not nearest.is_dir():
        reason = f"'{nearest}' is no directory"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        reason = f"no permission to write into '{nearest}'"
    if reason is not None:
        raise ConfigurationError(
            f"{option}: cannot write into '{path}'", detail=reason, hint="name a directory of your own"
        )


def check_output_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be written. One that is there is written anew."""
    if path.is_dir():
        raise ConfigurationError(
            f"{option}: '{path}' is a directory", hint=f"name a file in it: {option} {path / 'field.svg'}"
        )
    if path.exists() and not os.access(path, os.W_OK):
        raise ConfigurationError(
            f"{option}: cannot write into '{path}'", detail="no permission", hint="name another file"
        )
    if not path.exists():
        check_output(path.parent, option)


def time_of(text: str | None) -> int | None:
    """Parse the time of an option; None if the option is not given."""
    from nilometer.types import parse_time

    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError:
        raise ConfigurationError(
            f"'{text}' is no time", hint="write it as ISO-8601: 2026-01-31T12:00:00Z"
        ) from None


def tell_of_data(database: Database) -> None:
    """Print notes about the files that were read, and the first garbled readings of each."""
    notes = database.data.notes
    for note in notes[:NOTES]:
        message(printable(note))
    if len(notes) > NOTES:
        message(f"... and {len(notes) - NOTES} more notes about the files; --json prints them all")
    for name, letters in database.data.dead_letters.items():
        for letter in letters[:3]:
            message(f"garbled in {name}: {printable(str(letter))}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print aligned columns under an underlined header."""
    columns, lines = list(map(printable, columns)), [tuple(map(printable, row)) for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in lines)]) for i, name in enumerate(columns)]
    print("  ".join(name.ljust(width) for name, width in zip(columns, widths, strict=True)).rstrip())
    print("  ".join("-" * width for width in widths))
    for row in lines:
        print("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


class RowPrinter:
    """Prints the rows of an answer as they come: as JSON lines, or in columns as wide as the widest value so
    far.
    """

    def __init__(self, columns: Sequence[str], as_json: bool, limit: int | None = None) -> None:
        self._columns = list(map(printable, columns))
        self._as_json = as_json
        self._left = limit
        self._widths: list[int] | None = None

    @property
    def full(self) -> bool:
        """Whether the limit of rows is reached."""
        return self._left == 0

    def print(self, answer: Answer, name: str | None = None) -> None:
        """Print these rows; `name` is their query, if several queries run."""
        shown = answer if self._left is None else answer.head(self._left)
        if self._left is not None:
            self._left -= len(shown)
        if self._as_json:
            label = "" if name is None else f'"query": {json.dumps(name)}, '
            for line in shown.json_rows():
                print(printable_json(f"{{{label}{line[1:]}" if label else line), flush=True)
            return
        rows = list(shown.text_rows())
        if rows and self._widths is None:
            self._widths = [len(column) for column in self._columns]
            self._widen(rows)
            self._line(self._columns, name)
            self._line(["-" * width for width in self._widths], name)
        self._widen(rows)
        for row in rows:
            self._line(row, name)

    def _widen(self, rows: Sequence[Sequence[str]]) -> None:
        if rows and self._widths is not None:
            self._widths = [
                max(width, *(len(row[i]) for row in rows)) for i, width in enumerate(self._widths)
            ]

    def _line(self, values: Sequence[str], name: str | None) -> None:
        assert self._widths is not None
        text = "  ".join(value.ljust(width) for value, width in zip(values, self._widths, strict=True))
        print((f"{name}: " if name is not None else "") + text.rstrip(), flush=True)


def print_records(records: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Print dictionaries as a table, or as one JSON object per line."""
    if as_json:
        for record in records:
            print_json(record)
        return
    if not records:
        return
    columns = list(dict.fromkeys(name for record in records for name in record))
    print_table(columns, ([_text(record.get(name)) for name in columns] for record in records))


def print_shown(records: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Print what SHOW has found; people are told that it is nothing."""
    print_records(records, as_json)
    if not records and not as_json:
        message("nothing to show; SHOW STREAMS lists the streams, and files with a time are streams")


def _text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case (float() as x, float() as y):
            return f"({x:g}, {y:g})"
        case _:
            return str(value)


def read_sql(text: str) -> str:
    """The text of the query: from stdin for `-`, from a file for a path, else the argument itself."""
    if text == "-":
        return sys.stdin.read()
    if text.endswith((".sql", ".cq")) and Path(text).is_file():
        return Path(text).read_text(encoding="utf-8")
    return text


def parameters_of(settings: Sequence[str]) -> dict[str, Any]:
    """Parse `--set name=value`: the value is JSON if it parses as JSON, a list if it has commas, else text
    ('1 HOUR').
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise NilometerError(
                f"--set takes name=value, not '{setting}'", hint="such as --set w='10 MINUTES'"
            )
        values[name.strip()] = _value(text.strip())
    return values


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    if "," in text:
        return [_value(part.strip()) for part in text.strip("(){}[]").split(",")]
    return text.strip("'") if text.startswith("'") and text.endswith("'") else text
