"""The books of queries that are divided among the parts of a pipeline: those of all parts, after every round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from live.pipelines.in_process import RUNS, without_spark
from live.pipelines.test_pipelines import START, field
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.spark.shared.graph_flow import GraphFlow
from nilometer.spark.shared.round_work import _FLOWS
from nilometer.spark.shared.rounds import Round, RoundResult
from nilometer.types import MINUTE


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with without_spark(monkeypatch):
        yield


@pytest.mark.parametrize("few", [0, 2, 64])
def test_the_books_of_a_divided_query_are_those_of_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """However many queries there are, and whichever part has answers. With 2, one part has few queries, the other has many."""
    _FLOWS.clear()
    monkeypatch.setattr("nilometer.spark.shared.graph_flow.FEW", few)
    run, rows = GraphFlow.run, dict[int, int]()

    def counting(flow: GraphFlow, round_: Round) -> RoundResult:
        rows[round_.number] = round_.rows
        return run(flow, round_)

    monkeypatch.setattr(GraphFlow, "run", counting)
    database = field(tmp_path, ["means", "lately", "hot"])
    (tmp_path / "nilometer.toml").write_text("[spark]\nmax_rows = 7\nparts = 2\ntask_rows = 6\n")
    # Each sensor reports for some minutes, and then is silent: in most rounds only one part has answers.
    minutes = range(40)
    (tmp_path / "air").mkdir()
    (tmp_path / "rain").mkdir()
    frame = {
        "time": [START + minute * MINUTE for minute in minutes],
        "id": [minute // 5 for minute in minutes],
        "x": [1.0] * 40,
    }
    pl.DataFrame(frame).write_csv(tmp_path / "air" / "0.csv")
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for _ in range(40):
            station.step()
            RUNS[0].pump(1)
            station.step()
            for name in ("means", "lately"):
                found = station.queries[name].ledger
                assert found.read == sum(rows.values())
        assert station.queries["means"].ledger.read == 40
