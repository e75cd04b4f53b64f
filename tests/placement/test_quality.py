"""Expectations: goals pull the plan their way, bounds hold, and what a refusal calls the nearest can be kept."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from nilometer.engine.expectations import expectations
from nilometer.errors import ConfigurationError, InfeasibleError
from nilometer.placement import Bounds, QualityOfService, place
from nilometer.placement.sources import at_interval
from nilometer.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from placement.scenarios import Q1, Q2, Q3, brook, physical_plan, placed


def _beta(query: str, **expected: str | float | int) -> int:
    return placed(query, "default", expectations(**expected)).beta  # type: ignore[arg-type]


def test_the_delivery_time_bounds_how_much_is_buffered() -> None:
    assert _beta(Q3, delivery_time="1 HOUR", goal="maximize lifetime") == 4
    assert _beta(Q3, delivery_time="2 HOURS", goal="maximize lifetime") == 8


def test_goals() -> None:
    most = _beta(Q3, goal="maximize lifetime")
    assert most == _beta(Q3, goal="minimize total energy")
    assert most > _beta(Q3) > _beta(Q3, goal="minimize delivery time") == 1


def test_a_delivery_time_is_minimized_only_as_far_as_the_lifetime_allows() -> None:
    costs = brook("snee-2010")
    alone = placed(Q3, "default", expectations(goal="minimize delivery time"), costs)
    assert alone.estimate.lifetime is not None
    wanted = int(alone.estimate.lifetime * SECOND) + 6 * HOUR
    quality = replace(expectations(goal="minimize delivery time"), lifetime=Bounds(low=wanted))
    found = placed(Q3, "default", quality, costs)
    assert found.beta > 1
    assert found.estimate.lifetime is not None
    assert found.estimate.lifetime * SECOND >= wanted


def test_the_shortest_acquisition_interval_that_can_be_kept() -> None:
    query = Q1
    quality = expectations(
        acquisition_interval="1 MILLISECOND..1 MINUTE", goal="minimize acquisition interval"
    )
    found = placed(query, "default", quality)
    interval = round(found.agenda.seconds(found.agenda.alpha) * 1000)
    shorter = QualityOfService.of(acquisition_interval=(interval - 2) * 1000)
    with pytest.raises(InfeasibleError, match="too short"):
        placed(query, "default", shorter)


def test_without_bounds_a_shorter_interval_than_the_declared_one_is_found() -> None:
    found = placed(Q1, "default", expectations(goal="minimize acquisition interval"))
    assert found.agenda.seconds(found.agenda.alpha) < 1


def test_without_bounds_a_longer_interval_than_the_declared_one_is_found() -> None:
    plan = at_interval(physical_plan(Q1), 10 * MILLISECOND)
    with pytest.raises(InfeasibleError, match="too short"):
        place(plan, brook())
    found = place(plan, brook(), expectations(goal="minimize acquisition interval"))
    shortest = placed(Q1, "default", expectations(goal="minimize acquisition interval"))
    assert found.agenda.alpha == shortest.agenda.alpha
    hopeless = expectations(goal="minimize acquisition interval", lifetime="100000 DAYS")
    with pytest.raises(InfeasibleError, match="a lifetime of 100000 DAYS cannot be reached"):
        place(plan, brook(), hopeless)


def test_a_range_of_intervals_is_used_to_keep_what_is_expected() -> None:
    # Every second the radios would empty the batteries in less than 100 days; every so many seconds they do not.
    lifetime = "100 DAYS"
    with pytest.raises(InfeasibleError, match="a lifetime of 100 DAYS cannot be reached"):
        placed(Q1, "default", expectations(acquisition_interval="1 SECOND", lifetime=lifetime))
    quality = expectations(acquisition_interval="1 SECOND..1 MINUTE", lifetime=lifetime)
    plan = at_interval(physical_plan(Q1), SECOND)
    found = place(plan, brook(), quality)
    interval = found.agenda.milliseconds(found.agenda.alpha)
    assert 1000 < interval < 60_000
    with pytest.raises(InfeasibleError):
        place(at_interval(plan, (interval - 2) * 1000), brook(), expectations(lifetime=lifetime))


def test_a_range_of_intervals_is_used_to_live_longer() -> None:
    wide = expectations(acquisition_interval="1 MINUTE..1 HOUR", goal="maximize lifetime")
    found = placed(Q1, "default", wide)
    assert found.agenda.milliseconds(found.agenda.alpha) == HOUR // 1000
    without_goal = placed(Q1, "default", expectations(acquisition_interval="1 MINUTE..1 HOUR"))
    assert without_goal.agenda.milliseconds(without_goal.agenda.alpha) == 15 * MINUTE // 1000


@pytest.mark.parametrize("profile", ["default", "snee-2010"])
@pytest.mark.parametrize("query", [Q1, Q2, Q3.replace("AT NOW - 15 MINUTES", "NOW")])
def test_the_nearest_interval_can_be_kept(query: str, profile: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        placed(query, profile, expectations(acquisition_interval="100 MILLISECONDS"))
    nearest = _nearest(caught.value)
    assert placed(query, profile, expectations(acquisition_interval=nearest)).beta == 1


@pytest.mark.parametrize("profile", ["default", "snee-2010"])
def test_the_nearest_delivery_time_can_be_kept(profile: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        placed(Q3, profile, expectations(delivery_time="100 MILLISECONDS"))
    assert placed(Q3, profile, expectations(delivery_time=_nearest(caught.value))).beta == 1


def test_the_nearest_lifetime_can_be_reached() -> None:
    with pytest.raises(InfeasibleError) as caught:
        placed(Q3, "default", expectations(lifetime="400 DAYS"))
    found = placed(Q3, "default", expectations(lifetime=_nearest(caught.value)))
    assert found.estimate.lifetime is not None
    assert found.estimate.lifetime * SECOND >= 146 * DAY


def test_the_nearest_energy_can_be_kept() -> None:
    with pytest.raises(InfeasibleError) as caught:
        placed(Q3, "default", expectations(total_energy=1000.0))
    joules = re.search(r"is (\d+) J", caught.value.hint or "")
    assert joules is not None
    assert placed(Q3, "default", expectations(total_energy=float(joules[1]) + 1)).beta >= 1


def test_deliver_within_is_an_expectation() -> None:
    plan = physical_plan("SELECT AVG(River.depth) FROM River[NOW] DELIVER WITHIN 1 HOUR")
    assert place(plan, brook()).agenda.seconds(place(plan, brook()).agenda.delivery) <= 3600
    stricter = QualityOfService.of(delivery_time=30 * MINUTE)
    assert (
        place(plan, brook(), stricter).agenda.seconds(place(plan, brook(), stricter).agenda.delivery) <= 1800
    )


def test_expectations_that_cannot_be() -> None:
    with pytest.raises(ConfigurationError, match="contradict"):
        QualityOfService(delivery_time=Bounds(5, 4))
    with pytest.raises(ConfigurationError, match="is not possible"):
        QualityOfService(lifetime=Bounds(low=-1))


def _nearest(error: InfeasibleError) -> str:
    found = re.search(r"(?:kept|reached) is (\d+ \w+)", error.hint or "")
    assert found is not None, error
    return found[1]
