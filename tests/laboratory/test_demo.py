"""The demo without its pace: it ends by itself, its books balance, its monitors follow the questions, its log can be asked again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nilometer.engine import connect
from nilometer.ingest.adapters.push import Pushes
from nilometer.laboratory.demo.field import QUESTIONS, SCHEMA, field_of, radio_of
from nilometer.laboratory.demo.run import run_demo
from nilometer.live.owner.owner import Owner
from nilometer.simulated.fields.generator import START
from nilometer.types import HOUR, MINUTE


def test_monitors_slow_down_speed_up_and_sleep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[float] = []
    figures = run_demo(seconds=8, sensors=24, seed=7, wait=waits.append, keep=tmp_path)
    shown = capsys.readouterr().out
    assert "the books balance" in shown
    assert figures["balanced"]
    assert figures["queries_balanced"]
    assert figures["ledger"]["garbled"]
    assert figures["ledger"]["duplicate"]
    assert figures["paces"]["every 10 minutes"] == figures["paces"]["every 1 minute"] == 24
    assert figures["paces"]["asleep"] + figures["paces"]["every 1 minute, filtered"] == 24
    # So few monitors are on a line in a plume, and it has no region that would reach another.
    silent = {title for title, rows in figures["answers"].items() if not rows}
    assert silent <= {"whom the smoke reaches within the hour"}
    asked = [line.split("  ", 1)[1] for line in shown.splitlines() if "monitors: " in line]
    assert asked[0] == "asked: overview; monitors: 24 every 10 minutes"
    assert asked[1].startswith(
        "asked: overview, smoke, silence, plumes, arrivals; monitors: 24 every 1 minute"
    )
    # What is left behind is a log like any other.
    (tmp_path / "schema.sql").write_text(SCHEMA)
    database = connect(tmp_path)
    count = next(iter(database.sql("SELECT COUNT(*) AS n FROM air [RANGE 1 DAY SLIDE 1 DAY]")))["n"]
    late = count - figures["ledger"]["appended"]
    assert late <= 0, "readings that the log does not have"


def test_the_demo_is_served_while_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its field and its questions are there for others to see, and the figures are those of the demo alone."""
    seen: dict[str, Any] = {}

    @contextmanager
    def watch(owner: Owner, pushes: Pushes) -> Iterator[None]:
        def look() -> None:
            seen["queries"] = seen.get("queries", set()) | set(owner.station.queries)
            seen["sensors"] = len(owner.station.database.catalog.sensors("air"))

        owner.watchers.append(look)
        yield

    alone = run_demo(seconds=4, sensors=16, seed=7, wait=lambda _: None)
    # With a dashboard the demo answers requests instead of sleeping, so it keeps its pace.
    beside = run_demo(seconds=4, sensors=16, seed=7, keep=tmp_path, dashboard=watch)
    capsys.readouterr()
    assert seen["sensors"] == 16
    assert {question.name for question in QUESTIONS} <= seen["queries"]
    for name in ("ledger", "answers", "paces", "demand_changes"):
        assert beside[name] == alone[name]
    # What is left behind can be asked: the answers are there, too.
    database = connect(tmp_path)
    assert {query.name for query in database.catalog.queries()} == {question.name for question in QUESTIONS}
    assert list(database.answers("smoke"))


def test_the_same_seed_is_the_same_demo(capsys: pytest.CaptureFixture[str]) -> None:
    first = run_demo(seconds=2, sensors=8, seed=3, wait=lambda _: None)
    again = run_demo(seconds=2, sensors=8, seed=3, wait=lambda _: None)
    capsys.readouterr()
    assert first | {"seconds": 0} == again | {"seconds": 0}


def test_the_radio_delivers_late_but_invents_nothing() -> None:
    quiet, loud = field_of(8, 5), field_of(8, 5)
    radio = radio_of(loud, 5)
    for field in (quiet, radio):
        field.begin(START)
    sent, _ = quiet.advance(START + 3 * HOUR)
    heard = []
    for minute in range(1, 181):
        heard.append(radio.advance(START + minute * MINUTE)[0])
    came = pl.concat(heard)
    sound = came.filter(pl.col("time").is_not_null())
    assert sound.join(sent, on=sent.columns, how="anti").height == 0
    assert 0 < came.height - sound.height < came.height // 100
    assert sound.is_duplicated().any()
    assert not sound["time"].is_sorted()
    assert sound.unique().height < sent.height


def test_the_script_leaves_one_question_to_the_end() -> None:
    assert all(0 <= question.begins < question.ends <= 1 for question in QUESTIONS)
    assert [question.name for question in QUESTIONS if question.ends == 1] == ["alarm"]
