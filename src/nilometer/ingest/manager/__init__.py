"""Sources -> the durable logs of their streams -> the queries that registered for them (steam.txt sections 3 to 5).

    stream_manager.py  queries, turns, waiting            source.py          one stream's adapter: open, read, acknowledge
    states.py          a source's states, as a table      follower.py        a log that another process writes
    recorder.py        append, make durable               disk.py            a full disk's states, as a table
    entrance.py        what comes in, and the books       seen_keys.py       which keys the log holds
    backlog.py         what a full disk keeps waiting     backoff.py         growing waits
    distributor.py     entries to the queries             ring.py            a stream's recent entries, once for all queries
    feed.py            one stream of one query            handed.py          an entry on its way
    arrivals.py        rates, who was heard               attendance.py      expected, missing, silent
    order.py           late readings                      clocks.py          clocks that jump
    settings.py        policies, bounds, waits            status.py          how a stream is doing
    fingerprints.py    eight bytes of an old key

The law: what is acknowledged to a source is in the log, and the books balance at any moment, whatever is killed.
"""

from nilometer.ingest.manager.clocks import running, wall
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.ingest.manager.states import State
from nilometer.ingest.manager.status import StreamStatus
from nilometer.ingest.manager.stream_manager import Listener, StreamManager

__all__ = [
    "StreamManager",
    "ManagerSettings",
    "StreamStatus",
    "State",
    "Listener",
    "Entrance",
    "running",
    "wall",
]
