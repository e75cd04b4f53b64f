"""Writes entries into a stream log, as the entrance on the gateway would.

Garbled readings are removed and counted here, and the doubles that were removed at reading are counted. So the
log holds only readings. Lateness is decided when the log is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.ledger import Ledger
from nilometer.dataflow.sources import Batch, Entry, Heartbeat
from nilometer.log import Fsync, LogDirectory, LogSettings
from nilometer.operators.logic import STREAM_COLUMNS

_PATIENT = 1 << 62
"""A DELAY with which no reading is ever late."""


def land(directory: Path | str, stream: Stream, entries: Iterable[Entry]) -> Ledger:
    """Write the entries, and return the books. The log serves only this process's queries: nothing is made
    durable.
    """
    door = Door(replace(stream, delay=_PATIENT))
    wanted = None
    with LogDirectory(directory, LogSettings(fsync=Fsync.NEVER)).log(stream) as log:
        log.keep_key()
        for entry in entries:
            if isinstance(entry, Heartbeat):
                log.heartbeat(entry.tick)
            if not isinstance(entry, Batch):
                continue
            rows = door.admit_batch(entry)
            wanted = rows.drop(STREAM_COLUMNS)
            if wanted.height:
                log.append(wanted)
    return door.ledger
