"""The stage `placed`: which fragment runs where and why, what crosses which hop, and what the alternatives
would cost."""

from __future__ import annotations

from nilometer.placement.fragments import Fragment
from nilometer.placement.placement import Placement
from nilometer.placement.text.tables import days, joules, listed, table


def placed_text(placement: Placement) -> str:
    """Fragments with their sites, relays, and the alternatives."""
    placed = placement.placed
    rows = [
        (
            fragment.name,
            _operators(fragment),
            _host(fragment) if fragment.host != "mote" else listed(placed.sites_of[fragment.number]),
            _why(fragment),
        )
        for fragment in placement.fragments
    ]
    lines = table(("fragment", "operators", "sites", "why there"), rows, left=range(4))
    if placed.relays:
        lines.append(f"relays: {listed(placed.relays)}")
    if placement.at_gateway:
        where = "on Spark" if placement.fragments[0].host == "spark" else "at the gateway"
        lines += ["", *table((where, "because"), placement.at_gateway, left=range(2))]
    lines += ["", *_alternatives(placement)]
    return "\n".join(lines)


def _host(fragment: Fragment) -> str:
    return "Spark" if fragment.host == "spark" else "the gateway"


def _operators(fragment: Fragment) -> str:
    names = [node.operator for node in reversed(fragment.operators) if not getattr(node, "elided", False)]
    return ", ".join(names)


def _why(fragment: Fragment) -> str:
    if fragment.delivers:
        return "the answer is wanted there"
    if fragment.is_leaf:
        return "its readings are taken there"
    if fragment.merges:
        return "partial results meet there"
    if any(node.operator == "AGGR_EVAL" for node in fragment.operators):
        return "the last partial results meet there"
    if any(node.attribute_sensitive for node in fragment.operators):
        return "the deepest site that all its rows pass"
    return "its rows are there"


def _alternatives(placement: Placement) -> list[str]:
    """The alternatives that were compared: energy per day of all sites except the sink, without the sensor
    boards."""
    rows = []
    for option in placement.alternatives:
        estimate = option.estimate
        costs = ("-", "-", "-")
        if estimate is not None:
            daily = estimate.energy_without_board * 86400 / estimate.period
            costs = (joules(daily), f"{estimate.packets_per_day:.0f}", days(estimate.lifetime_without_board))
        rows.append(("*" if option.chosen else "", option.name, *costs, option.reason))
    return table(
        ("", "alternative, sensor boards off", "energy a day", "packets a day", "lifetime (days)", "because"),
        rows,
        left=(0, 1, 5),
    )
