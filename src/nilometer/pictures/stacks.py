"""Joules of nodes by component -> stacked bars (SNEE Fig. 26): all components, and the radio by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nilometer.catalog.network import NodeId
from nilometer.pictures.colours import COMPONENTS, RADIO
from nilometer.placement import Energy

MOST_NODES = 60


def draw_energy(
    energies: Mapping[NodeId, Energy], path: Path, title: str, stock: float | None = None
) -> None:
    """Draw the bars. `stock`, the energy of a node's battery, is a horizontal line."""
    from matplotlib.figure import Figure

    chosen = sorted(energies.items(), key=lambda entry: -entry[1].total)[:MOST_NODES]
    chosen.sort(key=lambda entry: (str(type(entry[0])), entry[0]))
    names = [str(node) for node, _ in chosen]
    figure = Figure(figsize=(max(7.0, 0.22 * len(names)), 6.5), layout="constrained")
    above, below = figure.subplots(2, 1)
    _stack(above, names, [energy for _, energy in chosen], tuple(COMPONENTS))
    if stock is not None:
        above.axhline(stock, color=RADIO, linewidth=1, linestyle="--", label=f"{stock:.0f} J, a battery")
    above.set_title(title)
    above.legend(fontsize=7, ncols=3)
    _stack(below, names, [energy for _, energy in chosen], ("radio_receive", "radio_transmit"))
    below.set_title("the radio by itself")
    below.set_xlabel("node")
    below.legend(fontsize=7)
    figure.savefig(path)


def _stack(axes, names: list[str], energies: list[Energy], components: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    bottom = np.zeros(len(names))
    for component in components:
        values = np.array([getattr(energy, component) for energy in energies])
        axes.bar(names, values, bottom=bottom, color=COMPONENTS[component], label=component.replace("_", " "))
        bottom += values
    axes.set_ylabel("joules")
    axes.tick_params(axis="x", labelsize=7, labelrotation=90 if len(names) > 24 else 0)
