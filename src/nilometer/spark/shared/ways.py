"""Where the work of a pipeline is done: in the process in which Spark plans a round, or in tasks; whole, or divided by source.

A pipeline has a fixed number of *parts*. A query whose rows can be divided by their source is in all of them, and each part
answers for its own sources. Any other query is in one part, which sees all rows. With one part there are no tasks.

>>> home_of("hot", 4), home_of("hot", 1)
(2, 0)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import polars as pl

from nilometer.dataflow.group import fits
from nilometer.dataflow.pace import Pace
from nilometer.dataflow.pushed import Share
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.ticks import whole_stream
from nilometer.operators.logic import ID
from nilometer.operators.value_hashes import hashes_of_rows
from nilometer.plan import physical
from nilometer.spark.layout.division import UndividedError, divide_plan, leaves
from nilometer.spark.layout.rewriting import source_columns
from nilometer.spark.settings import SparkSettings
from nilometer.spark.shared.changes import Panes
from nilometer.spark.shared.way_costs import START_MILLISECONDS, break_even
from nilometer.types import INT_MINIMUM


@lru_cache(maxsize=10_000)
def why_whole(plan: physical.Node) -> str | None:
    """Why the rows of a plan are not divided by their source; None: they are."""
    if not isinstance(plan, physical.Deliver) or not plan.tick:
        return "its rows come in the order of arrival"
    if any(getattr(node, "memory", None) is not None for node in physical.walk_plan(plan)):
        return "its memory is bounded as a whole"
    try:
        division = divide_plan(plan)
    except UndividedError as error:
        return f"{error.node.operator} {error.reason}"
    if division.sensors or any(division.copying):
        return "it is not divided by equal keys of rows alone"
    for leaf, told in zip(leaves(plan), division.told, strict=True):
        if told and whole_stream(leaf) is None:
            return (
                "a window is evaluated at the ticks of the tuples that a condition or a calculation lets pass"
            )
    sources = [source_columns(leaf) for leaf in leaves(plan)]
    for keys in zip(*division.leaves, strict=True):
        if all(getattr(key, "name", None) in columns for key, columns in zip(keys, sources, strict=True)):
            return None
    return "its keys are not the sources"


def home_of(name: str, parts: int) -> int:
    """The part of a query that is not divided."""
    return zlib.crc32(name.lower().encode()) % parts


def share_of(part: int, parts: int) -> Share:
    """The tuples of a part: those whose source has a hash that falls to it."""

    def rows(all_of_them: pl.DataFrame) -> pl.DataFrame:
        if not all_of_them.height:
            return all_of_them
        hashes = hashes_of_rows([all_of_them.get_column(ID)])
        return all_of_them.filter(pl.Series(hashes % np.uint64(parts) == part))

    return Share(rows, part == 0)


# ---- the state of a divided query ------------------------------------------------------------------------------------


def of_part(panes: Panes, part: int, parts: int) -> dict[str, dict[str, bytes]]:
    """The state of one part of a divided query."""
    prefix = _prefix(part, parts)
    return {name.removeprefix(prefix): found for name, found in panes.items() if name.startswith(prefix)}


def as_part(panes: Panes, part: int, parts: int) -> dict[str, dict[str, bytes]]:
    """The state of one part, as a part of that of the whole query."""
    return {f"{_prefix(part, parts)}{name}": found for name, found in panes.items()}


def _prefix(part: int, parts: int) -> str:
    return f"part {part} of {parts}: "


def versions_met(panes: Panes) -> int:
    """From which tick on the last table version holds that a state, in all its parts, has met."""
    paces = [found for name, found in panes.items() if name == "waves" or name.endswith(": waves")]
    return min((Pace.held_from(found) for found in paces), default=INT_MINIMUM)


def state_fits(
    panes: Mapping[str, dict[str, bytes]], plan: physical.Node, extents: Extents, parts: int
) -> bool:
    """Whether a saved state is that of a plan in so many parts. If it is not, it is made again from the logs."""
    if parts == 1 or why_whole(plan) is not None:
        return fits(panes, plan, extents)
    own = [of_part(panes, part, parts) for part in range(parts)]
    return not panes or (all(own) and all(fits(one, plan, extents) for one in own))


# ---- EXPLAIN ---------------------------------------------------------------------------------------------------------


def ways_text(plan: physical.Node, settings: SparkSettings) -> list[str]:
    """How a standing query runs, for EXPLAIN."""
    parts = settings.part_count
    if parts == 1:
        return ["as a standing query: in a pipeline, not shuffled; run where Spark plans its rounds (1 part)"]
    why = why_whole(plan)
    how = "divided by source" if why is None else f"in one part, because {why}"
    return [
        f"as a standing query: in a pipeline of {parts} parts, not shuffled; {how}",
        f"  {_choice(settings)}",
    ]


def _choice(settings: SparkSettings) -> str:
    """Which rounds are run in tasks, and why."""
    if settings.task_rows is not None:
        return f"a round of {settings.task_rows:,} readings and more is run in tasks, others where Spark plans them (task_rows)"
    rows = round(break_even(settings.part_count), -3)
    return (
        f"a round is run in tasks if that is faster: {START_MILLISECONDS:.0f} ms to start them and the dearest part,"
        f" against all parts where Spark plans the round; at first from {rows:,} readings on, then by what rounds took"
    )
