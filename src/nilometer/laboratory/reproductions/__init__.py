"""Reproductions of the papers' figures, by the name that `nilometer reproduce` takes.

Each gives an object with `paper` and `ours` per figure, and the assumptions it made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nilometer.laboratory.reproductions.snee_forms import snee_forms


def fjords_power() -> dict[str, Any]:
    """Fjords' power model, imported when it is asked for: numpy and Polars take their time."""
    from nilometer.laboratory.reproductions.fjords_power import fjords_power as reproduce

    return reproduce()


def steam_buffer() -> dict[str, Any]:
    """STEAM's buffers, imported when they are asked for."""
    from nilometer.laboratory.reproductions.steam_buffer import steam_buffer as reproduce

    return reproduce()


REPRODUCTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "snee-forms": snee_forms,
    "fjords-power": fjords_power,
    "steam-buffer": steam_buffer,
}


def text(result: dict[str, Any]) -> str:
    """A reproduction for a person to read: each figure as the paper has it, then as we have it."""
    lines = [result["title"]]
    for name, figure in result["figures"].items():
        lines += ["", f"{name}, {_verdict(figure)}", "  paper:"]
        lines += ["    " + line for line in figure["paper"].splitlines()]
        lines += ["  ours:"]
        lines += ["    " + line for line in figure["ours"].splitlines()]
    lines += ["", "assumptions:"] + [f"- {assumption}" for assumption in result["assumptions"]]
    return "\n".join(lines)


def _verdict(figure: dict[str, Any]) -> str:
    """An exact figure is the same or not; a measured one has the paper's shape or not."""
    if "same" in figure:
        return "the same" if figure["same"] else "DIFFERENT"
    return "the same shape" if figure["shape"] else "ANOTHER SHAPE"


__all__ = ["REPRODUCTIONS", "text"]
