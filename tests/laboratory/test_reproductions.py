"""The reproductions of the papers' figures: what is exact is asserted here, what is measured has its form checked."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from nilometer.errors import NilometerError
from nilometer.laboratory.baselines import WindowedRippleJoinSpec
from nilometer.laboratory.reproductions import PLOTS, REPRODUCTIONS, text
from nilometer.laboratory.reproductions.fjords import fjords, plans, traffic
from nilometer.laboratory.reproductions.fjords_served import Standing
from nilometer.laboratory.reproductions.snee_losses import snee_losses
from nilometer.laboratory.reproductions.snjoin_costs import ROWS, outer_mjoin, snjoin
from nilometer.laboratory.reproductions.steam import steam
from nilometer.laboratory.reproductions.steam_buffer import steam_buffer
from nilometer.laboratory.reproductions.verdict import Verdict


def test_fjords_power_is_as_the_paper_prints_it() -> None:
    result = REPRODUCTIONS["fjords-power"]()
    assert {name: figure["verdict"] for name, figure in result["figures"].items()} == {
        "Section 5.1, sample rate": "the same",
        "Section 5.2, power and lifetime at 180 Hz": "the same",
        "Fig. 11(a), raw samples": "the same shape",
        "Fig. 11(b), vehicle times": "the same shape",
        "Fig. 11(c), counts": "the same shape",
    }
    rows = {
        row["program"]: row for row in result["figures"]["Section 5.2, power and lifetime at 180 Hz"]["data"]
    }
    assert [f"{rows[name]['milliwatts']:.2g}" for name in rows] == ["13", "1.1", "0.38"]
    assert any("fitted" in assumption for assumption in result["assumptions"])


def test_steam_buffer_is_additive_when_shared() -> None:
    result = steam_buffer(rows=10, rounds=1)
    memory = result["figures"]["Section 5.2, memory"]
    assert memory["verdict"] == "the same"
    for row in memory["data"]:
        assert row["copied_batches"] == row["queries"] * row["streams"]
        assert row["shared_batches"] == row["streams"]
    assert result["figures"]["Section 5.2, service time"]["verdict"] in (
        "the same shape",
        "the same order",
        "missed",
    )


def test_steam_is_measured_and_drawn(tmp_path: Path) -> None:
    """Six joins of two, three and four streams: that they give the same N-tuples is checked there, and raises."""
    steps = count()
    picture = tmp_path / "steam.png"
    result = steam(900, 300, 300, 1, clock=lambda: float(next(steps)), plot=picture)
    assert json.loads(json.dumps(result)) == result
    for figure in result["figures"].values():
        assert {row["streams"] for row in figure["data"]} == {2, 3, 4}
        assert len({row["join"] for row in figure["data"]}) == 3
        assert all(len(row["microseconds"]) == 3 for row in figure["data"])
        assert all(row["results"] > 0 for row in figure["data"] if row["streams"] == 2)
        assert figure["verdict"] == "missed", "on a clock by which all are as quick, none is quicker"
        assert [(ratio["paper"], ratio["ours"]) for ratio in figure["ratios"]] == [(10, 1.0)] * 3
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Fig. 7(a)" in text(result)


def test_another_answer_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nilometer.laboratory.reproductions.steam.WindowedRippleJoinSpec", _narrower)
    with pytest.raises(NilometerError, match="other N-tuples than the ripple join"):
        steam(300, 100, 100, 1)


def _narrower(streams: int, window: int, purge_every: int) -> WindowedRippleJoinSpec:
    return WindowedRippleJoinSpec(streams, window // 2, purge_every=purge_every)


def test_fjords_is_measured_and_drawn(tmp_path: Path) -> None:
    steps = count()
    picture = tmp_path / "fjords.png"
    few = Standing((1, 2), (3,), (1, 2))
    result = fjords(60, (1, 2), (1, 3), 1, clock=lambda: float(next(steps)), plot=picture, standing=few)
    assert json.loads(json.dumps(result)) == result
    table, eighth, ninth, served, second = result["figures"].values()
    assert [row["queries"] for row in served["data"]] == [1, 2, 3]
    assert [row["queries"] for row in second["data"]] == [1, 2]
    assert table["verdict"] == "the same"
    assert len(eighth["data"]) == 2 * 2 * 2
    assert {(row["queries"], row["batch"]) for row in ninth["data"]} == {
        (n, b) for n in (1, 3) for b in (1, 60, 100)
    }
    assert [len(figure["ratios"]) for figure in (eighth, ninth)] == [1, 1]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Fig. 8" in text(result)
    assert PLOTS.keys() <= REPRODUCTIONS.keys()


def test_the_trace_has_the_papers_columns() -> None:
    stream, rows = traffic(50)
    assert (
        rows.columns
        == [column.name for column in stream.columns]
        == ["time", "id", "lane", "station", "speed", "flow"]
    )
    assert rows.height == 50
    assert (rows["time"].diff().drop_nulls() == 30_000_000).all()
    assert len(set(plans(7, "filter"))) == len(set(plans(7, "none"))) == 7


@pytest.mark.parametrize("name", ["snee-forms", "fjords-power"])
def test_every_reproduction_can_be_read_and_parsed(name: str) -> None:
    result = REPRODUCTIONS[name]()
    assert result["name"] == name
    assert json.loads(json.dumps(result)) == result
    shown = text(result)
    assert result["title"] in shown
    assert "assumptions:" in shown
    assert ": missed" not in shown


def test_snjoins_costs() -> None:
    five, *_, twenty_five = ROWS
    # By hand, of Fig. 7 with Fig. 13: 26.25 + 4 (6.93 + .24 * 100/13) + 5.7 * 1.3^4 * 5, and so on.
    assert outer_mjoin(five) == pytest.approx(142.753, abs=0.001)
    assert snjoin(five) == pytest.approx(112.926, abs=0.001)
    assert outer_mjoin(twenty_five) > snjoin(twenty_five)
    figures = REPRODUCTIONS["snjoin-costs"]()["figures"].values()
    assert [figure["verdict"] for figure in figures] == ["the same shape"]


def test_retries_bring_over_what_links_lose() -> None:
    result = snee_losses(days=2, qualities=(1.0, 0.7))
    assert len(result["figures"]) == 2
    assert {figure["verdict"] for figure in result["figures"].values()} == {Verdict.HOLDS}
    assert "100.0%" in result["figures"]["Q1 on motes of the profile mica2"]["ours"]
