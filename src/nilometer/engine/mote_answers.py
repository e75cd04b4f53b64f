"""A serial line and its listener -> the answers of a query that runs on motes, as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from nilometer.ingest.manager.clocks import wall
from nilometer.live.answers import Answer

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.ingest.adapters.byte_line import ByteLine
    from nilometer.sensornet.motes.listening import Listener


def mote_answers(
    query: Query,
    listener: Listener,
    line: ByteLine,
    *,
    over: Callable[[], bool],
    record: BinaryIO | None = None,
    clock: Callable[[], int] = wall,
) -> Iterator[Answer]:
    """Yields answers until the line ends or `over` says so. Bytes are written to `record` before they are
    used for an answer."""
    while not over():
        came = line.read_all()
        if came is None:
            break
        if record is not None and came:
            record.write(came)
            record.flush()
        for rows in listener.hear(came, clock(), recorded=line.recorded):
            yield Answer(query.schema, rows)
    for rows in listener.close():
        yield Answer(query.schema, rows)
