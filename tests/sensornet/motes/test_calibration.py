"""The cost profile `avr` and the estimates of flash and RAM are what the micro-programs say."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import nilometer
from nilometer.catalog.profiles import cost_profile
from nilometer.laboratory.mote_calibration import (
    BUFFERING,
    FITTED,
    MICRO_PROGRAMS,
    SCHEMA,
    Calibration,
    calibrate,
    experiment,
    non_negative,
)
from nilometer.laboratory.mote_queries import MOTE_QUERIES
from nilometer.sensornet.motes.estimate import FLASH, RAM

CYCLE = 1000 / 7_372_800


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    database = nilometer.connect()
    database.execute(SCHEMA)
    done = []
    for at, program in enumerate(MICRO_PROGRAMS):
        for beta in BUFFERING:
            directory = tmp_path_factory.mktemp(f"micro_{at}_{beta}")
            done.append(experiment(program, database.sql(program.query).physical, beta, directory))
    return calibrate(done)


@pytest.mark.motes
@pytest.mark.long
@pytest.mark.parametrize("parameter", FITTED)
def test_durations(found: Calibration, parameter: str) -> None:
    assert found.cycles[parameter] * CYCLE == pytest.approx(cost_profile("avr")[parameter], rel=0.05)


@pytest.mark.motes
@pytest.mark.long
def test_sizes(found: Calibration) -> None:
    for part, bytes_ in found.flash.items():
        assert FLASH.get(part, 0.0) == pytest.approx(bytes_, rel=0.05, abs=5), part
    for part, bytes_ in found.ram.items():
        assert RAM.get(part, 0.0) == pytest.approx(bytes_, rel=0.05, abs=1), part


def test_no_query_is_measured_against_itself() -> None:
    assert not {program.query for program in MICRO_PROGRAMS} & {query.text for query in MOTE_QUERIES}


@pytest.mark.parametrize("seed", range(20))
def test_least_squares_with_nothing_below_zero(seed: int) -> None:
    """The twin tries every set of unknowns that may be above 0."""
    random = np.random.default_rng(seed)
    matrix, wanted = random.normal(size=(9, 4)), random.normal(size=9)
    least = wanted @ wanted
    for count in range(1, 5):
        for free in combinations(range(4), count):
            found = np.linalg.lstsq(matrix[:, free], wanted, rcond=None)[0]
            if found.min() >= 0:
                least = min(least, float(((matrix[:, free] @ found - wanted) ** 2).sum()))
    solution = np.array(non_negative(matrix, wanted))
    assert solution.min() >= 0
    assert ((matrix @ solution - wanted) ** 2).sum() == pytest.approx(least)
