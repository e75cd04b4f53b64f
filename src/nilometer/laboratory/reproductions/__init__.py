"""Reproductions of the papers' figures, by the name that `nilometer reproduce` takes.

Each returns an object with `paper`, `ours`, a verdict and ratios (verdict.py) per figure, and the assumptions
it made. Modules are imported on use, because numpy and Polars take time to import.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nilometer.laboratory.reproductions.snee_forms import snee_forms


def fjords_power() -> dict[str, Any]:
    """Fjords' power model."""
    from nilometer.laboratory.reproductions.fjords_power import fjords_power as reproduce

    return reproduce()


def steam_buffer() -> dict[str, Any]:
    """STEAM's buffers."""
    from nilometer.laboratory.reproductions.steam_buffer import steam_buffer as reproduce

    return reproduce()


def idhm() -> dict[str, Any]:
    """STEAM's application: hazardous material from gamma spectra; it takes half a minute."""
    from nilometer.laboratory.reproductions.idhm import idhm as reproduce

    return reproduce()


def steam(plot: Path | None = None) -> dict[str, Any]:
    """STEAM's W-joins against their rivals; it takes a minute or two."""
    from nilometer.laboratory.reproductions.steam import steam as reproduce

    return reproduce(plot=plot)


def steam_mining() -> dict[str, Any]:
    """STEAM's mining operators: goldens, and real series where they are at hand."""
    from nilometer.laboratory.reproductions.steam_mining import steam_mining as reproduce

    return reproduce()


def fjords(plot: Path | None = None) -> dict[str, Any]:
    """Fjords' combined queries. `plot` is the path for a picture of the figures."""
    from nilometer.laboratory.reproductions.fjords import fjords as reproduce

    return reproduce(plot=plot)


def snjoin(plot: Path | None = None, largest: int | None = None) -> dict[str, Any]:
    """All of SNJoin's figures. `largest` is the size of the largest network that is simulated."""
    from nilometer.laboratory.reproductions.snjoin import snjoin as reproduce

    return reproduce(plot=plot, largest=largest)


def snjoin_central(plot: Path | None = None) -> dict[str, Any]:
    """SNJoin against its rivals on one server: Figs. 8, 9, 10 and 14."""
    from nilometer.laboratory.reproductions.snjoin import draw
    from nilometer.laboratory.reproductions.snjoin_central import snjoin_central as reproduce

    result = reproduce()
    if plot is not None:
        draw(result, plot)
    return result


def snjoin_costs(plot: Path | None = None) -> dict[str, Any]:
    """SNJoin's cost model."""
    from nilometer.laboratory.reproductions.snjoin_costs import snjoin_costs as reproduce

    return reproduce(plot=plot)


def snjoin_network(plot: Path | None = None) -> dict[str, Any]:
    """SNJoin in a simulated network; it takes some minutes."""
    from nilometer.laboratory.reproductions.snjoin_network import snjoin_network as reproduce

    return reproduce(plot=plot)


def snjoin_phenomena() -> dict[str, Any]:
    """Detected updates of phenomena, SNJoin's Figs. 8d, 9d, 10 and 11; it takes some minutes."""
    from nilometer.laboratory.reproductions.snjoin_phenomena import snjoin_phenomena as reproduce

    return reproduce()


def snee_placement() -> dict[str, Any]:
    """Our placement against SNEE's; it takes a minute."""
    from nilometer.laboratory.reproductions.snee_placement import snee_placement as reproduce

    return reproduce()


def snee_losses() -> dict[str, Any]:
    """SNEE's running example over links that lose packets, with and without retries."""
    from nilometer.laboratory.reproductions.snee_losses import snee_losses as reproduce

    return reproduce()


def snee_motes() -> dict[str, Any]:
    """SNEE's running example on emulated motes; it needs avr-gcc and libsimavr."""
    from nilometer.laboratory.reproductions.snee_motes import snee_motes as reproduce

    return reproduce()


def snee(plot: Path | None = None) -> dict[str, Any]:
    """SNEE's experiments in the network; it takes half a minute."""
    from nilometer.laboratory.reproductions.snee import snee as reproduce

    return reproduce(plot=plot)


def dhtjoin(plot: Path | None = None, largest: int | None = None) -> dict[str, Any]:
    """DHTJoin against RJoin; it takes a minute or two. `largest` is the number of peers."""
    from nilometer.laboratory.reproductions.dhtjoin import dhtjoin as reproduce

    del plot
    return reproduce(largest)


REPRODUCTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "snee-forms": snee_forms,
    "snee": snee,
    "snee-placement": snee_placement,
    "snee-losses": snee_losses,
    "snee-motes": snee_motes,
    "fjords": fjords,
    "fjords-power": fjords_power,
    "steam": steam,
    "steam-buffer": steam_buffer,
    "idhm": idhm,
    "steam-mining": steam_mining,
    "snjoin": snjoin,
    "snjoin-central": snjoin_central,
    "snjoin-costs": snjoin_costs,
    "snjoin-network": snjoin_network,
    "snjoin-phenomena": snjoin_phenomena,
    "dhtjoin": dhtjoin,
}

PLOTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "snee": snee,
    "fjords": fjords,
    "steam": steam,
    "snjoin": snjoin,
    "snjoin-central": snjoin_central,
    "snjoin-costs": snjoin_costs,
    "snjoin-network": snjoin_network,
}
"""The reproductions that can be drawn."""

SCALED: dict[str, Callable[[Path | None, int | None], dict[str, Any]]] = {
    "snjoin": snjoin,
    "dhtjoin": dhtjoin,
}
"""The reproductions whose largest part can be left out."""


def text(result: dict[str, Any]) -> str:
    """A reproduction for a person to read: each figure as in the paper, then as we measured it."""
    lines = [result["title"]]
    for name, figure in result["figures"].items():
        lines += ["", f"{name}: {figure['verdict']}", "  paper:"]
        lines += ["    " + line for line in figure["paper"].splitlines()]
        lines += ["  ours:"]
        lines += ["    " + line for line in figure["ours"].splitlines()]
        if figure["ratios"]:
            lines += ["  ratios:"] + ["    " + ratio["text"] for ratio in figure["ratios"]]
    lines += ["", "assumptions:"] + [f"- {assumption}" for assumption in result["assumptions"]]
    return "\n".join(lines)


__all__ = ["PLOTS", "REPRODUCTIONS", "SCALED", "text"]
