"""Decodes a batch of messages of a declared stream into typed rows and garbled readings, columnar.

The format is the one asked for, or each message's own by its first characters: `{` or `[` is JSON, an array
of records with SenML's names is SenML, anything else is CSV. Influx lines are read only if they are asked for. A
column comes from the payload or from the topic (topics.py says which wins). A reading without a time gets its time of arrival, unless the stream
requires valid times. Several such readings of one sensor are stamped a microsecond apart, in their order: if
they had the same time, a KEY (id, time) would keep only the first.

The law: `decode` never raises because of a payload's contents, and rows + garbled = received (messages.py). Each
garbled reading has its own reason, and its own part of the payload (single_readings.py); beyond `LETTERS` of a batch,
those of one message share a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.catalog.form import PLAIN
from nilometer.ingest.payloads.csv_lines import CsvLines
from nilometer.ingest.payloads.field_counts import FieldCounts
from nilometer.ingest.payloads.influx_lines import read_influx
from nilometer.ingest.payloads.messages import MESSAGE, REASON, Decoded, Garbled, Messages, RawReadings
from nilometer.ingest.payloads.plain_objects import PlainObjects
from nilometer.ingest.payloads.senml import read_senml
from nilometer.ingest.payloads.single_readings import singles
from nilometer.ingest.payloads.topics import TopicPattern
from nilometer.ingest.readers.epochs import SECONDS, too_late
from nilometer.ingest.readers.json_columns import LOOKED, JsonColumns
from nilometer.ingest.readers.local_times import rule
from nilometer.ingest.readers.values import read_values
from nilometer.ingest.readers.vectors import vector_reasons
from nilometer.operators.frames import dtype
from nilometer.types import MICROSECOND, SECOND, Column, Kind, format_time

_SENML_NAME = r'"(?:bn|n)"\s*:'
_SENML_VALUE = r'"(?:v|vs|vb|vd|bv|s|bs)"\s*:'


LETTERS = 10_000
"""How many garbled readings of one batch have a letter of their own."""
_PLACE, _READINGS, _OWN = "@place", "@readings", "@own"
_BAD = {MESSAGE: pl.Int64, REASON: pl.String, _PLACE: pl.UInt32, _READINGS: pl.UInt32, _OWN: pl.String}


class Format(StrEnum):
    """The formats of payloads."""

    AUTO = "auto"
    JSON = "json"
    SENML = "senml"
    CSV = "csv"
    INFLUX = "influx"


class Times(StrEnum):
    """The time that a reading gets: its own if it has one, always its own (a reading without one is garbled),
    or that of its arrival."""

    EITHER = "either"
    VALID = "valid"
    ARRIVAL = "arrival"


def format_of(content_type: str | None) -> Format:
    """The format that a media type names; AUTO for one that does not tell."""
    kind = (content_type or "").split(";")[0].strip().lower()
    if kind in ("application/senml+json", "application/sensml+json"):
        return Format.SENML
    if kind == "text/csv":
        return Format.CSV
    if kind in ("application/vnd.influx.line-protocol", "text/vnd.influx.line-protocol"):
        return Format.INFLUX
    return Format.AUTO


class Decoder:
    """Decodes messages of one stream."""

    def __init__(
        self,
        stream: Stream,
        *,
        format: Format = Format.AUTO,
        topic: TopicPattern | None = None,
        times: Times = Times.EITHER,
    ) -> None:
        self.stream = stream
        self._form = stream.form
        declared = self._form.format
        self.format = Format(declared.kind.lower()) if declared and format is Format.AUTO else format
        self.topic = topic
        self.times = times
        names = tuple(column.name for column in stream.columns)
        folded = {name.lower(): name for name in names}
        given = (
            {}
            if topic is None
            else {name: folded[name.lower()] for name in topic.names if name.lower() in folded}
        )
        self._given: dict[str, str] = {column: level for level, column in given.items()}
        self._overruled = (
            frozenset(given[name] for name in topic.overruling if name in given) if topic else frozenset()
        )
        self._id, self._time = folded.get("id", "id"), folded.get("time", "time")
        self._values = tuple(c for c in stream.columns if c.name not in (self._id, self._time, *self._given))
        value_names = tuple(column.name for column in self._values)
        given_names = frozenset(self._given)
        self._json = JsonColumns(names, self._form, value_names, given_names)
        self._csv = CsvLines(names, given_names, self._form)
        self._encoding = None if declared is None else declared.encoding
        self._bare = len(self._values) == 1
        """Whether a bare number is a value: there is only one column that it can be."""
        self._stamped: int | None = None
        """The latest stamp of an earlier batch that was later than its reading's arrival."""
        self._senml_by_name_alone = any(name in folded for name in ("n", "v", "vs", "vb"))
        own = (
            topic is None and self._form == PLAIN and stream.time_unit is None and times is not Times.ARRIVAL
        )
        self._plain = PlainObjects(stream.columns, self._time, self._id) if own else None

    def decode(self, messages: Messages, format: Format | None = None) -> Decoded:
        """The rows of a batch of messages, and the garbled readings."""
        if not len(messages):
            return Decoded(self._empty())
        if self._plain is not None and (format or self.format) in (Format.AUTO, Format.JSON):
            rows = self._plain.read(messages.payloads)
            if rows is not None:
                fields = FieldCounts(self._missing(rows), looked=min(LOOKED, len(messages)))
                return Decoded(rows, (), fields, pl.Series(MESSAGE, np.arange(rows.height, dtype=np.int64)))
        texts, broken = _texts(messages.payloads, self._encoding)
        formats = self._formats(texts, format or self.format)
        parts: list[RawReadings] = []
        for kind in (Format.JSON, Format.SENML, Format.CSV, Format.INFLUX):
            chosen = formats == kind.value
            if chosen.all():
                parts.append(self._read(kind, texts, np.asarray(messages.arrived, dtype=np.int64)))
            elif chosen.any():
                numbers = chosen.arg_true().to_numpy().astype(np.int64)
                arrived = np.asarray(messages.arrived, dtype=np.int64)[numbers]
                parts.append(_renumbered(self._read(kind, texts.filter(chosen), arrived), numbers))
        return self._joined(messages, parts, broken, texts, formats)

    def _formats(self, texts: pl.Series, wanted: Format) -> pl.Series:
        """The format of each text; NULL if there is no text."""
        if wanted is not Format.AUTO:
            kinds = pl.Series([wanted.value]).new_from_index(0, len(texts))
            if wanted is Format.JSON and self._bare:
                kinds = kinds.set(~texts.str.contains(r"^[\[{]").fill_null(True), Format.CSV.value)
            return kinds.set(texts.is_null(), None) if texts.null_count() else kinds
        array = pl.col("text").str.starts_with("[")
        senml = array & pl.col("text").str.contains(_SENML_VALUE) & pl.col("text").str.contains(_SENML_NAME)
        if self._senml_by_name_alone:
            senml = array & pl.col("text").str.contains('"bn"', literal=True)
        kind = (
            pl.when(senml)
            .then(pl.lit(Format.SENML.value))
            .when(array | pl.col("text").str.starts_with("{"))
            .then(pl.lit(Format.JSON.value))
            .when(pl.col("text").is_not_null())
            .then(pl.lit(Format.CSV.value))
        )
        return pl.DataFrame({"text": texts}).select(kind).to_series()

    def _read(
        self, kind: Format, texts: pl.Series, arrived: np.ndarray[tuple[int], np.dtype[np.int64]]
    ) -> RawReadings:
        match kind:
            case Format.SENML:
                return read_senml(texts, arrived, self._values, self._id, self._time, self._form)
            case Format.CSV:
                return self._csv.read(texts)
            case Format.INFLUX:
                return read_influx(texts, tuple(column.name for column in self.stream.columns), self._form)
            case _:
                found = self._json.read(texts)
                unknown, looked = self._json.unknown(texts)
                counts = FieldCounts(unknown=unknown, looked=looked)
                return RawReadings(found.rows, found.broken, fields=counts)

    # ---- raw readings -> rows ----------------------------------------------------------------------------------------

    def _joined(
        self,
        messages: Messages,
        parts: list[RawReadings],
        broken: dict[int, str],
        texts: pl.Series,
        formats: pl.Series,
    ) -> Decoded:
        topics = self._topic_columns(messages)
        frames, faults, fields = [], [], FieldCounts()
        for part in parts:
            rows, bad, remarks = self._typed(part, messages, topics)
            frames.append(rows)
            faults.append(bad)
            broken |= part.broken
            fields += part.fields + FieldCounts(self._missing(rows), remarks=remarks)
        rows = pl.concat(frames) if frames else self._empty().with_columns(pl.lit(0, pl.Int64).alias(MESSAGE))
        if len(frames) > 1:
            rows = rows.sort(MESSAGE, maintain_order=True)
        bad = pl.concat(faults) if faults else pl.DataFrame(schema=_BAD)
        letters = self._letters(messages, bad, texts, formats) if bad.height else {}
        whole = {number: reason for number, reason in broken.items() if number not in letters}
        heard = np.zeros(len(messages), dtype=bool)
        heard[rows.get_column(MESSAGE).to_numpy()] = True
        for number in np.flatnonzero(~heard).tolist():
            if number not in letters:
                whole.setdefault(number, "no reading in it")
        for number, reason in whole.items():
            letters[number] = [
                Garbled(messages.payloads[number], reason, messages.sources[number], 1, number)
            ]
        garbled = tuple(letter for number in sorted(letters) for letter in letters[number])
        return Decoded(rows.drop(MESSAGE), garbled, fields, rows.get_column(MESSAGE))

    def _letters(
        self, messages: Messages, bad: pl.DataFrame, texts: pl.Series, formats: pl.Series
    ) -> dict[int, list[Garbled]]:
        """By message, a letter for each garbled reading; beyond `LETTERS`, one for the rest of a message."""
        found: dict[int, list[Garbled]] = {}
        bad = bad.sort(MESSAGE, maintain_order=True)
        cut, parts = -1, None
        for number, reason, place, readings, said in bad.head(LETTERS).iter_rows():
            payload = messages.payloads[number]
            if readings > 1:
                if number != cut:
                    cut, parts = number, singles(texts[number], formats[number], readings)
                payload = self._encoded(said if parts is None else parts[place])
            letter = Garbled(payload, reason, messages.sources[number], 1, number)
            found.setdefault(number, []).append(letter)
        rest = bad[LETTERS:].group_by(MESSAGE).agg(pl.len(), pl.col(REASON).first())
        for number, count, reason in rest.iter_rows():
            letter = Garbled(messages.payloads[number], reason, messages.sources[number], count, number)
            found.setdefault(number, []).append(letter)
        return found

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._encoding or "utf-8", errors="replace")

    def _missing(self, rows: pl.DataFrame) -> dict[str, int]:
        """By column, how many sound readings have no value."""
        counts = ((column.name, rows.get_column(column.name).null_count()) for column in self._values)
        return {name: count for name, count in counts if count}

    def _topic_columns(self, messages: Messages) -> dict[str, pl.Series]:
        """The columns that come from the topics, one value per message."""
        if self.topic is None or not self._given:
            return {}
        found = self.topic.columns(pl.Series("topic", messages.sources, dtype=pl.String))
        return {column: found[level] for column, level in self._given.items()}

    def _typed(
        self, raw: RawReadings, messages: Messages, topics: dict[str, pl.Series]
    ) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
        """The sound rows, the message and reason of each garbled one, and counts of peculiar values."""
        number = raw.columns.get_column(MESSAGE)
        remarks: dict[str, int] = {}
        text_form = None if raw.microseconds else self._form.format
        columns: list[pl.Series] = []
        own: pl.Series | None = None
        reasons: list[pl.Series] = []
        for column in self.stream.columns:
            found = self._found(column, raw, number, topics)
            unit = self._unit(column, raw)
            if found is None:
                columns.append(_nulls(column, len(number)))
            else:
                read = read_values(found, column.type, unit, text_form)
                columns.append(read.values.alias(column.name))
                remarks |= dict(read.remarks)
                if column.name == self._time and unit is None and not raw.microseconds:
                    remarks |= _unset_clocks(read.values)
                if read.garbled is not None and column.type.kind is Kind.TIME:
                    reasons.append(_no_times(column, found, read.garbled, unit, rule(text_form)))
                elif read.garbled is not None:
                    reasons.append(_reasons(column, found, read.garbled))
                if column.type.kind is Kind.FLOAT and read.values.null_count() > found.null_count():
                    reasons.append(_too_large(column, found, read.values))
            if column.name == self._time:
                own = found
            if column.name == self._id and found is not None and column.name in topics:
                reasons.append(_nameless(found, topics[column.name].gather(number)))
        if REASON in raw.columns.columns:
            reasons.append(raw.columns.get_column(REASON))
        rows = pl.DataFrame([number, *columns])
        if self._time in rows.columns and (raw.microseconds or rows.get_column(self._time).null_count()):
            times, missing = self._timed(rows, own, messages, raw.microseconds)
            rows = rows.with_columns(times)
            reasons += missing
        reasons = [reason for reason in reasons if reason.null_count() < len(reason)]
        if not reasons:
            return rows, pl.DataFrame(schema=_BAD), remarks
        reason = pl.select(pl.coalesce(reasons).alias(REASON)).to_series()
        bad = reason.is_not_null()
        return rows.filter(~bad), _bad(raw, reason, self._time), remarks

    def _unit(self, column: Column, raw: RawReadings) -> int | None:
        """The unit of numeric times. SenML's are microseconds by now."""
        if raw.microseconds:
            return MICROSECOND
        return self.stream.time_unit if column.name == self._time else None

    def _found(
        self, column: Column, raw: RawReadings, number: pl.Series, topics: dict[str, pl.Series]
    ) -> pl.Series | None:
        """The raw values of a column: from the payload, from the topic, or from one where the other has
        none."""
        if column.name == self._time and self.times is Times.ARRIVAL:
            return None
        payload = raw.columns.get_column(column.name) if column.name in raw.columns.columns else None
        if column.name == self._time and not raw.microseconds and self._form.sole_time in raw.columns.columns:
            # The only TIME column is the time of a reading without a field `time`.
            other = raw.columns.get_column(self._form.sole_time)
            payload = other if payload is None else payload.zip_with(payload.is_not_null(), other)
        if column.name not in topics:
            return payload
        topic = topics[column.name].gather(number)
        if payload is None or column.name in self._overruled or payload.null_count() == len(payload):
            return topic
        return payload.cast(pl.String).zip_with(payload.is_not_null(), topic)

    def _timed(
        self, rows: pl.DataFrame, found: pl.Series | None, messages: Messages, resolved: bool
    ) -> tuple[pl.Series, list[pl.Series]]:
        """Readings without a time get that of their arrival, or a reason. `resolved` means that they have it
        already, as SenML does."""
        times = rows.get_column(self._time)
        if self.times is Times.VALID:
            return times, [pl.select(pl.when(times.is_null()).then(pl.lit("no time"))).to_series()]
        silent = times.is_null() if found is None else times.is_null() & found.is_null()
        arrived = pl.Series(times.name, np.asarray(messages.arrived, dtype=np.int64)).gather(
            rows.get_column(MESSAGE)
        )
        if resolved:
            silent = silent | (times == arrived).fill_null(False)
        sensor = rows.get_column(self._id) if self._id in rows.columns else silent
        stamped = times.zip_with(~silent, self._stamps(arrived, sensor, silent))
        # An empty field or the word null is not a time either.
        return stamped, [pl.select(pl.when(stamped.is_null()).then(pl.lit("no time"))).to_series()]

    def _stamps(self, arrived: pl.Series, sensor: pl.Series, silent: pl.Series) -> pl.Series:
        """The arrivals, or a microsecond after the stamp of the sensor's previous reading: stamp =
        max(arrival, previous stamp + 1)."""
        least = arrived
        if self._stamped is not None:
            # An earlier batch was stamped later than its arrival.
            # If it was much later, the clock was set back and is right.
            pressed = (arrived <= self._stamped) & (arrived > self._stamped - SECOND)
            least = arrived.set(pressed, self._stamped + 1)
        # Let p be the place among the sensor's readings. Then stamp - p never falls:
        # it is the greatest arrival - p so far.
        place = pl.int_range(pl.len(), dtype=pl.Int64).over("sensor")
        frame = pl.DataFrame({"arrived": arrived, "least": least, "sensor": sensor, "silent": silent})
        asked = frame.with_row_index("row").filter("silent").with_columns(place.alias("place"))
        ahead = (pl.col("least") - pl.col("place")).cum_max().over("sensor") + pl.col("place")
        asked = asked.with_columns(ahead.alias("stamp"))
        pushed = asked.filter(pl.col("stamp") > pl.col("arrived"))
        if pushed.height:
            self._stamped = pushed.select(pl.col("stamp").max()).item()
        return arrived.scatter(asked.get_column("row"), asked.get_column("stamp"))

    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema={column.name: dtype(column.type) for column in self.stream.columns})


def _bad(raw: RawReadings, reason: pl.Series, time: str) -> pl.DataFrame:
    """The garbled readings: the message, the reason, the place among so many readings of it, and the values as they
    were read, in JSON."""
    values = [name for name in raw.columns.columns if name not in (MESSAGE, REASON)]
    found = raw.columns.select(MESSAGE, *values).with_columns(
        reason,
        pl.int_range(pl.len(), dtype=pl.UInt32).over(MESSAGE).alias(_PLACE),
        pl.len().over(MESSAGE).cast(pl.UInt32).alias(_READINGS),
    )
    found = found.filter(reason.is_not_null())
    if raw.microseconds:
        shown = found.get_column(time).map_elements(format_time, return_dtype=pl.String)
        found = found.with_columns(shown.alias(time))
    said = pl.lit(None, pl.String)
    if (found.get_column(_READINGS) > 1).any():
        said = pl.struct(values).struct.json_encode()
    return found.select(MESSAGE, REASON, _PLACE, _READINGS, said.alias(_OWN))


def _texts(payloads: Sequence[bytes], encoding: str | None = None) -> tuple[pl.Series, dict[int, str]]:
    """The payloads as trimmed text, NULL where they are not text, and the reasons."""
    broken: dict[int, str] = {}
    try:
        if encoding is not None and encoding != "utf-8":
            payloads = [bytes(payload).decode(encoding, errors="replace").encode() for payload in payloads]
        texts = pl.Series("text", payloads, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        found: list[str | None] = []
        for number, payload in enumerate(payloads):
            try:
                found.append(bytes(payload).decode())
            except UnicodeDecodeError as error:
                found.append(None)
                broken[number] = f"not UTF-8: {error.reason} at byte {error.start}"
        texts = pl.Series("text", found, dtype=pl.String)
    texts = texts.str.strip_chars().str.strip_prefix("\ufeff")
    empty = (texts == "").fill_null(False)
    if empty.any():
        broken |= dict.fromkeys(empty.arg_true().to_list(), "an empty payload")
        texts = texts.set(empty, None)
    return texts, broken


def _renumbered(raw: RawReadings, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> RawReadings:
    """The readings of some of the messages, with the message numbers of the whole batch."""
    message = numbers[raw.columns.get_column(MESSAGE).to_numpy()]
    columns = raw.columns.with_columns(pl.Series(MESSAGE, message, dtype=pl.Int64))
    return replace(raw, columns=columns, broken={int(numbers[n]): reason for n, reason in raw.broken.items()})


def _unset_clocks(times: pl.Series) -> dict[str, int]:
    """How many times are numbers that are too small for a time of today, such as the seconds since a device started."""
    count = int(times.is_between(0, int(SECONDS), closed="left").sum())
    told = "near 1970: too small a number for a time of today, and read as microseconds; is the clock set?"
    return {told: count} if count else {}


def _nulls(column: Column, height: int) -> pl.Series:
    return pl.Series(column.name, [None], dtype=dtype(column.type)).new_from_index(0, height)


def _reasons(column: Column, found: pl.Series, garbled: pl.Series) -> pl.Series:
    """The reason `depth 'x' is not an INT` for each garbled value."""
    kind = f"' is not {'an' if column.type.kind == 'INT' else 'a'} {column.type.plain}"
    shown = found.cast(pl.String, strict=False).str.head(40).fill_null("?")
    words = pl.concat_str(pl.lit(f"{column.name} '"), shown, pl.lit(kind))
    if column.type.kind is Kind.VECTOR:
        return vector_reasons(column, found, garbled)
    return pl.select(pl.when(garbled).then(words)).to_series()


def _no_times(column: Column, found: pl.Series, garbled: pl.Series, unit: int | None, how: str) -> pl.Series:
    """The reason for each value that is not a time: how times are read, or the unit that it seems to have."""
    plain = _reasons(column, found, garbled)
    if how:
        plain = plain + how
    if unit is None:
        return plain
    guesses = {text: too_late(text, unit) for text in plain_texts(found, garbled)}
    known = {text: f": {guess}" for text, guess in guesses.items() if guess is not None}
    ending = found.cast(pl.String, strict=False).replace_strict(known, default="", return_dtype=pl.String)
    return plain + ending.fill_null("")


def plain_texts(found: pl.Series, garbled: pl.Series) -> list[str]:
    """The different values that are garbled."""
    return found.filter(garbled).cast(pl.String, strict=False).drop_nulls().unique().to_list()


def _too_large(column: Column, found: pl.Series, read: pl.Series) -> pl.Series:
    """The reason for digits that were read as an infinity: `1e400` is a value, so it must not become NULL."""
    shown = found.cast(pl.String, strict=False)
    digits = shown.str.contains(r"^\s*[+-]?\.?\d") & shown.cast(pl.Float64, strict=False).is_infinite()
    words = pl.concat_str(
        pl.lit(f"{column.name} '"), shown.str.head(40), pl.lit("' is not a FLOAT: too large")
    )
    return pl.select(pl.when(digits & read.is_null()).then(words)).to_series()


def _nameless(found: pl.Series, topic: pl.Series) -> pl.Series:
    """The reason for an id that comes from the topic if the topic's level is empty, as in `air/`."""
    empty = ((topic == "") & (found.cast(pl.String, strict=False) == "")).fill_null(False)
    return pl.select(pl.when(empty).then(pl.lit("no id: its level of the topic is empty"))).to_series()
