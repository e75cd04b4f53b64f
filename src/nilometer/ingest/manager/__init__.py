"""The stream manager: reads sources, writes the durable logs of their streams, and feeds the queries that
registered for them (steam.txt sections 3 to 5).

    stream_manager.py  registers queries, runs the loop
    source.py          opens, reads and acknowledges one stream's adapter
    states.py          the states of a source, as a table
    follower.py        reads a log that another process writes
    recorder.py        appends to the log and makes it durable
    disk.py            the states of a log's disk, as a table
    entrance.py        validates and deduplicates readings, keeps the books
    seen_keys.py       the keys that the log holds
    fingerprints.py    eight bytes for each old key
    backlog.py         readings that wait while the disk is full
    backoff.py         growing waits
    distributor.py     passes entries to the queries
    ring.py            recent entries of a stream, one copy for all queries
    feed.py            one stream of one query
    handed.py          an entry and its offsets
    arrivals.py        rates, and the last arrival
    attendance.py      expected and missing readings, silent sensors
    order.py           counts late readings
    clocks.py          detects jumps of the wall clock
    settings.py        policies, bounds, waits
    status.py          the status of a stream

The law: every reading acknowledged to a source is in the log, and the books balance at any moment, even if
the process is killed.
"""

from nilometer.ingest.manager.clocks import running, wall
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.ingest.manager.states import SourceState
from nilometer.ingest.manager.status import StreamStatus
from nilometer.ingest.manager.stream_manager import Listener, StreamManager

__all__ = [
    "StreamManager",
    "ManagerSettings",
    "StreamStatus",
    "SourceState",
    "Listener",
    "Entrance",
    "running",
    "wall",
]
