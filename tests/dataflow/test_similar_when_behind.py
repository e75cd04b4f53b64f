"""A query with SIMILAR that is behind answers in small rounds what it would have answered while it kept up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.dataflow import Batch
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.stages import Operator
from nilometer.engine.data import frame_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import ResourceError
from nilometer.operators.similar.similar import SimilarLogic
from nilometer.types import SECOND

READINGS, LIMIT = 6_000, 25_000


def rows() -> list[dict[str, Any]]:
    return [{"time": tick * SECOND // 2, "id": tick % 30, "v": 1.0} for tick in range(READINGS)]


def answer(form: str, size: int, limit: int = LIMIT) -> list[Any]:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (v FLOAT) PUSHED DELAY 1 SECOND")
    query = database.sql(f"SELECT * FROM SIMILAR(s, v{form}) [RANGE 10 SECONDS]")
    graph = Graph(DatabaseSources(database, query.physical))
    graph.install("q", query.physical)
    for start in graph._starts:
        for group in start.groups:
            for stage in group.flow.stages.values():
                if isinstance(stage.worker, Operator) and isinstance(stage.worker.logic, SimilarLogic):
                    logic = stage.worker.logic
                    logic._spec = replace(logic._spec, limit=limit)
    found: list[pl.DataFrame] = []
    readings = rows()
    for at in range(0, len(readings), size):
        graph.push("s", Batch(frame_of(readings[at : at + size], database.catalog.stream("s"))))
        if size < len(readings):
            graph.run()
            found += graph.answers("q")
    graph.run()
    found += graph.answers("q")
    return [row for frame in found for row in frame.rows()]


@pytest.mark.promise("similar")
@pytest.mark.parametrize("form", ["", " PAIRS"])
def test_being_behind_is_no_reason_to_fail(form: str) -> None:
    kept_up = answer(form, 100)
    assert len(kept_up) > READINGS - 50
    assert answer(form, READINGS) == kept_up


def test_what_no_round_can_hold_is_refused_with_the_number() -> None:
    with pytest.raises(ResourceError, match="would build"):
        answer("", READINGS, limit=100)
