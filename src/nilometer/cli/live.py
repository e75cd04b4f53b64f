"""Shared by the verbs that run live queries: prints rows as they come, and a status line now and then."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import RowPrinter, message
from nilometer.errors import NilometerError
from nilometer.printable import printable

if TYPE_CHECKING:
    from nilometer.dataflow.policy import Policy
    from nilometer.engine import Database, Query
    from nilometer.ingest.adapters import ReadResult
    from nilometer.ingest.adapters.push import Pushes
    from nilometer.live.live_query import LiveQuery
    from nilometer.live.owner.owner import Owner
    from nilometer.live.station import Station

SecondsOption = Annotated[
    float | None,
    typer.Option("--seconds", min=0.1, help="Stop a live run after this many seconds; default: at Ctrl-C."),
]
WhenFullOption = Annotated[
    list[str] | None,
    typer.Option(
        "--when-full",
        metavar="STREAM=POLICY",
        help="What to do while the log cannot take more readings: block (default), 'drop oldest', "
        "'drop newest' or sample.",
    ),
]
COMPLAINTS = 10
"""The number of different reasons that are printed; the log keeps them all."""
FORGOTTEN = "the broker has forgotten our session: messages that it kept for us may be lost"
FIELDS = 8
"""The number of fields that are named at the end; the books have them all."""
_NAMED = re.compile(r"id '.*' is not an INT$")
REPORT_EVERY = 10.0
"""Seconds between two status lines."""


def is_live(query: Query) -> bool:
    """Whether a query reads a live stream: one that is declared FROM an address and has no data file."""
    from nilometer.plan import physical

    data = query.database.data
    if data.fetched_from is not None:
        return False  # what is in a store is read as it is
    leaves = [node for node in physical.walk_plan(query.physical) if isinstance(node, physical.SpAcquire)]
    return any(leaf.stream.url is not None and not data.has(leaf.stream) for leaf in leaves)


def open_station(
    database: Database, when_full: Sequence[str] | None = None, pushes: Pushes | None = None
) -> Station:
    """Open the station of a database. Without a data directory, its logs are temporary."""
    from nilometer.ingest.manager import ManagerSettings
    from nilometer.live.outside import Outside
    from nilometer.live.station import Station
    from nilometer.live.station_settings import StationSettings
    from nilometer.simulated import Generators

    generators = Generators()
    station = Station(
        database,
        database.data.base,
        StationSettings(managing=ManagerSettings(policies=policies_of(database, when_full or ()))),
        Outside(generators=generators, program_for=generators.program_for, pushes=pushes),
    )
    for note in station.notes:
        message(note)
    return station


def open_owner(
    database: Database,
    when_full: Sequence[str] | None = None,
    *,
    embedded: bool = False,
    pushes: Pushes | None = None,
) -> Owner:
    """Become the owner of the database's directory, with a station that clients can reach."""
    from nilometer.live.owner.owner import Owner

    refuse_store(database)
    assert database.data.base is not None, "a database without a directory has no owner"

    def make() -> Station:
        database.take_over()
        return open_station(database, when_full, pushes)

    return Owner(database.data.base, make, embedded=embedded)


def refuse_store(database: Database) -> None:
    """Refuse to own, or to change, a data directory in an object store."""
    from nilometer.errors import ConfigurationError

    if database.data.fetched_from is not None:
        raise ConfigurationError(
            "a data directory in an object store can be asked, and not changed",
            detail=f"--data is {database.data.fetched_from}",
            hint='give a directory on a disk; its logs may be in the store: logs = "s3://..." in nilometer.toml',
        )


def policies_of(database: Database, settings: Sequence[str]) -> dict[str, Policy]:
    """Parse settings such as `air=sample`: what a stream does while its log cannot take more readings."""
    from nilometer.dataflow.policy import Policy
    from nilometer.errors import ConfigurationError

    known = [policy.value for policy in Policy]
    policies = {}
    for setting in settings:
        name, _, word = setting.partition("=")
        word = word.strip().lower().replace("_", " ").replace("-", " ")
        if word not in known:
            raise ConfigurationError(
                f"--when-full takes STREAM=POLICY, not '{setting}'",
                hint=f"the policies are {', '.join(known)}",
            )
        policies[database.catalog.stream(name.strip()).name.lower()] = Policy(word)
    return policies


def stopped_by_signal() -> Callable[[], bool]:
    """A function that returns whether SIGTERM has come. We then stop in order, as at Ctrl-C: sensors are told
    to sleep.
    """
    stopped = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    return stopped.is_set


def follow(
    station: Station,
    queries: Sequence[LiveQuery],
    *,
    json: bool,
    several: bool | None = None,
    limit: int | None = None,
    seconds: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
    besides: Callable[[], object] = lambda: None,
    printers: dict[str, RowPrinter] | None = None,
    loop: Callable[[Callable[[], bool]], None] | None = None,
    quiet: bool = False,
) -> None:
    """Print the queries' rows as they come, until told to stop. Ctrl-C ends it in order.

    The loop calls `besides`, which may report other things and change `queries`.
    With `several`, each row names its query. `printers` go on from an earlier loop. `loop` runs the station, by
    default until all queries have ended. With `quiet`, rows are not printed.
    """
    printers = {} if printers is None else printers
    several = len(queries) > 1 if several is None else several
    states: dict[str, str] = {}
    failed: dict[str, NilometerError] = {}
    began = reported = time.monotonic()
    station.manager.listeners.append(Complaints())

    def over() -> bool:
        nonlocal reported
        for live in list(queries):
            if live.name not in printers:
                printers[live.name] = RowPrinter(live.query.schema.names, json, limit)
            try:
                for answer in live.take():
                    if not quiet:
                        printers[live.name].print(answer, live.name if several else None)
            except NilometerError as error:
                # An error in one query does not stop the others.
                if live.name not in failed and several:
                    message(f"{live.name} has stopped: {error}")
                failed[live.name] = error
            else:
                # It may have been paused and resumed since.
                failed.pop(live.name, None)
        report_changes(station, states)
        besides()
        now = time.monotonic()
        if now - reported >= REPORT_EVERY:
            reported = now
            report(station)
        full = bool(printers) and not quiet and all(printer.full for printer in printers.values())
        return full or stopped() or (seconds is not None and now - began >= seconds)

    try:
        (loop or station.run)(over)
    except KeyboardInterrupt:
        message("stopped")
    over()
    for live in queries:
        message(summary(live))
    report(station)
    report_fields(station)
    broken = [name for name in station.manager.streams if in_trouble(station, name)]
    if failed and not several:
        raise next(iter(failed.values()))
    if failed:
        message(f"stopped early: {', '.join(failed)}")
    if broken:
        message(f"in trouble to the end: {', '.join(broken)}")
    if failed or broken:
        raise typer.Exit(1)


class Complaints:
    """Prints why readings were garbled, each reason once, so that a wrong declaration is noticed early."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def __call__(self, stream: str, result: ReadResult) -> None:
        for letter in result.garbled:
            kind = (stream, re.sub(r"'[^']*'|\d+", "", letter.reason))
            if kind not in self._said and len(self._said) < COMPLAINTS:
                self._said.add(kind)
                hint = "; declare id STRING if ids are names" if _NAMED.match(letter.reason) else ""
                message(
                    f"{stream}: garbled: {printable(letter.reason)}{hint}; all of them: nilometer log dead {stream}"
                )


def summary(live: LiveQuery) -> str:
    """One line that counts the readings a query read and the rows it returned."""
    books = ", ".join(f"{count} {name}" for name, count in live.ledger.as_dict().items() if count)
    return f"{live.name}: {counted(live.rows, live.dropped, live.trimmed, books)}"


def counted(rows: int, dropped: int, trimmed: int, books: str) -> str:
    """The rows that a live query returned, the rows and readings that were lost, and its books."""
    lost = f" ({dropped} came faster than they were printed and were dropped)" if dropped else ""
    unread = f"; {trimmed} trimmed from the logs before the query read them" if trimmed else ""
    return f"{rows} row{'' if rows == 1 else 's'}{lost}; {books or 'nothing read'}{unread}"


def report_changes(station: Station, states: dict[str, str]) -> None:
    """Print a line when a source connects, fails, is retried or ends, and when a query's tables fail to
    reload or recover.
    """
    for name in station.manager.streams:
        state, trouble = station.manager.state(name)
        text = trouble or state.value
        if states.get(name) != text:
            states[name] = text
            message(f"{name}: {text}")
        for remark in station.manager.remarks(name):
            if states.setdefault(f"{name}: {remark}", "") == "":
                states[f"{name}: {remark}"] = "said"
                message(f"{name}: {remark}")
        lost = station.manager.sessions_lost(name)
        if lost and states.get(f"sessions of {name}") != str(lost):
            states[f"sessions of {name}"] = str(lost)
            message(f"{name}: {FORGOTTEN}")
    for live in station.queries.values():
        if live.dead is not None and states.setdefault(f"{live.name}: {live.dead}", "") == "":
            states[f"{live.name}: {live.dead}"] = "said"
            message(
                f"{live.name}: rows are set aside: {printable(live.dead)}; see nilometer queries dead {live.name}"
            )
        key = f"tables of {live.name}"
        before = states.pop(key, None)
        if live.stale is not None:
            states[key] = live.stale
            if live.stale != before:
                message(f"{live.name}: {live.stale}; it is tried again")
        elif before is not None:
            message(f"{live.name}: its tables are refreshed again")


def report(station: Station) -> None:
    """Print a line per stream with its rate and its books, and one per query that is in trouble."""
    for name in station.manager.streams:
        status = station.manager.status(name)
        parts = [f"{status.rate:.0f} readings/s"]
        parts += [f"{count} {account}" for account, count in status.ledger.as_dict().items() if count]
        parts += [f"{status.late} late"] if status.late else []
        parts += [f"{status.missing} missing"] if status.missing else []
        parts += [f"{len(status.silent)} silent: {_some(status.silent)}"] if status.silent else []
        lost = status.sessions_lost
        parts += [f"{lost} session{'' if lost == 1 else 's'} lost by the broker"] if lost else []
        parts += [status.trouble] if status.trouble else []
        message(f"{status.stream}: {', '.join(parts)}")
    for live in station.queries.values():
        for trouble in filter(None, (live.trouble, live.stale)):
            message(f"{live.name}: {trouble}")


def in_trouble(station: Station, name: str) -> bool:
    """Whether a stream's source has failed, is in trouble that has not ended, or has lost readings. Following the log that another
    process writes is no trouble."""
    state, trouble = station.manager.state(name)
    if station.manager.sessions_lost(name):
        return True
    return state.value == "failed" or (trouble is not None and state.value != "following")


def report_fields(station: Station) -> None:
    """Print what the payloads of each stream lacked, or had beyond the declaration, and how many were stamped in the
    future."""
    for name in station.manager.streams:
        status = station.manager.status(name)
        if status.ledger.future:
            told = f"{status.ledger.future} readings are stamped in the future"
            message(f"{status.stream}: {told}; how far: nilometer log dead {status.stream}")
        rows = status.fields.rows()
        if rows:
            shown = ", ".join(f"{field} ({state}, {count})" for field, state, count in rows[:FIELDS])
            more = ", ..." if len(rows) > FIELDS else ""
            message(
                f"{status.stream}: fields: {printable(shown)}{more}; all of them: nilometer streams --ledger"
            )


def _some(names: Sequence[int | str]) -> str:
    return ", ".join(map(str, names[:5])) + (" ..." if len(names) > 5 else "")
