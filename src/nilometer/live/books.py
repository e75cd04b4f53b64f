"""The books of a data directory, for every stream and every standing query, read from the logs; nothing need
be running.

stream   received = appended + garbled + future + duplicate + shed + absorbed      missing = expected - received
query    read = delivered + filtered + late + shed + failed
         errors: answers and joined rows that were set aside, which are no readings
         answers: the rows returned; trimmed: readings deleted before they were read, so in no other account
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nilometer.catalog.peer_streams import is_inner
from nilometer.dataflow.ledger import StreamLedger
from nilometer.ingest.payloads.field_counts import FieldCounts
from nilometer.live.standing import result_log, result_logs
from nilometer.log import LogDirectory, StreamLog

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.live.declarations import Declarations


def stream_books(database: Declarations) -> list[dict[str, Any]]:
    """One row per declared stream that has a log."""
    if database.data.base is None:
        return []
    logs = LogDirectory(database.data.base)
    found = []
    for stream in database.catalog.streams():
        log = logs.log(stream)
        if log.exists and not is_inner(stream):
            ledger = ledger_of(log)
            expected = expected_of(stream, log, len(database.catalog.sensors(stream.name)))
            missing = None if expected is None else max(0, expected - ledger.received)
            row: dict[str, Any] = {"stream": stream.name, **ledger.as_dict()}
            row |= {"expected": expected, "missing": missing, "balanced": ledger.balanced}
            if any(sessions := (log.note or {}).get("sessions", {}).values()):
                row["sessions lost"] = sum(sessions)
            found.append(row)
    return found


def field_books(database: Declarations) -> list[dict[str, Any]]:
    """One row per column without a value, undeclared field or remark of each stream. `of` is the number of messages
    among which undeclared fields were counted; only a few of each batch are looked at."""
    if database.data.base is None:
        return []
    logs = LogDirectory(database.data.base)
    found = []
    for stream in database.catalog.streams():
        log = logs.log(stream)
        if log.exists and not is_inner(stream):
            counts = FieldCounts.from_json((log.note or {}).get("fields"))
            found += [
                {
                    "stream": stream.name,
                    "field": name,
                    "state": state,
                    "count": count,
                    "of": counts.looked if state == "not declared" else ledger_of(log).appended,
                }
                for name, state, count in counts.rows()
            ]
    return found


def query_books(database: Declarations) -> list[dict[str, Any]]:
    """One row per standing query that has run, over all its versions. `trimmed` readings were deleted by
    force before the query read them.
    """
    if database.data.base is None:
        return []
    found = []
    for definition in database.catalog.queries():
        last = result_log(database.data.base, definition.name).last
        if last is not None:
            ledger = last.earlier + last.ledger
            answers = sum(log.rows for log in result_logs(database.data.base, definition.name))
            books = ledger.as_dict() | {"answers": answers, "trimmed": last.trimmed}
            found.append({"query": definition.name} | books | {"balanced": ledger.balanced})
    return found


def ledger_of(log: StreamLog) -> StreamLedger:
    """The books in the log's last record. All rows of a log from before there were books count as received."""
    held = log.end.position
    return StreamLedger(**(log.note or {}).get("ledger", {"received": held, "appended": held}))


def expected_of(stream: Stream, log: StreamLog, sensors: int) -> int | None:
    """The number of readings that the declared sensors owed between the log's first and last reading.

    None if the interval or the number of sensors is unknown. This ignores the filters and rates that live
    queries ask of sensors; a running station knows them.
    """
    if stream.interval is None or not sensors:
        return None
    times = [
        time
        for segment in log.segments()
        for time in (segment.index.least_time, segment.index.greatest_time)
        if time is not None
    ]
    return sensors * ((max(times) - min(times)) // stream.interval + 1) if times else 0
