"""The values of declared columns in JSON texts, many texts at once: by name, by JSON path, from each item of an
array.

A text is an object, or an array of objects. `each` is the path of an array in the object whose items are the
readings. A column has places, tried in their order: a path inside the item, or one from the object.

The law: nothing here loops over texts while all have the expected structure. If a piece does not decode, it is
halved until the odd texts are in small pieces, and only these are walked one by one. A text that is not JSON is
broken. A nested value becomes its own JSON text. NaN and the infinities are not JSON, but many programs write them
(Python does by default): NaN is NULL, and an infinity is the text that a CSV file would have.

>>> fields = JsonFields({"t": [Place((("a"), "b"))], "site": [Place(("site",), inside=False)]}, each=("obs",))
>>> fields.read(pl.Series(['{"site": "x", "obs": [{"a": {"b": 1}}, {"a": 7}]}', '{"site":'])).rows.rows()
[(0, '1', 'x', None), (0, None, 'x', None)]
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from nilometer.catalog.json_path import Path, print_path

MESSAGE = "@message"
"""The number of the text that a reading came in."""

REASON = "@reason"
"""The reason why a reading is garbled; NULL if it is sound."""

PIECE = 64
"""The number of texts that are walked one by one if any of them is odd."""

_DIGITS = 19
"""An integer with fewer digits fits an INT."""

_LISTED = 12
"""The most fields of a text that a message lists."""

HALF_A_PAIR = "not JSON: half of a surrogate pair"
_SURROGATE = r"(?i)\\ud[89a-f][0-9a-f]{2}"
_PAIR = r"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
NO_OBJECT = "not a JSON object"
_ITEM, _ABSENT = "@item", "@absent"
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Place:
    """A path; `inside` an item of `each`, or else from the object that holds the array."""

    path: Path
    inside: bool = True


@dataclass(frozen=True)
class JsonRows:
    """One row per reading: MESSAGE, the columns as text, REASON. `broken`: the texts that are not JSON."""

    rows: pl.DataFrame
    broken: dict[int, str] = field(default_factory=dict)


class JsonFields:
    """Reads columns at their places."""

    def __init__(
        self, places: Mapping[str, Sequence[Place]], each: Path | None = None, *, nan: str | None = None
    ) -> None:
        """`nan` is the text for NaN."""
        self.places = {name: tuple(group) for name, group in places.items()}
        self.each = each
        self._nan = nan
        inside = [place.path for group in self.places.values() for place in group if place.inside]
        outside = [place.path for group in self.places.values() for place in group if not place.inside]
        self._item = _Tree()
        self._object = self._item if each is None else _Tree()
        # Two paths of which one leads through the other's value have no common type; then all texts are walked.
        fitting = list(map(self._item.add, inside))
        if each is not None:
            fitting += [*map(self._object.add, outside), self._object.add((*each, 0), self._item)]
        self._typed = all(fitting)
        paths = [*inside, *outside] if each is None else [*inside, *outside, (*each, 0)]
        self._no_list = _no_list(paths)

    def read(self, texts: pl.Series) -> JsonRows:
        """The readings of a batch of texts; a NULL has none."""
        broken: dict[int, str] = {}
        halved = _with_half_a_pair(texts)
        if halved is not None:
            broken |= dict.fromkeys(halved.arg_true().to_list(), HALF_A_PAIR)
            texts = texts.set(halved, None)
        arrays = as_arrays(texts)
        frames = [frame for frame in self._pieces(arrays, 0, broken) if frame.height]
        if not frames:
            schema = {MESSAGE: pl.Int64} | dict.fromkeys([*self.places, REASON], pl.String)
            return JsonRows(pl.DataFrame(schema=schema), broken)
        return JsonRows(frames[0] if len(frames) == 1 else pl.concat(frames), broken)

    def _pieces(self, arrays: pl.Series, start: int, broken: dict[int, str]) -> Iterator[pl.DataFrame]:
        if self._typed and not (self._no_list and arrays.str.contains(self._no_list).any()):
            try:
                yield self._decoded(arrays, start)
                return
            except pl.exceptions.PolarsError:
                pass
        if len(arrays) > PIECE:
            middle = len(arrays) // 2
            yield from self._pieces(arrays[:middle], start, broken)
            yield from self._pieces(arrays[middle:], start + middle, broken)
            return
        yield self._walked(arrays, start, broken)

    # ---- columnar --------------------------------------------------------------------------------------------------

    def _decoded(self, arrays: pl.Series, start: int) -> pl.DataFrame:
        decoded = arrays.str.json_decode(pl.List(self._object.dtype))
        numbers = np.arange(start, start + len(arrays), dtype=np.int64)
        rows = pl.DataFrame({MESSAGE: numbers, "element": decoded})
        rows = rows.filter(pl.col("element").list.len() > 0).explode("element")
        whole, item = pl.col("element"), pl.col("element")
        reason: pl.Expr = pl.when(pl.col("element").is_null()).then(pl.lit(NO_OBJECT))
        if self.each is not None:
            item = pl.col(_ITEM)
            array = _at(whole, self.each).alias(_ITEM)
            rows = rows.with_columns(array, array.is_null().alias(_ABSENT))
            rows = rows.filter(pl.col(_ABSENT) | (item.list.len() > 0)).explode(_ITEM)
            absent = pl.when(pl.col(_ABSENT)).then(pl.lit(self._no_array))
            reason = pl.coalesce(reason, absent.when(item.is_null()).then(pl.lit(NO_OBJECT)))
        columns = []
        for name, group in self.places.items():
            found = [_at(item if place.inside else whole, place.path) for place in group]
            columns.append((found[0] if len(found) == 1 else pl.coalesce(found)).alias(name))
        return rows.select(MESSAGE, *columns, reason.alias(REASON))

    @property
    def _no_array(self) -> str:
        return f"no array at {print_path(self.each or ())}"

    # ---- one by one ------------------------------------------------------------------------------------------------

    def _walked(self, arrays: pl.Series, start: int, broken: dict[int, str]) -> pl.DataFrame:
        names = [*self.places, REASON]
        flat: list[str | None] = []
        for number, text in enumerate(arrays.to_list(), start):
            try:
                found = (
                    None
                    if text is None
                    else [self._values(*reading) for reading in self._readings(loads(text, self._nan))]
                )
                flat.append(None if found is None else json.dumps(found))
            except (ValueError, RecursionError) as error:
                flat.append(None)
                broken[number] = f"not JSON: {error}"
        wanted = pl.List(pl.Struct(dict.fromkeys(names, pl.String)))
        piece = pl.Series("text", flat, dtype=pl.String)
        try:
            decoded = piece.str.json_decode(wanted)
        except pl.exceptions.PolarsError:
            each = [_decode_one(piece[n : n + 1], wanted, start + n, broken) for n in range(len(piece))]
            decoded = pl.concat(each)
        numbers = np.arange(start, start + len(arrays), dtype=np.int64)
        rows = pl.DataFrame({MESSAGE: numbers, "element": decoded}).filter(pl.col("element").list.len() > 0)
        return rows.explode("element").select(
            MESSAGE, *(pl.col("element").struct.field(name) for name in names)
        )

    def _readings(self, elements: list[Any]) -> Iterator[tuple[Any, Any, str | None]]:
        """The object, the item and the reason of each reading."""
        for element in elements:
            if self.each is None:
                yield element, element, None if self._item.fits(element) else NO_OBJECT
                continue
            items = _walk(element, self.each)
            if not isinstance(items, list):
                yield element, None, NO_OBJECT if not isinstance(element, dict) else self._no_array
                continue
            for item in items:
                yield element, item, None if self._item.fits(item) else NO_OBJECT

    def _values(self, element: Any, item: Any, reason: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {REASON: reason}
        for name, group in self.places.items():
            values = (_walk(item if place.inside else element, place.path) for place in group)
            found[name] = next(
                (_flat(value) for value in values if value is not _MISSING and value is not None), None
            )
        return found

    # ---- what a text has -------------------------------------------------------------------------------------------

    def has(self, text: str, columns: Sequence[str]) -> bool:
        """Whether the text has a field of one of the columns, be it null."""
        for element, item, _ in self._readings(_loaded(text)):
            for name in columns:
                for place in self.places[name]:
                    if _walk(item if place.inside else element, place.path) is not _MISSING:
                        return True
        return False

    def unknown(self, text: str) -> set[str]:
        """The fields of a text that no column reads."""
        leaves = self._leaves(text)
        return {_shown(path, inside) for path, inside in leaves if not self._known(path, inside)}

    def listed(self, text: str) -> str:
        """The fields of a text, for a message."""
        names = list(dict.fromkeys(_shown(path, inside) for path, inside in self._leaves(text)))
        return ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "") or "no fields"

    def _leaves(self, text: str) -> dict[tuple[Path, bool], None]:
        leaves: dict[tuple[Path, bool], None] = {}
        for element in _loaded(text):
            items = _walk(element, self.each) if self.each else _MISSING
            for path, _ in _fields(element, ()):
                if self.each is None or path != self.each:
                    leaves[path, self.each is None] = None
            for item in items if isinstance(items, list) else ():
                leaves |= dict.fromkeys(((path, True) for path, _ in _fields(item, ())), None)
        return leaves

    def _known(self, path: Path, inside: bool) -> bool:
        for group in self.places.values():
            for place in group:
                if place.inside != inside:
                    continue
                least = min(len(place.path), len(path))
                if place.path[:least] == path[:least]:
                    return True
        return False


_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
"""The characters that have a meaning in a pattern."""


class _Tree:
    """The structure that paths expect: an object's fields, an array's items, or a text."""

    def __init__(self) -> None:
        self.fields: dict[str, _Tree] = {}
        self.items: _Tree | None = None
        self.leaf = False

    def add(self, path: Path, last: _Tree | None = None) -> bool:
        """Add a path, which ends in `last` or in a text. Returns False if it contradicts another path."""
        if not path:
            self.leaf = True
            return not self.fields and self.items is None
        step = path[0]
        if isinstance(step, int):
            if self.items is None:
                self.items = last if last is not None and len(path) == 1 else _Tree()
            if self.fields or self.leaf:
                return False
            return True if self.items is last else self.items.add(path[1:], last)
        if self.items is not None or self.leaf:
            return False
        return self.fields.setdefault(step, _Tree()).add(path[1:], last)

    @property
    def dtype(self) -> pl.DataType:
        if self.fields:
            return pl.Struct({name: tree.dtype for name, tree in self.fields.items()})
        return pl.List(self.items.dtype) if self.items is not None else pl.String()

    def fits(self, value: Any) -> bool:
        """Whether a value can be a reading: an object if fields are read, not null in any case."""
        if self.fields and not self.leaf:
            return isinstance(value, dict)
        return value is not None


def _no_list(paths: Sequence[Path]) -> str | None:
    """A pattern of texts in which a field whose items are read may be no array. Polars takes a single value for an array
    of one; a path has no value there."""
    steps = [pair for path in paths for pair in pairwise(path)]
    names = {json.dumps(name) for name, item in steps if isinstance(name, str) and isinstance(item, int)}
    quoted = "|".join(_META.sub(r"\\\g<0>", name) for name in sorted(names))
    return rf"(?:{quoted})\s*:\s*[^\[\sn]" if names else None


def as_arrays(texts: pl.Series) -> pl.Series:
    """Every text as an array: a single object is put into brackets."""
    return pl.select(
        pl.when(texts.str.starts_with("[")).then(texts).otherwise("[" + texts + "]").alias("text")
    ).to_series()


def shapes(texts: pl.Series) -> pl.Series:
    """Texts that have the same fields have, nearly always, the same shape: numbers and strings are left out."""
    return texts.str.replace_all(r':\s*(?:"[^"\\]*"|-?\d[\d.eE+-]*)', ":0")


def loads(text: str, nan: str | None = None) -> list[Any]:
    """Parse an array; raises a ValueError if it is not JSON. Numbers that no INT or FLOAT holds stay text."""
    found = json.loads(
        text,
        parse_constant=lambda constant: nan if constant == "NaN" else constant,
        parse_float=_float,
        parse_int=_integer,
    )
    return found if isinstance(found, list) else [found]


def _with_half_a_pair(texts: pl.Series) -> pl.Series | None:
    """Which texts escape half of a surrogate pair, which is no character; None if none does. Polars takes it for a NUL,
    so that two ids would become one."""
    if not texts.str.contains(_SURROGATE).any():
        return None
    # Without escaped backslashes and whole pairs, any escape of a surrogate that is left is a half.
    left = texts.str.replace_all("\\\\", "", literal=True).str.replace_all(_PAIR, "")
    halved = left.str.contains(_SURROGATE).fill_null(False)
    return halved if halved.any() else None


def _loaded(text: str) -> list[Any]:
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return []


def _at(value: pl.Expr, path: Path) -> pl.Expr:
    for step in path:
        value = value.struct.field(step) if isinstance(step, str) else value.list.get(step, null_on_oob=True)
    return value


def _walk(value: Any, path: Path) -> Any:
    """The value at a path, or _MISSING."""
    for step in path:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return _MISSING
        elif not isinstance(value, list) or step >= len(value):
            return _MISSING
        value = value[step]
    return value


def _fields(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The paths of the values in an object, and in the objects in it. An array is one value."""
    if isinstance(value, dict) and value and len(path) < PIECE:
        for name, inner in value.items():
            yield from _fields(inner, (*path, name))
    elif path:
        yield path, value


def _shown(path: Path, inside: bool) -> str:
    text = print_path(path)
    return text.removeprefix("$.") if inside and len(path) == 1 and text.startswith("$.") else text


def _flat(value: Any) -> Any:
    """A scalar as it is, a nested value as its JSON text."""
    if isinstance(value, dict) and set(value) == {"x", "y"}:
        value = [value["x"], value["y"]]  # a point; a column has one way of writing it
    return json.dumps(value) if isinstance(value, dict | list) else value


def _decode_one(text: pl.Series, wanted: pl.List, number: int, broken: dict[int, str]) -> pl.Series:
    """Decode a text about which Python's parser and Polars' may disagree, as about a number of many digits."""
    try:
        return text.str.json_decode(wanted)
    except pl.exceptions.PolarsError:
        broken.setdefault(number, "not JSON: a text or number that cannot be kept")
        return pl.Series(text.name, [None], dtype=wanted)


def _float(text: str) -> float | str:
    """A number. One that no FLOAT can hold stays text, so that the column's type refuses it."""
    return number if math.isfinite(number := float(text)) else text


def _integer(text: str) -> int | str:
    return int(text) if len(text) < _DIGITS else text
