"""SNEE's Fig. 28 and section 6.1: the memory of the running example's programs, from binaries that were built
and emulated.

The cost models of section 4.6, in the form that our programs have, are compared with the measurements.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from nilometer.laboratory.reproductions.snee_forms import QUERY, SCHEMA
from nilometer.laboratory.reproductions.verdict import claimed, measured
from nilometer.laboratory.scenarios import running_example

BETA = 29
PERIODS = 2
PAPER_FLASH = 20_000
MOTE_RAM = 4096

ERROR = 0.10
QUANTITIES = (("busy", "busy ms"), ("ram", "RAM"), ("flash", "flash"))

PAPER = """RAM: the site of the join uses the largest share of its 4 KB, as tuples of 29 evaluations are kept;
program memory: at most about 20 kB at any site (TinyDB: 65 kB at every one)."""


COST_MODELS = """models of memory, duration and energy for every operator, from the structure of its algorithm, with parameters of the
Mica2 in an emulator (Tables 2 and 3); how far they are off is reported elsewhere (its references 9 and 11)."""


def snee_motes() -> dict[str, Any]:
    """Compile the running example for every site, run it for two periods, and compare the measurements with
    the estimates; likewise one query for each kind of operator."""
    from nilometer.engine import connect
    from nilometer.engine.mote_report import measurements
    from nilometer.engine.motes import CompileOptions, EmulationOptions, compile_query, emulate
    from nilometer.placement import QualityOfService
    from nilometer.sensornet.motes.readings import random_readings

    database = connect()
    database.execute(SCHEMA)
    query = database.sql(QUERY)
    with tempfile.TemporaryDirectory() as directory:
        compiled = compile_query(
            query,
            Path(directory),
            CompileOptions(running_example().network, QualityOfService.of(buffering_factor=BETA)),
        )
        readings = random_readings(compiled.motes, BETA * PERIODS, 28, {"rain": 4})
        for reading in readings["hilltop"][4]:
            reading["rain"] = 20  # type: ignore[index]  # every condition holds: the most that can be
        ran = emulate(query, compiled, EmulationOptions(readings=readings))
        rows = measurements(ran)
    lines = ["site  flash (estimate)  RAM with stack (estimate)  busy ms a period (estimate)"]
    for row in rows:
        lines.append(
            f"{row['site']:>4}  {row['flash']:>5} ({row['flash_estimate']:>4})       {row['ram']:>5} ({row['ram_estimate']:>4})"
            f"               {row['busy']:>7.1f} ({row['busy_estimate']:.1f})"
        )
    errors = [_error(row, what) for row in rows for what, _ in QUANTITIES]
    equal = "equal to" if ran.difference is None else "NOT those of"
    lines += [
        "",
        f"largest error of an estimate {max(errors):.1%}; {len(ran.answer)} answers, {equal} the reference's",
    ]
    joining = max(rows, key=lambda row: row["ram"])["site"]
    return {
        "name": "snee-motes",
        "title": "SNEE, the running example on emulated motes: 29 evaluations of 15 minutes a period",
        "figures": {
            "Fig. 28": measured(
                PAPER,
                "\n".join(lines),
                wins=joining in compiled.placement.placed.sites_of[1],
                everywhere=ran.difference is None
                and ran.run.sound
                and max(errors) <= ERROR
                and all(row["flash"] <= PAPER_FLASH and row["ram"] <= MOTE_RAM for row in rows),
            ),
            "Section 4.6": _estimates(),
        },
        "assumptions": [
            "our own runtime instead of TinyOS, our own placement instead of Fig. 17's; the radio is a byte line of 19,200 bits a second",
            "every condition holds of every reading, as time and memory are planned for the most that can be",
            "flash is what avr-gcc links; RAM is static memory and the deepest stack of the run",
            "estimates were fitted to micro-programs, none of which is a query here (sensornet/motes/calibration.py)",
        ],
    }


def _estimates() -> dict[str, Any]:
    """For each quantity and query, the site at which the estimate is furthest off."""
    from nilometer.engine.mote_report import measurements
    from nilometer.laboratory import mote_queries

    heads = "".join(f"{f'{title}: at, measured (estimate)':<36}" for _, title in QUANTITIES)
    lines, good = [f"{'query':<31}sites  {heads}".rstrip()], True
    for query in mote_queries.MOTE_QUERIES:
        with tempfile.TemporaryDirectory() as directory:
            ran = mote_queries.measured(query, Path(directory))
            rows = measurements(ran)
        good = good and ran.difference is None and ran.run.sound
        cells = []
        for what, _ in QUANTITIES:
            worst = max(rows, key=lambda row, what=what: _error(row, what))  # type: ignore[misc]
            good = good and _error(worst, what) <= ERROR
            figures = f"{worst['site']:>2}  {worst[what]:g} ({worst[f'{what}_estimate']:g})"
            cells.append(f"{figures:<24}{_error(worst, what):>6.1%}      ")
        lines.append(f"{query.name:<31}{len(rows):>5}  {''.join(cells)}".rstrip())
    return claimed(COST_MODELS, "\n".join(lines), good)


def _error(row: dict[str, Any], what: str) -> float:
    return float(abs(row[f"{what}_estimate"] / row[what] - 1))
