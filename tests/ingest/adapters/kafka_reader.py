"""A process that reads a topic into a log until so many readings are there, or until it is killed: FOLDER URL READINGS."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.adapters.registry import adapter_for
from nilometer.ingest.manager import StreamManager
from nilometer.log import LogDirectory, LogSettings, Offset
from nilometer.types import FLOAT, Column

AIR = Stream("air", stream_columns((Column("pm25", FLOAT),)))


def main(folder: Path, url: str, readings: int) -> None:
    """Until so many are received."""
    manager = StreamManager(
        LogDirectory(folder, LogSettings(segment_bytes=2_500)),
        lambda: time.time_ns() // 1_000,
        lambda stream, clock: adapter_for(stream, clock, url=url),
    )
    manager.register("q", [AIR], {"air": Offset()})
    while manager.status("air").ledger.received < readings:
        manager.poll()
        while manager.take("q") is not None:
            pass
        manager.bell.wait(0.05)
    manager.unregister("q")
    manager.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
