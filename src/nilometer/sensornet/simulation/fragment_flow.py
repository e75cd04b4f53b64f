"""A fragment at all its sites of one depth, in progress: what came in -> what it gives, with the site of every row.

The gateway's dataflow does the work, so that a fragment means the same in the network as anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.intake import Intake, intake_stage, row_columns
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round
from nilometer.kernels.arrays import Integers
from nilometer.operators.logic import EVALUATION, TICK, Output
from nilometer.placement import Fragment
from nilometer.plan import physical
from nilometer.sensornet.simulation.site_rows import SITE, Arrivals, can_be_lifted, lifted, with_arrivals


class FragmentFlow:
    """The fragment at `sites` (numbers, ascending). Rows given and taken have the column SITE."""

    def __init__(self, fragment: Fragment, sites: Integers, extents: Extents) -> None:
        self.fragment = fragment
        self.sites = sites
        plan = with_arrivals(fragment.root)
        self._site: str | None = None
        if can_be_lifted(plan):
            plan, self._site = lifted(plan)
        self._flow = _CutFlow(plan, extents)
        self._completes = self._site is not None and _ungrouped(fragment.root)
        self.delivers = fragment.delivers

    def step(
        self,
        inputs: Sequence[Output],
        watermark: int,
        first_ticks: Mapping[str, int],
        admitted: Mapping[str, pl.DataFrame],
        *,
        first: bool,
    ) -> Output:
        """One step: what came in by each EXCHANGE (left to right), the readings of the sites, how far event time has come."""
        for (intake, site), given in zip(self._flow.intakes, inputs, strict=True):
            rows = given.rows if site in (None, SITE) else given.rows.rename({SITE: site})
            intake.receive(rows, given.evaluations)
        output = self._flow.step(Round(admitted, watermark, first_ticks, first))
        rows = output.rows
        if self._site is None:
            here = int(self.sites[0])
            return Output(rows.with_columns(pl.lit(here, pl.Int64).alias(SITE)), output.evaluations)
        if self._site != SITE:
            rows = rows.rename({self._site: SITE})
        if self._completes:
            rows = _completed(rows, output.evaluations, self.sites, self.fragment.root)
        return Output(rows, output.evaluations)


def _ungrouped(root: physical.Node) -> bool:
    node = root
    while isinstance(node, physical.Select | physical.Project | physical.Rename):
        node = node.input
    return isinstance(node, physical.AggregateInit) and not node.keys


def _completed(
    rows: pl.DataFrame, evaluations: pl.DataFrame, sites: Integers, root: physical.Node
) -> pl.DataFrame:
    """A partial result of every site in every evaluation: that of no rows where a site had none (COUNT 0, else NULL), as a
    mote sends it."""
    if rows.height == evaluations.height * len(sites):
        return rows
    every = evaluations.join(pl.DataFrame({SITE: sites}), how="cross")
    whole = every.join(rows.drop(TICK), on=(EVALUATION, SITE), how="left", maintain_order="left")
    counts = [column.name for column in root.schema if column.name.endswith("#count")]
    return whole.with_columns(pl.col(counts).fill_null(0)).select(rows.columns)


class _CutFlow(Dataflow):
    """The gateway's stages of a fragment; `intakes` are where rows come in, left to right, each with the name of its column of
    sites, if it has one."""

    def __init__(self, plan: physical.Node, extents: Extents) -> None:
        self.intakes: list[tuple[Intake, str | None]] = []
        super().__init__(plan, extents)

    def lower(self, node: physical.Node) -> int:
        """An EXCHANGE is where rows come in; all else is the gateway's."""
        if not isinstance(node, physical.Exchange | Arrivals):
            return super().lower(node)
        columns = row_columns(node.input)
        intake = Intake(columns)
        self.intakes.append((intake, next((name for name in columns if name.endswith(SITE)), None)))
        self.stages.append(intake_stage(node, intake))
        return len(self.stages) - 1
