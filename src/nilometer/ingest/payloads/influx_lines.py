"""InfluxDB's line protocol as raw readings: `measurement,tag=value field=1.5,other=2i 1767225600000000000`.

Each line is a reading. A tag or field fills the column of its name, or the column that is declared FROM it; `id` is a
tag like any other. The measurement names no stream here: the address does. The timestamp is in nanoseconds since the
epoch; a line without one gets the time of its arrival. Lines that begin with `#` are comments.

>>> texts = pl.Series(["air,id=5 pm25=12.5,n=3i 1767225600000000000\\nair,id=6 pm25=1"])
>>> read_influx(texts, ("time", "id", "pm25")).columns.rows()
[(0, 1767225600000000, '5', '12.5', None), (0, None, '6', '1', None)]
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.catalog.form import PLAIN, Form
from nilometer.ingest.payloads.csv_lines import field_of
from nilometer.ingest.payloads.field_counts import FieldCounts
from nilometer.ingest.payloads.messages import MESSAGE, REASON, RawReadings

_PAIR = r'(?:\\.|[^,=\s"\\])+=(?:"(?:\\.|[^"\\])*"|(?:\\.|[^,\s"\\])+)'
_LINE = (
    r"^(?:\\.|[^,\s\\])+(?<tags>(?:,(?:\\.|[^,=\s\\])+=(?:\\.|[^,=\s\\])+)*)"
    rf"[ ]+(?<fields>{_PAIR}(?:,{_PAIR})*)(?:[ ]+(?<stamp>[+-]?\d+))?[ ]*$"
)
_TEXT, _PAIRS, _NAME, _VALUE, _ROW = "@text", "@pairs", "@name", "@value", "@row"


def read_influx(texts: pl.Series, names: tuple[str, ...], form: Form = PLAIN) -> RawReadings:
    """The raw readings of a batch. `names` are the declared columns."""
    lines = pl.DataFrame({MESSAGE: np.arange(len(texts), dtype=np.int64), _TEXT: texts.str.split("\n")})
    lines = lines.filter(pl.col(_TEXT).is_not_null()).explode(_TEXT)
    lines = lines.with_columns(pl.col(_TEXT).str.strip_chars(" \r"))
    lines = lines.filter((pl.col(_TEXT) != "") & ~pl.col(_TEXT).str.starts_with("#"))
    lines = lines.with_columns(pl.col(_TEXT).str.extract_groups(_LINE).alias(_PAIRS)).unnest(_PAIRS)
    lines = lines.with_row_index(_ROW)
    pairs = lines.filter(pl.col("fields").is_not_null()).select(
        _ROW, pl.concat_str("tags", pl.lit(","), "fields").str.extract_all(_PAIR).alias(_PAIRS)
    )
    values = pairs.explode(_PAIRS).with_columns(
        pl.col(_PAIRS).str.extract(r"^((?:\\.|[^=\\])+)=").str.replace_all(r"\\(.)", "$1").alias(_NAME),
        _plain(pl.col(_PAIRS).str.extract(r"^(?:\\.|[^=\\])+=(.*)$")).alias(_VALUE),
    )
    fields = {name: field_of(form, name) for name in names}
    found = lines
    for name, field in fields.items():
        if name.lower() != "time":
            mine = values.filter(pl.col(_NAME).str.to_lowercase() == field.lower())
            mine = mine.group_by(_ROW).agg(pl.col(_VALUE).first().alias(f"@{name}"))
            found = found.join(mine, on=_ROW, how="left", maintain_order="left")
    stamp = pl.col("stamp").cast(pl.Int64, strict=False)
    overflow = pl.col("stamp").is_not_null() & stamp.is_null()
    columns = found.select(
        MESSAGE,
        *(
            (stamp // 1_000).alias(name) if name.lower() == "time" else pl.col(f"@{name}").alias(name)
            for name in names
        ),
        pl.when(pl.col("fields").is_null())
        .then(pl.lit("this is no line of Influx's protocol"))
        .when(overflow)
        .then(pl.lit("the timestamp is too large"))
        .alias(REASON),
    )
    known = {field.lower() for field in fields.values()}
    strange = values.filter(~pl.col(_NAME).str.to_lowercase().is_in(list(known)))
    unknown = dict(strange.get_column(_NAME).value_counts().iter_rows())
    counts = FieldCounts(unknown=unknown, looked=lines.height)
    return RawReadings(columns, microseconds=True, fields=counts)


def _plain(value: pl.Expr) -> pl.Expr:
    """A value as text: `2i` is a whole number, `t` is true, a text stands in quotes, a tag may have escapes."""
    quoted = value.str.starts_with('"')
    inside = value.str.slice(1, value.str.len_chars() - 2).str.replace_all(r'\\(["\\])', "$1")
    number = value.str.replace(r"^([+-]?\d+)[iu]$", "$1")
    return (
        pl.when(quoted)
        .then(inside)
        .when(value.is_in(["t", "T", "True", "TRUE"]))
        .then(pl.lit("true"))
        .when(value.is_in(["f", "F", "False", "FALSE"]))
        .then(pl.lit("false"))
        .otherwise(number.str.replace_all(r"\\(.)", "$1"))
    )
