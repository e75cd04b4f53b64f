"""The stage `fragments`: the plan with its EXCHANGEs, and the fragment that each operator belongs to (SNEE
Fig. 17)."""

from __future__ import annotations

from nilometer.placement.fragments import Fragment
from nilometer.placement.placement import Placement
from nilometer.placement.tuple_layout import tuple_layout
from nilometer.plan import physical
from nilometer.plan.explain.text import operator_name, print_parameters


def fragments_text(placement: Placement) -> str:
    """Each fragment under its name, with its producers indented."""
    lines: list[str] = []
    _fragment(placement, placement.fragments[0], 0, lines)
    return "\n".join(lines)


def _fragment(placement: Placement, fragment: Fragment, depth: int, lines: list[str]) -> None:
    host = {"mote": "", "gateway": " at the gateway", "spark": " on Spark"}[fragment.host]
    size = tuple_layout(fragment.root, placement.profile.wire, placement.placed.population).size
    given = "" if fragment.delivers else f", tuples of {size} bytes"
    lines.append("  " * depth + f"{fragment.name}{host}{given}")
    producers = iter(fragment.producers)

    def show(node: physical.Node, depth: int, mark: str = "") -> None:
        if isinstance(node, physical.Exchange):
            lines.append("  " * depth + "EXCHANGE")
            _fragment(placement, placement.fragments[next(producers)], depth + 1, lines)
            return
        if isinstance(node, physical.TimeWindow) and node.elided:
            show(node.input, depth, " @now")
            return
        clauses = print_parameters(node)
        parameters = f" [{'; '.join(clauses)}]" if clauses else ""
        lines.append("  " * depth + operator_name(node) + parameters + mark)
        for child in node.inputs:
            show(child, depth + 1)

    show(fragment.root, depth + 1)
