"""A running fragment at all its sites of one depth: its input -> its output, with the site of every row.

The gateway's dataflow does the work, so a fragment has the same meaning in the network as anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from nilometer.dataflow.fragment_flow import FragmentFlow
from nilometer.dataflow.intake import row_columns
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round
from nilometer.kernels.arrays import Integers
from nilometer.operators.logic import EVALUATION, TICK, Output
from nilometer.placement import Fragment
from nilometer.plan import physical
from nilometer.sensornet.simulation.site_rows import SITE, Arrivals, can_be_lifted, lifted, with_arrivals


class SiteFlow:
    """The fragment at `sites` (numbers, ascending). Input and output rows have the column SITE."""

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
        """One step: takes the input of each EXCHANGE (left to right), the readings of the sites, and the
        progress of event time."""
        self._flow.receive(
            [
                given if site in (None, SITE) else Output(given.rows.rename({SITE: site}), given.evaluations)
                for site, given in zip(self._flow.sites, inputs, strict=True)
            ]
        )
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
    """Adds a partial result for every site in every evaluation. A site without rows gets that of no rows
    (COUNT 0, otherwise NULL), as a mote sends it."""
    if rows.height == evaluations.height * len(sites):
        return rows
    every = evaluations.join(pl.DataFrame({SITE: sites}), how="cross")
    whole = every.join(rows.drop(TICK), on=(EVALUATION, SITE), how="left", maintain_order="left")
    counts = [column.name for column in root.schema if column.name.endswith("#count")]
    return whole.with_columns(pl.col(counts).fill_null(0)).select(rows.columns)


class _CutFlow(FragmentFlow):
    """`sites` has, for each intake, the name of its column of sites, if it has one."""

    def __init__(self, plan: physical.Node, extents: Extents) -> None:
        self.sites: list[str | None] = []
        super().__init__(plan, extents)

    def build(self, node: physical.Node) -> int:
        if not isinstance(node, physical.Exchange | Arrivals):
            return super().build(node)
        columns = row_columns(node.input)
        self.sites.append(next((name for name in columns if name.endswith(SITE)), None))
        return self.cut(node, columns)
