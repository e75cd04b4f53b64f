"""How many sendings to reserve for packets that are sent again, against the whole tree of what may happen."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.kernels.acknowledged_sendings import expected_sendings, reserved_sendings

small = {
    "packets": st.integers(1, 5),
    "success": st.floats(0.05, 1.0),
    "retries": st.integers(0, 3),
}


def law(packets: int, success: float, retries: int) -> dict[int, float]:
    """The naive twin: every way that every packet can go, with its probability."""
    failure = 1 - success
    one = {often: success * failure ** (often - 1) for often in range(1, retries + 1)}
    one[retries + 1] = failure**retries
    found: dict[int, float] = {}
    for ways in product(one, repeat=packets):
        found[sum(ways)] = found.get(sum(ways), 0.0) + prod(one[way] for way in ways)
    return found


@given(**small, target=st.sampled_from((0.5, 0.9, 0.99, 0.999)))
@settings(max_examples=60)
def test_the_fewest_sendings_that_reach_the_target(
    packets: int, success: float, retries: int, target: float
) -> None:
    chances = law(packets, success, retries)
    found = reserved_sendings(packets, success, retries, target)
    assert packets <= found <= packets * (retries + 1)
    assert sum(chance for often, chance in chances.items() if often <= found) >= target - 1e-12
    assert sum(chance for often, chance in chances.items() if often < found) < target + 1e-12


@given(**small, reserved=st.integers(1, 25))
@settings(max_examples=60)
def test_the_mean_of_what_is_sent_in_a_slot(
    packets: int, success: float, retries: int, reserved: int
) -> None:
    chances = law(packets, success, retries)
    expected = sum(chance * min(often, reserved) for often, chance in chances.items())
    assert expected_sendings(packets, success, retries, reserved) == pytest.approx(expected, abs=1e-9)


@given(packets=st.integers(1, 3000), success=st.floats(0.05, 1.0), retries=st.integers(1, 7))
@settings(max_examples=25)
def test_many_packets_need_little_more_than_their_mean(packets: int, success: float, retries: int) -> None:
    found = reserved_sendings(packets, success, retries, 0.999)
    mean = packets * (1 - (1 - success) ** (retries + 1)) / success
    assert mean - 1e-6 <= found <= packets * (retries + 1)
    # One sending has a standard deviation of at most half of what it can vary by; five of them are far out.
    assert found <= mean + 5 * packets**0.5 * retries / 2 + 5
    assert expected_sendings(packets, success, retries, packets * (retries + 1)) == pytest.approx(mean)


def test_without_a_limit_it_is_the_negative_binomial() -> None:
    """Seven retries of links that seldom lose are as good as any number of them: the r-th success is the t-th sending."""
    packets, success = 12, 0.9

    def at_most(sendings: int) -> float:
        return sum(
            comb(t - 1, packets - 1) * success**packets * (1 - success) ** (t - packets)
            for t in range(packets, sendings + 1)
        )

    found = reserved_sendings(packets, success, 7, 0.999)
    assert at_most(found - 1) < 0.999 <= at_most(found)
