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

from nilometer.catalog.form import PLAIN, Form
from nilometer.catalog.json_path import is_path
from nilometer.errors import DataError
from nilometer.ingest.readers.json_columns import JsonColumns
from nilometer.ingest.readers.json_fields import MESSAGE, REASON
from nilometer.ingest.readers.lines import nonblank_lines, repaired, split_lines, spoiled_rows
from nilometer.ingest.readers.reading import DEAD_LETTERS, DeadLetter, RawFile

_SURVEYED = 1_000
"""The number of lines that are searched for the spelling of their keys."""


def read_json_lines(
    data: bytes,
    wanted: tuple[str, ...] | None = None,
    form: Form = PLAIN,
    names: tuple[str, ...] = (),
    values: tuple[str, ...] = (),
) -> RawFile:
    """The wanted keys of each object, whatever their case, as text. Without `wanted`, all keys of the first
    lines. A line that has none of the columns `values` is set aside. If columns come from JSON paths or from the
    items of an array, the result has the columns `names`."""
    text, damaged = repaired(data)
    nested = form.each is not None or any(is_path(origin) for _, origin in form.origins)
    if text.lstrip()[:1] == b"[" or (form.each is not None and _is_one_object(text)):
        text = _unrolled(text)
    keys = _survey(text)
    if nested and wanted is not None:
        return _read_nested(text, keys, JsonColumns(names, form, values), damaged)
    spellings = _spellings(keys, wanted)
    spelled = [spelling for group in spellings.values() for spelling in group]
    broken: npt.NDArray[np.int64] = np.array([], dtype=np.int64)
    try:
        columns = _decode(text, spelled)
    except pl.exceptions.PolarsError:
        columns, broken = _decode_sound_lines(text, spelled)
    columns = columns.select(
        pl.coalesce(pl.col(spelling) for spelling in group).alias(name) for name, group in spellings.items()
    )
    letters = [DeadLetter(line, "not a JSON object") for line in broken[:DEAD_LETTERS].tolist()]
    strange, reasons = _strangers(text, broken, columns, form, values)
    numbers = None
    if strange.any():
        numbers = np.setdiff1d(nonblank_lines(text), broken)
        letters += [
            DeadLetter(line, why) for line, why in zip(numbers[strange].tolist(), reasons, strict=False)
        ]
        letters.sort(key=lambda letter: letter.line)
        columns, numbers = columns.filter(pl.Series(~strange)), numbers[~strange]

    def lines(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        found = np.setdiff1d(nonblank_lines(text), broken) if numbers is None else numbers
        return found[rows]

    count = broken.size + int(strange.sum())
    spoiled = spoiled_rows(columns) if damaged else None
    return RawFile(columns, lines, tuple(letters[:DEAD_LETTERS]), count, spoiled, keys)


def _strangers(
    text: bytes, broken: npt.NDArray[np.int64], columns: pl.DataFrame, form: Form, values: tuple[str, ...]
) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """Which lines have none of the columns `values`, and the reasons of the first of them."""
    nothing = np.zeros(columns.height, dtype=bool)
    # In the file, a column has the name of its field.
    fields = {name: form.origin(name) or name for name in values}
    present = [pl.col(field).is_not_null() for field in fields.values() if field in columns.columns]
    if not fields or not columns.height:
        return nothing, []
    empty = (
        columns.select(~pl.any_horizontal(present)).to_series()
        if present
        else pl.Series([True] * columns.height)
    )
    if not empty.any():
        return nothing, []
    numbers = np.setdiff1d(nonblank_lines(text), broken) - 1
    places = empty.arg_true().to_numpy()
    texts = split_lines(text).gather(numbers[places]).str.strip_chars()
    judged = (
        JsonColumns(values, form, values).read(texts).rows.unique(MESSAGE, keep="first", maintain_order=True)
    )
    judged = judged.filter(pl.col(REASON).is_not_null())
    nothing[places[judged.get_column(MESSAGE).to_numpy()]] = True
    return nothing, judged.get_column(REASON).head(DEAD_LETTERS).to_list()


def _read_nested(text: bytes, keys: tuple[str, ...], wanted: JsonColumns, damaged: bool) -> RawFile:
    """The columns at their paths, one row per reading."""
    lines = split_lines(text).str.strip_chars()
    filled = (lines != "").arg_true().to_numpy().astype(np.int64)
    found = wanted.read(lines.gather(filled))
    rows, numbers = found.rows, filled + 1
    bad = rows.filter(pl.col(REASON).is_not_null())
    rows = rows.filter(pl.col(REASON).is_null())
    letters = [DeadLetter(int(numbers[place]), why) for place, why in found.broken.items()]
    letters += [
        DeadLetter(int(numbers[place]), why)
        for place, why in bad.select(MESSAGE, REASON).head(DEAD_LETTERS).iter_rows()
    ]
    letters.sort(key=lambda letter: letter.line)
    of_rows = numbers[rows.get_column(MESSAGE).to_numpy()]
    columns = rows.drop(MESSAGE, REASON)
    return RawFile(
        columns,
        lambda chosen: of_rows[chosen],
        tuple(letters[:DEAD_LETTERS]),
        len(found.broken) + bad.height,
        spoiled_rows(columns) if damaged else None,
        keys,
        mapped=True,
    )


def _is_one_object(text: bytes) -> bool:
    """Whether the file is a single object, perhaps on many lines."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _unrolled(text: bytes) -> bytes:
    try:
        items = json.loads(text)
    except ValueError as error:
        raise DataError(
            "a JSON array that cannot be read", detail=str(error), hint="write one JSON object a line instead"
        ) from None
    items = items if isinstance(items, list) else [items]
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
