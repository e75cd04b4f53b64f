"""A W-join whose third stream falls silent: its heartbeats let the others expire, on the gateway and in a live Fjord, in every form;
without them nothing may be forgotten, for the silent stream could still bring a partner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.dataflow.graph import Graph
from nilometer.engine.data import frame_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.operators.frames import from_bytes
from nilometer.plan import physical

SECOND = 1_000_000
WIDTH, SECONDS, SPEAKS = 2, 36, 6
"""Windows of 2 s between a and b, b and c: a tuple of a is of use for 4 s. c speaks for the first 6 s of 36."""
HELD = 3 * 2 * WIDTH + 3 * 2
"""Three tuples a second at most, within 4 s, and what the rounds of two seconds bring."""

CONDITIONS = {
    physical.HwJoin: "a.k = b.k AND b.k = c.k",
    physical.MwJoin: "abs(a.k - b.k) <= 1 AND b.k = c.k",
    physical.NlwJoin: "a.k + b.k = c.k",
}


@pytest.fixture(scope="module")
def database() -> nilometer.Database:
    found = nilometer.connect()
    found.execute("".join(f"CREATE STREAM {name} (k INT) PUSHED;" for name in "abc"))
    return found


def plan(database: nilometer.Database, form: type[physical.WindowJoin]) -> physical.Node:
    """The question in this form: nested loops are not what the planner would take for these windows."""
    question = (
        f"SELECT a.k AS a, b.k AS b, c.k AS c FROM a, b, c WINDOW(a, b) = {WIDTH} SECONDS AND WINDOW(b, c) = {WIDTH} SECONDS "
        f"WHERE {CONDITIONS[form]}"
    )
    chosen = database.sql(question).physical

    def changed(node: physical.Node) -> physical.Node:
        inputs = tuple(map(changed, node.inputs))
        if isinstance(node, physical.WindowJoin):
            return form(inputs, node.bounds, node.keys, node.predicate)
        return node.with_inputs(inputs)

    return changed(chosen)


def script(database: nilometer.Database, *, beats: bool) -> Iterator[tuple[str, Entry]]:
    """A reading of each stream every second; after 6 s those of c are heartbeats, or nothing."""
    for second in range(SECONDS):
        for name in "abc":
            if name == "c" and second >= SPEAKS:
                if beats:
                    yield name, Heartbeat(second * SECOND)
                continue
            row: dict[str, Any] = {"time": second * SECOND, "id": 1, "k": second % 3}
            yield name, Batch(frame_of([row], database.catalog.stream(name)))


def held(panes: dict[str, dict[str, bytes]]) -> int:
    """Tuples in the join's state."""
    return sum(
        from_bytes(data).height
        for stage in panes.values()
        for name, data in stage.items()
        if name.startswith(("kept", "fresh"))
    )


def on_gateway(
    database: nilometer.Database, plan: physical.Node, *, beats: bool
) -> tuple[list[int], list[Any]]:
    """The most tuples held in each third of the run, and the answer."""
    streams: dict[str, list[Entry]] = {name: [] for name in "abc"}
    for name, entry in script(database, beats=beats):
        streams[name].append(entry)
    run = Run(plan, MemorySources(streams), 1, finished=False)
    sizes, rows = [], []
    while not run.over:
        rows += run.step().rows()
        sizes.append(held(run.snapshot()))
    return thirds(sizes), sorted(rows)


def in_a_fjord(
    database: nilometer.Database, plan: physical.Node, *, beats: bool
) -> tuple[list[int], list[Any]]:
    """The same, as entries come live."""
    graph = Graph(DatabaseSources(database, plan))
    graph.install("q", plan)
    sizes, frames = [], []
    for name, entry in script(database, beats=beats):
        graph.push(name, entry)
        graph.run()
        frames += graph.answers("q")
        sizes.append(held(graph.snapshot("q")))
    return thirds(sizes), sorted(pl.concat(frames).rows())


def thirds(sizes: list[int]) -> list[int]:
    part = len(sizes) // 3
    return [max(sizes[:part]), max(sizes[part : 2 * part]), max(sizes[2 * part :])]


def expected(form: type[physical.WindowJoin]) -> list[tuple[int, int, int]]:
    holds: Callable[[int, int, int], bool] = {
        physical.HwJoin: lambda a, b, c: a == b == c,
        physical.MwJoin: lambda a, b, c: abs(a - b) <= 1 and b == c,
        physical.NlwJoin: lambda a, b, c: a + b == c,
    }[form]
    return sorted(
        (a % 3, b % 3, c % 3)
        for a in range(SECONDS)
        for b in range(SECONDS)
        for c in range(SPEAKS)
        if abs(a - b) <= WIDTH and abs(b - c) <= WIDTH and holds(a % 3, b % 3, c % 3)
    )


@pytest.mark.parametrize("host", [on_gateway, in_a_fjord])
@pytest.mark.parametrize("form", CONDITIONS, ids=lambda form: form.operator)
def test_heartbeats_of_a_silent_stream_let_the_others_expire(
    host: Callable[..., tuple[list[int], list[Any]]],
    form: type[physical.WindowJoin],
    database: nilometer.Database,
) -> None:
    sizes, rows = host(database, plan(database, form), beats=True)
    assert rows == expected(form)
    assert max(sizes) <= HELD


def test_without_heartbeats_nothing_is_forgotten(database: nilometer.Database) -> None:
    """So the test above can fail."""
    sizes, rows = in_a_fjord(database, plan(database, physical.HwJoin), beats=False)
    assert rows == expected(physical.HwJoin)
    assert sizes[2] > 2 * HELD
