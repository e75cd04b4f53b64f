"""The nesC form: golden files of the running example as SNEE places it (Fig. 23 is site 3), and nescc's own type check."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import nescc_program
from nilometer.engine.placing import with_sensors
from nilometer.errors import UnsupportedError
from nilometer.placement import QualityOfService, place, placement_profile
from nilometer.sensornet.motes.nesc.application import application_of, library
from nilometer.sensornet.motes.site import Motes, motes_of
from nilometer.types import MINUTE
from sensornet.motes.emulated import RUNNING_EXAMPLE, ask, brook

GOLDEN = Path(__file__).parent / "nesc"

TINYOS = Path(__file__).parent / "tinyos"
"""Declarations of what TinyOS 2 supplies: enough to check types by, no operating system."""

FIGURE_2 = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;
"""

FLAGS = (
    "-conly -c -Os -mmcu=atmega128 -D__AVR_ATmega128__ -fnesc-target=avr -fnesc-no-debug -gcc=avr-gcc -Wall -fnesc-include=tos"
    " -fnesc-scheduler=TinySchedulerC,TinySchedulerC.TaskBasic,TaskBasic,TaskBasic,runTask,postTask -fnesc-separator=__"
).split()


def running_example() -> Motes:
    """Placed as in Figs. 15 to 22."""
    query = ask(RUNNING_EXAMPLE.replace("10 SECONDS", "15 MINUTES"), FIGURE_2)
    query.profile = "snee-2010"
    quality = QualityOfService.of(acquisition_interval=15 * MINUTE, delivery_time=24 * 60 * MINUTE)
    return motes_of(
        place(query.physical, with_sensors(query, brook()), quality, placement_profile("snee-2010"))
    )


def default(text: str) -> Motes:
    query = ask(text)
    return motes_of(
        place(query.physical, brook(), QualityOfService.of(buffering_factor=4), placement_profile("motes"))
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


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT rain, MAX(depth) FROM River [NOW] GROUP BY rain", "AGGR_INIT with groups"),
        ("SELECT depth FROM River [RANGE 3 ROWS]", "ROW_WINDOW"),
    ],
)
def test_what_only_the_c_programs_have(text: str, what: str) -> None:
    motes = default(text)
    with pytest.raises(UnsupportedError, match=f"the nesC form has no {what}"):
        [application_of(motes, site) for site in motes.placement.routing.post_order]


@pytest.mark.nesc
@pytest.mark.slow
def test_type_check(tmp_path: Path) -> None:
    nescc = nescc_program.working_copy(tmp_path / "nescc")
    checked = 0
    running = running_example()
    for name, motes, sites in (
        ("running", running, running.placement.routing.post_order),
        ("aggregation", default("SELECT AVG(depth) FROM River [NOW] WHERE rain > 3"), (9, 5, 3, 0)),
        ("gateway", default("SELECT upper('x') AS u, id, depth FROM River [NOW]"), (9, 0)),
        ("window", default("SELECT time, depth * 2 AS d, moisture FROM River [RANGE 30 SECONDS]"), (9, 1)),
    ):
        for site in sites:
            folder = tmp_path / name / str(site)
            folder.mkdir(parents=True)
            for file, text in {**library(), **application_of(motes, site)}.items():
                (folder / file).write_text(text, "utf-8")
            command = [
                str(nescc),
                *FLAGS,
                f"-I{TINYOS}",
                "-I.",
                "-fnesc-cfile=app.c",
                "-o",
                "app.o",
                "QueryAppC.nc",
            ]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout + done.stderr) == (0, ""), (name, site)
            checked += 1
    assert checked == 8 + 4 + 2 + 2
