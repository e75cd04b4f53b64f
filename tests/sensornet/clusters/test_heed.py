"""HEED's laws: everyone is covered, heads keep their distance, iterations are bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.sensornet.clusters import (
    NO_HEAD,
    Clusters,
    Formation,
    Heed,
    MemberCost,
    clusters_of,
    form_clusters,
)
from nilometer.sensornet.clusters.heed import State, next_state
from nilometer.sensornet.radio_network import uniform_positions


def check(positions: np.ndarray, formation: Formation, heed: Heed, nodes: np.ndarray) -> None:
    clusters = formation.clusters
    away = np.hypot(*(positions[:, None] - positions[None]).transpose(2, 0, 1))
    assert (away[nodes, clusters.head_of[nodes]] <= heed.cluster_range).all()
    between = away[np.ix_(clusters.heads, clusters.heads)] + 9 * np.eye(clusters.count)
    assert (between > heed.cluster_range).all()
    assert 1 <= formation.iterations <= heed.iteration_bound


@settings(max_examples=60)
@given(
    st.integers(1, 60),
    st.sampled_from([0.0, 0.05, 0.2, 0.6, 1.5]),
    st.integers(0, 10**6),
    st.sampled_from(list(MemberCost)),
    st.booleans(),
)
def test_the_laws(count: int, cluster_range: float, seed: int, cost: MemberCost, tired: bool) -> None:
    positions = uniform_positions(count, seed)
    energies = np.random.default_rng(seed).random(count) if tired else None
    heed = Heed(cluster_range, cost=cost)
    check(positions, form_clusters(positions, heed, seed, energies), heed, np.arange(count))


@pytest.mark.parametrize(("count", "least", "greatest"), [(500, 52, 72), (1000, 56, 76), (2000, 60, 80)])
def test_a_tenth_of_the_space_gives_the_known_number_of_heads(count: int, least: int, greatest: int) -> None:
    positions = uniform_positions(count, 7)
    heed = Heed(0.1)
    formation = form_clusters(positions, heed, 7)
    check(positions, formation, heed, np.arange(count))
    assert least <= formation.clusters.count <= greatest
    # Full batteries: 0.05 doubles to 1 in five steps.
    assert formation.iterations == 6
    # In lock step, or where tentative heads do not step down, more than half of the heads are forced.
    assert formation.forced == 0


def test_a_tentative_head_steps_down_for_a_cheaper_one_that_is_a_head_now() -> None:
    near, rank = np.array([0, 1, 2]), np.array([2, 1, 0])
    plain, tentative, final = State.PLAIN, State.TENTATIVE, State.FINAL

    def after(states: list[int], chance: float, draw: float = 0.5) -> int:
        return next_state(0, near, np.array(states), rank, chance, draw)

    assert after([tentative, tentative, plain], 1.0) == plain
    assert after([tentative, final, plain], 0.5) == plain
    # The cheapest of all has never been, or is no longer, a head.
    assert after([tentative, plain, plain], 0.5) == tentative
    assert after([tentative, plain, plain], 1.0) == final
    assert after([plain, plain, tentative], 1.0) == plain
    assert after([plain, plain, plain], 0.5, draw=0.6) == plain
    assert after([plain, plain, plain], 0.5, draw=0.4) == tentative
    assert after([plain, plain, plain], 1.0) == final
    assert after([final, tentative, tentative], 1.0) == final


def test_tired_nodes_take_longer_and_the_bound_is_the_papers() -> None:
    assert Heed(0.1).iteration_bound == 15
    assert Heed(0.1, least_probability=5e-4).iteration_bound == 12
    positions = uniform_positions(50, 1)
    assert form_clusters(positions, Heed(0.1), 1, np.full(50, 1e-9)).iterations == 15


def test_energy_makes_heads() -> None:
    """Of nodes that all hear each other, the one with a battery nearly always leads."""
    positions = np.zeros((20, 2))
    energies = np.full(20, 1e-3)
    energies[11] = 1.0
    led = [form_clusters(positions, Heed(0.1), seed, energies).clusters.heads.tolist() for seed in range(30)]
    assert sum(heads == [11] for heads in led) >= 20


def test_who_takes_no_part_has_no_head() -> None:
    positions = uniform_positions(30, 4)
    taking_part = np.ones(30, dtype=np.bool_)
    taking_part[[0, 7]] = False
    heed = Heed(0.3)
    formation = form_clusters(positions, heed, 4, taking_part=taking_part)
    check(positions, formation, heed, np.flatnonzero(taking_part))
    assert formation.clusters.head_of[[0, 7]].tolist() == [NO_HEAD, NO_HEAD]
    assert formation.clusters.places()[0] == NO_HEAD


def test_the_same_seed_gives_the_same_clusters() -> None:
    positions = uniform_positions(200, 5)
    first, again, other = (form_clusters(positions, Heed(0.1), seed).clusters.head_of for seed in (5, 5, 6))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_clusters_know_their_members() -> None:
    clusters = clusters_of(np.array([2, NO_HEAD, 2, 4, 4]))
    assert clusters.heads.tolist() == [2, 4]
    assert clusters.members(2).tolist() == [0, 2]
    assert clusters.places().tolist() == [0, NO_HEAD, 0, 1, 1]


@pytest.mark.parametrize(
    ("heads", "head_of"),
    [([], [NO_HEAD]), ([1, 0], [0, 1]), ([0], [1, 1]), ([0, 1], [0, 0]), ([0], [NO_HEAD, 0])],
)
def test_impossible_clusters_are_refused(heads: list[int], head_of: list[int]) -> None:
    with pytest.raises(ConfigurationError):
        Clusters(np.array(heads, dtype=np.int64), np.array(head_of, dtype=np.int64))


@pytest.mark.parametrize("wrong", [{"cluster_range": -1.0}, {"cluster_range": 0.1, "first_share": 0.0}])
def test_impossible_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        Heed(**wrong)
