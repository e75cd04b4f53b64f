"""The Fjord over tables that are read anew while streams are pushed: its answers are the reference's."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from dataflow.judge import sources
from dataflow.test_table_versions import QUERIES, SEEDS, frame, plans, world
from nilometer.dataflow import Entry, MemorySources, TableVersion
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.sources import greatest_time
from nilometer.plan import physical
from nilometer.plan.reference import same_answer


def test_rows_meet_the_version_of_their_tick() -> None:
    found: Counter[str] = Counter()
    for seed in SEEDS:
        turn, number = divmod(seed, len(QUERIES))
        sql, here = QUERIES[number], world(seed)
        expected = here.judged(sql)
        found[sql] += len(expected)
        versions = [
            TableVersion(at, {name: frame(name, rows)}) for at, (name, rows) in sorted(here.versions.items())
        ]
        at_hand = sources(here.logs)
        at_hand = MemorySources(
            at_hand.streams, {name: frame(name, rows) for name, rows in here.first.items()}, at_hand.declared
        )
        given = pushed(plans(sql)[-1], at_hand, deque(versions), restored=turn % 2 == 0)
        difference = same_answer(expected, given)
        assert difference is None, f"{difference}\nseed {seed}: {sql}"
    assert set(+found) == set(QUERIES)  # or nothing has been tried


def pushed(
    plan: physical.Node, at_hand: MemorySources, versions: deque[TableVersion], restored: bool
) -> list[tuple[Any, ...]]:
    """Every entry after the versions that it meets; `restored`: the state moves into a fresh Fjord after each."""
    graph = Graph(at_hand)
    graph.install("q", plan)
    rows: list[tuple[Any, ...]] = []
    waiting = {
        name: deque[Entry](at_hand.entries(stream)) for name, stream in physical.streams_of(plan).items()
    }
    graph.run()
    while waiting:
        name = min(waiting, key=lambda stream: graph.stream_watermark("q", stream))
        if waiting[name]:
            entry = waiting[name].popleft()
            while versions and versions[0].holds_from <= greatest_time(entry):
                graph.refresh(versions.popleft(), start=None)
            graph.push(name, entry)
        else:
            del waiting[name]
            if not waiting:
                while versions:
                    graph.refresh(versions.popleft(), start=None)
            graph.end(name)
        graph.run()
        rows += [row for frame in graph.answers("q") for row in frame.rows()]
        if restored and waiting:
            panes = graph.snapshot("q")
            graph = Graph(at_hand)
            graph.install("q", plan)
            graph.restore("q", panes)
    rows += [row for frame in graph.answers("q") for row in frame.rows()]
    return rows
