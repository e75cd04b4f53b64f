"""SNJoin's experiments on one server: the virtual server against a naive one, the joins against each other, the readings, the figures' form."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.laboratory.baselines import MJoin, MJoinSpec
from nilometer.laboratory.reproductions import SCALED, text
from nilometer.laboratory.reproductions.snjoin_central import JOINS, snjoin_central
from nilometer.laboratory.reproductions.snjoin_readings import (
    CHANGE_EVERY,
    DISTINCT,
    PHENOMENA,
    SPAN,
    board,
    changing_fleet,
    fleet,
)
from nilometer.laboratory.reproductions.snjoin_rivals import LEVELS, TUPLES, WINDOW, entry_cost, joins
from nilometer.laboratory.reproductions.snjoin_server import Costs, fed, measured_costs, serve
from nilometer.types import SECOND


def naive(
    times: list[int], costs: Costs, window: int, rebuilds: list[int], queue: int, draws: list[float]
) -> tuple[list[bool], list[float]]:
    """A server that looks at everything that was ever served, whenever it begins with a tuple."""
    served: list[int] = []
    done: list[float] = []
    waiting: list[int] = []
    dropped = set()
    free, left = 0.0, list(rebuilds)

    def held(since: int) -> int:
        return sum(times[one] >= since for one in served)

    for place in range(len(times) + 1):
        now = times[place] if place < len(times) else float("inf")
        while waiting and max(free, times[waiting[0]]) < now:
            free = max(free, times[waiting[0]])
            while left and left[0] <= free:
                size = held(left[0] - window)
                free += size * costs.at(size / 2)
                left.pop(0)
            if free >= now:
                break
            first = waiting.pop(0)
            free += costs.at(held(times[first] - window))
            served.append(first)
            done.append(free)
        if place < len(times):
            if len(waiting) == queue:
                dropped.add(waiting.pop(int(draws[place] * queue)))
            waiting.append(place)
    return [place not in dropped for place in range(len(times))], done


@given(
    st.lists(st.integers(0, 60), max_size=30).map(sorted),
    st.lists(st.sampled_from([0.5, 1.0, 4.0, 9.0]), min_size=2, max_size=2),
    st.integers(0, 30),
    st.lists(st.integers(0, 60), max_size=3).map(sorted),
    st.integers(1, 4),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=30, max_size=30),
)
def test_the_server_is_like_a_naive_one(
    times: list[int],
    each: list[float],
    window: int,
    rebuilds: list[int],
    queue: int,
    draws: list[float],
) -> None:
    costs = Costs(np.array([0.0, 8.0]), np.array(each))
    served = serve(
        np.array(times, dtype=np.int64),
        costs,
        window,
        np.array(rebuilds, dtype=np.int64),
        queue,
        np.array(draws),
    )
    admitted, done = naive(times, costs, window, rebuilds, queue, draws)
    assert served.admitted.tolist() == admitted
    assert served.done.tolist() == pytest.approx(done)


def test_what_is_dropped_is_drawn_at_random() -> None:
    """With the newest dropped, a server would go on with what came first; here all places of a burst are alike."""
    costs = Costs(np.array([1.0]), np.array([1_000.0]))
    kept = np.zeros(400)
    for seed in range(50):
        draws = np.random.default_rng(seed).random(400)
        kept += serve(np.arange(400), costs, 10, queue=100, draws=draws).admitted
    assert kept[:100].mean() < 10, "they were there when all others came"
    assert kept[100:].mean() > 14


def test_a_server_twice_as_busy_as_it_can_be_serves_half() -> None:
    times = np.arange(0, 10_000, 10)
    costs = Costs(np.array([1.0]), np.array([20.0]))
    served = serve(times, costs, 1_000, queue=5)
    assert served.admitted.mean() == pytest.approx(0.5, abs=0.01)
    assert served.delay(times) == pytest.approx(0.1, rel=0.3)  # up to five waiting, 20 microseconds each
    easy = serve(times, Costs(np.array([1.0]), np.array([9.0])), 1_000)
    assert easy.admitted.all()
    assert easy.delay(times) == pytest.approx(0.009)


@pytest.mark.parametrize("given_", [board(7, 12, 1), fleet(40, 25, 1)], ids=["board", "fleet"])
def test_all_joins_find_the_same(given_) -> None:  # type: ignore[no-untyped-def]
    found = {name: fed(make(40), given_) for name, make in joins(0.0).items()}
    assert len(set(found.values())) == 1
    assert found["SNJoin"] > 1_000


def test_writing_lists_out_changes_no_count() -> None:
    arrivals = fleet(30, 20, 3)
    plain = MJoin(MJoinSpec(30, WINDOW, outer=True, build=False)).feed(arrivals)
    lists = MJoin(MJoinSpec(30, WINDOW, outer=True, build=False, lists=True)).feed(arrivals)
    assert lists.listed.tolist() == plain.listed.tolist()
    assert lists.rows is None


def test_costs_are_those_of_the_clock() -> None:
    ticks = count()
    costs = measured_costs(
        lambda: joins(0.25)["HMJ tree"](8), fleet(8, 30, 1), WINDOW, clock=lambda: float(next(ticks))
    )
    assert (np.diff(costs.held) > 0).all()
    # One second by this clock for all tuples after the first window, and a quarter of one for each of four entries.
    assert costs.each[-1] == pytest.approx((1.0 + 1 / 160) * SECOND, rel=0.01)
    assert costs.slowed(2).at(0) == 2 * costs.each[0]


def test_a_partial_result_costs_what_building_takes_longer() -> None:
    moments = iter([0.0, 3.0, 10.0, 11.0])
    assert entry_cost(lambda: next(moments)) == pytest.approx((3.0 - 1.0) / (TUPLES * LEVELS / 2))


def test_the_board_and_the_fleet_are_the_papers() -> None:
    small = board(25, 40, 1)
    assert len(small) == 25 * 100 * 40
    gaps = np.diff(small.times[small.sources == 3])
    assert (gaps == 10_000).all()
    distinct = [len(np.unique(small.values[small.sources == sensor])) for sensor in range(25)]
    assert SPAN - 5 <= np.mean(distinct) <= SPAN + 10
    large = fleet(300, 50, 1)
    assert len(large) == pytest.approx(300 * 50, rel=0.05)
    assert large.values.max() < PHENOMENA * DISTINCT
    values = [large.values[large.sources == sensor] // DISTINCT for sensor in range(300)]
    assert all(len(np.unique(one)) == 1 for one in values)


def test_sensors_come_and_go_in_groups() -> None:
    arrivals, changes, sizes = changing_fleet(200, 240, 1)
    assert changes.tolist() == [CHANGE_EVERY, 2 * CHANGE_EVERY, 3 * CHANGE_EVERY]
    minutes = [
        set(arrivals.sources[arrivals.times // CHANGE_EVERY == minute].tolist()) for minute in range(4)
    ]
    for before, now, size in zip(minutes, minutes[1:], sizes.tolist(), strict=False):
        assert (before < now) != (now < before), "a group joins, or one leaves"
        assert len(before ^ now) == size <= 100


@pytest.fixture(scope="module")
def small() -> dict:  # type: ignore[type-arg]
    return snjoin_central((5, 10), (20, 60), (12, 20, 130))


def test_the_figures_have_their_form(small: dict) -> None:  # type: ignore[type-arg]
    assert json.loads(json.dumps(small)) == small
    figures = small["figures"]
    assert figures["One answer"]["verdict"] == "the same"
    told = {
        ratio["what"]: ratio["paper"]
        for ratio in figures["Fig. 8d, detected phenomena updates (1/s)"]["ratios"]
    }
    assert told == {"SNJoin over the HMJ tree, at best": 1.75, "SNJoin over the outer MJoin, at best": 1.43}
    assert [name[:6] for name in figures][1:] == ["Fig. 8"] * 5 + ["Fig. 9"] * 4 + ["Figs. "] + ["Fig. 1"] * 2
    rows = figures["Fig. 9d, detected phenomena updates (1/s)"]["data"]
    assert [(row["sensors"], row["join"]) for row in rows] == [(n, join) for n in (20, 60) for join in JOINS]
    for row in rows:
        assert row["exact"]
        assert 0 <= row["drop"] < 100
        assert 0 <= row["updates"] <= row["true_updates"]
    # The server is as slow as SNJoin needs it to be overloaded at the largest size.
    largest = {
        row["join"]: row for row in figures["Fig. 8a, output delay (ms)"]["data"] if row["sensors"] == 10
    }
    assert largest["SNJoin"]["drop"] > 0
    assert largest["SNJoin"]["delay"] > largest["SNJoin"]["cost"] / 1_000
    assert "SNJoin, at best" in text(small)


@pytest.mark.long
def test_all_of_it_together(
    small: dict,  # type: ignore[type-arg]
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """With a small server and a small network, which are measured elsewhere."""
    whole = import_module("nilometer.laboratory.reproductions.snjoin")
    monkeypatch.setattr(whole, "snjoin_central", lambda: small)
    monkeypatch.setattr(whole, "snjoin_network", partial(whole.snjoin_network, seconds=5))
    result = SCALED["snjoin"](tmp_path / "all.png", 40)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "all-costs.png",
        "all-network.png",
        "all.png",
    ]
    assert {name.split(",")[0] for name in result["figures"]} >= {
        "Fig. 8a", "Fig. 9d", "Fig. 10", "Fig. 11", "Fig. 12", "Fig. 14",
    }  # fmt: skip
    parts = ("snjoin-central: ", "snjoin-network: ", "snjoin-costs: ")
    assert all(assumption.startswith(parts) for assumption in result["assumptions"])
