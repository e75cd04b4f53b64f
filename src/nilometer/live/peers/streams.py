"""The streams that a query has from peers: the results of a join among gateways, and the selections of their streams."""

from __future__ import annotations

import hashlib

from nilometer.catalog import Stream, stream_columns
from nilometer.catalog.peer_streams import FUTURE, RESULTS, SELECTED
from nilometer.overlay.join_plan import JoinPlan
from nilometer.plan import physical
from nilometer.types import INT, MINUTE, Column


def results_stream(query: str, node: physical.WindowJoin, plan: JoinPlan, slack: int) -> Stream:
    """The stream of a join's results. Its KEY are the positions of the members: a result that peers send twice is one.

    Results come in no order: an evaluation above them waits as long as a member, or a result, may be late.
    """
    leaves = [leaf for leaf in node.streams if isinstance(leaf, physical.SpAcquire)]
    positions = tuple(Column(f"p{at}", INT) for at in range(len(plan.inputs)))
    values = tuple(Column(f"c{at}", column.type.plain, column.unit) for at, column in enumerate(node.schema))
    return Stream(
        f"overlay_{query}",
        stream_columns(positions + values, INT),
        url=f"{RESULTS}{query}",
        delay=max(leaf.stream.delay for leaf in leaves) + plan.reach + slack + MINUTE,
        key=tuple(column.name for column in positions),
        future=FUTURE,
    )


def selection_stream(leaf: physical.SpAcquire, selection: str) -> Stream:
    """The rows of another gateway's stream that a leaf selects, with the columns that it reads. Queries with the same
    selection share it. Its sensors are not expected to say anything: their readings may not match."""
    stream = leaf.stream
    wanted = {column.name for column in leaf.columns + leaf.reads} | {"time", "id"}
    digest = hashlib.blake2b(f"{stream}\0{selection}".encode(), digest_size=6).hexdigest()
    return Stream(
        f"selected_{digest}",
        tuple(column for column in stream.columns if column.name in wanted or column.name.lower() in wanted),
        every=stream.every,
        url=f"{SELECTED}{stream.url}",
        delay=stream.delay,
        future=FUTURE,
        time_unit=stream.time_unit,
        id_declared=stream.id_declared,
        coordinates=stream.coordinates,
    )
