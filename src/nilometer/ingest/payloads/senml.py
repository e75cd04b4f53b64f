"""SenML packs in JSON (RFC 8428) as raw readings: one row for each sensor and time of a pack, a column for
each name.

Base values (bn, bt, bu, bv) apply to their own record and the records after it. A time below 2^28 is relative
to the arrival. A name consists of a sensor id and a column. If `n` itself is a declared column, `bn` is the
sensor. Otherwise the column follows the last `:`, `/` or `.`. In a stream of one value column, a name that
does not end in a column is the sensor id as a whole. Values are converted to the column's declared unit.

The law: a record of an undeclared column is ignored, like an unknown JSON key; a reading with a value that
cannot be read or converted is garbled as a whole.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.form import PLAIN, Form
from nilometer.ingest.payloads.messages import MESSAGE, REASON, RawReadings
from nilometer.ingest.payloads.senml_units import conversion
from nilometer.ingest.readers.json_fields import JsonFields, Place
from nilometer.types import SECOND, Column, Kind

KEYS = ["bn", "bt", "bu", "bv", "bver", "n", "u", "v", "vs", "vb", "t"]
_FIELDS = JsonFields({key: [Place((key,))] for key in KEYS}, nan="NaN")
RELATIVE = (1 << 28) * SECOND
VERSION = 10

_ENDS = ":/._-"
_PARTS = r"^(?:(.*)[:/.])?([^:/.]*)$"
_NUMBER, _VALUE, _COLUMN, _ID, _TIME, _UNIT = "@number", "@value", "@column", "@sensor", "@moment", "@unit"


def read_senml(
    texts: pl.Series,
    arrived: npt.NDArray[np.int64],
    columns: tuple[Column, ...],
    id_name: str,
    time_name: str,
    form: Form = PLAIN,
) -> RawReadings:
    """The raw readings of a batch of packs. `columns` are the declared columns that records may name, by their own
    names or by those that they are declared FROM."""
    # A receiver must understand a field whose name ends in _ (section 4.4). We know none.
    strange = texts.str.contains('_"\\s*:').fill_null(False)
    texts = texts.set(strange, None) if strange.any() else texts
    found = _FIELDS.read(texts)
    broken = found.broken
    broken |= dict.fromkeys(strange.arg_true().to_list(), "a SenML field that must be understood, and is not")
    records = _resolved(found.rows, arrived, columns, form)
    records = records.filter(pl.col(_COLUMN).is_not_null() | pl.col(REASON).is_not_null())
    return RawReadings(_widened(records, columns, id_name, time_name), broken, microseconds=True)


def _resolved(
    records: pl.DataFrame, arrived: npt.NDArray[np.int64], columns: tuple[Column, ...], form: Form
) -> pl.DataFrame:
    """Resolve each record by itself into sensor, column, time, value and unit, or a REASON."""
    message = records.get_column(MESSAGE).to_numpy()
    base = {name: _held(records.get_column(name), message) for name in ("bn", "bt", "bu", "bv")}
    reasons = [pl.col(REASON)]
    sensor, column = _names(base["bn"], records.get_column("n"), columns, form)
    offsets = []
    for name, seconds in (("bt", base["bt"]), ("t", records.get_column("t"))):
        micro = _microseconds(seconds)
        if micro.null_count() > seconds.null_count():
            reasons.append(_when(micro.is_null() & seconds.is_not_null(), f"{name} is no time"))
        offsets.append(micro.fill_null(0).to_numpy())
    moment = offsets[0] + offsets[1]
    moment = np.where(np.abs(moment) < RELATIVE, moment + arrived[message], moment)
    version = records.get_column("bver")
    if version.null_count() < len(version):
        wrong = (version.cast(pl.Float64, strict=False) > VERSION).fill_null(True) & version.is_not_null()
        reasons.append(_when(wrong, f"a SenML version above {VERSION}"))
    value, fault = _values(records, base["bv"])
    reasons += fault
    return records.select(
        pl.col(MESSAGE),
        sensor.alias(_ID),
        column.alias(_COLUMN),
        pl.Series(_TIME, moment),
        value.alias(_VALUE),
        _either(records.get_column("u"), base["bu"]).alias(_UNIT),
        pl.coalesce(reasons).alias(REASON),
    )


def _held(values: pl.Series, message: npt.NDArray[np.int64]) -> pl.Series:
    """A base value, carried forward over the records of the same message."""
    if values.null_count() in (0, len(values)):
        return values
    valid = values.is_not_null().to_numpy()
    places = np.maximum.accumulate(np.where(valid, np.arange(len(values)), -1))
    held = (places >= 0) & (message[places] == message)
    return values.gather(np.maximum(places, 0)).set(pl.Series(~held), None)


def _either(first: pl.Series, second: pl.Series) -> pl.Series:
    if second.null_count() == len(second):
        return first
    return second if first.null_count() == len(first) else pl.select(pl.coalesce(first, second)).to_series()


def _when(wrong: pl.Series, reason: str) -> pl.Expr:
    return pl.when(wrong).then(pl.lit(reason))


def _microseconds(seconds: pl.Series) -> pl.Series:
    """Seconds as whole microseconds; NULL if it is not a number or is out of range."""
    micro = (seconds.cast(pl.Float64, strict=False) * SECOND).round()
    sane = (micro.is_finite() & (micro.abs() < 2.0**61)).fill_null(False)
    return micro.set(~sane, None).cast(pl.Int64)


def _names(
    bases: pl.Series, locals_: pl.Series, columns: tuple[Column, ...], form: Form
) -> tuple[pl.Series, pl.Series]:
    """The sensor and the declared column of each record; the column is NULL if it is not declared."""
    names = {column.name: form.origin(column.name) or column.name for column in columns}
    known = {spelling: column for column, name in names.items() for spelling in (name, name.lower())}
    direct = locals_.replace_strict(known, default=None, return_dtype=pl.String)
    sensor = bases.str.strip_chars_end(_ENDS)
    if direct.null_count():
        whole = pl.select(pl.concat_str(bases.fill_null(""), locals_.fill_null(""))).to_series()
        parts = whole.str.extract_groups(_PARTS).struct.unnest()
        ending = parts.to_series(1)
        tail = ending.replace_strict(known, default=None, return_dtype=pl.String)
        tail = tail.zip_with(
            tail.is_not_null(),
            ending.str.to_lowercase().replace_strict(known, default=None, return_dtype=pl.String),
        )
        head = parts.to_series(0).str.strip_chars_end(_ENDS)
        if len(columns) == 1:
            head = head.zip_with(tail.is_not_null(), whole.str.strip_chars_end(_ENDS))
            tail = tail.fill_null(columns[0].name)
        sensor = sensor.zip_with(direct.is_not_null(), head)
        direct = direct.zip_with(direct.is_not_null(), tail)
    return sensor.set((sensor == "").fill_null(False), None), direct


def _values(records: pl.DataFrame, base: pl.Series) -> tuple[pl.Series, list[pl.Expr]]:
    """The value of each record as text, and reasons where there is none."""
    numbers, texts, truths = (records.get_column(name) for name in ("v", "vs", "vb"))
    faults: list[pl.Expr] = []
    if base.null_count() < len(base):
        total = numbers.cast(pl.Float64, strict=False).fill_null(0.0) + base.cast(pl.Float64, strict=False)
        plain = base.is_null() | (numbers.is_null() & (texts.is_not_null() | truths.is_not_null()))
        wrong = total.is_null() | (numbers.cast(pl.Float64, strict=False).is_null() & numbers.is_not_null())
        faults.append(_when(wrong & ~plain, "bv and v make no number"))
        numbers = numbers.zip_with(plain, total.cast(pl.String))
    value = numbers
    for other in (texts, truths):
        if other.null_count() < len(other):
            value = pl.select(pl.coalesce(value, other)).to_series()
    if value.null_count():
        faults.append(_when(value.is_null(), "a SenML record without v, vs or vb"))
    return value, faults


def _widened(
    records: pl.DataFrame, columns: tuple[Column, ...], id_name: str, time_name: str
) -> pl.DataFrame:
    """One row for each message, sensor and time, in the order of the first record of each."""
    present = [c for c in columns if (records.get_column(_COLUMN) == c.name).any()]
    keys = [pl.col(MESSAGE), pl.col(_ID).alias(id_name), pl.col(_TIME).alias(time_name)]
    frames = []
    for column in present:
        chosen = (pl.col(_COLUMN) == column.name).fill_null(False)
        part = records if len(present) == 1 else records.with_row_index(_NUMBER).filter(chosen)
        frames.append(_converted(part, column))
    if len(frames) == 1:
        return frames[0].select(*keys, pl.col(_VALUE).alias(present[0].name), pl.col(REASON))
    if not frames:
        return records.select(*keys, REASON)
    stray = records.with_row_index(_NUMBER).filter(pl.col(_COLUMN).is_null()).cast({_VALUE: pl.String})
    long = pl.concat([*frames, stray]).sort(_NUMBER)
    group = [MESSAGE, _ID, _TIME]
    # The same column twice at the same time makes a second row: nothing is overwritten.
    twice = long.select(pl.struct(*group, _COLUMN).is_duplicated().any()).item()
    if twice:
        long = long.with_columns(pl.int_range(pl.len()).over(*group, _COLUMN).alias("@occurrence"))
        group.append("@occurrence")
    wide = long.group_by(group, maintain_order=True).agg(
        *(pl.col(_VALUE).filter(pl.col(_COLUMN) == c.name).first().alias(c.name) for c in present),
        pl.col(REASON).drop_nulls().first(),
    )
    return wide.select(*keys, *(c.name for c in present), REASON)


def _converted(records: pl.DataFrame, column: Column) -> pl.DataFrame:
    """The records of one column in its declared unit."""
    units = records.get_column(_UNIT)
    if (
        column.unit is None
        or column.type.kind not in (Kind.INT, Kind.FLOAT)
        or units.null_count() == len(units)
    ):
        return records
    scale, offset, refused = {}, {}, []
    for unit in units.unique().drop_nulls().to_list():
        found = conversion(unit, column.unit)
        if found is None:
            refused.append(unit)
        elif found != (1.0, 0.0):
            scale[unit], offset[unit] = found
    changes: list[pl.Expr] = []
    if scale:
        factor = pl.col(_UNIT).replace_strict(scale, default=None, return_dtype=pl.Float64)
        shift = pl.col(_UNIT).replace_strict(offset, default=None, return_dtype=pl.Float64)
        number = pl.col(_VALUE).cast(pl.Float64, strict=False) * factor + shift
        # A value that is not a number stays as it is; a later step finds it garbled.
        changes.append(pl.coalesce(number.cast(pl.String), pl.col(_VALUE)).alias(_VALUE))
    if refused:
        words = pl.lit("the unit '"), pl.col(_UNIT), pl.lit(f"' cannot be given in '{column.unit}'")
        reason = pl.concat_str(words)
        wrong = pl.when(pl.col(_UNIT).is_in(refused)).then(reason)
        changes.append(pl.coalesce(pl.col(REASON), wrong).alias(REASON))
    return records.with_columns(changes)
