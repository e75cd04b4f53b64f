"""SNEE's Fig. 28 and section 6.1: memory of the running example's programs, from binaries that were built and emulated."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from nilometer.laboratory.reproductions.snee_forms import QUERY, SCHEMA
from nilometer.laboratory.scenarios import running_example

BETA = 29
PERIODS = 2
PAPER_FLASH = 20_000
MOTE_RAM = 4096

PAPER = """RAM: the site of the join uses the largest share of its 4 KB, as tuples of 29 evaluations are kept;
program memory: at most about 20 kB at any site (TinyDB: 65 kB at every one)."""


def snee_motes() -> dict[str, Any]:
    """Compiles the running example for every site, runs it for two periods, and sets what was measured beside the estimates."""
    from nilometer.engine import connect
    from nilometer.engine.motes import compile_query, emulate, measurements
    from nilometer.placement import QualityOfService
    from nilometer.sensornet.motes.readings import random_readings

    database = connect()
    database.execute(SCHEMA)
    query = database.sql(QUERY)
    with tempfile.TemporaryDirectory() as directory:
        compiled = compile_query(
            query, Path(directory), running_example().network, QualityOfService.of(buffering_factor=BETA)
        )
        readings = random_readings(compiled.motes, BETA * PERIODS, 28, {"rain": 4})
        for reading in readings["hilltop"][4]:
            reading["rain"] = 20  # type: ignore[index]  # every condition holds: the most that can be
        ran = emulate(query, compiled, readings=readings)
        rows = measurements(ran)
    lines = ["site  flash (estimate)  RAM with stack (estimate)  busy ms a period (estimate)"]
    for row in rows:
        lines.append(
            f"{row['site']:>4}  {row['flash']:>5} ({row['flash_estimate']:>4})       {row['ram']:>5} ({row['ram_estimate']:>4})"
            f"               {row['busy']:>7.1f} ({row['busy_estimate']:.1f})"
        )
    errors = [
        abs(row[f"{what}_estimate"] / row[what] - 1) for row in rows for what in ("flash", "ram", "busy")
    ]
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
            "Fig. 28": {
                "paper": PAPER,
                "ours": "\n".join(lines),
                "shape": ran.difference is None
                and ran.run.sound
                and max(errors) <= 0.1
                and all(row["flash"] <= PAPER_FLASH and row["ram"] <= MOTE_RAM for row in rows)
                and joining in compiled.placement.placed.sites_of[1],
            }
        },
        "assumptions": [
            "our own runtime instead of TinyOS, our own placement instead of Fig. 17's; the radio is a byte line of 19,200 bits a second",
            "every condition holds of every reading, as time and memory are planned for the most that can be",
            "flash is what avr-gcc links; RAM is static memory and the deepest stack of the run",
        ],
    }
