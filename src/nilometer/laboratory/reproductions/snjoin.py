"""All of SNJoin's figures (snjoin.txt section 7): 8, 9, 10 and 14 on one server, 11 and 12 in a network, 14
as computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nilometer.laboratory.reproductions.snjoin_central import JOINS, snjoin_central
from nilometer.laboratory.reproductions.snjoin_costs import snjoin_costs
from nilometer.laboratory.reproductions.snjoin_network import SENSORS, snjoin_network

SIZES = (200, 2000)
"""The sizes of the networks: the ends of Fig. 12. `snjoin-network` also has those between."""


def snjoin(plot: Path | None = None, largest: int | None = None) -> dict[str, Any]:
    """All figures. `largest` leaves out the larger networks of Figs. 11 and 12, which take most of the time.
    `plot` is the path for Figs. 8 to 10; the pictures of the other parts go beside it."""
    sizes = [size for size in SIZES if largest is None or size <= largest] or [largest or SENSORS[0]]
    central = snjoin_central()
    network = snjoin_network(sizes, plot=None if plot is None else beside(plot, "network"))
    costs = snjoin_costs(plot=None if plot is None else beside(plot, "costs"))
    if plot is not None:
        draw(central, plot)
    parts = (central, network, costs)
    return {
        "name": "snjoin",
        "title": "SNJoin, section 7: on one server, in a network, and as it is computed",
        "figures": {name: figure for part in parts for name, figure in part["figures"].items()},
        "assumptions": [f"{part['name']}: {text}" for part in parts for text in part["assumptions"]],
    }


def beside(plot: Path, part: str) -> Path:
    """
    >>> beside(Path("out/snjoin.png"), "costs").as_posix()
    'out/snjoin-costs.png'
    """
    return plot.with_stem(f"{plot.stem}-{part}")


def draw(central: dict[str, Any], path: Path) -> None:
    """Figs. 8 and 9, a panel each, and Fig. 10, as a PNG."""
    from matplotlib.figure import Figure

    figures = central["figures"]
    panels = [name for name in figures if name.startswith(("Fig. 8", "Fig. 9"))]
    figure = Figure(figsize=(18, 13), layout="constrained")
    grid = figure.add_gridspec(3, 4)
    measures = ("delay", "drop", "output", "updates")
    for place, name in enumerate(panels):
        axes = figure.add_subplot(grid[place // 4, place % 4], title=name, xlabel="sensors")
        rows, measure = figures[name]["data"], measures[place % 4]
        for join in JOINS:
            mine = [(row["sensors"], row[measure]) for row in rows if row["join"] == join]
            axes.plot(*zip(*mine, strict=True), marker="o", label=join)
        if measure in ("delay", "output"):
            axes.set_yscale("log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    for place, (state, which) in enumerate((("undisturbed", "steady"), ("sensors come and go", "moving"))):
        title = f"Fig. 10: updates a second, {state}"
        axes = figure.add_subplot(grid[2, 2 * place : 2 * place + 2], title=title, xlabel="sensors")
        rows = [pair[which] for pair in figures["Fig. 10, sensors that come and go"]["data"]]
        for join in JOINS:
            mine = [(row["sensors"], row["updates"]) for row in rows if row["join"] == join]
            axes.plot(*zip(*mine, strict=True), marker="o", label=join)
        axes.set_ylim(0, None)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=80)
