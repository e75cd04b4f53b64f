"""The reproductions of the papers' figures: what is exact is asserted here, what is measured has its form checked."""

from __future__ import annotations

import json

import pytest

from nilometer.laboratory.reproductions import REPRODUCTIONS, text
from nilometer.laboratory.reproductions.steam_buffer import steam_buffer


def test_fjords_power_is_as_the_paper_prints_it() -> None:
    result = REPRODUCTIONS["fjords-power"]()
    assert {name: figure.get("same", figure.get("shape")) for name, figure in result["figures"].items()} == {
        "Section 5.1, sample rate": True,
        "Section 5.2, power and lifetime at 180 Hz": True,
        "Fig. 11(a), raw samples": True,
        "Fig. 11(b), vehicle times": True,
        "Fig. 11(c), counts": True,
    }
    rows = {
        row["program"]: row for row in result["figures"]["Section 5.2, power and lifetime at 180 Hz"]["data"]
    }
    assert [f"{rows[name]['milliwatts']:.2g}" for name in rows] == ["13", "1.1", "0.38"]
    assert any("fitted" in assumption for assumption in result["assumptions"])


def test_steam_buffer_is_additive_when_shared() -> None:
    result = steam_buffer(rows=10, rounds=1)
    memory = result["figures"]["Section 5.2, memory"]
    assert memory["same"]
    for row in memory["data"]:
        assert row["copied_batches"] == row["queries"] * row["streams"]
        assert row["shared_batches"] == row["streams"]
    assert "shape" in result["figures"]["Section 5.2, service time"]


@pytest.mark.parametrize("name", ["snee-forms", "fjords-power"])
def test_every_reproduction_can_be_read_and_parsed(name: str) -> None:
    result = REPRODUCTIONS[name]()
    assert result["name"] == name
    assert json.loads(json.dumps(result)) == result
    shown = text(result)
    assert result["title"] in shown
    assert "assumptions:" in shown
    assert "DIFFERENT" not in shown
    assert "ANOTHER SHAPE" not in shown


def test_a_shape_that_is_not_the_papers_is_said() -> None:
    figure = {"paper": "up", "ours": "down", "shape": False}
    assert "ANOTHER SHAPE" in text({"title": "t", "figures": {"Fig. 1": figure}, "assumptions": []})
