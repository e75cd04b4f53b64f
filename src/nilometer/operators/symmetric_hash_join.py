"""A symmetric hash join of two streams with a cleaner (fjords.txt section 3.1.4): pairs of equal keys within a window.

    (l, r)  with  keys(l) = keys(r),  |time l - time r| <= width,  and the predicate

When tuples arrive they are hashed into their side's table, and the other side's table is probed: nothing waits, and a round
costs what is new in it, not what is kept. The answer is that of `WindowJoin` over two streams. The cleaner takes out what no
window can reach any more; with `most_rows` it also gives up the oldest within reach, and counts them in `shed`.

A table is a few runs, each in the order of (hash, time) and at least twice as long as the next, so that a tuple is moved a
logarithmic number of times and found by binary search.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.expressions import Expression, conjunction, type_of
from nilometer.kernels.candidates import expand_in_chunks
from nilometer.kernels.ranges import Integers
from nilometer.operators import frames
from nilometer.operators.evaluate import Evaluator, compile_expression, compile_predicate
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.operators.window_join import KeyPair, WindowJoin, conditions_of, is_local, reads_now
from nilometer.types import INT, INT_MINIMUM, Kind, Schema, Type

PAIRS_AT_ONCE = 1_000_000
HASHABLE = frozenset({Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.DURATION})

_HASH = "@hash"
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class SymmetricHashJoin:
    """Left (port 0) and right (port 1), within `width` of each other. `keys` are (left, right) expressions, at least one of
    them without NOW; `most_rows` bounds what both tables hold together."""

    left: Schema
    right: Schema
    width: int
    keys: tuple[tuple[Expression, Expression], ...]
    predicate: Expression | None = None
    id_type: Type = INT
    most_rows: int | None = None

    def __post_init__(self) -> None:
        _ = self.as_window_join
        require(self.most_rows is None or self.most_rows > 0, "a hash table without room for a row")
        require(bool(hashable(self.as_window_join.keys)), "a symmetric hash join without a key to hash")

    @property
    def as_window_join(self) -> WindowJoin:
        """The join that gives the same answer."""
        keys: tuple[KeyPair, ...] = tuple((0, left, 1, right) for left, right in self.keys)
        return WindowJoin((self.left, self.right), ((0, 1, self.width),), keys, self.predicate, self.id_type)

    @property
    def schema(self) -> Schema:
        """The left's columns and then the right's."""
        return self.left + self.right

    def build(self) -> SymmetricHashJoinLogic:
        return SymmetricHashJoinLogic(self)


def hashable(keys: Sequence[KeyPair]) -> list[KeyPair]:
    """The keys that can be hashed when a tuple arrives: NOW is known only with the pair."""
    return [
        pair
        for pair in keys
        if not reads_now(pair) and type_of(pair[1]).kind in HASHABLE and type_of(pair[1]) == type_of(pair[3])
    ]


def _sides(keys: Sequence[KeyPair]) -> tuple[list[Evaluator], list[Evaluator]]:
    return [compile_expression(pair[1]) for pair in keys], [compile_expression(pair[3]) for pair in keys]


class SymmetricHashJoinLogic:
    """A table for each side, and the tuples that came since the last round."""

    def __init__(self, spec: SymmetricHashJoin) -> None:
        join = spec.as_window_join
        self.shed = 0
        self._width = spec.width
        self._most = spec.most_rows
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._inputs: list[frames.Dtypes] = [{TIME: pl.Int64()} | frames.dtypes(one) for one in join.streams]
        self._names = [list(schema.names) for schema in join.streams]
        conditions = conditions_of(join)
        local = [tuple(c for c in conditions if is_local(c, schema)) for schema in join.streams]
        self._filters = [compile_predicate(conjunction(parts)) for parts in local]
        # What is hashed is compared as well: two keys may have one hash, and some keys have none.
        equal = [pair for pair in join.keys if not reads_now(pair)]
        self._keys = _sides(equal)
        self._hashed = _sides(hashable(join.keys))
        self._condition = compile_predicate(
            conjunction([c for c in conditions if not any(c in parts for parts in local)])
        )
        self._tables = [_Table(columns) for columns in self._inputs]
        self._fresh: list[list[pl.DataFrame]] = [[], []]

    def update(self, port: int, rows: pl.DataFrame) -> None:
        fit = self._filters[port](frames.conform(rows, self._inputs[port]))
        if fit.height:
            self._fresh[port].append(fit)

    def advance(self, progress: Progress) -> Output:
        results = []
        for port in (0, 1):
            fresh = frames.concatenate(self._fresh[port], self._inputs[port])
            if not fresh.height:
                continue
            run = _hashed(fresh, self._hashed[port])
            for owners, found in self._tables[1 - port].matches(run, self._width):
                pair = run.rows[owners], found
                results.append(self._results(*(pair if port == 0 else pair[::-1])))
            self._tables[port].insert(run)
        self._fresh = [[], []]
        self._clean(progress.watermark)
        return Output(frames.concatenate(results, self._columns), no_evaluations())

    def _results(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """Of pairs of rows those that have equal keys and satisfy the condition."""
        sides = [left, right]
        holds = np.ones(left.height, dtype=np.bool_)
        for one, other in zip(*self._keys, strict=True):
            mine, theirs = one(sides[0]), other(sides[1])
            holds &= (mine == theirs.cast(mine.dtype)).fill_null(False).to_numpy()
        if not holds.all():
            mask = pl.Series(holds)
            sides = [side.filter(mask) for side in sides]
        time = pl.Series(TIME, np.maximum(sides[0][TIME].to_numpy(), sides[1][TIME].to_numpy()))
        parts = [
            column for side, names in zip(sides, self._names, strict=True) for column in side.select(names)
        ]
        rows = self._condition(pl.DataFrame([time.alias(TICK), time, *parts]))
        return rows.with_columns(
            pl.lit(None, dtype=self._columns[ID]).alias(ID), pl.lit(None, dtype=pl.Int64).alias(POSITION)
        ).select(*self._columns)

    def _clean(self, watermark: int) -> None:
        """Section 3.1.4's cleaner: first what is out of reach, then, if memory is declared, the oldest."""
        for table in self._tables:
            table.forget(max(watermark - self._width, INT_MINIMUM))
        if self._most is None or sum(table.height for table in self._tables) <= self._most:
            return
        horizon = max(watermark - self._width, INT_MINIMUM)
        times = np.concatenate([table.times() for table in self._tables])
        times = np.sort(times[times >= horizon])  # what is out of reach is no loss
        if len(times) > self._most:
            horizon = int(times[len(times) - self._most - 1]) + 1
            self.shed += int(np.searchsorted(times, horizon))
        for table in self._tables:
            table.forget(horizon, all_of_it=True)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        panes = {"numbers": json.dumps({"shed": self.shed}).encode()}
        for port, table in enumerate(self._tables):
            for number, run in enumerate(table.runs):
                panes[f"table{port} {number:02d}"] = frames.to_bytes(run.rows)
            panes[f"fresh{port}"] = frames.to_bytes(frames.concatenate(self._fresh[port], self._inputs[port]))
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        self.shed = json.loads(panes["numbers"])["shed"]
        for port, table in enumerate(self._tables):
            kept = sorted(name for name in panes if name.startswith(f"table{port} "))
            table.runs = [_hashed(frames.from_bytes(panes[name]), self._hashed[port]) for name in kept]
            fresh = frames.from_bytes(panes[f"fresh{port}"])
            self._fresh[port] = [fresh] if fresh.height else []


class _Run:
    """Rows in the order of (hash, time); `composite` is that order in one number, for two binary searches per probe."""

    def __init__(self, rows: pl.DataFrame, hashes: Hashes) -> None:
        times = rows[TIME].to_numpy()
        order = np.lexsort((times, hashes))
        self.rows = rows[order]
        self.hashes: Hashes = hashes[order]
        self.times: Integers = times[order]
        self._distinct, codes = np.unique(self.hashes, return_inverse=True)
        self._instants, ranks = np.unique(self.times, return_inverse=True)
        self._step = len(self._instants) + 1
        self._composite = codes * self._step + ranks

    def probe(self, hashes: Hashes, low: Integers, high: Integers) -> tuple[Integers, Integers]:
        """Per probe the range of rows with that hash and low <= time <= high."""
        codes = np.searchsorted(self._distinct, hashes)
        known = codes < len(self._distinct)
        known[known] = self._distinct[codes[known]] == hashes[known]
        base = codes * self._step
        starts = np.searchsorted(self._composite, base + np.searchsorted(self._instants, low, side="left"))
        ends = np.searchsorted(self._composite, base + np.searchsorted(self._instants, high, side="right"))
        return starts.astype(np.int64), np.where(known, ends, starts).astype(np.int64)


class _Table:
    """One side: runs, the longest first."""

    def __init__(self, columns: frames.Dtypes) -> None:
        self.runs: list[_Run] = []
        self._columns = columns

    @property
    def height(self) -> int:
        """Rows kept, some of them perhaps out of reach."""
        return sum(run.rows.height for run in self.runs)

    def times(self) -> Integers:
        """Of all rows."""
        return np.concatenate([np.empty(0, dtype=np.int64), *(run.times for run in self.runs)])

    def insert(self, run: _Run) -> None:
        """Add a run, and merge those that are not much longer than what comes after them."""
        self.runs.append(run)
        while len(self.runs) > 1 and self.runs[-2].rows.height < 2 * self.runs[-1].rows.height:
            last, before = self.runs.pop(), self.runs.pop()
            rows = pl.concat([before.rows, last.rows], rechunk=True)
            self.runs.append(_Run(rows, np.concatenate([before.hashes, last.hashes])))

    def matches(self, probes: _Run, width: int) -> Iterator[tuple[Integers, pl.DataFrame]]:
        """Probes and rows with the same hash within the width: the probes' numbers, and the rows beside them. Few from
        each run come together, for a frame has its price; never more than a chunk of each run."""
        numbers: list[Integers] = []
        found: list[pl.DataFrame] = []
        for run in self.runs:
            starts, ends = run.probe(probes.hashes, probes.times - width, probes.times + width)
            for owners, places in expand_in_chunks(starts, ends, PAIRS_AT_ONCE):
                numbers.append(owners)
                found.append(run.rows[places])
                if sum(map(len, numbers)) >= PAIRS_AT_ONCE:
                    yield np.concatenate(numbers), pl.concat(found)
                    numbers, found = [], []
        if found:
            yield np.concatenate(numbers), pl.concat(found)

    def forget(self, horizon: int, *, all_of_it: bool = False) -> None:
        """Take out what is older; unless `all_of_it`, a run stays as long as half of it is of use, for cleaning costs too."""
        kept = []
        for run in self.runs:
            old = int(np.count_nonzero(run.times < horizon))
            if old == len(run.times):
                continue
            if old > len(run.times) // 2 or (all_of_it and old):
                fit = run.times >= horizon
                run = _Run(run.rows.filter(pl.Series(fit)), run.hashes[fit])
            kept.append(run)
        self.runs = kept


def _hashed(rows: pl.DataFrame, keys: Sequence[Evaluator]) -> _Run:
    """Rows by the hash of their keys; a NULL matches nothing, so its row is not kept."""
    values = [key(rows) for key in keys]
    null = np.zeros(rows.height, dtype=np.bool_)
    hashes: Hashes = np.zeros(rows.height, dtype=np.uint64)
    for value in values:
        null |= value.is_null().to_numpy()
        if value.dtype == pl.Float64:
            value = value + 0.0  # so that -0.0 is 0.0
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + value.hash().to_numpy()
    if null.any():
        rows, hashes = rows.filter(pl.Series(~null)), hashes[~null]
    return _Run(rows, hashes)
