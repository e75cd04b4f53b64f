"""A fragment of a plan in one of its buckets on Spark.

One `step` per micro-batch takes the fragment's input and the clock of the batch, and returns its output. The
state between two steps is `snapshot`; `restore` puts it into a fresh flow of the same fragment and bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from nilometer.dataflow.fragment_flow import FragmentFlow
from nilometer.dataflow.intake import row_columns
from nilometer.dataflow.lowering.partials import evaluated
from nilometer.dataflow.lowering.table_functions import spec_of
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Operator, Round, pick
from nilometer.errors import DataError, InternalError
from nilometer.expressions import Expression
from nilometer.operators.frames import (
    Dtypes,
    concatenate,
    dtypes,
    evaluations,
)
from nilometer.operators.logic import EVALUATION, EVALUATIONS_SCHEMA, TICK, Output, no_evaluations
from nilometer.operators.set_aside import Letter, collecting, derived
from nilometer.operators.similar.stripe_home import StripeHome
from nilometer.plan import physical
from nilometer.spark.layout.combining import combine, parted, partial_columns, sliding_over_partials
from nilometer.spark.layout.divide import divide
from nilometer.spark.layout.fragments import Fragment, Layout
from nilometer.spark.layout.joined_partials import (
    JoinComponents,
    MergedComponents,
    component_columns,
    joined,
)
from nilometer.spark.layout.nodes import AggregateCombine, JoinCombine
from nilometer.spark.layout.stripes import stripes_of
from nilometer.spark.layout.tick_order import in_tick_order
from nilometer.spark.layout.work import work_of
from nilometer.types import TIME, Column, Schema


@dataclass(frozen=True)
class Clock:
    """How far event time has come with a micro-batch: every tick below `watermark` is complete. Also, by the
    stream's lower-case name, its first tick, if it has one. The clock is the same for all fragments and
    buckets.
    """

    watermark: int
    first_ticks: Mapping[str, int] = field(default_factory=dict)


class BucketFlow:
    """A running fragment in one of its buckets. `passed` is the number of rows that the last step returned,
    before they were combined.
    """

    def __init__(self, fragment: Fragment, bucket: int, layout: Layout, extents: Extents) -> None:
        if not 0 <= bucket < fragment.buckets <= layout.buckets:
            raise InternalError(f"no bucket {bucket} of {fragment.buckets}")
        self.fragment = fragment
        self.passed = 0
        self.letters: list[Letter] = []
        self._plan = _own_sensors(fragment, bucket)
        self._flow = _CutFlow(self._plan, extents, fragment.buckets, bucket)
        if len(self._flow.intakes) != len(fragment.inputs):
            raise InternalError(f"{len(self._flow.intakes)} exchanges for {len(fragment.inputs)} inputs")

    def step(
        self,
        clock: Clock,
        inputs: Sequence[Output] = (),
        first: bool = False,
        admitted: Mapping[str, pl.DataFrame] | None = None,
        *,
        skips: type[DataError] | None = None,
    ) -> Output:
        """Process one micro-batch.

        Parameters
        ----------
        inputs
            The rows from each of `fragment.inputs`, from all of its buckets; evaluations that several of them
            listed count once. Left out: no input.
        first
            Whether this is the first step of the query in this bucket (for a reader: of this flow), when
            tables are read.
        admitted
            For a reader: the accepted tuples of its stream, by lower-case name, with their system columns.
        skips
            Rows without a value because of such an error are set aside (`letters`). Others are an error.
        """
        self._flow.receive([Output(given.rows, each_once(given.evaluations)) for given in inputs])
        now = Round(admitted or {}, clock.watermark, clock.first_ticks, first)
        if skips is not None:
            with collecting(skips) as letters:
                output = self._flow.step(now)
            self.letters = letters
        else:
            output = self._flow.step(now)
        combined = self._flow.combined
        self.passed = output.rows.height if combined is None else combined.rows
        if not self.fragment.told:
            return output
        ticks = None if combined is None else combined.ticks
        if ticks is None:
            ticks = output.rows.get_column(TICK).unique()
        return Output(output.rows, evaluations(ticks.sort()))

    @property
    def work(self) -> dict[str, int]:
        """What each operator has done so far (work.py)."""
        return work_of(self.fragment.number, self._flow, self._plan)

    @property
    def shed(self) -> dict[str, int]:
        """The readings that joins with bounded memory have shed so far, by stream."""
        return self._flow.shed

    def snapshot(self) -> dict[str, dict[str, bytes]]:
        """The panes of every stage of the dataflow, by its name."""
        return self._flow.snapshot()

    def restore(self, panes: dict[str, dict[str, bytes]]) -> None:
        """Go on from the state of a flow of the same fragment and bucket."""
        self._flow.restore(panes)


def columns_of(plan: physical.Node) -> Dtypes:
    """The columns of the rows that a fragment with this plan returns, system columns included."""
    if isinstance(plan, AggregateCombine):
        return partial_columns(parted(plan)[0])
    if isinstance(plan, JoinCombine):
        return component_columns(joined(plan).spec)
    if isinstance(plan, physical.Deliver):
        tick = (Column("tick", TIME),) if plan.tick else ()
        return dtypes(Schema((*tick, *plan.schema.columns)))
    return row_columns(plan)


def gathered(outputs: Sequence[Output], columns: Dtypes) -> Output:
    """The output of all buckets of a fragment in a step, as one output: all rows, and every evaluation once."""
    listed = concatenate(
        [output.evaluations for output in outputs], {EVALUATION: pl.Int64(), TICK: pl.Int64()}
    )
    return Output(concatenate([output.rows for output in outputs], columns), each_once(listed))


def each_once(evaluations: pl.DataFrame) -> pl.DataFrame:
    """Every evaluation once, in their order."""
    if not evaluations.height:
        return no_evaluations()
    return evaluations.select(*EVALUATIONS_SCHEMA).unique(EVALUATION).sort(EVALUATION)


def _own_sensors(fragment: Fragment, bucket: int) -> physical.Node:
    """The plan in which each SILENT (or other function that expects sensors) expects only the sensors whose
    tuples come to this bucket.
    """
    if fragment.buckets == 1 or not fragment.sensors:
        return fragment.plan
    remaining = iter(fragment.sensors)

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, physical.Exchange):
            return node
        if isinstance(node, physical.TableFunction) and node.call.function.sensors:
            sensors = _sensors_in(node, next(remaining), fragment.buckets, bucket)
            node = replace(node, call=replace(node.call, sensors=sensors))
        return node.with_inputs(tuple(change(child) for child in node.inputs))

    return change(fragment.plan)


def _sensors_in(
    node: physical.TableFunction, keys: tuple[Expression, ...], buckets: int, bucket: int
) -> frozenset[int | str]:
    source = f"{node.call.alias}.id"
    columns = columns_of(node)
    known = pl.Series(source, sorted(node.call.sensors, key=str), dtype=columns[source])
    rows = pl.DataFrame([pl.Series(name, [None] * len(known), dtype=kind) for name, kind in columns.items()])
    rows = rows.with_columns(known, known.alias("@id"))
    parts = dict(divide(rows, keys, buckets))
    return frozenset(parts[bucket].get_column(source)) if bucket in parts else frozenset()


@dataclass(frozen=True)
class _Combined:
    """The number of rows that were combined, and their ticks, if windows are evaluated at these."""

    rows: int
    ticks: pl.Series | None


class _CutFlow(FragmentFlow):
    """A fragment's stages in one bucket, with the operators that only a divided plan has."""

    def __init__(self, plan: physical.Node, sources: Extents, buckets: int, bucket: int) -> None:
        self._place = buckets, bucket
        self.combined: _Combined | None = None
        """The rows that the last step combined; None if it combines none."""
        super().__init__(plan, sources)

    def build(self, node: physical.Node) -> int:
        match node:
            case physical.Exchange():
                return self.cut(node, columns_of(node.input))
            case AggregateCombine():
                return self._lower_combine(node)
            case JoinCombine():
                found = joined(node)
                return self.add(node, Operator(JoinComponents(found.spec)), found.windows(self))
            case physical.Deliver() if self._place[0] > 1 and in_tick_order(node):
                names = {TICK: TICK} | ({"tick": TICK} if node.tick else {})
                names |= {name: name for name in node.schema.names}
                return self.fuse(self.lower(node.input), lambda rows: pick(rows, names))
            case physical.TableFunction() if self._place[0] > 1 and (striped := stripes_of(node)) is not None:
                # Divided by stripes: copies from other buckets are found here, but answer in their home
                # bucket.
                home = StripeHome(striped[0][1].width, *self._place)
                spec: Any = spec_of(node)
                return self.add_operator(node, replace(spec, home=home))
            case physical.AggregateEvaluate() if (exchange := _partials_received(node)) is not None:
                # The gateway would look through the exchange and compute the whole aggregate from the rows
                # below it.
                if isinstance(exchange.input, AggregateCombine):
                    spec, _ = parted(exchange.input)
                    return self.add(node, Operator(sliding_over_partials(spec)), (self.lower(exchange),))
                if isinstance(exchange.input, JoinCombine):
                    merged = MergedComponents(joined(exchange.input).spec)
                    return self.add(node, Operator(merged), (self.lower(exchange),))
                return self.fuse(self.lower(node.input), evaluated(node))
            case _:
                return super().build(node)

    def _lower_combine(self, node: AggregateCombine) -> int:
        spec, stream = parted(node)
        change = combine(spec)
        by_clock = spec.scope.period is not None

        def counted(rows: pl.DataFrame) -> pl.DataFrame:
            self.combined = _Combined(rows.height, None if by_clock else rows.get_column(TICK).unique())
            with derived():  # these rows count as passed
                return change(rows)

        return self.fuse(self.lower(stream), counted)


def _partials_received(node: physical.AggregateEvaluate) -> physical.Exchange | None:
    below = node.input
    while isinstance(below, physical.AggregateMerge):
        below = below.input
    return below if isinstance(below, physical.Exchange) else None
