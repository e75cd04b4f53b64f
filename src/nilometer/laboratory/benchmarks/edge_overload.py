"""A source that offers ten times what the log takes, and a query that takes a tenth of that: the shed
readings and the memory.

The disk takes one batch in ten and fails the others with ENOSPC. So nine of ten batches are shed by the
stream's policy (drop oldest) in the manager's bounded backlog, and the slow query falls behind the
ring of recent entries and reads the log. Resident memory is measured after a fifth of the run, when all bounds are reached,
and at the end. `equal` says that the books balance.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.dataflow.policy import Policy
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.ingest.manager import ManagerSettings, StreamManager
from nilometer.laboratory.benchmarks.result import Measurement, Target
from nilometer.log import LogDirectory
from nilometer.types import FLOAT, MINUTE, SECOND, Column

STREAM = Stream("flood", stream_columns((Column("depth", FLOAT),)), url="flood://")
BATCH = 10_000
OVERLOAD = 10
BACKLOG = QUEUE = 4 << 20
LIMIT = 64.0
"""The megabytes by which memory may grow after the first fifth: what an allocator keeps, not what was
offered."""


class Flood(Adapter):
    """A source that always has another batch."""

    offered = 0

    def open(self) -> None:
        """Nothing to open."""

    def read(self) -> ReadResult:
        times = np.arange(self.offered, self.offered + BATCH, dtype=np.int64)
        self.offered += BATCH
        rows = pl.DataFrame({"time": times, "id": times % 200, "depth": times / 8}, schema=self._none.schema)
        return ReadResult(Status.NEW_VALUE, rows, arrived=self.clock())


class Disk:
    """A disk with room for one write in every ten turns."""

    room = False

    def __call__(self, name: str) -> None:
        if name == "before_write":
            if not self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.room = False


def edge_overload(rows: int = 20_000_000) -> tuple[Measurement, Target]:
    """Offer this number of rows."""
    turns = max(5 * OVERLOAD, rows // BATCH)
    disk, now = Disk(), 0
    with tempfile.TemporaryDirectory() as folder:
        settings = ManagerSettings(
            policies={"flood": Policy.DROP_OLDEST},
            backlog_bytes=BACKLOG,
            buffer_bytes=QUEUE,
            retry=SECOND,
        )

        def adapter_for(stream: Stream, clock: Clock) -> Adapter:
            return Flood(stream, clock)

        manager = StreamManager(
            LogDirectory(Path(folder), failpoint=disk), lambda: now, adapter_for, settings=settings
        )
        manager.register("slow", [STREAM])
        early = 0
        began = time.perf_counter()
        for turn in range(turns):
            now += MINUTE
            disk.room = turn % OVERLOAD == 0
            manager.poll()
            if turn % (OVERLOAD * OVERLOAD) == 0:
                manager.take("slow")
            if turn == turns // 5:
                early = resident()
        late = resident()
        seconds = time.perf_counter() - began
        ledger = manager.status("flood").ledger
        waiting = manager.status("flood").backlog
        manager.abandon()
    balanced = ledger.balanced and ledger.received + waiting == turns * BATCH
    offered = turns * BATCH * 24 / 1e6
    task = f"overload {OVERLOAD}x: {ledger.appended:,} rows appended, {ledger.shed:,} shed, {waiting:,} wait"
    grown = (late - early) / 1e6
    claim = (
        f"megabytes of memory gained while {offered * 4 / 5:,.0f} more were offered (at {late / 1e6:,.0f})"
    )
    return (
        Measurement(task, seconds, None, turns * BATCH, ledger.appended, balanced),
        Target(claim, grown, LIMIT),
    )


def resident() -> int:
    """The resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
