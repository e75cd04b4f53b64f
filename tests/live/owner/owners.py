"""An owner whose loop runs in a thread, and files that its stream follows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from nilometer.engine import Database, connect
from nilometer.live.owner.client import Asking, Client, find_owner
from nilometer.live.owner.owner import Owner
from nilometer.live.station import Station
from nilometer.types import MINUTE

START = 1_767_225_600_000_000
SCHEMA = "CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{folder}/in?follow=1' KEY (id, time);\n"


def write(folder: Path, first: int, count: int, name: str = "") -> None:
    """Readings of two sensors for some minutes, in a file that appears at once."""
    minutes = range(first, first + count)
    frame = pl.DataFrame(
        {
            "time": [START + minute * MINUTE for minute in minutes for _ in (1, 2)],
            "id": [sensor for _ in minutes for sensor in (1, 2)],
            "x": [float(minute % 7 + sensor) for minute in minutes for sensor in (1, 2)],
        }
    )
    frame.write_csv(folder / "in" / f".{first:06d}{name}.csv")
    (folder / "in" / f".{first:06d}{name}.csv").rename(folder / "in" / f"{first:06d}{name}.csv")


def field(folder: Path, more: str = "") -> Database:
    """A directory whose stream is a folder of files that grows."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    (folder / "schema.sql").write_text(SCHEMA.format(folder=folder) + more)
    return connect(folder)


@contextmanager
def owned(database: Database, *, embedded: bool = False) -> Iterator[Owner]:
    """The owner of a directory, at work until the end of the `with`."""
    base = database.data.base
    assert base is not None
    owner = Owner(base, lambda: Station(database, base), embedded=embedded)
    stop = threading.Event()
    thread = threading.Thread(target=owner.run, args=(stop.is_set,), daemon=True)
    thread.start()
    try:
        yield owner
    finally:
        stop.set()
        owner.station.manager.bell.set()
        thread.join(30)
        owner.close()


def client_of(database: Database) -> Client:
    """A client of the directory's owner."""
    assert database.data.base is not None
    found = find_owner(database.data.base)
    assert found is not None
    return found


def fetch(client: Client, asking: Asking, count: int) -> list[tuple[object, ...]]:
    """The next rows, as many as are asked for; fewer only if none come for long."""
    found: list[tuple[object, ...]] = []
    patience = 30
    while len(found) < count and patience:
        rows, over = asking.fetch(client)
        found += [] if rows is None else rows.rows()
        patience -= rows is None
        if over:
            break
    return found
