"""A writer that is killed: appends batches, and says on stdout which ones were acknowledged."""

from __future__ import annotations

import sys

import polars as pl

from nilometer.edge.log import LogSettings, StreamLog

COLUMNS = {"time": pl.Int64(), "v": pl.Float64()}
ROWS = 5


def batch(number: int) -> pl.DataFrame:
    """The batch of that number."""
    times = range(ROWS * number, ROWS * number + ROWS)
    return pl.DataFrame({"time": times, "v": [t / 4 for t in times]}, schema=COLUMNS)


def main(folder: str, batches: int, pause: float = 0.0) -> None:
    """Begin where the log says the producer is."""
    import time

    log = StreamLog(folder, COLUMNS, LogSettings(segment_bytes=1_500))
    for number in range(log.writer.sequences.get("p", -1) + 1, batches):
        log.append(batch(number), producer="p", sequence=number)
        if number % 3 == 2:
            log.flush()
        print(number, flush=True)
        if number % 5 == 4:
            log.close()
        time.sleep(pause)
    log.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:]))
