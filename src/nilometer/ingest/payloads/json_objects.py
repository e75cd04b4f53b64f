"""JSON payloads, each an object or an array of objects, as raw readings, with one parse for the whole batch.

The law: nothing here loops over messages while all are sound. If the batch does not parse, it is halved until
the bad messages are in small pieces, and only these are parsed one by one. A text that is not JSON is broken.
A nested value of a declared column becomes its own JSON text. An element that is not an object is a garbled
reading. NaN and the infinities are not JSON, but many programs write them (Python does by default): NaN is
NULL, and an infinity is the text that a CSV file would have.

>>> texts = pl.Series(['{"time": 1, "Depth": 2.5}', '[{"time": 2}, {"time": 3}]', '{"time":'])
>>> found = JsonObjects(("time", "depth")).read(texts)
>>> found.columns.rows(), list(found.broken)
([(0, '1', '2.5', None), (1, '2', None, None), (1, '3', None, None)], [2])
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl

from nilometer.ingest.payloads.messages import MESSAGE, REASON, RawReadings

_PIECE = 64
"""The number of messages that are parsed one by one if any of them is broken."""

_DIGITS = 19
"""An integer with fewer digits fits an INT."""

_KEY = r'"([^"\\\\]+)"\s*:'


class JsonObjects:
    """Reads the keys of declared names. The case of a key does not matter; spellings once seen are
    remembered."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._spellings: dict[str, list[str]] = {name: [name] for name in names}

    def read(self, texts: pl.Series, sure: frozenset[str] = frozenset()) -> RawReadings:
        """The raw readings of a batch. The columns in `sure` have another source too, so other spellings of
        them are not searched."""
        readings, broken = self._read(texts)
        if self._learn(texts, readings, sure):
            readings, broken = self._read(texts)
        folded = [
            pl.coalesce(pl.col(spelling) for spelling in group).alias(name)
            if len(group) > 1
            else pl.col(name)
            for name, group in self._spellings.items()
        ]
        return RawReadings(readings.select(MESSAGE, *folded, REASON), broken)

    def _read(self, texts: pl.Series) -> tuple[pl.DataFrame, dict[int, str]]:
        keys = [spelling for group in self._spellings.values() for spelling in group]
        decoded, broken = decode_arrays(as_arrays(texts), keys)
        return unrolled(decoded, keys), broken

    def _learn(self, texts: pl.Series, readings: pl.DataFrame, sure: frozenset[str]) -> bool:
        """Look for other spellings in messages that lack a key. Returns whether there are any."""
        lacking = [
            pl.all_horizontal(pl.col(spelling).is_null() for spelling in group)
            for name, group in self._spellings.items()
            if name not in sure
        ]
        if not lacking or not readings.height:
            return False
        numbers = readings.filter(pl.any_horizontal(lacking)).get_column(MESSAGE).unique()
        if not numbers.len():
            return False
        keys = texts.gather(numbers).str.extract_all(_KEY).explode(empty_as_null=False).unique()
        new = False
        for key in keys.drop_nulls().str.extract(_KEY).to_list():
            name = next((name for name in self.names if name.lower() == key.lower()), None)
            if name is not None and key not in self._spellings[name]:
                self._spellings[name].append(key)
                new = True
        return new


def as_arrays(texts: pl.Series) -> pl.Series:
    """Every text as an array: a single object is put into brackets."""
    return pl.select(
        pl.when(texts.str.starts_with("[")).then(texts).otherwise("[" + texts + "]").alias("text")
    ).to_series()


def unrolled(decoded: pl.Series, keys: list[str]) -> pl.DataFrame:
    """One row per element, in order. An element that is not an object has a REASON."""
    lists = pl.DataFrame({MESSAGE: np.arange(len(decoded), dtype=np.int64), "element": decoded})
    lists = lists.filter(pl.col("element").list.len() > 0)
    rows = lists.explode("element")
    reason = pl.when(pl.col("element").is_null()).then(pl.lit("not a JSON object")).alias(REASON)
    fields = [pl.col("element").struct.field(key) for key in keys]
    return rows.select(MESSAGE, *fields, reason)


def decode_arrays(
    texts: pl.Series, keys: list[str], nan: str | None = None
) -> tuple[pl.Series, dict[int, str]]:
    """Lists of structs of text, NULL where a text is broken, and the reasons. `nan` is the replacement for
    NaN."""
    wanted = pl.List(pl.Struct(dict.fromkeys(keys, pl.String)))
    broken: dict[int, str] = {}
    pieces = _decode(texts, wanted, 0, broken, nan)
    return (pieces[0] if len(pieces) == 1 else pl.concat(pieces)), broken


def _decode(
    texts: pl.Series, wanted: pl.List, start: int, broken: dict[int, str], nan: str | None
) -> list[pl.Series]:
    try:
        return [texts.str.json_decode(wanted)]
    except pl.exceptions.PolarsError:
        if len(texts) > _PIECE:
            middle = len(texts) // 2
            return _decode(texts[:middle], wanted, start, broken, nan) + _decode(
                texts[middle:], wanted, start + middle, broken, nan
            )
    mended: list[str | None] = []
    for number, text in enumerate(texts.to_list(), start):
        try:
            mended.append(_mended(text, nan))
        except (ValueError, RecursionError) as error:
            mended.append(None)
            broken[number] = f"not JSON: {error}"
    piece = pl.Series("text", mended, dtype=pl.String)
    try:
        return [piece.str.json_decode(wanted)]
    except pl.exceptions.PolarsError:
        return [
            _decode_one(piece[place : place + 1], wanted, start + place, broken)
            for place in range(len(piece))
        ]


def _decode_one(text: pl.Series, wanted: pl.List, number: int, broken: dict[int, str]) -> pl.Series:
    """Decode a text about which Python's parser and Polars' may disagree, as about half a surrogate pair."""
    try:
        return text.str.json_decode(wanted)
    except pl.exceptions.PolarsError:
        broken.setdefault(number, "not JSON: a text or number that cannot be kept")
        return pl.Series(text.name, [None], dtype=wanted)


def _mended(text: str | None, nan: str | None) -> str | None:
    """The text with nested values as text, and null for elements that are not objects; raises a ValueError if
    it is not JSON."""
    if text is None:
        return None
    elements = json.loads(
        text,
        parse_constant=lambda constant: nan if constant == "NaN" else constant,
        parse_float=_float,
        parse_int=_integer,
    )
    flat = [
        {key: _flat(value) for key, value in element.items()} if isinstance(element, dict) else None
        for element in elements
    ]
    return json.dumps(flat)


def _flat(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"x", "y"}:
        value = [value["x"], value["y"]]  # a point; a column has one way of writing it
    return json.dumps(value) if isinstance(value, dict | list) else value


def _float(text: str) -> float | str:
    """A number. One that no FLOAT can hold stays text, so that the column's type refuses it."""
    return number if math.isfinite(number := float(text)) else text


def _integer(text: str) -> int | str:
    return int(text) if len(text) < _DIGITS else text
