"""A life of standing queries in a pipeline on Spark, for tests to end: `python standing_life.py DIRECTORY NAME...` answers for all
that the logs hold. The settings are in nilometer.toml."""

from __future__ import annotations

import sys
from pathlib import Path

import nilometer
from nilometer.live.roster import Roster
from nilometer.live.station import Station


def main(directory: Path, names: list[str]) -> None:
    database = nilometer.connect(directory)
    wanted = [definition for definition in database.catalog.queries() if definition.name in names]
    with Station(database, directory) as station:
        roster = Roster(station, wanted, on="spark", say=lambda line: print(line, flush=True))
        roster.begin(alone=False)
        assert not roster.refused, roster.refused
        station.run(lambda: False)
        for name, live in station.queries.items():
            print(name, live.rows, live.ledger, live.failure, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
