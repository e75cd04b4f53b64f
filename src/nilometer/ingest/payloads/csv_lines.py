"""CSV payloads, each of one line or several, as raw readings.

A first line of declared names, or of the fields that columns are declared FROM, is the header of its message, also
if it has two of them among other names; `FORMAT CSV (HEADER ON)` makes every first line one. Without a header, the number of fields decides which
columns they are, in the declared order: all declared columns, or all but those that the topic gives, or these
without `time` (which is then the arrival's), or the only value; `FROM column_2` takes the second field. `,` `;` or
a tab separates, unless the FORMAT says otherwise. The law: a line with another number of fields is a garbled
reading.

>>> texts = pl.Series(["1,20", "time,depth\\n2,30\\n3,40", "4"])
>>> CsvLines(("time", "depth")).read(texts).columns.rows()
[(0, '1', '20', None), (1, '2', '30', None), (1, '3', '40', None), (2, None, '4', None)]
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.catalog.form import PLAIN, Form
from nilometer.catalog.json_path import is_path, parse_path
from nilometer.ingest.payloads.field_counts import FieldCounts
from nilometer.ingest.payloads.messages import MESSAGE, REASON, RawReadings

_LINE, _FIELDS, _LAYOUT, _PLACE = "@line", "@fields", "@layout", "@place"
_SEPARATORS = ",;\t"
_NUMBER = re.compile(r"[+-]?\.?\d|$")
_BY_PLACE = re.compile(r"column_([1-9]\d{0,4})")


@dataclass(frozen=True)
class Layout:
    """The number of fields of a line, the place of each column among them, and the names of fields that no
    column reads."""

    width: int
    places: dict[str, int]
    unknown: tuple[str, ...] = ()


class CsvLines:
    """Reads the declared names, in their declared order. `given` are those that the topic supplies."""

    def __init__(
        self, names: tuple[str, ...], given: frozenset[str] = frozenset(), form: Form = PLAIN
    ) -> None:
        self.names = names
        self._fields = {name: field_of(form, name) for name in names}
        format = form.format
        self._header = None if format is None else format.header
        self._quote = '"' if format is None or format.quote is None else format.quote
        self._separators = _SEPARATORS
        if format is not None and format.delimiter is not None:
            self._separators = format.delimiter
        elif format is not None and format.decimal == ",":
            self._separators = ";\t,"
        self._by_width = self._layouts(given)

    def _layouts(self, given: frozenset[str]) -> dict[int, Layout]:
        """The layouts of lines without a header, by their widths."""
        placed = {
            name: int(m[1]) - 1 for name, field in self._fields.items() if (m := _BY_PLACE.fullmatch(field))
        }
        if placed:
            # A line may have more fields than the columns take.
            return {0: Layout(max(placed.values()) + 1, placed)}
        orders = [
            self.names,
            tuple(name for name in self.names if name not in given),
            tuple(name for name in self.names if name not in given and name.lower() != "time"),
            tuple(name for name in self.names if name not in given and name.lower() not in ("time", "id")),
        ]
        if len(orders[3]) != 1:
            orders.pop()
        # The first layout of a width wins: it has the most of the declared columns.
        return {
            len(order): Layout(len(order), {name: place for place, name in enumerate(order)})
            for order in reversed(orders)
            if order
        }

    def header(self, line: str) -> Layout | None:
        """The layout, if the line names fields; None if it is data. It names fields if it consists of names that
        are read, or has two of them among others that are no numbers."""
        if self._header is False:
            return None
        known = {field.lower() for field in self._fields.values()}
        for separator in self._separators:
            fields = [field.strip().strip('"') for field in line.split(separator)]
            folded = [field.lower() for field in fields]
            read = known.intersection(folded)
            words = len(set(folded)) == len(folded) and not any(map(_NUMBER.match, folded))
            if (words and (len(read) == len(folded) or len(read) > 1)) or (self._header and read):
                places = {
                    name: folded.index(f.lower()) for name, f in self._fields.items() if f.lower() in read
                }
                unknown = (field for field in fields if field.lower() not in read)
                return Layout(len(fields), places, tuple(unknown))
        return Layout(1 + max(map(line.count, self._separators)), {}) if self._header else None

    def read(self, texts: pl.Series) -> RawReadings:
        """The raw readings of a batch."""
        lines = _lines(texts)
        first = lines.filter(pl.col(_PLACE) == 0)
        candidates = first.get_column(_LINE)
        if not self._header:
            candidates = candidates.filter(candidates.str.contains(r'^\s*"?[^\d\s+.-]'))
        headers = {
            line: header
            for line in candidates.unique().to_list()
            if (header := self.header(line)) is not None
        }
        lines = self._split(lines)
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
        unknown: dict[str, int] = {}
        for line, count in headed.get_column(_LAYOUT).value_counts().iter_rows():
            unknown |= {name: unknown.get(name, 0) + count for name in headers[line].unknown}
        counts = FieldCounts(unknown=unknown, looked=headed.height)
        return RawReadings(merged.sort(MESSAGE, maintain_order=True), fields=counts)

    def _placed(self, lines: pl.DataFrame, header: Layout | None) -> pl.DataFrame:
        """The fields in their columns, by the header or by the number of fields."""
        layouts = self._by_width if header is None else {header.width: header}
        width = pl.col(_FIELDS).list.len()
        loose = 0 in layouts  # the columns say which fields they are
        columns = []
        for name in self.names:
            value: pl.Expr = pl.lit(None, dtype=pl.String)
            for count, layout in layouts.items():
                if name in layout.places:
                    field = pl.col(_FIELDS).list.get(layout.places[name], null_on_oob=True).replace("", None)
                    value = field if loose else pl.when(width == count).then(field).otherwise(value)
            columns.append(value.alias(name))
        if loose:
            least = layouts[0].width
            wrong, expected = width < least, f"at least {least}"
        else:
            wrong, expected = ~width.is_in(list(layouts)), " or ".join(map(str, sorted(layouts)))
        reason = pl.concat_str(width.cast(pl.String), pl.lit(f" fields where {expected} are expected"))
        return lines.select(MESSAGE, *columns, pl.when(wrong).then(reason).alias(REASON))

    def _split(self, lines: pl.DataFrame) -> pl.DataFrame:
        """The fields of each line. Only lines with quotes are parsed one by one."""
        texts = lines.get_column(_LINE)
        separator: pl.Expr = pl.lit(self._separators[-1])
        for mark in reversed(self._separators[:-1]):
            separator = (
                pl.when(texts.str.contains(mark, literal=True)).then(pl.lit(mark)).otherwise(separator)
            )
        fields = lines.select(pl.col(_LINE).str.split(separator).alias(_FIELDS)).to_series()
        if self._quote and (quoted := texts.str.contains(self._quote, literal=True)).any():
            mended = pl.Series(
                [self._quoted(line) for line in texts.filter(quoted).to_list()], dtype=pl.List(pl.String)
            )
            places = np.arange(len(texts))
            places[quoted.to_numpy()] = len(texts) + np.arange(len(mended))
            fields = pl.concat([fields, mended.alias(_FIELDS)]).gather(places)
        trimmed = fields.list.eval(pl.element().str.strip_chars())
        return lines.with_columns(trimmed.alias(_FIELDS))

    def _quoted(self, line: str) -> list[str]:
        separator = next((mark for mark in self._separators if mark in line), self._separators[0])
        try:
            return next(csv.reader([line], delimiter=separator, quotechar=self._quote), [])
        except csv.Error:
            return []


def field_of(form: Form, name: str) -> str:
    """The field of a flat record that a column is read from. A path of one name is that field; a longer one is
    none."""
    origin = form.origin(name)
    if origin is None or not is_path(origin):
        return origin or name
    path = parse_path(origin)
    return str(path[0]) if len(path) == 1 and isinstance(path[0], str) else origin


def _lines(texts: pl.Series) -> pl.DataFrame:
    """The lines that are not blank, each with its message and its place in it."""
    frame = pl.DataFrame({MESSAGE: np.arange(len(texts), dtype=np.int64), _LINE: texts.str.split("\n")})
    frame = frame.filter(pl.col(_LINE).is_not_null()).explode(_LINE)
    frame = frame.with_columns(pl.col(_LINE).str.strip_chars(" \r")).filter(pl.col(_LINE) != "")
    message = frame.get_column(MESSAGE).to_numpy()
    starts = np.flatnonzero(np.r_[True, message[1:] != message[:-1]]) if message.size else message
    place = np.arange(message.size) - np.repeat(starts, np.diff(np.r_[starts, message.size]))
    return frame.with_columns(pl.Series(_PLACE, place, dtype=pl.Int64))
