"""Reads JSON lines as raw text columns: one object per line. A file that is one JSON array of objects is read
as well.

The law: a line that is not a JSON object is set aside and the rest are read; a key that is missing or null is
NULL.

>>> read_json_lines(b'{"time": 1, "depth": 2.5}\\n{"Time": 2}\\n', ("time", "depth")).columns.rows()
[('1', '2.5'), ('2', None)]
"""

from __future__ import annotations

import io
import json

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.errors import DataError
from nilometer.ingest.readers.lines import nonblank_lines, repaired, split_lines, spoiled_rows
from nilometer.ingest.readers.reading import DEAD_LETTERS, DeadLetter, RawFile

_SURVEYED = 1_000
"""The number of lines that are searched for the spelling of their keys."""


def read_json_lines(data: bytes, wanted: tuple[str, ...] | None = None) -> RawFile:
    """The wanted keys of each object, whatever their case, as text. Without `wanted`, all keys of the first
    lines."""
    text, damaged = repaired(data)
    if text.lstrip()[:1] == b"[":
        text = _unrolled(text)
    keys = _survey(text)
    spellings = _spellings(keys, wanted)
    names = [spelling for group in spellings.values() for spelling in group]
    broken: npt.NDArray[np.int64] = np.array([], dtype=np.int64)
    try:
        columns = _decode(text, names)
    except pl.exceptions.PolarsError:
        columns, broken = _decode_sound_lines(text, names)
    columns = columns.select(
        pl.coalesce(pl.col(spelling) for spelling in group).alias(name) for name, group in spellings.items()
    )

    def lines(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.setdiff1d(nonblank_lines(text), broken)[rows]

    letters = tuple(DeadLetter(line, "not a JSON object") for line in broken[:DEAD_LETTERS].tolist())
    return RawFile(columns, lines, letters, broken.size, spoiled_rows(columns) if damaged else None, keys)


def _unrolled(text: bytes) -> bytes:
    try:
        items = json.loads(text)
    except ValueError as error:
        raise DataError(
            "a JSON array that cannot be read", detail=str(error), hint="write one JSON object a line instead"
        ) from None
    return "\n".join(json.dumps(item, separators=(",", ":")) for item in items).encode()


def _survey(text: bytes) -> tuple[str, ...]:
    """The keys of the first lines, as they are spelled there."""
    found: dict[str, None] = {}
    for line in io.BytesIO(text).readlines(1 << 20)[:_SURVEYED]:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found |= dict.fromkeys(value)
    return tuple(found)


def _spellings(keys: tuple[str, ...], wanted: tuple[str, ...] | None) -> dict[str, list[str]]:
    """The keys that spell each wanted name. A name that may first occur later is searched as it is. Only
    `time` counts as missing if the first lines do not have it."""
    if wanted is None:
        return {key: [key] for key in keys}
    spellings = {}
    for name in wanted:
        others = [key for key in keys if key.lower() == name.lower() and key != name]
        if name in keys or others or name.lower() != "time" or not keys:
            spellings[name] = [name, *others]
    return spellings


def _decode(text: bytes, names: list[str]) -> pl.DataFrame:
    return pl.read_ndjson(io.BytesIO(text), schema=dict.fromkeys(names, pl.String))


def _decode_sound_lines(text: bytes, names: list[str]) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """The objects among the lines, and the line numbers of the others."""
    lines = split_lines(text).str.strip_chars()
    numbers = pl.Series(np.arange(1, len(lines) + 1))
    filled = lines != ""
    lines, numbers = lines.filter(filled), numbers.filter(filled)
    sound = lines.str.starts_with("{") & lines.str.json_path_match("$").is_not_null()
    kept = lines.filter(sound)
    columns = pl.DataFrame(
        {name: kept.str.json_path_match(f"$[{json.dumps(name)}]") for name in names},
        schema=dict.fromkeys(names, pl.String),
    )
    return columns, numbers.filter(~sound).to_numpy()
