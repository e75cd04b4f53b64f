"""SNEE's experiments (section 6, Figs. 26 to 33) beside ours, under the profile `snee-2010`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nilometer.laboratory.reproductions.snee_expectations import figures_29_to_31
from nilometer.laboratory.reproductions.snee_scenarios import figures_32_and_33
from nilometer.laboratory.reproductions.snee_sites import figures_26_to_28, run_six_months


def snee(plot: Path | None = None) -> dict[str, Any]:
    """All eight figures. `plot` is the path for the curves of Figs. 29 to 31; the other pictures go beside
    it."""
    result = run_six_months()
    by_expectation, curves = figures_29_to_31()
    figures = figures_26_to_28(result) | by_expectation | figures_32_and_33()
    if plot is not None:
        from nilometer.pictures import draw_agenda, draw_curves, draw_energy, draw_network

        draw_curves(curves, plot)
        ledger = result.ledger
        energies = {node: ledger.of(node) for node in result.placement.routing.post_order}
        draw_energy(energies, _beside(plot, "energy"), "Fig. 26: six months of the running example", 31_320)
        draw_network(result.placement, _beside(plot, "routing"))
        draw_agenda(result.placement, _beside(plot, "agenda"))
    return {
        "name": "snee",
        "title": "SNEE, energy, lifetime and memory (section 6, Figs. 26 to 33; profile snee-2010)",
        "figures": figures,
        "assumptions": [
            "the paper measured in the emulator Avrora; ours are the simulator's (Figs. 26, 27) and the cost model's, which agree where every "
            "predicate is true, as the paper assumes; costs are the coarse ones behind its Fig. 22, currents Avrora's for a Mica2",
            "the paper prints its figures as drawings: what is compared is what its text says of them",
            "a node's 428 bytes of fixed RAM, which make beta = 29, follow from constants of the released code (Fig. 28)",
            "thirty nodes: the paper does not print the network; ours has River on eight sites, Hilltop on one, and Sensors on "
            "half of the nodes; on the ten nodes of Fig. 3, Sensors is on the five sites that sense",
            "Figs. 29 and 30 have no bound on the delivery time; Q* has a buffering factor of 1",
            "random scenarios: densities, extents, intervals (1 to 30 minutes) and delivery times (1 to 24 hours) are drawn from ranges of our "
            "own, queries from Q1, Q2 and Q3; the paper's have faster intervals and nested queries, hence its shorter lifetimes",
            "flash and linked RAM are those of the programs of our own code generator, under our default profile",
        ],
    }


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}-{name}{path.suffix}")
