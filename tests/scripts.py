"""Query scripts: text to statements, and statements to a run on any host.

A script declares streams, asks a query, feeds rows with event times and says what must come out. The reference evaluator
runs it first; then every host must answer the same. A line is one of

    # anything                      a comment; so is whatever stands behind two spaces and `# `
    notimpl HOST: reason            in the header: we could, have not; `notyet`: the host cannot yet; `never`
    CREATE ... ;                    a declaration, up to the semicolon (COPY and DROP too)
    file NAME                       a text file for the declarations, up to an empty line
    table NAME (column TYPE, ...)   a stored extent, and its rows
    set NAME = VALUE                a parameter of the queries that follow
    query [NAME]                    SQL, up to `----`
    columns NAME TYPE, ...          the columns of the query's answer
    feed STREAM                     rows in log order; first, if need be, a line with column names
    heartbeat STREAM TIME           a promise of that stream; `advance TIME`: of all streams
    expect [final] [NAME]           the rows that have come since the last `expect`; final: at the end of the streams.
                                    Their order counts if the query has one: ORDER BY, or LIMIT
    expect late STREAM COUNT        how many tuples of the stream were late so far
    plan STAGE                      the EXPLAIN text of that stage, up to an empty line
    error                           the whole text of the error that the statement before gave, or else running the query

Times are `01:30` (minutes and seconds) or `01:00:00` or `90s`, `15min`, all from 2026-01-01T00:00:00Z on, or ISO-8601.
Text stands in single quotes. `--rewrite` puts what the reference answers into expect, plan, columns and error.
"""

from __future__ import annotations

import csv
import difflib
import re
from ast import literal_eval
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nilometer
from nilometer import NilometerError
from nilometer.engine import Answer, Query
from nilometer.plan import logical
from nilometer.plan.bind.parameters import parse_length
from nilometer.plan.reference import same_answer
from nilometer.types import DAY, HOUR, MINUTE, SECOND, Column, Kind, Type, format_time, parse_time

BASE = parse_time("2026-01-01T00:00:00Z")
"""Times in scripts count from here."""

GAPS = ("notimpl", "notyet", "never")
DECLARATIONS = ("CREATE", "COPY", "DROP")
ROWS = ("table", "feed", "expect")
TEXTS = ("file", "plan", "error")
LINES = ("set", "columns", "heartbeat", "advance")
WORDS = frozenset((*GAPS, *ROWS, *TEXTS, *LINES, "query", *DECLARATIONS))


class ScriptError(AssertionError):
    """A script that cannot be read, or an answer that differs; says where."""


# ---- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement:
    """One statement: its word, the rest of its line, and the lines that follow. `line` is 1-based, of the word."""

    word: str
    rest: str
    body: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Script:
    """A script as it stands in its file."""

    path: Path
    lines: tuple[str, ...]
    statements: tuple[Statement, ...]

    def at(self, line: int) -> str:
        """A place in it, for messages."""
        return f"{'/'.join(self.path.parts[-4:])}:{line}"

    @property
    def gaps(self) -> dict[str, str]:
        """Host to reason, of the hosts that are declared not to run it."""
        found = {}
        for statement in self.statements:
            if statement.word in GAPS:
                host, _, reason = statement.rest.partition(":")
                if not reason.strip():
                    raise ScriptError(f"{self.at(statement.line)}: a gap needs a host and a reason")
                found[host.strip()] = f"{statement.word}: {reason.strip()}"
        return found


def read_script(path: Path) -> Script:
    """Read a script."""
    lines = tuple(path.read_text(encoding="utf-8").splitlines())
    return Script(path, lines, tuple(_statements(path, lines)))


def _statements(path: Path, lines: Sequence[str]) -> Iterator[Statement]:
    index = 0
    while index < len(lines):
        text = _without_comment(lines[index]).strip()
        start = index
        index += 1
        if not text:
            continue
        word, _, rest = text.partition(" ")
        body: list[str] = []
        if word in DECLARATIONS:
            while not _without_comment(lines[index - 1]).rstrip().endswith(";"):
                if index == len(lines):
                    raise ScriptError(f"{path}:{start + 1}: a declaration without a semicolon")
                index += 1
            body = [_without_comment(line) for line in lines[start:index]]
        elif word == "query":
            while index < len(lines) and lines[index].strip() != "----":
                body.append(lines[index])
                index += 1
            if index == len(lines):
                raise ScriptError(f"{path}:{start + 1}: a query without a line ----")
            index += 1
        elif word in TEXTS:
            while index < len(lines) and lines[index].strip():
                body.append(lines[index])
                index += 1
        elif word in ROWS:
            while index < len(lines) and lines[index].strip() and lines[index].split()[0] not in WORDS:
                body.append(lines[index])
                index += 1
        elif word not in WORDS:
            raise ScriptError(f"{path}:{start + 1}: no statement begins with '{word}'")
        yield Statement(word, rest.strip(), tuple(body), start + 1)


def _without_comment(line: str) -> str:
    """The line without a comment: a whole line that begins with #, or what stands behind two spaces and `# `."""
    return "" if line.lstrip().startswith("#") else re.split(r"\s{2,}# ", line)[0]


# ---- values ----------------------------------------------------------------------------------------------------------


def read_time(text: str) -> int:
    """`01:30`, `01:00:00`, `90s`, `-1s` or ISO-8601 as microseconds since the epoch."""
    negative, plain = text.startswith("-"), text.removeprefix("-")
    offset: int | None = None
    if re.fullmatch(r"(\d+:)?\d+:\d+(\.\d+)?", plain):
        *whole, seconds = plain.split(":")
        minutes = int(whole[-1]) + (60 * int(whole[0]) if len(whole) == 2 else 0)
        offset = minutes * MINUTE + round(float(seconds) * SECOND)
    elif (length := parse_length(plain)) is not None and not length.rows:
        offset = length.value
    return parse_time(text) if offset is None else BASE + (-offset if negative else offset)


def write_time(microseconds: int) -> str:
    """The shortest of the forms: minutes and seconds, hours, ISO-8601."""
    offset = microseconds - BASE
    if not 0 <= offset < DAY:
        return format_time(microseconds)
    fraction = f".{offset % SECOND:06d}".rstrip("0") if offset % SECOND else ""
    hours, minutes, seconds = offset // HOUR, offset // MINUTE % 60, offset // SECOND % 60
    return (f"{hours:02d}:" if hours else "") + f"{minutes:02d}:{seconds:02d}{fraction}"


def write_value(value: Any, type_: Type) -> str:
    """A value as it stands in a script."""
    match value, type_.kind:
        case None, _:
            return "NULL"
        case microseconds, Kind.TIME:
            return write_time(microseconds)
        case microseconds, Kind.DURATION:
            return f"{microseconds / SECOND:.12g}s"
        case number, Kind.FLOAT:
            text = f"{number:.12g}"
            return text if re.search(r"[.en]", text) else text + ".0"
        case truth, Kind.BOOLEAN:
            return "true" if truth else "false"
        case text, Kind.STRING:
            return "'" + text.replace("'", "''") + "'"
        case point, Kind.POINT:
            return f"({point[0]:.12g}, {point[1]:.12g})"
        case items, Kind.LIST | Kind.VECTOR:
            return "[" + ", ".join(write_value(item, type_.element or type_) for item in items) + "]"
        case fields, Kind.STRUCT:
            return "{" + ", ".join(write_value(fields[f.name], f.type) for f in type_.fields) + "}"
        case _:
            return str(value)


def read_value(text: str, type_: Type) -> Any:
    """A value of a known type; raises ValueError."""
    if text == "NULL":
        return None
    match type_.kind:
        case Kind.TIME:
            return read_time(text)
        case Kind.DURATION:
            length = parse_length(text.removeprefix("-"))
            if length is None:
                raise ValueError(f"no duration: {text}")
            return -length.value if text.startswith("-") else length.value
        case Kind.INT:
            return int(text)
        case Kind.FLOAT:
            return float(text)
        case Kind.BOOLEAN:
            return {"true": True, "false": False}[text]
        case Kind.STRING:
            if len(text) < 2 or text[0] != "'" or text[-1] != "'":
                raise ValueError(f"text stands in single quotes: {text}")
            return text[1:-1].replace("''", "'")
        case Kind.POINT:
            x, y = split(text[1:-1], ",")
            return (float(x), float(y))
        case Kind.VECTOR:
            return tuple(read_value(part, type_.element or type_) for part in split(text[1:-1], ","))
        case Kind.LIST:
            return [read_value(part, type_.element or type_) for part in split(text[1:-1], ",")]
        case Kind.STRUCT:
            parts = split(text[1:-1], ",")
            return {f.name: read_value(part, f.type) for f, part in zip(type_.fields, parts, strict=True)}
        case _:
            raise ValueError(f"no value of type {type_}: {text}")


def split(text: str, separator: str = " ") -> list[str]:
    """Cut at the separator, outside of quotes and brackets."""
    parts, depth, quoted, current = [], 0, False, ""
    for character in text:
        if character == "'":
            quoted = not quoted
        elif not quoted:
            depth += (character in "([{") - (character in ")]}")
        if character == separator and not quoted and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [part for part in (*parts, current.strip()) if part]


def parameter(text: str) -> Any:
    """A parameter's value: a Python literal, or text."""
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text


# ---- running ---------------------------------------------------------------------------------------------------------


@dataclass
class _Asked:
    """A query of the script, and the rows that have been expected so far."""

    query: Query
    seen: list[tuple[Any, ...]] = field(default_factory=list)


class Run:
    """One run of a script on one host. With `rewrite`, differences are collected instead of raised."""

    def __init__(
        self,
        script: Script,
        host: str,
        directory: Path,
        *,
        rewrite: bool = False,
        batch_rows: int | None = None,
    ) -> None:
        self.script = script
        self.host = host
        self.directory = directory
        self.rewrite = rewrite
        self.batch_rows = batch_rows
        self.database = nilometer.connect(on=host)
        self.database.data.base = directory
        self.parameters: dict[str, Any] = {}
        self.asked: dict[str, _Asked] = {}
        self.current: _Asked | None = None
        self.failed: tuple[NilometerError, Statement] | None = None
        self.replaced: list[tuple[Statement, list[str]]] = []

    def run(self) -> None:
        """All statements, one after the other."""
        __tracebackhide__ = True
        for statement in self.script.statements:
            if statement.word == "error":
                self._error(statement)
                continue
            self._no_failure()
            try:
                self._execute(statement)
            except NilometerError as error:
                self.failed = (error, statement)
        self._no_failure()

    def rewritten(self) -> str:
        """The script's text with what was answered in place of what was expected."""
        lines = list(self.script.lines)
        for statement, body in reversed(self.replaced):
            if statement.word == "columns":
                lines[statement.line - 1] = body[0]
            else:
                lines[statement.line : statement.line + len(statement.body)] = body
        return "\n".join(lines) + "\n"

    def _no_failure(self) -> None:
        __tracebackhide__ = True
        if self.failed is not None:
            error, statement = self.failed
            self._fail(statement, f"an error that the script does not expect\n{error}", error)

    def _fail(self, statement: Statement, message: str, cause: Exception | None = None) -> None:
        __tracebackhide__ = True
        raise ScriptError(f"{self.script.at(statement.line)}: on {self.host}: {message}") from cause

    def _execute(self, statement: Statement) -> None:
        __tracebackhide__ = True
        rest = statement.rest
        match statement.word:
            case "CREATE" | "COPY" | "DROP":
                self.database.execute("\n".join(statement.body))
            case "file":
                (self.directory / rest).write_text("\n".join(statement.body) + "\n", encoding="utf-8")
            case "table":
                self._table(statement)
            case "set":
                name, _, value = rest.partition("=")
                self.parameters[name.strip()] = parameter(value.strip())
            case "query":
                self.current = None
                asked = _Asked(self.database.sql("\n".join(statement.body), **self.parameters))
                self.asked[rest] = self.current = asked
            case "columns":
                self._texts_equal(
                    statement, "columns " + rest, f"columns {self._query(statement).query.schema}"
                )
            case "feed":
                self._feed(statement)
            case "heartbeat":
                stream, time = rest.split()
                self.database.heartbeat(stream, read_time(time))
            case "advance":
                for stream in self.database.catalog.streams():
                    self.database.heartbeat(stream.name, read_time(rest))
            case "expect" if rest.startswith("late "):
                self._expect_late(statement)
            case "expect":
                self._expect(statement)
            case "plan":
                text = self._query(statement).query.explain(rest)
                self._texts_equal(statement, "\n".join(statement.body), text)

    # ---- what goes in ------------------------------------------------------------------------------------------------

    def _table(self, statement: Statement) -> None:
        """A CSV file and its declaration."""
        found = re.fullmatch(r"(\w+)\s*\((.*)\)", statement.rest)
        if found is None:
            self._fail(statement, "a table is written `table name (column TYPE, ...)`")
            raise AssertionError
        name, columns = found.groups()
        self.database.execute(f"CREATE TABLE {name} ({columns}) STORED AT '{name}.csv'")
        extent = self.database.catalog.extent(name)
        assert extent is not None
        with (self.directory / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([column.name for column in extent.columns])
            for number, row in self._rows(statement, extent.columns):
                del number
                values = dict(zip((column.name for column in extent.columns), row, strict=True))
                writer.writerow([_csv_value(values[column.name], column.type) for column in extent.columns])

    def _feed(self, statement: Statement) -> None:
        stream = self.database.catalog.stream(statement.rest)
        columns: tuple[Column, ...] = stream.columns
        body = statement.body
        if body and stream.column(body[0].split()[0]) is not None:
            named = [stream.column(name) for name in _without_comment(body[0]).split()]
            if None in named:
                self._fail(
                    statement, f"'{stream.name}' has the columns {', '.join(c.name for c in stream.columns)}"
                )
            columns = tuple(column for column in named if column is not None)
            statement = Statement(statement.word, statement.rest, ("", *body[1:]), statement.line)
        rows = [row for _, row in self._rows(statement, columns)]
        names = [column.name for column in columns]
        readings = [dict(zip(names, row, strict=True)) for row in rows]
        for reading in readings:
            if stream.time_unit is not None:
                time = next(name for name in names if name.lower() == "time")
                reading[time] = reading[time] // stream.time_unit
        self.database.append(stream.name, readings)

    def _rows(self, statement: Statement, columns: Sequence[Column]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The rows of a block, with their line."""
        for number, line in enumerate(statement.body, start=statement.line + 1):
            values = split(_without_comment(line))
            if not values:
                continue
            where = self.script.at(number)
            if len(values) != len(columns):
                names = ", ".join(column.name for column in columns)
                raise ScriptError(f"{where}: {len(values)} values for {len(columns)} columns ({names})")
            try:
                yield number, tuple(read_value(v, c.type) for v, c in zip(values, columns, strict=True))
            except (ValueError, KeyError) as error:
                raise ScriptError(f"{where}: {error}") from None

    # ---- what comes out ----------------------------------------------------------------------------------------------

    def _query(self, statement: Statement, name: str = "") -> _Asked:
        found = self.asked.get(name) if name else self.current
        if found is None:
            self._fail(statement, f"no query '{name}'" if name else "no query has been asked yet")
            raise AssertionError
        return found

    def _answer(self, asked: _Asked, finished: bool) -> Answer:
        return asked.query.run(on=self.host, finished=finished, batch_rows=self.batch_rows)

    def _expect(self, statement: Statement) -> None:
        __tracebackhide__ = True
        words = statement.rest.split()
        final = words[:1] == ["final"]
        asked = self._query(statement, " ".join(words[final:]))
        answer = self._answer(asked, final)
        new, withdrawn = _difference(answer.rows, asked.seen)
        columns = answer.schema.columns
        if withdrawn:
            lines = "\n".join(write_row(row, columns) for row in withdrawn)
            self._fail(statement, f"rows that were answered before are no longer in the answer\n{lines}")
        try:
            expected = [row for _, row in self._rows(statement, columns)]
        except ScriptError:
            if not self.rewrite:
                raise
            expected = []
        asked.seen = list(answer.rows)
        if has_order(asked.query.logical):
            if not same_sequence(expected, new):
                given = [write_row(row, columns) for row in new]
                self._differs(statement, [write_row(row, columns) for row in expected], given, asked.query)
        elif same_answer(expected, new) is not None:
            self._differs(statement, write_rows(expected, columns), write_rows(new, columns), asked.query)

    def _expect_late(self, statement: Statement) -> None:
        __tracebackhide__ = True
        _, stream, count = statement.rest.split()
        asked = self._query(statement)
        ledgers = self._answer(asked, False).ledgers
        aliases = {
            node.alias
            for node in logical.walk_plan(asked.query.logical)
            if isinstance(node, logical.Acquire) and node.stream.name.lower() == stream.lower()
        }
        found = {ledger["late"] for alias, ledger in ledgers.items() if alias in aliases}
        if found != {int(count)}:
            self._fail(statement, f"late tuples of '{stream}': {count} expected, {sorted(found)} counted")

    def _error(self, statement: Statement) -> None:
        """The error of the statement before, or of running the query."""
        __tracebackhide__ = True
        if self.failed is not None:
            error, _ = self.failed
            self.failed = None
            expected, given = "\n".join(statement.body), str(error)
        else:
            try:
                self._answer(self._query(statement), True)
            except NilometerError as raised:
                error = raised
            else:
                self._fail(statement, "no error")
                raise AssertionError
            # What went wrong must be the same on every host; what else a host can say of it may differ.
            whole = self.host == "reference"
            expected, given = "\n".join(statement.body if whole else statement.body[:1]), str(error)
            given = given if whole else error.message
        self._texts_equal(statement, expected, given)

    def _texts_equal(self, statement: Statement, expected: str, given: str) -> None:
        __tracebackhide__ = True
        if expected != given:
            self._differs(statement, expected.splitlines(), given.splitlines())

    def _differs(
        self, statement: Statement, expected: list[str], given: list[str], query: Query | None = None
    ) -> None:
        __tracebackhide__ = True
        if self.rewrite:
            self.replaced.append((statement, given))
            return
        diff = "\n".join(line for line in difflib.ndiff(expected, given) if not line.startswith("?"))
        asked = "" if query is None else f"\nquery\n{query.text}"
        self._fail(statement, f"the answer differs (- expected, + given)\n{diff}{asked}")


def has_order(plan: logical.Node) -> bool:
    """Whether the rows of a plan's answer have an order within each evaluation."""
    keeps = logical.Deliver | logical.ToStream | logical.Project | logical.Select | logical.Rename
    while isinstance(plan, keeps):
        plan = plan.input
    return isinstance(plan, logical.Sort | logical.Limit)


def same_sequence(expected: Sequence[tuple[Any, ...]], given: Sequence[tuple[Any, ...]]) -> bool:
    """Whether both are the same rows in the same order."""
    return len(expected) == len(given) and all(
        same_answer([one], [other]) is None for one, other in zip(expected, given, strict=True)
    )


def _difference(
    rows: Sequence[tuple[Any, ...]], seen: Sequence[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows that are new, and those seen before that are gone; as multisets."""
    new = list(rows)
    gone = []
    for row in seen:
        match = next((index for index, other in enumerate(new) if same_answer([row], [other]) is None), None)
        if match is None:
            gone.append(row)
        else:
            del new[match]
    return new, gone


def write_row(row: Sequence[Any], columns: Sequence[Column]) -> str:
    """A row as it stands in a script."""
    return " ".join(write_value(value, column.type) for value, column in zip(row, columns, strict=True))


def write_rows(rows: Sequence[tuple[Any, ...]], columns: Sequence[Column]) -> list[str]:
    """Rows in their canonical order."""
    return [write_row(row, columns) for row in sorted(rows, key=_rank)]


def _rank(value: Any) -> Any:
    """NULL before numbers before text before the rest."""
    match value:
        case None:
            return (0,)
        case bool() | int() | float():
            return (1, value)
        case str():
            return (2, value)
        case dict():
            return (3, tuple(_rank(part) for part in value.values()))
        case _:
            return (3, tuple(_rank(part) for part in value))


def _csv_value(value: Any, type_: Type) -> str:
    match value, type_.kind:
        case None, _:
            return ""
        case microseconds, Kind.TIME:
            return format_time(microseconds)
        case truth, Kind.BOOLEAN:
            return "true" if truth else "false"
        case point, Kind.POINT:
            return f"POINT({point[0]!r} {point[1]!r})"
        case vector, Kind.VECTOR:
            return " ".join(map(str, vector))
        case _:
            return str(value)
