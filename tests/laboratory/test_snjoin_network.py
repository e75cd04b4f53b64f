"""The reproduction of SNJoin's section 7.2.3, on small fields."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nilometer.laboratory.reproductions import text
from nilometer.laboratory.reproductions.snjoin_field import (
    DISTINCT,
    FIXED,
    GROWING,
    LOADS,
    Ground,
    deploy,
    measure,
    phenomena_readings,
)
from nilometer.laboratory.reproductions.snjoin_network import FIGURE_12, SENSORS, snjoin_network
from nilometer.laboratory.reproductions.snjoin_phenomena import snjoin_phenomena
from nilometer.sensornet.clusters import NO_HEAD, Clusters
from nilometer.sensornet.snjoin import Feedback, selective_tours, sensed


def test_the_figures_are_made_and_the_distributed_join_is_the_central_one(tmp_path: Path) -> None:
    picture = tmp_path / "snjoin.png"
    result = snjoin_network(sensors=(50, 150), seconds=10, plot=picture, ground=Ground(150, 0.25))
    assert json.loads(json.dumps(result)) == result
    exact, clusters, eleventh, by_load, twelfth, growth = result["figures"].values()
    assert exact["verdict"] == "the same"
    assert growth["ratios"] == [], "the paper has no row for so few"
    assert clusters["verdict"] == "the same shape"
    assert [row["sensors"] for row in eleventh["data"]] == [50, 150]
    assert [row["load"] for row in by_load["data"]] == list(LOADS)
    assert all(row["feedback"] <= row["true"] for row in eleventh["data"])
    assert eleventh["data"][1]["feedback"] > 0
    assert {"probes", "delay", "width", "bytes"} <= twelfth["data"][0].keys()
    assert "29.1" not in twelfth["paper"]
    larger = clusters["data"][1]
    assert larger["feedback"]["probes"] < larger["every_head"]["probes"] == larger["heads"] - 1
    assert larger["every_head"]["recall"] == 1.0
    assert larger["feedback"]["overdue"] == larger["every_head"]["overdue"] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Fig. 12" in text(result)


def test_the_overall_measure_has_its_figures() -> None:
    result = snjoin_phenomena((5,), (20,), (50, 100), (6, 12, 70), 6)
    assert json.loads(json.dumps(result)) == result
    assert [name.split(",")[0] for name in result["figures"]] == [
        "One answer",
        "Fig. 8d",
        "Fig. 8d",
        "Fig. 9d",
        "Figs. 8d and 9d",
        "Fig. 10",
        "Section 5.1",
        "Fig. 11",
        "Fig. 11",
    ]
    told = [ratio["paper"] for figure in result["figures"].values() for ratio in figure["ratios"]]
    assert told == [1.75, 1.43, 1.43, 2.8, 1.85, *map(pytest.approx, (0.2, 0.5, 0.8)), 1.3, 1.9]
    assert result["figures"]["One answer"]["verdict"] == "the same"


def test_a_distributed_mjoin_probes_the_most_selective_clusters_first() -> None:
    # Three clusters of two sensors: the second reads as the first does half of the time, the third always.
    clusters = Clusters(np.array([0, 2, 4]), np.array([0, 0, 2, 2, 4, 4, NO_HEAD]))
    values = [7, 7, 7, 1, 7, 7]
    tours = selective_tours(clusters, sensed(range(6), [0] * 6, values))
    assert [order.tolist() for order in tours] == [[2, 1], [0, 2], [0, 1]]


def test_a_tenth_of_the_space_is_a_cluster_of_200_or_a_tenth_of_the_side() -> None:
    assert deploy(200, 2006, GROWING)[0].clusters.count == 1
    assert 8 <= deploy(2000, 2006, GROWING)[0].clusters.count <= 14
    assert deploy(200, 2006, FIXED)[0].clusters.count > 40


def test_the_papers_table_is_whole() -> None:
    assert set(SENSORS) <= FIGURE_12.keys()
    assert tuple(FIGURE_12) == tuple(range(200, 2001, 200))
    assert FIGURE_12[2000] == (79.4, 70.1, 52.3, 50.3, 11.5, 75.5)


def test_like_values_lie_together() -> None:
    deployment, formation = deploy(300, 1)
    readings = phenomena_readings(deployment.topology.positions, 300, 20, 1)
    assert formation.clusters.count == deployment.clusters.count
    phenomenon = readings.value // DISTINCT
    for stream in np.unique(readings.stream):
        assert len(np.unique(phenomenon[readings.stream == stream])) == 1
    # The first rank is by far the most frequent, the paper's exponents being 1 to 5.
    assert 0.5 < np.mean(readings.value % DISTINCT == 0) < 0.9


def test_as_many_readings_get_in_as_the_busiest_head_has_time_for() -> None:
    point = measure(150, 20, Feedback(), 1, 12, Ground(150, 0.25))
    race = point.race
    all_in = race.detected(race.slowness(0.01))
    assert all_in.snjoin == point.updates > 0, "an exact join of all readings finds all"
    assert all_in.dropped[1:] == (0.0, 0.0)
    crowded = race.detected(race.slowness(2.0))
    assert crowded.mjoin < crowded.snjoin < all_in.snjoin
    mjoin, snjoin, feedback = crowded.dropped
    assert mjoin > snjoin >= feedback >= 0
    assert 0.3 < snjoin < 0.5, "half of the tuples, and less where matches are the work"
