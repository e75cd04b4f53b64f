"""CSV payloads, each of one line or several, as raw readings.

A first line that consists of declared names is the header of its message. Without a header, the number of
fields decides which columns they are, in the declared order: all declared columns, or all but those that the
topic gives, or these without `time` (which is then the arrival's). `,` `;` or a tab separates. The law: a
line with another number of fields is a garbled reading.

>>> texts = pl.Series(["1,20", "time,depth\\n2,30\\n3,40", "4"])
>>> CsvLines(("time", "depth")).read(texts).columns.rows()
[(0, '1', '20', None), (1, '2', '30', None), (1, '3', '40', None), (2, None, '4', None)]
"""

from __future__ import annotations

import csv

import numpy as np
import polars as pl

from nilometer.ingest.payloads.messages import MESSAGE, REASON, RawReadings

_LINE, _FIELDS, _LAYOUT, _PLACE = "@line", "@fields", "@layout", "@place"
_SEPARATORS = ",;\t"


class CsvLines:
    """Reads the declared names, in their declared order. `given` are those that the topic supplies."""

    def __init__(self, names: tuple[str, ...], given: frozenset[str] = frozenset()) -> None:
        self.names = names
        layouts = [
            names,
            tuple(name for name in names if name not in given),
            tuple(name for name in names if name not in given and name.lower() != "time"),
        ]
        # The first layout of a width wins: it has the most of the declared columns.
        self._by_width = {len(layout): layout for layout in reversed(layouts) if layout}

    def header(self, line: str) -> tuple[str, ...] | None:
        """The declared names that the line consists of; None if the line is data."""
        known = {name.lower(): name for name in self.names}
        for separator in _SEPARATORS:
            fields = [field.strip().strip('"').lower() for field in line.split(separator)]
            if len(set(fields)) == len(fields) and all(field in known for field in fields):
                return tuple(known[field] for field in fields)
        return None

    def read(self, texts: pl.Series) -> RawReadings:
        """The raw readings of a batch."""
        lines = _lines(texts)
        first = lines.filter(pl.col(_PLACE) == 0)
        candidates = (
            first.filter(pl.col(_LINE).str.contains(r'^"?[A-Za-z_]')).get_column(_LINE).unique().to_list()
        )
        headers = {line: header for line in candidates if (header := self.header(line)) is not None}
        lines = _split(lines)
        if not headers:
            return RawReadings(self._placed(lines, None))
        headed = first.filter(pl.col(_LINE).is_in(list(headers))).select(
            MESSAGE, pl.col(_LINE).alias(_LAYOUT)
        )
        lines = lines.join(headed, on=MESSAGE, how="left", maintain_order="left")
        lines = lines.filter(pl.col(_LAYOUT).is_null() | (pl.col(_PLACE) > 0))
        parts = [
            self._placed(part, headers.get(str(layout)))
            for (layout,), part in lines.partition_by(_LAYOUT, as_dict=True, maintain_order=True).items()
        ]
        merged = pl.concat(parts) if parts else self._placed(lines, None)
        return RawReadings(merged.sort(MESSAGE, maintain_order=True))

    def _placed(self, lines: pl.DataFrame, header: tuple[str, ...] | None) -> pl.DataFrame:
        """The fields in their columns, by the header or by the number of fields."""
        layouts = self._by_width if header is None else {len(header): header}
        width = pl.col(_FIELDS).list.len()
        columns = []
        for name in self.names:
            value: pl.Expr = pl.lit(None, dtype=pl.String)
            for count, layout in layouts.items():
                if name in layout:
                    field = pl.col(_FIELDS).list.get(layout.index(name), null_on_oob=True).replace("", None)
                    value = pl.when(width == count).then(field).otherwise(value)
            columns.append(value.alias(name))
        wrong = ~width.is_in(list(layouts))
        expected = " or ".join(map(str, sorted(layouts)))
        reason = pl.concat_str(width.cast(pl.String), pl.lit(f" fields where {expected} are expected"))
        return lines.select(MESSAGE, *columns, pl.when(wrong).then(reason).alias(REASON))


def _lines(texts: pl.Series) -> pl.DataFrame:
    """The lines that are not blank, each with its message and its place in it."""
    frame = pl.DataFrame({MESSAGE: np.arange(len(texts), dtype=np.int64), _LINE: texts.str.split("\n")})
    frame = frame.filter(pl.col(_LINE).is_not_null()).explode(_LINE)
    frame = frame.with_columns(pl.col(_LINE).str.strip_chars(" \r")).filter(pl.col(_LINE) != "")
    message = frame.get_column(MESSAGE).to_numpy()
    starts = np.flatnonzero(np.r_[True, message[1:] != message[:-1]]) if message.size else message
    place = np.arange(message.size) - np.repeat(starts, np.diff(np.r_[starts, message.size]))
    return frame.with_columns(pl.Series(_PLACE, place, dtype=pl.Int64))


def _split(lines: pl.DataFrame) -> pl.DataFrame:
    """The fields of each line. Only lines with quotes are parsed one by one."""
    texts = lines.get_column(_LINE)
    separator = (
        pl.when(texts.str.contains(",", literal=True))
        .then(pl.lit(","))
        .when(texts.str.contains(";", literal=True))
        .then(pl.lit(";"))
        .otherwise(pl.lit("\t"))
    )
    fields = lines.select(pl.col(_LINE).str.split(separator).alias(_FIELDS)).to_series()
    quoted = texts.str.contains('"', literal=True)
    if quoted.any():
        mended = pl.Series(
            [_fields(line) for line in texts.filter(quoted).to_list()], dtype=pl.List(pl.String)
        )
        places = np.arange(len(texts))
        places[quoted.to_numpy()] = len(texts) + np.arange(len(mended))
        fields = pl.concat([fields, mended.alias(_FIELDS)]).gather(places)
    trimmed = fields.list.eval(pl.element().str.strip_chars())
    return lines.with_columns(trimmed.alias(_FIELDS))


def _fields(line: str) -> list[str]:
    separator = next((mark for mark in _SEPARATORS if mark in line), ",")
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []
