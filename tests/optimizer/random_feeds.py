"""Small random logs and tables for the extents of a plan: out of order, late, with NULLs, silent and undeclared sensors."""

from __future__ import annotations

from random import Random
from typing import Any

from nilometer.catalog import Catalog, Stream, Table
from nilometer.plan.reference import Feed
from nilometer.types import SECOND, Column, Kind

STEPS = 12


def random_feeds(catalog: Catalog, random: Random) -> dict[str, Feed]:
    """A log for every stream, by its lower-case name."""
    return {stream.name.lower(): _feed(catalog, stream, random) for stream in catalog.streams()}


def random_tables(catalog: Catalog, random: Random) -> dict[str, list[dict[str, Any]]]:
    """Rows for every table, by its lower-case name."""
    return {
        table.name.lower(): [_row(table, random) for _ in range(random.randrange(5))]
        for table in catalog.tables()
    }


def _feed(catalog: Catalog, stream: Stream, random: Random) -> Feed:
    step = stream.every or 30 * SECOND
    ids: list[int | str] = [sensor.id for sensor in catalog.sensors(stream.name)]
    ids += [97, 98] if stream.id_type.kind is Kind.INT else ["x", "y"]
    items: list[dict[str, Any] | int] = []
    for _ in range(random.randrange(4, 16)):
        reading: dict[str, Any] = {
            "time": random.randrange(STEPS) * step + random.choice((0, 0, 1, step // 2)),
            "id": random.choice(ids),
        }
        for column in stream.columns:
            reading.setdefault(column.name, _value(column, random))
        items.append(reading)
    # Mostly in order, so that not all are late.
    items.sort(key=lambda item: item["time"] + random.choice((0, 0, 0, 2 * step)))  # type: ignore[index]
    if random.random() < 0.3:
        items.insert(random.randrange(len(items)), random.randrange(STEPS) * step)
    return Feed(tuple(items))


def _row(table: Table, random: Random) -> dict[str, Any]:
    return {column.name: _value(column, random) for column in table.columns}


def _value(column: Column, random: Random) -> Any:
    if random.random() < 0.1:
        return None
    match column.type.kind:
        case Kind.INT:
            return random.randrange(-3, 13)
        case Kind.FLOAT:
            return random.randrange(-200, 800) / 64
        case Kind.STRING:
            return random.choice(("gauge", "buoy", "", "5"))
        case Kind.BOOLEAN:
            return random.random() < 0.5
        case Kind.TIME:
            return random.randrange(STEPS) * 30 * SECOND
        case kind:
            raise AssertionError(kind)
