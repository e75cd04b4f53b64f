"""Joules of nodes by component -> stacked bars (SNEE Fig. 26): all components, and the radio by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nilometer.catalog.network import NodeId
from nilometer.pictures.colours import COMPONENTS, RADIO
from nilometer.placement import Energy

MOST_NODES = 60
NEAR = 4
"""A battery is drawn if the highest bar reaches this part of it; the bars would vanish beside a larger one."""
BESIDE: dict[str, Any] = {"fontsize": 7, "loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
"""The place of a legend: beside the bars, not on them."""


def draw_energy(
    energies: Mapping[NodeId, Energy], path: Path, title: str, stock: float | None = None
) -> None:
    """Draw the bars. `stock`, the energy of a node's battery, is a horizontal line, if the bars come near it;
    otherwise the title says how little of it was used."""
    from matplotlib.figure import Figure

    chosen = sorted(energies.items(), key=lambda entry: -entry[1].total)[:MOST_NODES]
    chosen.sort(key=lambda entry: (str(type(entry[0])), entry[0]))
    names = [str(node) for node, _ in chosen]
    figure = Figure(figsize=(max(7.0, 0.22 * len(names)), 6.5), layout="constrained")
    above, below = figure.subplots(2, 1)
    _stack(above, names, [energy for _, energy in chosen], tuple(COMPONENTS))
    most = max((energy.total for _, energy in chosen), default=0.0)
    if stock is not None and most > stock / NEAR:
        above.axhline(stock, color=RADIO, linewidth=1, linestyle="--", label=f"{stock:,.0f} J, a battery")
    elif stock is not None:
        title += f"; at most {most / stock:.2%} of a battery of {stock:,.0f} J"
    above.set_title(title, fontsize=10)
    above.legend(**BESIDE)
    _stack(below, names, [energy for _, energy in chosen], ("radio_receive", "radio_transmit"))
    below.set_title("the radio by itself", fontsize=10)
    below.set_xlabel("node")
    below.legend(**BESIDE)
    figure.savefig(path)


def _stack(axes, names: list[str], energies: list[Energy], components: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.ticker import EngFormatter

    bottom = np.zeros(len(names))
    for component in components:
        values = np.array([getattr(energy, component) for energy in energies])
        axes.bar(names, values, bottom=bottom, color=COMPONENTS[component], label=component.replace("_", " "))
        bottom += values
    axes.yaxis.set_major_formatter(EngFormatter("J"))
    axes.tick_params(axis="x", labelsize=7, labelrotation=90 if len(names) > 24 else 0)
