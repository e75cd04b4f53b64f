"""The energy bars: readable beside a large battery, with units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.figure
import pytest

from nilometer.pictures.stacks import draw_energy
from nilometer.placement import Energy


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    kept: list[Any] = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, *_, **__: kept.append(figure))
    return kept


def _energy(joules: float) -> Energy:
    return Energy(**dict.fromkeys(Energy.__dataclass_fields__, joules / 8))


def test_a_battery_that_is_hardly_used_does_not_flatten_the_bars(figures: list[Any]) -> None:
    draw_energy({1: _energy(8.0), 2: _energy(16.0)}, Path("x.svg"), "a day", 31_320.0)
    above = figures[0].axes[0]
    assert above.get_ylim()[1] < 20
    assert "0.05% of a battery of 31,320 J" in above.get_title()


def test_a_battery_that_is_nearly_used_is_drawn(figures: list[Any]) -> None:
    draw_energy({1: _energy(20_000.0)}, Path("x.svg"), "a year", 31_320.0)
    above = figures[0].axes[0]
    assert above.get_ylim()[1] > 31_320
    assert above.yaxis.get_major_formatter()(5_000.0) == "5 kJ"
