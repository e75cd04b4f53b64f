"""A writer that is killed: appends batches, and says on stdout which ones were acknowledged."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl

from nilometer.log import LogSettings, StreamLog
from nilometer.log.checksum import checksum_of, next_record, walk, words_of
from nilometer.log.failpoints import VARIABLE

COLUMNS = {"time": pl.Int64(), "v": pl.Float64()}
ROWS = 5
BATCHES = 12


def batch(number: int) -> pl.DataFrame:
    """The batch of that number."""
    times = range(ROWS * number, ROWS * number + ROWS)
    return pl.DataFrame({"time": times, "v": [t / 4 for t in times]}, schema=COLUMNS)


def main(folder: str, batches: int, paced: bool = False) -> None:
    """Begin where the log says the producer is. `paced`: each batch waits for a byte on stdin."""
    log = StreamLog(folder, COLUMNS, LogSettings(segment_bytes=1_500))
    for number in range(log.writer.sequences.get("p", -1) + 1, batches):
        if paced and not sys.stdin.buffer.read(1):
            break
        log.append(batch(number), producer="p", sequence=number)
        if number % 3 == 2:
            log.flush()
        print(number, flush=True)
        if number % 5 == 4:
            log.close()
    log.close()


def nursery(root: Path, plans: list[str]) -> None:
    """For each plan (`during_write:4,before_cut:1`) writers that are killed one after the other, each forked: to load the
    libraries costs a thousand times what they are wanted for. Nothing may have been done with Polars before, whose threads a
    fork does not take along."""
    checksum_of(b"compiled before they are born")
    next_record(words_of(bytes(64)), 0)
    walk(words_of(bytes(64)), 0)
    for plan in plans:
        for failpoint in plan.split(","):
            child = os.fork()
            if child == 0:
                os.environ[VARIABLE] = failpoint
                sys.stdout = (root / f"{plan}.out").open("a")
                main(str(root / plan), BATCHES)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            print(plan, failpoint, os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "nursery":
        nursery(Path(sys.argv[2]), sys.argv[3:])
    else:
        main(sys.argv[1], int(sys.argv[2]), "paced" in sys.argv)
