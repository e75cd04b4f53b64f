"""All drawings of a placement, and of a simulation, written into a directory."""

from __future__ import annotations

from pathlib import Path

from nilometer.pictures.gantt import draw_agenda
from nilometer.pictures.network_map import draw_network
from nilometer.pictures.stacks import draw_energy
from nilometer.placement import Placement
from nilometer.sensornet.simulation import SimulationResult


def draw_placement(placement: Placement, directory: str | Path) -> list[Path]:
    """Draw `routing.svg`, `agenda.svg` and `energy.svg` (the estimate for one period)."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in ("routing.svg", "agenda.svg", "energy.svg")]
    draw_network(placement, paths[0])
    draw_agenda(placement, paths[1])
    energies = {site: plan.energy for site, plan in placement.sites.items()}
    draw_energy(energies, paths[2], f"a period of {placement.estimate.period:.0f} s, as estimated")
    return paths


def draw_simulation(result: SimulationResult, directory: str | Path) -> list[Path]:
    """Draw `simulated-energy.svg`; `repaired-routing.svg` if there was a repair, or else `dead-nodes.svg` if
    nodes died."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "simulated-energy.svg"
    ledger = result.ledger
    energies = {node: ledger.of(node) for node in ledger.nodes if ledger.of(node).total > 0}
    stocks = {node.energy for node in result.placement.network.nodes if node.energy is not None}
    stock = stocks.pop() if len(stocks) == 1 else None
    draw_energy(energies, path, f"{result.duration / 86400e6:.1f} days, simulated", stock)
    paths = [path]
    dead = [death.node for death in result.deaths]
    repaired = [mended.chosen.placement for mended in result.mended if mended.chosen is not None]
    if repaired and repaired[-1] is not None:
        paths.append(folder / "repaired-routing.svg")
        draw_network(repaired[-1], paths[-1], dead, result.placement.network)
    elif dead:
        paths.append(folder / "dead-nodes.svg")
        draw_network(result.placement, paths[-1], dead)
    return paths
