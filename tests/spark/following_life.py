"""A life of standing queries in a pipeline on Spark whose streams go on, for tests to kill parts of it: `python following_life.py
DIRECTORY READINGS` answers until the file `stop` is there and all queries have read so many readings of each stream.

It prints the longest turn of the loop, in seconds, since nothing of Spark's may hold up ingestion.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nilometer
from nilometer.dataflow.ledger import QueryLedger
from nilometer.live.roster import Roster
from nilometer.live.station import Station


def main(directory: Path, readings: int) -> None:
    database = nilometer.connect(directory)
    with Station(database, directory) as station:
        roster = Roster(
            station, database.catalog.queries(), on="spark", say=lambda line: print(line, flush=True)
        )
        roster.begin(alone=False)
        assert not roster.refused, roster.refused
        longest, last = 0.0, time.monotonic()

        def over() -> bool:
            nonlocal longest, last
            now = time.monotonic()
            longest, last = max(longest, now - last), now
            failed = [f"{name}: {live.failure}" for name, live in station.queries.items() if live.failure]
            assert not failed, failed
            if not (directory / "stop").exists():
                return False
            ledgers = {name: live.ledger for name, live in station.queries.items()}
            return all(_read(name, ledger) >= readings for name, ledger in ledgers.items())

        station.run(over)
        print("longest turn", round(longest, 2), flush=True)


def _read(name: str, ledger: QueryLedger) -> int:
    """How many readings of each stream a query has read."""
    return ledger.read // (2 if name == "joined" else 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
