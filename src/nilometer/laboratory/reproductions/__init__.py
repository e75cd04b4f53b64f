"""Reproductions of the papers' figures, by the name that `nilometer reproduce` takes.

Each gives an object with `paper` and `ours` per figure, and the assumptions it made.
"""

from __future__ import annotations

from typing import Any

from nilometer.laboratory.reproductions.snee_forms import snee_forms

REPRODUCTIONS = {"snee-forms": snee_forms}


def text(result: dict[str, Any]) -> str:
    """A reproduction for a person to read: each figure as the paper has it, then as we have it."""
    lines = [result["title"]]
    for name, figure in result["figures"].items():
        lines += ["", f"{name}, {'the same' if figure['same'] else 'DIFFERENT'}", "  paper:"]
        lines += ["    " + line for line in figure["paper"].splitlines()]
        lines += ["  ours:"]
        lines += ["    " + line for line in figure["ours"].splitlines()]
    lines += ["", "assumptions:"] + [f"- {assumption}" for assumption in result["assumptions"]]
    return "\n".join(lines)


__all__ = ["REPRODUCTIONS", "text"]
