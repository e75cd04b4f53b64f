"""The nesC form: golden files of the running example as SNEE places it (Fig. 23 is site 3), and nescc's own type check."""

from __future__ import annotations

from pathlib import Path

import pytest

import nescc_program
from nilometer.engine.placing import with_sensors
from nilometer.placement import QualityOfService, place, placement_profile
from nilometer.sensornet.motes.nesc.application import application_of, library
from nilometer.sensornet.motes.site import Motes, motes_of
from nilometer.types import MINUTE
from sensornet.motes.emulated import RUNNING_EXAMPLE, ask, brook
from sensornet.motes.nesc_programs import to_c

GOLDEN = Path(__file__).parent / "nesc"

FIGURE_2 = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;
"""


def running_example() -> Motes:
    """Placed as in Figs. 15 to 22."""
    query = ask(RUNNING_EXAMPLE.replace("10 SECONDS", "15 MINUTES"), FIGURE_2).with_profile("snee-2010")
    quality = QualityOfService.of(acquisition_interval=15 * MINUTE, delivery_time=24 * 60 * MINUTE)
    return motes_of(
        place(query.physical, with_sensors(query, brook()), quality, placement_profile("snee-2010"))
    )


@pytest.mark.parametrize("site", [3, 4, 9, 1, 0])
def test_golden_files(site: int, rewrite: bool) -> None:
    made = application_of(running_example(), site)
    text = "".join(f"==== {name}\n{content}" for name, content in made.items())
    golden = GOLDEN / f"site_{site}.txt"
    if rewrite:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, "utf-8")
    assert golden.read_text("utf-8") == text


def test_site_3_has_the_components_of_the_figure() -> None:
    """Fig. 23: two receptions, two consumers, the join, a producer, three trays, a transmission, and the controller."""
    made = application_of(running_example(), 3)
    assert {"Rx5C.nc", "Rx6C.nc", "F1NlJoinC.nc", "Tx1C.nc", "AgendaC.nc"} <= set(made)
    top = made["QueryAppC.nc"]
    for component in (
        "as F1ConsumerF2;",
        "as F1ConsumerF3;",
        "as F1Producer;",
        "as TrayF2ForF1;",
        "as TrayF3ForF1;",
        "as TrayF1ForRadio;",
    ):
        assert component in top


@pytest.mark.nesc
@pytest.mark.slow
def test_type_check(tmp_path: Path) -> None:
    """Of the plan that is in the paper; what `test_nesc_runs` runs is checked there."""
    nescc = nescc_program.working_copy(tmp_path / "nescc")
    running = running_example()
    for site in running.placement.routing.post_order:
        folder = tmp_path / str(site)
        folder.mkdir()
        for file, text in {**library(), **application_of(running, site)}.items():
            (folder / file).write_text(text, "utf-8")
        to_c(nescc, folder, site)
