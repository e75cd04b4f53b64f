"""Fig. 8d by the paper's own costs: what they are, and what follows of them."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pytest

from nilometer.laboratory.reproductions.snjoin_costs import ROWS, outer_mjoin, product, snjoin, total
from nilometer.laboratory.reproductions.snjoin_printed_costs import by_printed_costs, printed_costs
from nilometer.laboratory.reproductions.snjoin_readings import board
from nilometer.laboratory.reproductions.snjoin_rivals import WINDOW

central = import_module("nilometer.laboratory.reproductions.snjoin_central")


@pytest.mark.parametrize("results", [total, product])
@pytest.mark.parametrize("join", [outer_mjoin, snjoin])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.streams))
def test_a_full_window_costs_what_the_formulas_say(row, join, results) -> None:  # type: ignore[no-untyped-def]
    costs = printed_costs(row, partial(join, results=results))
    assert costs.at(row.streams * 1_000) == pytest.approx(join(row, results=results))
    assert np.all(np.diff(costs.each) >= 0), "fewer readings cost less"


def test_snjoin_keeps_more_readings_where_there_is_no_time_for_all() -> None:
    trials = [central.Trial(n, 12, board(n, 12, 2006), None, central.BOARD_RULE) for n in (5, 25)]
    figure = by_printed_costs(trials, WINDOW)
    few, _, many, _ = figure["data"]
    assert max(few["load"]) < 1
    assert few["kept"] == [1.0, 1.0]
    assert few["ratio"] == 1.0
    # 25 sensors, a reading every 10 ms, at about 4.1 and 3.2 ms of the paper's machine.
    assert many["load"] == pytest.approx([10.2, 7.9], abs=0.1)
    assert many["kept"][0] < many["kept"][1] < 0.6
    assert many["updates"][0] < many["updates"][1]
    assert figure["ratios"][0]["paper"] == 1.43
    assert figure["ratios"][0]["ours"] == many["ratio"] > 1.1
