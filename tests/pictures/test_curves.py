"""Curves over a length of time have ticks in units, and one legend that hides no line."""

from __future__ import annotations

from pathlib import Path

from nilometer.pictures import Curve, draw_curves


def test_ticks_have_units_and_the_legend_stands_beside_the_panels(tmp_path: Path) -> None:
    lines = {"board on": [(30.0, 2.0), (4000.0, 3.0)], "this plan": [(60.0, 2.5)]}
    panels = [Curve(title, "interval", "days", lines, durations=True, marked="this plan") for title in "ab"]
    draw_curves(panels, tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    for label in ("1 min", "10 min", "1 h"):
        assert text.count(f"<!-- {label} -->") == 2
    assert "<!-- 1 day -->" not in text
    assert text.count("<!-- board on -->") == 1
