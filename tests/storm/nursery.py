"""`nilometer run` as a child that a test kills: the libraries are loaded once, here, and every life is a fork.

Reads lines `live DIRECTORY FAILPOINT SEGMENT_BYTES` (`-`: no failpoint), says `born PID`, passes on what the child prints, and says `died CODE`.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback

import numpy as np

import nilometer.cli.run as verb
from nilometer.cli.main import application
from nilometer.engine import Database
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogSettings
from nilometer.log.checksum import checksum_of, next_record, walk, words_of
from nilometer.log.failpoints import VARIABLE

MODULES = (
    "nilometer.dataflow.lowering",
    "nilometer.ingest.adapters.mqtt",
    "nilometer.optimizer",
    "nilometer.simulated",
    "pydantic.type_adapter",  # by which Typer reads options
)
"""Loaded by the first query of every life, unless it finds them there."""


def live(folder: str, failpoint: str, segment_bytes: int) -> None:
    """One life."""

    def open_station(database: Database, *_: object) -> Station:
        """As the verb opens it, but for the size of segments."""
        return Station(
            database, database.data.base, StationSettings(logging=LogSettings(segment_bytes=segment_bytes))
        )

    if failpoint != "-":
        os.environ[VARIABLE] = failpoint
    verb.open_station = open_station
    application(["run", "--data", folder, "--json"], prog_name="nilometer", standalone_mode=False)


def prepare() -> None:
    """Loaded and compiled once. Nothing may have been done with Polars before a fork, which does not take its threads along."""
    for name in MODULES:
        importlib.import_module(name)

    checksum_of(b"compiled")
    next_record(words_of(bytes(64)), 0)
    walk(words_of(bytes(64)), 0)
    np.maximum.accumulate([1])


def main() -> None:
    """Until stdin ends."""
    prepare()
    print("ready", flush=True)
    for line in sys.stdin:
        _, folder, failpoint, segment_bytes = line.split()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                live(folder, failpoint, int(segment_bytes))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(f"born {child}", flush=True)
        _, status = os.waitpid(child, 0)
        print(f"died {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
