"""CLUSTERS: a stream -> the cluster of each point, or windows of the clusters so far (CENTRES).

The state is at most MOST + 1 clusters:  bytes <= (MOST + 1) x 8 (4 + 2 numbers of a point, after PROJECT)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.clusters import width_of
from nilometer.kernels.micro_clusters import assign
from nilometer.kernels.projection import project
from nilometer.kernels.read_only import read_only
from nilometer.kernels.weighted_groups import group
from nilometer.mining.slot_windows import output_of
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require
from nilometer.operators.vectors import matrix_of
from nilometer.operators.waiting import Waiting
from nilometer.operators.window_scope import BEGINNING, Scope
from nilometer.types import Schema

_NAMES = ("numbers", "weights", "squares", "times")


class ClusterSpec(Protocol):
    """What both forms have in common."""

    @property
    def call(self) -> FunctionCall: ...
    @property
    def input(self) -> Schema: ...
    @property
    def schema(self) -> Schema: ...


@dataclass(frozen=True)
class Clusters:
    """The cluster of each point."""

    call: FunctionCall
    input: Schema

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> ClustersLogic:
        return ClustersLogic(self)


@dataclass(frozen=True)
class ClusterCentres:
    """The clusters so far, at each evaluation."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        require(isinstance(self.call.window, Frame), "CENTRES without evaluations")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> ClusterCentresLogic:
        return ClusterCentresLogic(self)


class MicroClusters:
    """The clusters, and the points that wait."""

    def __init__(self, spec: ClusterSpec) -> None:
        call = spec.call
        radius, half_life, most = call["RADIUS"], call["HALF LIFE"], call["MOST"]
        assert isinstance(radius, float)
        assert isinstance(most, int)
        self._radius, self._most = radius, most
        self._half_life = half_life if isinstance(half_life, int) else 0
        self._columns = list(call.columns)
        self._width = width_of(call, spec.input)
        to = call["PROJECT"]
        self._project = to if isinstance(to, int) else None
        id_dtype = frames.dtype(call.id_type.plain)
        tags: frames.Dtypes = {TICK: pl.Int64(), TIME: pl.Int64(), ID: id_dtype, POSITION: pl.Int64()}
        types = {name: spec.input[name].type.plain for name in self._columns}
        self._vectors = [name for name, type_ in types.items() if type_.size is not None]
        kept = {
            name: frames.dtype(type_) if name in self._vectors else pl.Float64()
            for name, type_ in types.items()
        }
        self._waiting = Waiting(tags | kept, gate=TIME)
        self._room(0)
        self.count, self._next = 0, 0

    def _room(self, clusters: int) -> None:
        width = self._project or self._width
        self.numbers, self.times = np.zeros(clusters, np.int64), np.zeros(clusters, np.int64)
        self.weights, self.squares = np.zeros(clusters), np.zeros(clusters)
        self.sums, self.centres = np.zeros((clusters, width)), np.zeros((clusters, width))

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        values = [pl.col(name).cast(pl.Float64) for name in self._columns if name not in self._vectors]
        known = [value.is_not_null() & value.is_finite() for value in values]
        known += [pl.col(name).is_not_null() for name in [*self._vectors, ID]]
        self._waiting.add(rows.with_columns(values).filter(*known))

    def _points(self, rows: pl.DataFrame) -> np.ndarray:
        """The points of the rows, projected if that is wanted."""
        if self._vectors:
            parts = [
                matrix_of(rows[name])[0] if name in self._vectors else rows[name].to_numpy()[:, None]
                for name in self._columns
            ]
            points = np.ascontiguousarray(np.hstack(parts), dtype=np.float64)
        else:
            points = np.ascontiguousarray(rows.select(self._columns).to_numpy())
        return points if self._project is None else project(points, self._project)

    @property
    def waiting(self) -> bool:
        """Whether points wait."""
        return len(self._waiting) > 0

    def take(self, watermark: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
        """The points before the watermark, with their clusters, distances, and whether they began them."""
        rows = stream_order(self._waiting.release(watermark), self._columns)
        chosen, distances = np.zeros(rows.height, np.int64), np.zeros(rows.height)
        fresh = np.zeros(rows.height, np.bool_)
        needed = min(self.count + rows.height, self._most) + 1
        if needed > len(self.numbers):
            old = (self.numbers, self.times, self.weights, self.squares, self.sums, self.centres)
            self._room(min(max(2 * needed, 64), self._most + 1))
            new = (self.numbers, self.times, self.weights, self.squares, self.sums, self.centres)
            for before, after in zip(old, new, strict=True):
                after[: len(before)] = before
        if rows.height:
            points = self._points(rows)
            self.count, self._next = assign(
                read_only(points), read_only(rows[TIME].to_numpy()), self._radius, float(self._half_life), self._most, self.count, self._next,
                self.numbers, self.weights, self.sums, self.squares, self.times, self.centres,
                chosen, distances, fresh,
            )  # fmt: skip
        return rows, chosen, distances, fresh

    def faded(self, time: int) -> np.ndarray:
        """The weight of each cluster at that time."""
        weights = self.weights[: self.count]
        if not self._half_life:
            return weights.copy()
        ages = np.maximum(time - self.times[: self.count], 0)
        return np.asarray(weights * np.exp(-np.log(2.0) * (ages / self._half_life)))

    @property
    def radii(self) -> np.ndarray:
        """The radius of each cluster."""
        weights = self.weights[: self.count, None]
        centres = self.sums[: self.count] / weights
        spread = self.squares[: self.count] / weights[:, 0] - (centres * centres).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0)))

    def snapshot(self) -> dict[str, bytes]:
        """Returns the state as panes."""
        own = {name: getattr(self, name)[: self.count] for name in _NAMES}
        sums = {f"sum {n}": self.sums[: self.count, n] for n in range(self.sums.shape[1])}
        meta = {"clusters": json.dumps({"next": self._next}).encode()}
        return self._waiting.snapshot("waiting") | {"sums": frames.to_bytes(pl.DataFrame(own | sums))} | meta

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self._waiting.restore("waiting", panes)
        self._next = json.loads(panes["clusters"])["next"]
        saved = frames.from_bytes(panes["sums"])
        self.count = saved.height
        self._room(self.count + 1)
        for name in _NAMES:
            getattr(self, name)[: self.count] = saved[name].to_numpy()
        for column in range(self.sums.shape[1]):
            self.sums[: self.count, column] = saved[f"sum {column}"].to_numpy()
        self.centres[: self.count] = self.sums[: self.count] / self.weights[: self.count, None]


class ClustersLogic:
    """The clusters."""

    def __init__(self, spec: Clusters) -> None:
        self._clusters = MicroClusters(spec)
        self._names = spec.schema.names
        self._output = frames.stream_dtypes(spec.schema, spec.call.id_type.plain)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._clusters.add(rows)

    @operator("CLUSTERS")
    def advance(self, progress: Progress) -> Output:
        rows, chosen, distances, fresh = self._clusters.take(progress.watermark)
        if not rows.height:
            return Output(frames.empty(self._output), no_evaluations())
        time, id_, cluster, distance, new = self._names
        shown = rows.select(
            pl.col(TIME).alias(TICK), TIME, ID, pl.lit(None, dtype=pl.Int64).alias(POSITION),
            pl.col(TIME).alias(time), pl.col(ID).alias(id_),
            pl.Series(cluster, chosen), pl.Series(distance, distances), pl.Series(new, fresh),
        )  # fmt: skip
        return Output(frames.conform(shown, self._output), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return self._clusters.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        self._clusters.restore(panes)


class ClusterCentresLogic:
    """The clusters, and how far evaluations have come."""

    def __init__(self, spec: ClusterCentres) -> None:
        frame = spec.call.window
        assert isinstance(frame, Frame)
        self._scope = Scope(None, 0, frame.slide, False)
        self._clusters = MicroClusters(spec)
        groups = spec.call["GROUPS"]
        self._groups = groups if isinstance(groups, int) else None
        self._names = spec.schema.names
        self._output = frames.window_dtypes(spec.schema)
        self._since = BEGINNING

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._clusters.add(rows)

    @operator("CLUSTER_CENTRES")
    def advance(self, progress: Progress) -> Output:
        none = np.empty(0, dtype=np.int64)
        ticks = self._scope.evaluations(progress.first_tick, self._since, progress.watermark, none)
        self._since = max(self._since, progress.watermark)
        parts = []
        for tick in ticks.tolist():
            if self._clusters.waiting:
                self._clusters.take(tick + 1)
            parts.append((tick, self._rows(tick)))
        return output_of(parts, self._output)

    def _rows(self, tick: int) -> pl.DataFrame:
        own, count = self._clusters, self._clusters.count
        centres = (
            pl.Series(own.centres[:count].copy()).arr.to_list()
            if count
            else pl.Series([], dtype=pl.List(pl.Float64))
        )
        weights = own.faded(tick)
        columns = [pl.Series(own.numbers[:count].copy()), pl.Series(weights), centres, pl.Series(own.radii)]
        if self._groups is not None:
            columns.append(pl.Series(group(own.centres[:count], weights, self._groups)))
        return pl.DataFrame([column.alias(name) for column, name in zip(columns, self._names, strict=True)])

    def snapshot(self) -> dict[str, bytes]:
        return self._clusters.snapshot() | {"meta": json.dumps({"since": self._since}).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._clusters.restore(panes)
        self._since = json.loads(panes["meta"])["since"]
