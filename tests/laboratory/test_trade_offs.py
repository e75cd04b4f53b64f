"""Lifetime and energy against what else could be expected of a query."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from nilometer.pictures.trade_offs import by_delivery, by_interval, draw_trade_offs
from nilometer.placement import Placement, QualityOfService, place
from nilometer.types import MINUTE
from placement.scenarios import Q2, brook, physical_plan


def at(interval: int) -> Placement:
    return place(physical_plan(Q2), brook(), QualityOfService().at_interval(interval))


@pytest.fixture(scope="module")
def placement() -> Placement:
    return at(15 * MINUTE)


def test_the_longer_answers_may_wait_the_longer_motes_live(placement: Placement) -> None:
    points = by_delivery(placement)
    assert len(points) > 4
    for (soon, more), (late, less) in pairwise(points):
        assert soon < late
        assert more.lifetime is not None
        assert less.lifetime is not None
        assert more.lifetime <= less.lifetime
    assert points[0][1].period == pytest.approx(15 * 60)


def test_each_point_is_what_would_be_planned(placement: Placement) -> None:
    """Of other intervals the plan itself, where there is one: nobody reads a sensor every millisecond."""
    points = dict(by_interval(placement, at))
    assert points[15 * 60.0] == placement.estimate
    assert points[7.5 * 60] == at(15 * MINUTE // 2).estimate
    assert len(by_interval(at(MINUTE // 30), at)) < len(points)


def test_it_is_drawn(placement: Placement, tmp_path: Path) -> None:
    draw_trade_offs(placement, at, tmp_path / "lifetime.svg")
    text = (tmp_path / "lifetime.svg").read_text("utf-8")
    assert text.count("<!-- this plan -->") == 1, "one legend for all panels"
    assert "<!-- delivery time -->" in text, "the ticks have units, the label has none"
