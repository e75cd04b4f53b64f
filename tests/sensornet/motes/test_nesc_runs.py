"""The nesC form runs: built with nescc and a small library that stands for TinyOS 2, all sites in lock step in the emulator, on the plans
and readings of the programs in C. The answers at the sink equal the reference evaluator's."""

from __future__ import annotations

from pathlib import Path

import pytest

import nescc_program
from nilometer.catalog.network import Network
from nilometer.laboratory.mote_queries import MOTE_QUERIES, MoteQuery
from nilometer.sensornet.motes.emulate import Measured
from nilometer.sensornet.motes.toolchain import RAM
from sensornet.motes.emulated import RUNNING_EXAMPLE, SCHEMA, Trial, grid, tried
from sensornet.motes.nesc_programs import NescRun, run_nesc

pytestmark = [pytest.mark.nesc, pytest.mark.motes, pytest.mark.slow]


@pytest.fixture(scope="module")
def nescc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nescc_program.working_copy(tmp_path_factory.mktemp("nescc") / "copy")


def check(trial: Trial, ran: NescRun) -> None:
    assert ran.difference is None
    assert ran.rows, "an empty answer shows nothing"
    assert trial.emulation.difference is None
    assert all(measured.sound for measured in ran.measured.values()), ran.measured
    for measured in ran.measured.values():
        assert measured.ram + measured.stack <= RAM


def awake(measured: Measured) -> int:
    """Cycles that are not slept through in power-save."""
    return measured.active + measured.idle


def test_running_example(nescc: Path, tmp_path: Path) -> None:
    """It takes what `docs/motes.md` says, beside the programs in C."""
    trial = tried(RUNNING_EXAMPLE, tmp_path, beta=12, always={"hilltop": 20})
    ran = run_nesc(nescc, trial, tmp_path)
    check(trial, ran)
    assert len(ran.rows) == 4 * (12 * 3 - 1)
    for site, measured in ran.measured.items():
        own = trial.emulation.run.measured[site]
        assert awake(measured) < 1.25 * awake(own)
        assert measured.flash < own.flash + 1500
        assert measured.ram + measured.stack < own.ram + own.stack + 150


@pytest.mark.parametrize(
    ("text", "beta"),
    [
        pytest.param("RSTREAM SELECT River.time, River.depth FROM River[NOW]", 20, id="Q1"),
        pytest.param("RSTREAM SELECT AVG(River.depth) FROM River[NOW]", 16, id="Q2"),
        pytest.param(  # with names that are nesC's own
            "SELECT time, depth * 2 AS atomic, moisture AS bool FROM River [RANGE 30 SECONDS]", 4, id="window"
        ),
        pytest.param(
            "SELECT depth, COUNT(*) AS n FROM River [RANGE 9 ROWS SLIDE 7 ROWS] GROUP BY depth",
            4,
            id="groups-of-rows",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "SELECT id, depth - LAG(depth) AS d FROM River WHERE depth > 2",  # rows say where they are from
            4,
            id="sources",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "SELECT COUNT(*) AS n FROM River [UNBOUNDED SLIDE 20 SECONDS]",  # tuples without columns
            4,
            id="no-columns",
            marks=pytest.mark.long,
        ),
    ],
)
def test_answers(text: str, beta: int, nescc: Path, tmp_path: Path) -> None:
    trial = tried(text, tmp_path, beta=beta)
    check(trial, run_nesc(nescc, trial, tmp_path))


def shared() -> Network:
    """Two streams share sites, and the sink senses, too."""
    return grid(3, 2, {"river": [0, 1, 4, 5], "hilltop": [1, 5]})


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT id, rain FROM River [NOW]) UNION (SELECT id, rain FROM Hilltop [NOW])",
        "SELECT SUM(depth) AS s, MIN(rain) AS m, COUNT(*) AS n FROM River [RANGE 20 SECONDS]",
        "SELECT SUM(depth) AS s FROM River [RANGE 30 SECONDS SLIDE 30 SECONDS]",
        "SELECT rain % 4 AS k, COUNT(*) AS n, SUM(moisture) AS s FROM River [NOW] GROUP BY rain % 4",
        "SELECT id, depth FROM River [RANGE 3 ROWS SLIDE 2 ROWS]",
    ],
    ids=["several-kinds-for-the-gateway", "a-merge-of-three-trays", "slide", "groups", "rows"],
)
def test_sites_that_do_several_things(text: str, nescc: Path, tmp_path: Path) -> None:
    trial = tried(text, tmp_path, network=shared())
    check(trial, run_nesc(nescc, trial, tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("query", MOTE_QUERIES, ids=lambda query: query.name)
def test_queries_that_are_measured(query: MoteQuery, nescc: Path, tmp_path: Path) -> None:
    """In as little time as is planned for the programs in C."""
    always = {"hilltop": 20} if "Hilltop" in query.text else {}
    trial = tried(
        query.text, tmp_path, network=query.network, beta=query.beta, periods=query.periods, always=always
    )
    check(trial, run_nesc(nescc, trial, tmp_path))


@pytest.mark.long
def test_running_example_at_its_own_pace(nescc: Path, tmp_path: Path) -> None:
    """A reading every 15 minutes, and the buffering factor of the paper: nearly all of the time is slept through."""
    trial = tried(
        RUNNING_EXAMPLE.replace("10 SECONDS", "15 MINUTES"),
        tmp_path,
        beta=29,
        periods=2,
        schema=SCHEMA.replace("10 SECONDS", "15 MINUTES"),
        always={"hilltop": 20},
    )
    ran = run_nesc(nescc, trial, tmp_path)
    check(trial, ran)
    assert len(ran.rows) == 228
    assert min(measured.power_save / measured.cycles for measured in ran.measured.values()) > 0.9998
