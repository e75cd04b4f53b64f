"""The source of a pipeline's rounds as Spark drives it, without a JVM (spark/shared/round_source.py)."""

from __future__ import annotations

import threading
from pathlib import Path

import polars as pl

import nilometer
from nilometer.dataflow.part import frame_of
from nilometer.log import LogDirectory
from nilometer.plan import physical
from nilometer.spark.shared.changes import ChangeWriter, Join, Member
from nilometer.spark.shared.hand_over import Taker
from nilometer.spark.shared.round_source import RoundStreamReader
from nilometer.spark.shared.round_work import take_result

PATIENCE = 60.0


def test_a_run_may_begin_before_the_first_reading(tmp_path: Path) -> None:
    """Spark begins with a micro-batch from the first offset to the latest one, even if these are equal."""
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (id INT, v INT) PUSHED;")
    database = nilometer.connect(tmp_path)
    query = database.sql("SELECT id, v FROM air WHERE v > 1").standing()
    streams = physical.streams_of(query.physical)
    log = LogDirectory(tmp_path).log(streams["air"])
    folder = tmp_path / "run"
    folder.mkdir()
    taker, rounds = Taker(folder), []

    def own() -> None:
        while (given := taker.next()) is not None:
            rounds.append(take_result(folder, given.number, given.tasks))
            taker.taken()

    owner = threading.Thread(target=own)
    owner.start()
    try:
        offsets = {"air": log.start}
        ChangeWriter(folder).add(
            Join(1, streams, (Member("q", query.physical, {"air": ()}),), offsets, offsets)
        )
        options = {
            "place": str(tmp_path),
            "folder": str(folder),
            "max_rows": "10",
            "parts": "1",
            "task_rows": "",
            "trigger": "0",
        }
        reader = RoundStreamReader(options)
        start = reader.initialOffset()
        latest = reader.latestOffset(start)
        assert latest == start
        assert reader.partitions(start, latest) == []

        rows = pl.DataFrame({"time": [1, 2], "id": [7, 7], "v": [1, 5]})
        log.append(rows.select(list(log.columns)))
        following = reader.latestOffset(latest)
        assert following != latest
        assert reader.partitions(latest, following) == []  # it was run where it was planned
    finally:
        taker.end()
        owner.join(PATIENCE)
    assert not owner.is_alive()
    found = [frame_of(rows)["v"].to_list() for each in rounds for rows in each.answers.get("q", ())]
    assert [values for values in found if values] == [[5]]
