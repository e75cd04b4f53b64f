"""Sizing: the goldens of DHTJoin's equations with caps, equation (9) by enumeration, and a simulation."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.kernels.join_completeness import completeness
from nilometer.overlay.sizing import size


@pytest.mark.parametrize(
    ("rates", "wanted", "peers"),
    [([30, 30, 30], 0.95, 15), ([30, 30, 30], 0.5, 12), ([30, 30], 0.5, 11), ([30, 400], 0.5, 100)],
)
def test_goldens(rates: list[float], wanted: float, peers: int) -> None:
    assert size(rates, 50.0, 100, wanted).peers == peers


def test_equation_12_without_caps_is_too_few() -> None:
    found = size([30, 400], 50.0, 100, 0.5)
    assert found.by_equation_12 == 39
    assert found.at_equation_12 == pytest.approx(0.195)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=2, max_size=5))
def test_equation_9_is_one_minus_equation_11(streams: list[tuple[int, int]]) -> None:
    """`streams` are (kept, not kept) tuples in each window, by enumeration of what is lost, with sel = 1."""
    kept, lost = [one for one, _ in streams], [one for _, one in streams]
    everything = prod(one + other for one, other in streams)
    once = sum(
        lost[at] * prod(kept[i] + lost[i] for i in range(len(streams)) if i != at)
        for at in range(len(streams))
    )
    doubly = sum(
        (sum(choice) - 1) * prod(lost[i] if one else kept[i] for i, one in enumerate(choice))
        for choice in product((False, True), repeat=len(streams))
        if sum(choice) >= 2
    )
    total_loss = once - doubly
    shares = completeness(kept, [one + other for one, other in streams], [1.0] * len(streams))
    assert (everything - total_loss) / everything == pytest.approx(shares)


@pytest.mark.parametrize("memory", [5, 10, 20, 40, 60])
def test_a_simulation_finds_the_predicted_share(memory: int) -> None:
    """Three streams; each window keeps a random sample of as many tuples as there is memory."""
    random, length, trials = Random(memory), 50, 4_000
    found = everything = 0
    for _ in range(trials):
        kept = [random.sample(range(length), min(memory, length)) for _ in range(3)]
        result = [random.randrange(length) for _ in range(3)]
        everything += 1
        found += all(one in sample for one, sample in zip(result, kept, strict=True))
    predicted = completeness([memory] * 3, [length] * 3, [1.0] * 3)
    assert found / everything == pytest.approx(predicted, abs=0.02)


def test_what_makes_no_sense_is_refused() -> None:
    for rates, memory, wanted in (
        ([30], 100, 0.5),
        ([30, 30], 0, 0.5),
        ([30, 30], 100, 1.5),
        ([30, 0], 10, 0.5),
    ):
        with pytest.raises(ConfigurationError):
            size(rates, 50.0, memory, wanted)
