"""Retention of the versions of a standing query's tables: a version stays while a reading in the streams'
logs could meet it.

The law: the version that holds at the earliest time in the logs stays, and so do all later ones. Whatever of
the query can still be replayed therefore meets the same versions as before. An older reading that arrives
later meets the oldest version left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer.catalog import Table
from nilometer.live.control import folder_of
from nilometer.live.stored_tables import Kept
from nilometer.live.upkeep import known
from nilometer.log import LogDirectory, Offset
from nilometer.log.retention import trim
from nilometer.log.writer import resources
from nilometer.plan import physical
from nilometer.types import floor_to

if TYPE_CHECKING:
    from pathlib import Path

    from nilometer.live.declarations import Declarations

NEEDED = "readings in the logs"


def trim_versions(database: Declarations, name: str) -> int:
    """Delete the versions that no reading can meet any more, by whole segments. Returns how many."""
    directory, name = known(database, name)
    definition = database.catalog.query(name)
    if definition is None:
        return 0
    plan = database.sql(definition.text).physical
    earliest = _earliest_tick(plan, LogDirectory(directory))
    if earliest is None:
        return 0
    tables = (table for table in physical.tables_of(plan).values() if table.refresh is not None)
    return sum(_trim(folder_of(directory, name), table, earliest) for table in tables)


def _earliest_tick(plan: physical.Node, logs: LogDirectory) -> int | None:
    """The earliest tick in the logs; None if the logs are empty."""
    found = []
    for stream in physical.streams_of(plan).values():
        times = [segment.index.least_time for segment in logs.log(stream).segments()]
        known_times = [time for time in times if time is not None]
        if not known_times:
            return None
        found.append(floor_to(min(known_times), stream.every or 1))
    return min(found, default=None)


def _trim(folder: Path, table: Table, earliest: int) -> int:
    log = Kept(folder, "").log(table)
    needed = Offset()
    for offset, version in log.places():
        if version.holds_from is None or version.holds_from <= earliest:
            needed = offset
    before = log.first
    with resources(log.files.place):
        trim(log.files, keep=0, needed={NEEDED: needed})
    return log.first - before
