"""Finds the rows of a batch whose key is new to the log (NULL = NULL), in bounded memory.

Memory holds about `limit` of the newest keys: all those from the tick `floor` on. Older keys are looked up in
the log itself, if a Bloom filter of all older keys says that they may be there. The filter is made from the log when
the first old reading comes, and takes 64 MiB from then on. So readings that are old and new, such as a backlog that a
sensor sends late, read nothing. The log knows the times of each segment and record, so a look-up reads only the
records near the times of the keys. After a restart the newest keys are loaded from the log. A key without the time may come back at
any time. So a fingerprint of eight bytes stays for every such key that has left memory, and a key with a
matching fingerprint is looked up in the whole log. Once there are more than `fingerprints` of them, readings
are refused with a ResourceError.

The law: `fresh` answers as a set of all keys of the log would (naive twin in the tests). `remember` is called
for rows that were appended, and only for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.keys import column_of, identity_of, is_timed, key_columns, key_frame, prints_of
from nilometer.errors import ResourceError
from nilometer.ingest.manager.fingerprints import Fingerprints
from nilometer.kernels.bloom import Bloom
from nilometer.log import StreamLog
from nilometer.log.doubles import keys_in
from nilometer.log.segment import Damage
from nilometer.operators.logic import TICK
from nilometer.types import INT_MINIMUM

LIMIT = 1_000_000
"""How many keys stay in memory: some tens of megabytes."""

FINGERPRINTS = 1 << 27
"""How many fingerprints of keys without the time are kept: one gigabyte."""

FILTER = 29
"""The Bloom filter of older keys has two to the power of this many bits."""

SPANS = 16
"""Old keys are looked up in at most so many spans of time."""

_ROW = "@row"


@dataclass(frozen=True)
class _Chunk:
    keys: pl.DataFrame
    first: int
    last: int


class SeenKeys:
    """The keys of one stream's log. `limit` is soft: memory holds up to twice as many keys before the older
    half is dropped."""

    def __init__(
        self,
        stream: Stream,
        columns: Sequence[str],
        log: StreamLog,
        limit: int = LIMIT,
        fingerprints: int = FINGERPRINTS,
        filter_bits: int = FILTER,
    ) -> None:
        self.columns = list(columns)
        self.limit = limit
        self.floor = INT_MINIMUM
        self.looked_up = 0
        self._stream = stream
        self._log = log
        self._timed = is_timed(columns)
        self._kept = list(dict.fromkeys((TICK, *columns)))
        self._most_fingerprints = fingerprints
        self._fingerprints = Fingerprints()
        self._filter_bits = filter_bits
        self._older: Bloom | None = None
        self.scans = 0
        """How often the log was read."""
        # The keys are kept in chunks, so that adding a batch does not copy all of them.
        self._chunks: list[_Chunk] = []
        self._size = 0
        self._load()

    def __len__(self) -> int:
        """The number of keys in memory."""
        return self._size

    def fresh(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows whose key is not in the log, in their order; of rows with the same key, the first."""
        if not rows.height:
            return rows
        if len(self._fingerprints) > self._most_fingerprints:
            raise self._too_many()
        keys = self.keys_of(rows).with_row_index(_ROW)
        fresh = keys.unique(self.columns, keep="first", maintain_order=True)
        fresh = self._without(fresh, self._near(fresh))
        old = self._suspects(fresh)
        if old.height:
            found = self._in_log(old)
            fresh = self._without(fresh, [found])
        return rows if fresh.height == rows.height else rows[fresh.get_column(_ROW)]

    def remember(self, rows: pl.DataFrame) -> None:
        """Add the keys of rows that were appended to the log."""
        self._remember(self.keys_of(rows))

    def _remember(self, keys: pl.DataFrame) -> None:
        if self.floor != INT_MINIMUM and self._timed:
            if self._older is not None:
                older = keys.filter(pl.col(TICK) < self.floor)
                self._older.add(prints_of(older.select(self.columns)))
            keys = keys.filter(pl.col(TICK) >= self.floor)
        if not keys.height:
            return
        self._add(keys)
        if self._size > 2 * self.limit:
            self._forget()

    def _add(self, keys: pl.DataFrame) -> None:
        first, last = _span(keys)
        self._size += keys.height
        if self._chunks and self._chunks[-1].keys.height + keys.height <= max(1_024, self.limit // 64):
            old = self._chunks.pop()
            keys, first, last = pl.concat([old.keys, keys]), min(first, old.first), max(last, old.last)
        self._chunks.append(_Chunk(keys, first, last))

    def keys_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The key columns and the tick of each reading."""
        return key_frame(self._stream, rows).select(self._kept)

    # ---- in memory -----------------------------------------------------------------------------------------------------

    def _near(self, keys: pl.DataFrame) -> list[pl.DataFrame]:
        if not self._timed:
            return [chunk.keys for chunk in self._chunks]
        first, last = _span(keys)
        return [
            chunk.keys.filter(pl.col(TICK).is_between(first, last))
            for chunk in self._chunks
            if chunk.first <= last and first <= chunk.last
        ]

    def _without(self, keys: pl.DataFrame, known: list[pl.DataFrame]) -> pl.DataFrame:
        for some in known:
            if some.height and keys.height:
                keys = keys.join(some, on=self.columns, how="anti", nulls_equal=True, maintain_order="left")
        return keys

    def _forget(self) -> None:
        """Keep the newest keys: by tick if the key contains it, otherwise by arrival."""
        keys = pl.concat([chunk.keys for chunk in self._chunks])
        if self._timed:
            ticks = keys.get_column(TICK)
            floor = ticks.top_k(self.limit).min()
            assert isinstance(floor, int)
            # More keys than the limit may remain, since several share the floor's tick. If all do, none is
            # dropped.
            kept = keys.filter(pl.col(TICK) >= floor)
            if self._older is not None:
                self._older.add(prints_of(keys.filter(pl.col(TICK) < floor).select(self.columns)))
            self.floor = max(self.floor, floor)
        else:
            kept = keys[-self.limit :]
            self._fingerprints.add(prints_of(keys[: -self.limit].select(self.columns)))
        self._chunks, self._size = [], 0
        self._add(kept)

    # ---- in the log ----------------------------------------------------------------------------------------------------

    def _suspects(self, keys: pl.DataFrame) -> pl.DataFrame:
        """The keys that the log may hold although they are not in memory."""
        nothing_is_older = self._timed and self.floor == INT_MINIMUM
        if not keys.height or nothing_is_older or not self._log.exists:
            return keys.clear()
        if self._timed:
            old = keys.filter(pl.col(TICK) < self.floor)
            if not old.height:
                return old
            return old.filter(pl.Series(self._filter().has(prints_of(old.select(self.columns)))))
        if not len(self._fingerprints):
            return keys.clear()
        return keys.filter(pl.Series(self._fingerprints.has(prints_of(keys.select(self.columns)))))

    def _in_log(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Those of the keys that the log holds."""
        self.looked_up += keys.height
        self._log.writer.written()
        wanted = keys.select(self.columns)
        found = [
            known.select(self._kept).join(wanted, on=self.columns, how="semi", nulls_equal=True)
            for span in (_spans(keys) if self._timed else [None])
            for known in self._scan(span)
        ]
        return pl.concat(found) if found else keys.select(self._kept).clear()

    def _filter(self) -> Bloom:
        """The filter of all keys below the floor."""
        if self._older is None:
            self._log.writer.written()
            self._older = Bloom(self._filter_bits)
            for known in self._scan((INT_MINIMUM, self.floor)):
                older = known.filter(pl.col(TICK) < self.floor)
                self._older.add(prints_of(older.select(self.columns)))
        return self._older

    def _scan(self, ticks: tuple[int, int | None] | None = None) -> Iterator[pl.DataFrame]:
        """The keys of the log's rows; only of rows in the range of ticks, if one is given."""
        self.scans += 1
        span = None
        if ticks is not None:
            span = (ticks[0], None if ticks[1] is None else ticks[1] + (self._stream.every or 1))
        return keys_in(self._log, self._stream, self.columns, span, on_damage=_passed_over)

    def _too_many(self) -> ResourceError:
        key = ", ".join(self._stream.key)
        return ResourceError(
            f"the KEY ({key}) of '{self._stream.name}' has more than {self._most_fingerprints} values, all of which must be remembered",
            detail="a key without the time may come back after any while",
            hint=f"declare KEY ({key}, time), or trim the log (nilometer log trim) and start again",
        )

    def _load(self) -> None:
        """Load the newest keys from the log. Any floor is correct, because every key from it on is loaded,
        wherever it stands in the log."""
        if not self._log.exists:
            return
        end = self._log.end.position
        if self._timed and end - self._log.start.position > self.limit:
            time = column_of(self._stream, "time")
            tail = pl.concat(list(self._log.scan(end - self.limit, [time], on_damage=_passed_over)))
            median = tail.get_column(time).quantile(0.5, "lower")
            every = self._stream.every or 1
            self.floor = INT_MINIMUM if median is None else int(median) // every * every
        whole = self.floor == INT_MINIMUM
        for keys in self._scan(None if whole else (self.floor, None)):
            self._remember(keys.select(self._kept))


def _passed_over(_: Damage) -> None:
    """Damage in rows of long ago does not stop the stream: their readers report it."""


def key_of(stream: Stream) -> list[str]:
    """The columns that identify a reading; none for a pushed stream without a KEY."""
    return key_columns(stream, identity_of(stream))


def _spans(keys: pl.DataFrame) -> list[tuple[int, int]]:
    """The ticks of the keys in a few spans, divided at the widest gaps."""
    ticks = np.unique(keys.get_column(TICK).to_numpy())
    gaps = np.diff(ticks)
    cuts = np.sort(np.argsort(gaps)[::-1][: SPANS - 1]) + 1
    return [(int(part[0]), int(part[-1])) for part in np.split(ticks, cuts)]


def _span(keys: pl.DataFrame) -> tuple[int, int]:
    ticks = keys.get_column(TICK).to_numpy()
    return int(ticks.min()), int(ticks.max())
