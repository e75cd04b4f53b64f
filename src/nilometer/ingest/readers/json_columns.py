"""The declared columns of an extent in JSON texts: each by its name, its field or its path.

The case of a name does not matter; spellings once seen are remembered. A path is exact. The law: a text in which
no column of a reading is found, be it null, is garbled as a whole.

>>> columns = JsonColumns(("time", "depth"), values=("depth",))
>>> found = columns.read(
...     pl.Series(['{"time": 1, "Depth": 2.5}', '{"time": 2, "level": 7}', '{"depth": null}'])
... )
>>> found.rows[REASON].to_list()
[None, 'no declared column in it: it has time, level; expected depth', None]
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.catalog.form import PLAIN, Form
from nilometer.catalog.json_path import is_path, parse_path
from nilometer.ingest.readers.json_fields import MESSAGE, REASON, JsonFields, JsonRows, Place, shapes

_KEY = r'"([^"\\\\]+)"\s*:'

LOOKED = 16
"""The number of texts of a batch that are searched for fields that no column reads."""

LONGEST = 1 << 16
"""The longest text that is searched, in characters."""


class JsonColumns:
    """Reads the columns `names`; `values` are those that make a reading, besides its time and id. The columns in
    `sure` have another source too, so other spellings of them are not searched."""

    def __init__(
        self,
        names: tuple[str, ...],
        form: Form = PLAIN,
        values: tuple[str, ...] = (),
        sure: frozenset[str] = frozenset(),
    ) -> None:
        self._each = None if form.each is None else parse_path(form.each)
        self._values = values
        self._sure = sure
        self._expected = ", ".join(form.origin(name) or name for name in values)
        self._keys: dict[str, str] = {}
        self._places: dict[str, list[Place]] = {}
        for name in names:
            origin = form.origin(name)
            if origin is not None and is_path(origin):
                self._places[name] = [self._place(origin)]
            else:
                self._keys[name] = origin or name
                self._places[name] = [Place((origin or name,))]
        self.fields = JsonFields(self._places, self._each)

    def _place(self, text: str) -> Place:
        """Where a path leads. One that begins like EACH's leads into the item."""
        path = parse_path(text)
        if self._each is None:
            return Place(path)
        inside = path[: len(self._each)] == self._each
        return Place(path[len(self._each) :] if inside else path, inside)

    def read(self, texts: pl.Series) -> JsonRows:
        """The raw readings of a batch."""
        found = self.fields.read(texts)
        if self._learn(texts, found.rows):
            found = self.fields.read(texts)
        return JsonRows(self._without_strangers(texts, found.rows), found.broken)

    def unknown(self, texts: pl.Series) -> tuple[dict[str, int], int]:
        """The fields that no column reads in a few of the texts: by name, how many have it; and how many were
        looked at."""
        count = min(LOOKED, len(texts))
        counts: dict[str, int] = {}
        places = np.linspace(0, len(texts) - 1, count).astype(np.int64)
        chosen = [text for text in texts.gather(places).to_list() if text and len(text) <= LONGEST]
        for text in chosen:
            for name in self.fields.unknown(text):
                counts[name] = counts.get(name, 0) + 1
        return dict(sorted(counts.items())), len(chosen)

    def _learn(self, texts: pl.Series, rows: pl.DataFrame) -> bool:
        """Look for other spellings in texts that lack a key. Returns whether there are any."""
        lacking = [pl.col(name).is_null() for name in self._keys if name not in self._sure]
        if not lacking or not rows.height:
            return False
        numbers = rows.filter(pl.any_horizontal(lacking)).get_column(MESSAGE).unique()
        if not numbers.len():
            return False
        found = texts.gather(numbers).str.extract_all(_KEY).explode(empty_as_null=False).unique()
        new = False
        for key in found.drop_nulls().str.extract(_KEY).to_list():
            for name, wanted in self._keys.items():
                if wanted.lower() == key.lower() and Place((key,)) not in self._places[name]:
                    self._places[name].append(Place((key,)))
                    new = True
        if new:
            self.fields = JsonFields(self._places, self._each)
        return new

    def _without_strangers(self, texts: pl.Series, rows: pl.DataFrame) -> pl.DataFrame:
        """The readings, with a REASON for those of a text in which no column is found."""
        if not self._values or not rows.height:
            return rows
        known = rows.select(
            pl.any_horizontal(pl.col(name).is_not_null() for name in self._values)
            | pl.col(REASON).is_not_null()
        ).to_series()
        if known.all():
            return rows
        numbers = rows.get_column(MESSAGE)
        suspects = numbers.filter(~known).unique()
        suspects = suspects.filter(~suspects.is_in(numbers.filter(known).unique().implode()))
        if not suspects.len():
            return rows
        suspected = pl.DataFrame({MESSAGE: suspects, "text": texts.gather(suspects)})
        suspected = suspected.with_columns(shapes(suspected.get_column("text")).alias("shape"))
        judged = suspected.unique("shape", keep="first")
        reasons = [
            None if self.fields.has(text, self._values) else self._stranger(text)
            for text in judged.get_column("text").to_list()
        ]
        judged = judged.select("shape", pl.Series("why", reasons, dtype=pl.String))
        found = suspected.join(judged, on="shape", how="left").select(MESSAGE, "why")
        joined = rows.join(found, on=MESSAGE, how="left", maintain_order="left")
        return joined.with_columns(pl.coalesce(REASON, "why").alias(REASON)).drop("why")

    def _stranger(self, text: str) -> str:
        return f"no declared column in it: it has {self.fields.listed(text)}; expected {self._expected}"
