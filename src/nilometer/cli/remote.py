"""`--server URL`: the verbs that ask a server by HTTP instead of a data directory of this machine.

It prints what the same verb prints of a directory, as far as the server has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from nilometer.cli.console import message, print_json, print_records, print_shown
from nilometer.cli.shell import Shell
from nilometer.errors import ConfigurationError
from nilometer.language import ast, parse
from nilometer.language.vocabulary import NOT_AN_ALIAS
from nilometer.language.walk import walk
from nilometer.printable import printable, printable_text

if TYPE_CHECKING:
    from nilometer.engine.remote import RemoteDatabase


def open_server(server: str, token: str | None, data: object = None) -> RemoteDatabase:
    """Connect. The data of a server are there."""
    from nilometer.engine.remote import RemoteDatabase

    if data:
        raise ConfigurationError("--server and --data are two places", hint="give one of them")
    return RemoteDatabase(server, token)


def query(
    database: RemoteDatabase,
    text: str,
    parameters: Mapping[str, Any],
    *,
    json: bool,
    limit: int | None,
    seconds: float | None,
    start: str,
    follow: bool,
) -> None:
    """Ask a query, or SHOW or EXPLAIN; follow it if it reads a live stream."""
    statement = parse(text)
    if not isinstance(statement, ast.QueryNode):
        if not isinstance(statement, ast.Show | ast.Explain):
            raise ConfigurationError("this is no query", hint="nilometer execute --server URL runs it")
        (found,) = database.execute(text, **parameters)
        print(found) if isinstance(found, str) else print_shown(found, json)
        return
    asked = database.sql(text, **parameters)
    if follow and _is_live(database, statement):
        print_rows(asked.live(start=start), json=json, limit=limit, seconds=seconds)
        return
    rows = list(islice(asked, limit))
    print_records([_plain(row) for row in rows], json)
    message(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")


def field(
    database: RemoteDatabase, at: str | None, phenomenon: str | None, *, json: bool, geojson: bool = False
) -> None:
    """Say what is going on, for one phenomenon or for all that are declared."""
    names = [phenomenon] if phenomenon else [one["name"] for one in database.show("PHENOMENA")]
    if not names:
        raise ConfigurationError("no phenomenon is declared", hint="CREATE PHENOMENON declares one")
    for name in names:
        asked = "" if at is None else f"?{urlencode({'at': at})}"
        found = database.get(f"/api/v1/phenomena/{quote(name, safe='')}/current{asked}")
        if geojson:
            print_json(found)
            continue
        rows = [one["properties"] for one in found["features"]]
        if json:
            print_records(rows, json)
        for sentence in () if json else found["sentences"]:
            print(printable_text(sentence))


def _is_live(database: RemoteDatabase, statement: ast.QueryNode) -> bool:
    """Whether it reads a stream that has an address of its own."""
    read = {node.name.lower() for node in walk(statement) if isinstance(node, ast.ExtentSource)}
    streams = database.show("STREAMS")
    return any(one["address"] is not None and one["name"].lower() in read for one in streams)


def answers(
    database: RemoteDatabase,
    name: str,
    position: int,
    *,
    json: bool,
    limit: int | None,
    follow: bool,
    seconds: float | None,
) -> None:
    """Print a standing query's answers."""
    found = database.answers(name, position, follow=follow)
    if follow:
        print_rows(found, json=json, limit=limit, seconds=seconds)
    else:
        print_records([_plain(row) for row in islice(found, limit)], json)


def print_rows(
    rows: Iterable[Mapping[str, Any]], *, json: bool, limit: int | None, seconds: float | None
) -> None:
    """Print rows as they come, until told to stop."""
    until = None if seconds is None else time.monotonic() + seconds
    columns: tuple[str, ...] | None = None
    try:
        for row in islice(_until(rows, until), limit):
            plain = _plain(row)
            if json:
                print_json(plain)
                continue
            if columns != tuple(plain):
                columns = tuple(plain)
                print("  ".join(columns), flush=True)
            print("  ".join("NULL" if v is None else printable(str(v)) for v in plain.values()), flush=True)
    except KeyboardInterrupt:
        message("stopped")


def _until(rows: Iterable[Mapping[str, Any]], until: float | None) -> Iterator[Mapping[str, Any]]:
    """The rows up to a moment, also if none come any more."""
    if until is None:
        yield from rows
        return
    import queue
    import threading

    found: queue.Queue[Any] = queue.Queue(maxsize=1_000)

    def fetch() -> None:
        try:
            for row in rows:
                found.put(row)
            found.put(None)
        except BaseException as error:
            found.put(error)

    threading.Thread(target=fetch, daemon=True).start()
    while (left := until - time.monotonic()) > 0:
        try:
            row = found.get(timeout=left)
        except queue.Empty:
            return
        if row is None:
            return
        if isinstance(row, BaseException):
            raise row
        yield row


def execute(database: RemoteDatabase, text: str, *, json: bool) -> None:
    """Run statements."""
    for result in database.execute(text):
        if isinstance(result, str):
            print(result)
        elif result is not None:
            print_shown(list(result), json)
    for line in database.told:
        message(line)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with times as text."""
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}


class RemoteShell(Shell):
    """The shell over a server: statements, queries, and the lists."""

    def __init__(self, database: RemoteDatabase, *, as_json: bool = False) -> None:
        super().__init__(database, as_json=as_json)  # type: ignore[arg-type]
        self._remote = database

    def _run(self, text: str) -> None:
        from nilometer.engine.remote import RemoteQuery

        results = self._remote.execute(text)
        told = iter(self._remote.told)
        for result in results:
            if result is None:
                message(next(told, "ok"))
            elif isinstance(result, str):
                print(result)
            elif isinstance(result, RemoteQuery):
                rows = [_plain(row) for row in islice(result, self._limit or None)]
                print_records(rows, self._as_json)
                message(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")
            else:
                print_shown(result, self._as_json)

    def _command(self, line: str) -> bool:
        word, _, argument = line.rstrip(";").partition(" ")
        lists: dict[str, Callable[[], list[dict[str, Any]]]] = {
            r"\d": lambda: self._remote.show("STREAMS"),
            r"\dq": lambda: self._remote.show("QUERIES"),
            r"\ds": lambda: self._remote.show("SENSORS"),
        }
        if word in lists and not argument:
            print_records(lists[word](), self._as_json)
            return True
        if word == r"\q":
            return False
        if word == r"\limit" and argument.strip().isdecimal():
            self._limit = int(argument)
            return True
        raise ConfigurationError(
            f"{line}: a server has no such command", hint=r"there are \d, \dq, \ds, \limit, \q"
        )

    def words(self) -> Iterator[str]:
        """What Tab completes: keywords, and the names of streams and queries."""
        yield from sorted(NOT_AN_ALIAS)
        yield from (str(one["name"]) for kind in ("STREAMS", "QUERIES") for one in self._remote.show(kind))
