"""The cost profile `avr` and the estimates of flash and RAM are what the micro-programs say."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.catalog.profiles import cost_profile
from nilometer.sensornet.motes.calibration import (
    BUFFERING,
    MICRO_PROGRAMS,
    SCHEMA,
    Calibration,
    calibrate,
    experiment,
    line,
)
from nilometer.sensornet.motes.estimate import FLASH, RAM

CYCLE = 1000 / 7_372_800
SLACK = 1.0
"""Milliseconds that a slot is given on either side, beyond what was measured."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    database = nilometer.connect()
    database.execute(SCHEMA)
    done = []
    for at, (text, hosts) in enumerate(MICRO_PROGRAMS):
        for beta in BUFFERING:
            directory = tmp_path_factory.mktemp(f"micro_{at}_{beta}")
            done.append(experiment(database.sql(text).physical, line(hosts), beta, directory))
    return calibrate(done)


@pytest.mark.motes
@pytest.mark.long
@pytest.mark.parametrize(
    "parameter",
    [
        "sense_attribute",
        "acquire_data",
        "copy_tuple",
        "do_calculation",
        "set_a_value",
        "scan_waiting",
        "send_packet",
        "transmit_byte",
        "deliver_tuple",
        "radio_sync_window",
    ],
)
def test_durations(found: Calibration, parameter: str) -> None:
    kept = cost_profile("avr")[parameter] - (SLACK if parameter == "radio_sync_window" else 0)
    assert found.cycles[parameter] * CYCLE == pytest.approx(kept, rel=0.05)


@pytest.mark.motes
@pytest.mark.long
def test_sizes(found: Calibration) -> None:
    for part, bytes_ in FLASH.items():
        assert found.flash[part] == pytest.approx(bytes_, rel=0.1, abs=20), part
    for part, bytes_ in RAM.items():
        assert found.ram[part] == pytest.approx(bytes_, rel=0.1, abs=3), part
