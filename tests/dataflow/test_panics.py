"""A panic of a library stops the query whose operator met it, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.exceptions import PanicException

import nilometer
from nilometer.dataflow import Batch
from nilometer.dataflow.graph import Graph
from nilometer.engine.data import frame_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import InternalError


def panic(*_: Any, **__: Any) -> Any:
    raise PanicException("called `Result::unwrap()` on an `Err` value: too many open files")


@pytest.mark.promise("panics")
@pytest.mark.parametrize("where", ["stage", "filter", "door"])
def test_a_panic_stops_one_query(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM a (n INT) PUSHED; CREATE STREAM b (n INT) PUSHED")
    victim = "SELECT n + 1 AS m FROM a" if where == "filter" else "SELECT COUNT(*) AS c FROM a [ROWS 1]"
    texts = {"victim": victim, "other": "SELECT n FROM b", "third": "SELECT SUM(n) AS s FROM b [ROWS 2]"}
    queries = {name: database.sql(text) for name, text in texts.items()}
    graph = Graph(DatabaseSources(database, queries["victim"].physical))
    for name, query in queries.items():
        graph.install(name, query.physical)
    (start,) = graph._starts
    if where == "door":
        monkeypatch.setattr(start.inlets["a"], "take", panic)
    elif where == "stage":
        (group,) = (group for group in start.groups if "victim" in group.roots)
        monkeypatch.setattr(group.flow.stages[0].worker, "step", panic)
    else:
        (group,) = (group for group in start.groups if "victim" in group.roots)
        work: Callable[..., Any] = group.roots["victim"].top.work  # type: ignore[union-attr]
        monkeypatch.setattr(type(work), "__call__", panic)
        del work
    for stream in ("a", "b"):
        rows = [{"time": tick, "id": 1, "n": tick} for tick in (1, 2, 3)]
        graph.push(stream, Batch(frame_of(rows, database.catalog.stream(stream))))
    graph.run()
    with pytest.raises(InternalError, match="PanicException: called"):
        graph.answers("victim")
    assert pl.concat(graph.answers("other")).rows() == [(1,), (2,), (3,)]
    assert pl.concat(graph.answers("third")).height
