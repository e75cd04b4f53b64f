"""Entries at hand -> a stream log, as the entrance of the edge would have written it.

Garbled and future readings are taken out and counted here, and the doubles that were taken out where the entries were read are counted, so
that what a log holds are readings; lateness is decided when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.ledger import Ledger
from nilometer.dataflow.sources import Batch, Entry
from nilometer.log import Fsync, LogDirectory, LogSettings
from nilometer.operators.logic import STREAM_COLUMNS

_PATIENT = 1 << 62
"""A DELAY with which nothing is ever late."""


def land(directory: Path, stream: Stream, entries: Iterable[Entry]) -> Ledger:
    """Write the entries; gives the books. The log is for this process's queries: nothing is made durable."""
    door = Door(replace(stream, delay=_PATIENT))
    wanted = None
    with LogDirectory(directory, LogSettings(fsync=Fsync.NEVER)).log(stream) as log:
        log.keep_key()
        for entry in entries:
            if not isinstance(entry, Batch):
                log.heartbeat(entry.tick)
                continue
            rows = door.admit_batch(entry)
            wanted = rows.drop(STREAM_COLUMNS)
            if wanted.height:
                log.append(wanted)
    return door.ledger
