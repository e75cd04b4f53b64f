"""Clusters that change: when they are formed, who is in them, and what an operation is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nilometer.errors import ConfigurationError
from nilometer.sensornet.clusters import NO_HEAD, ChangingField, Clusters, FieldPlan, Heed, Kill
from nilometer.sensornet.radio_network import (
    EnergyMeter,
    Events,
    Network,
    Power,
    Radio,
    TrafficMeter,
    linked_topology,
)


class Watched:
    """An operation that only remembers."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, Clusters | None]] = []
        self.dead: list[int] = []

    def open(self, clusters: Clusters | None, begin: int) -> None:
        self.epochs.append((begin, clusters))

    def died(self, node: int) -> None:
        self.dead.append(node)


PLAN = FieldPlan(5, np.arange(6) < 5, np.array([0, 0, 0, 0, 0, 2**62]), 100, Heed(1.0), notice=3)


def watch(plan: FieldPlan) -> Watched:
    """Five sensors in a line, the sink behind the last."""
    topology = linked_topology(6, [(node, node + 1, 1.0, 1.0) for node in range(5)])
    topology = replace(topology, positions=np.array([[float(node), 0.0] for node in range(6)]))
    radio = Radio()
    traffic, energy = TrafficMeter(radio), EnergyMeter(radio, Power(1.0, 1.0), 6)
    network = Network(topology, radio, Events(-10), (traffic, energy))
    watched = Watched()
    ChangingField(plan, network, traffic, energy).run(watched)
    for _, clusters in watched.epochs:
        if clusters is not None:
            mine = clusters.head_of != NO_HEAD
            away = np.abs(np.arange(6)[mine] - clusters.head_of[mine])
            assert (away <= plan.heed.cluster_range).all(), "everyone is within the range of its head"
    return watched


def test_they_are_formed_once_or_every_so_often() -> None:
    assert [begin for begin, _ in watch(PLAN).epochs] == [-1]
    assert [begin for begin, _ in watch(replace(PLAN, every=40)).epochs] == [-1, 39, 79]


def test_a_death_is_noticed_and_cuts_off_those_behind() -> None:
    watched = watch(replace(PLAN, kills=(Kill(2, 50),)))
    assert watched.dead == [2]
    (_, first), (begin, second) = watched.epochs
    assert begin == 53
    assert first is not None
    assert second is not None
    assert (first.head_of[:5] != NO_HEAD).all()
    assert (second.head_of != NO_HEAD).tolist() == [False, False, False, True, True, False]


def test_when_nobody_is_left_there_are_no_clusters() -> None:
    watched = watch(replace(PLAN, kills=(Kill(4, 50),)))
    assert [clusters is None for _, clusters in watched.epochs] == [False, True]


def test_a_sensor_that_comes_joins_a_head_or_has_clusters_formed() -> None:
    near = replace(PLAN, first=np.array([0, 0, 0, 0, 60, 2**62]), heed=Heed(5.0))
    (only,) = watch(near).epochs
    assert only[1] is not None
    assert only[1].head_of[4] != NO_HEAD
    far = replace(
        PLAN, first=np.array([0, 0, 2**62, 2**62, 60, 2**62]), sensing=np.array([1, 1, 0, 0, 1, 0]) > 0
    )
    (_, before), (begin, after) = watch(far).epochs
    assert begin == 59
    assert before is not None
    assert after is not None
    assert (before.head_of[4], after.head_of[4]) == (NO_HEAD, 4)


def test_who_has_energy_left_becomes_the_head() -> None:
    batteries = np.array([1e-9, 1e-9, 1e-9, 1e9, 1e-9, np.inf])
    epochs = watch(replace(PLAN, every=10, capacity=batteries, heed=Heed(5.0))).epochs
    heads = [clusters.heads.tolist() for _, clusters in epochs[1:] if clusters is not None]
    assert len(heads) == 10
    assert heads.count([3]) >= 7


def test_the_sink_cannot_be_killed() -> None:
    with pytest.raises(ConfigurationError, match="the sink cannot be killed"):
        replace(PLAN, kills=(Kill(5, 1),))
