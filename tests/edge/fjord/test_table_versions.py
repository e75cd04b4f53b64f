"""The Fjord over tables that are read anew while streams are pushed: its answers are the reference's."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from edge.gateway.judge import SENSORS, Logs, logs, sources
from edge.gateway.test_table_versions import QUERIES, RELAXED, bound, frame, later, plans, tables
from nilometer.edge.fjord import Fjord
from nilometer.edge.gateway import Entry, MemorySources, TableVersion
from nilometer.engine.live.stored_tables import greatest_time
from nilometer.plan import physical
from nilometer.plan.reference import Feed, evaluate, same_answer
from nilometer.plan.reference import TableVersion as ReferenceVersion


def test_rows_meet_the_version_of_their_tick() -> None:
    found = 0

    @RELAXED
    @given(st.sampled_from(QUERIES), logs, tables, later, st.booleans())
    def check(sql: str, logs: Logs, first: Any, versions: Any, restored: bool) -> None:
        nonlocal found
        feeds = {name: Feed(tuple(items)) for name, items in logs.items()}
        judged = [ReferenceVersion(at, {name: rows}) for at, (name, rows) in versions.items()]
        expected = evaluate(bound(sql), feeds, first, {"s": SENSORS}, versions=judged)
        found += len(expected.rows)
        given_versions = [
            TableVersion(at, {name: frame(name, rows)}) for at, (name, rows) in sorted(versions.items())
        ]
        at_hand = sources(logs)
        at_hand = MemorySources(
            at_hand.streams, {name: frame(name, rows) for name, rows in first.items()}, at_hand.declared
        )
        given = pushed(plans(sql)[-1], at_hand, deque(given_versions), restored)
        difference = same_answer(expected.rows, given)
        assert difference is None, f"{difference}\n{sql}"

    check()
    assert found > 20  # or nothing has been tried


def pushed(
    plan: physical.Node, at_hand: MemorySources, versions: deque[TableVersion], restored: bool
) -> list[tuple[Any, ...]]:
    """Every entry after the versions that it meets; `restored`: the state moves into a fresh Fjord after each."""
    fjord = Fjord(at_hand)
    fjord.install("q", plan)
    rows: list[tuple[Any, ...]] = []
    waiting = {
        name: deque[Entry](at_hand.entries(stream)) for name, stream in physical.streams_of(plan).items()
    }
    fjord.run()
    while waiting:
        name = min(waiting, key=lambda stream: fjord.stream_watermark("q", stream))
        if waiting[name]:
            entry = waiting[name].popleft()
            while versions and versions[0].holds_from <= greatest_time(entry):
                fjord.refresh(versions.popleft(), start=None)
            fjord.push(name, entry)
        else:
            del waiting[name]
            if not waiting:
                while versions:
                    fjord.refresh(versions.popleft(), start=None)
            fjord.end(name)
        fjord.run()
        rows += [row for frame in fjord.answers("q") for row in frame.rows()]
        if restored and waiting:
            panes = fjord.snapshot("q")
            fjord = Fjord(at_hand)
            fjord.install("q", plan)
            fjord.restore("q", panes)
    rows += [row for frame in fjord.answers("q") for row in frame.rows()]
    return rows
