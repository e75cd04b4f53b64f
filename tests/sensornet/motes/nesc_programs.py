"""The nesC form built and run: nescc, the small library in `tinyos/`, avr-gcc, and the emulator beside the reference evaluator."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nilometer.catalog.network import NodeId
from nilometer.engine.data import sensors_by_stream, tables_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.engine.motes import FLOAT_TOLERANCE, write_nesc
from nilometer.live.answers import Answer
from nilometer.plan.reference import same_answer
from nilometer.sensornet.motes.compilation import expected_rows
from nilometer.sensornet.motes.emulate import Measured, emulate
from nilometer.sensornet.motes.gateway import answers
from nilometer.sensornet.motes.nesc.application import RADIO_CHANNEL
from nilometer.sensornet.motes.readings import raw_counts
from nilometer.sensornet.motes.toolchain import Built, build
from sensornet.motes.emulated import Trial
from sensornet.motes.serial_messages import frames_of

TINYOS = Path(__file__).parent / "tinyos"
"""What TinyOS 2 supplies, as far as the applications use it: our own small implementation for the ATmega128."""

FLAGS = (
    "-conly -c -Os -mmcu=atmega128 -D__AVR_ATmega128__ -fnesc-target=avr -fnesc-no-debug -gcc=avr-gcc -Wall -fnesc-include=tos"
    " -fnesc-scheduler=TinySchedulerC,TinySchedulerC.TaskBasic,TaskBasic,TaskBasic,runTask,postTask -fnesc-separator=__"
).split()


def to_c(nescc: Path, folder: Path, site: NodeId) -> Path:
    """An application to one file of C; nescc has nothing to say about it."""
    command = [str(nescc), *FLAGS, f"-DTOS_NODE_ID={site}", f"-I{TINYOS}", "-I."]
    command += ["-fnesc-cfile=app.c", "-o", "app.o", "QueryAppC.nc"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), folder
    return folder / "app.c"


@dataclass(frozen=True)
class NescRun:
    """What the applications answered and measured; `difference` from the reference's (None: there is none)."""

    built: Mapping[NodeId, Built]
    measured: Mapping[NodeId, Measured]
    rows: list[tuple[Any, ...]]
    difference: str | None


def run_nesc(nescc: Path, trial: Trial, directory: Path) -> NescRun:
    """The same plan and the same readings as those of a trial of the C programs."""
    compilation, query = trial.compilation, trial.query
    motes, placement = compilation.motes, compilation.placement
    folders = dict(zip(compilation.built, write_nesc(compilation, directory), strict=True))
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda site: build(to_c(nescc, folders[site], site)), folders)
        built = dict(zip(folders, made, strict=True))
    alpha, periods = motes.ticks(placement.agenda.alpha), trial.emulation.run.periods
    measured = emulate(
        {site: program.elf for site, program in built.items()},
        placement.network,
        raw_counts(motes, trial.readings),
        alpha=alpha,
        ticks=alpha * placement.beta * periods,
    )
    frames = frames_of(
        measured[placement.routing.sink].serial, RADIO_CHANNEL, motes.fingerprint(compilation.start)
    )
    sources = DatabaseSources(query.database, query.physical)
    frame = answers(motes, frames, compilation.start, periods * placement.beta, sources, compilation.names)
    expected = expected_rows(
        compilation,
        trial.readings,
        query.logical,
        periods,
        tables_of(query.logical, query.database.data, query.database.catalog),
        sensors_by_stream(query.database.catalog),
    )
    rows = Answer(query.schema, frame).rows
    return NescRun(built, measured, rows, same_answer(expected, rows, FLOAT_TOLERANCE))
