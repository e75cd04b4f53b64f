"""SNEE section 6.1 (Figs. 26 to 28): energy, lifetime and memory of every site of the running example in six
months.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from nilometer.catalog.network import NodeId
from nilometer.laboratory.reproductions.snee_networks import (
    DAY,
    MINUTES_15,
    SIX_MONTHS,
    AlwaysTrue,
    plan,
    ten_nodes,
)
from nilometer.laboratory.reproductions.verdict import Ratio, measured
from nilometer.placement import Energy, Placement
from nilometer.placement.text.tables import table
from nilometer.sensornet.motes.compilation import compile_placement
from nilometer.sensornet.motes.toolchain import missing_tools
from nilometer.sensornet.simulation import Conditions, SimulationResult, simulate
from nilometer.types import SECOND

STOCK = 31_320
"""The energy of two AA batteries in joules."""


def run_six_months() -> SimulationResult:
    """Q3 under `snee-2010`, simulated for six months with batteries that never run dry."""
    placement = plan("Q3", ten_nodes(), MINUTES_15, delivery_time=DAY)
    conditions = Conditions(batteries=False, repair="none")
    return simulate(placement, SIX_MONTHS * SECOND, conditions, readings=AlwaysTrue(), take=lambda _: None)


def figures_26_to_28(result: SimulationResult) -> dict[str, dict[str, Any]]:
    """The three figures, from the run."""
    placement = result.placement
    sites = placement.routing.post_order
    # Whole periods were run; the result is scaled, as the paper scales one period.
    scale = SIX_MONTHS / (result.duration / 1e6)
    energies = {site: _scaled(result.ledger.of(site), scale) for site in sites}
    lifetimes = result.lifetimes()
    return {
        "Fig. 26, energy of each site": _energy(placement, energies),
        "Fig. 27, lifetime of each site": _lifetime(placement, lifetimes),
        "Fig. 28, memory of each site": _memory(placement),
    }


def _scaled(energy: Energy, scale: float) -> Energy:
    return Energy(*(getattr(energy, name) * scale for name in energy.__slots__))


def _energy(placement: Placement, energies: dict[Any, Energy]) -> dict[str, Any]:
    rows = [
        (
            site,
            f"{energy.sensor + energy.sensor_board:.0f}",
            f"{energy.cpu_sleep:.0f}",
            f"{energy.cpu_active + energy.cpu_idle:.1f}",
            f"{energy.radio:.1f}",
            f"{energy.total:.0f}",
        )
        for site, energy in energies.items()
    ]
    total = sum(energy.total for energy in energies.values())
    sensor = sum(energy.sensor + energy.sensor_board for energy in energies.values()) / total
    asleep = sum(energy.cpu_sleep for energy in energies.values()) / total
    radio = max(energy.radio for energy in energies.values()) / STOCK
    spread = max(e.total for e in energies.values()) / min(e.total for e in energies.values())
    awake = (
        placement.agenda.acquired * (placement.beta - 1)
        + placement.agenda.delivery
        - placement.agenda.last_evaluation
    )
    slept = 1 - awake / placement.agenda.period
    lines = table(("site", "sensor (J)", "CPU asleep", "CPU awake", "radio", "all"), rows, left=(0,))
    lines.append(
        f"sensor {sensor:.1%}, CPU asleep {asleep:.1%}; the dearest radio takes {radio:.2%} of a battery;"
        f" the dearest site {spread:.3f} times the cheapest; asleep {slept:.3%} of the time"
    )
    return measured(
        "sensor 84 %, CPU asleep 15 % on average; the dearest radio 1 % of a battery; roughly the same for all sites;\n"
        "asleep 99.9 % of the time, the radio on 0.101 %",
        "\n".join(lines),
        wins=0.83 < sensor < 0.86 and 0.14 < asleep < 0.16,
        everywhere=radio < 0.02 and spread < 1.02 and slept > 0.998,
        ratios=[
            Ratio("the sensor's share over that of the CPU asleep", 84 / 15, sensor / asleep),
            Ratio("the dearest radio over a battery", 0.01, radio),
            Ratio("time awake over all", 0.00101, 1 - slept),
            Ratio("the dearest site over the cheapest (roughly the same)", 1, spread),
        ],
        data={str(site): energy.total for site, energy in energies.items()},
    )


def _lifetime(placement: Placement, lifetimes: dict[Any, float]) -> dict[str, Any]:
    found = {site: lifetimes[site] / 86400 for site in placement.routing.post_order if site in lifetimes}
    text = "  ".join(f"site {site}: {value:.1f}" for site, value in found.items())
    low, high = min(found.values()), max(found.values())
    return measured(
        "about 4.5 months for all seven sites (days; no table is printed)",
        f"days: {text}",
        wins=130 < low <= high < 150,
        everywhere=high / low < 1.02,
        ratios=[Ratio("the shortest life over six months", 4.5 / 6, low * 86400 / SIX_MONTHS)],
        data={str(site): value for site, value in found.items()},
    )


def _memory(placement: Placement) -> dict[str, Any]:
    ours = plan("Q3", ten_nodes(), MINUTES_15, delivery_time=DAY, profile="default")
    programs = program_sizes(ours)
    rows = [
        (
            site,
            placed.ram,
            ours.sites[site].ram if site in ours.sites else "-",
            programs[site][1] if programs and site in programs else "-",
            programs[site][0] if programs and site in programs else "-",
        )
        for site, placed in placement.sites.items()
    ]
    lines = table(("site", "RAM, snee-2010", "RAM, default", "RAM, linked", "flash, linked"), rows, left=(0,))
    fullest = max(
        (plan_ for site, plan_ in placement.sites.items() if site != placement.routing.sink),
        key=lambda plan_: plan_.ram,
    )
    largest = max((flash for flash, _ in programs.values()), default=0) if programs else 0
    if programs:
        lines.append(f"the largest program takes {largest} bytes of flash ({largest / 131072:.0%})")
    else:
        lines.append("no programs were built: avr-gcc is not here (apt install gcc-avr avr-libc)")
    return measured(
        "RAM: site 3, with the join, is the fullest of 4 kB\n"
        "flash: never above 20 kB (15 % of 128 kB); TinyDB takes 65 kB in every site",
        "\n".join(lines),
        wins=fullest.site == 3,
        everywhere=fullest.ram <= 4096 and largest <= 20_480,
        data={str(site): plan_.ram for site, plan_ in placement.sites.items()},
    )


def program_sizes(placement: Placement) -> dict[NodeId, tuple[int, int]] | None:
    """Flash and static RAM of each site's program by avr-size; None if there is no compiler for motes."""
    if missing_tools() is not None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        built = compile_placement(placement, Path(directory)).built
        return {site: (program.flash, program.ram) for site, program in built.items()}
