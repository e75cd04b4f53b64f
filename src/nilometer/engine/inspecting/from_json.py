"""JSON messages -> the sample of an inspection: a column for each plain value, wherever it is nested.

A column is named by the last key of its path, with as many keys before it as it takes to tell it from others.
If most messages hold one array of objects, its items are the readings, unless a message is a reading without them:
the gateways that heard a message are no readings.

>>> sample = json_sample([b'{"Time": 5, "DS18B20": {"Temperature": 3.5}}'], "s", "s.jsonl")
>>> sample.columns.columns, sample.origins
(['Time', 'Temperature'], {'Temperature': '$.DS18B20.Temperature'})
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.catalog.json_path import print_path
from nilometer.engine.inferred import ID_NAMES
from nilometer.engine.inspecting.sample import Sample
from nilometer.engine.inspecting.times import find_times

MOST = 20_000
"""The number of messages that are looked at."""

Steps = tuple[str | int, ...]
Rows = list[tuple[int, dict[Steps, Any]]]
_DEPTH = 8


def json_sample(
    payloads: Sequence[bytes],
    name: str,
    label: str,
    *,
    arrived: Sequence[int] = (),
    topics: Sequence[str] = (),
    url: str | None = None,
    topic: str | None = None,
    home: Path | None = None,
) -> Sample:
    """The rows of the messages. `topics` are the values of the column `topic`, one for each message."""
    remarks: list[str] = []
    decoded: list[tuple[int, Any]] = []
    broken = 0
    for number, payload in enumerate(payloads[:MOST]):
        try:
            decoded.append((number, json.loads(payload)))
        except ValueError:
            broken += 1
    if len(payloads) > MOST:
        remarks.append(f"only the first {MOST} of {len(payloads)} messages were looked at")
    if broken:
        remarks.append(f"{broken} of {min(len(payloads), MOST)} messages are not JSON")
    rows, each = _rows(decoded, named=topic is not None)
    names = _names([path for _, row in rows for path in row])
    columns = _columns(rows, names)
    if topic is not None and topics:
        given: list[str | None] = [topics[number] for number, _ in rows]
        columns = {topic: given} | columns
    plain = {(*(each or ()), column) for column in names.values()}
    origins = {column: print_path(path) for path, column in names.items() if path and path not in plain}
    if () in names:
        remarks.append("the messages are bare values")
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    times = pl.Series([arrived[number] for number, _ in rows], dtype=pl.Int64) if arrived else None
    return Sample(
        name,
        label,
        frame,
        origins,
        {},
        None if each is None else print_path(each),
        url,
        times,
        topic if topics else None,
        home,
        tuple(remarks),
    )


def _columns(rows: Rows, names: dict[Steps, str]) -> dict[str, list[str | None]]:
    return {column: [_text(row.get(path)) for _, row in rows] for path, column in names.items()}


def _rows(decoded: list[tuple[int, Any]], *, named: bool) -> tuple[Rows, Steps | None]:
    """The plain values of each reading, with the number of its message, and the path of the array that holds the
    readings. `named`: the topics say which sensor it is."""
    flat = [
        (number, item)
        for number, value in decoded
        for item in (value if isinstance(value, list) else [value])
    ]
    arrays = Counter(path for _, value in flat for path in _arrays(value, ()))
    each, count = arrays.most_common(1)[0] if arrays else ((), 0)
    outer = [(number, dict(_leaves(value, ()))) for number, value in flat]
    if not count or count * 2 < len(flat) or _are_readings(outer, named):
        return outer, None
    rows = []
    for (number, value), (_, around) in zip(flat, outer, strict=True):
        items = _at(value, each)
        for item in items if isinstance(items, list) else ():
            rows.append((number, around | dict(_leaves(item, each))))
    return rows, each


def _are_readings(rows: Rows, named: bool) -> bool:
    """Whether the messages have a time, an id and a number outside of their arrays."""
    names = _names([path for _, row in rows for path in row])
    columns = _columns(rows, names)
    times = find_times(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    keys = {str(path[-1]).lower() for path in names if path}
    if times is None or not (named or keys & set(ID_NAMES)):
        return False
    numbers = {
        names[path]
        for _, row in rows
        for path, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return bool(numbers - {times.column})


def _arrays(value: Any, path: Steps) -> list[Steps]:
    """The paths of the arrays of objects."""
    if isinstance(value, list):
        return [path] if value and all(isinstance(item, dict) for item in value) else []
    if isinstance(value, dict) and len(path) < _DEPTH:
        return [found for key, inner in value.items() for found in _arrays(inner, (*path, key))]
    return []


def _at(value: Any, path: Steps) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _leaves(value: Any, path: Steps) -> list[tuple[Steps, Any]]:
    if isinstance(value, dict) and len(path) < _DEPTH:
        return [found for key, inner in value.items() for found in _leaves(inner, (*path, key))]
    if isinstance(value, list):
        if len(value) > 4 or any(isinstance(item, dict | list) for item in value):
            return []
        return [((*path, place), item) for place, item in enumerate(value)]
    return [(path, value)]


def _names(paths: list[Steps]) -> dict[Steps, str]:
    """A name of its own for each path, as short as possible; a bare value is called `value`."""
    found: dict[Steps, str] = {}
    distinct = list(dict.fromkeys(paths))
    for path in distinct:
        if not path:
            found[path] = "value"
            continue
        for length in range(1, len(path) + 1):
            tail = path[-length:]
            if isinstance(tail[0], int):
                continue
            rivals = [
                other for other in distinct if other != path and _tail(other, length) == _tail(path, length)
            ]
            if not rivals or length == len(path):
                found[path] = (
                    str(tail[0]) if len(path) == 1 else "_".join(re.sub(r"\W+", "_", str(s)) for s in tail)
                )
                break
    return found


def _tail(path: Steps, length: int) -> tuple[str, ...]:
    return tuple(str(step).lower() for step in path[-length:])


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return json.dumps(value)
