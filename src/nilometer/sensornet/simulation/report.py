"""A simulation -> text for people, and JSON: how it went, the energy of each node, the deaths and the
repairs."""

from __future__ import annotations

from typing import Any

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import NodeId
from nilometer.placement.text.tables import UNKNOWN_LIFETIME, days, joules, table
from nilometer.sensornet.simulation.ledger import COMPONENTS
from nilometer.sensornet.simulation.repair import Dissemination, Repair, best_repair
from nilometer.sensornet.simulation.result import Mended, SimulationResult

MOST_NODES = 24
"""For a large network, only this many nodes are listed: those that spent most."""


def report_text(result: SimulationResult) -> str:
    """The whole report."""
    lines = [*_nodes(result), "", *_summary(result)]
    if result.prepared is not None and result.prepared.packets:
        told = result.prepared
        lines.append(
            f"prepared {len(told.reprogrammed)} stand-ins: {told.packets} packets, {joules(told.energy)}"
        )
    for death in sorted(result.deaths, key=lambda death: death.after):
        words = "was killed" if death.reason == "killed" else "ran dry"
        lines.append(f"node {death.node} {words} after {death.after / 86400e6:.3f} days")
    for mended in result.mended:
        lines += _mended(mended)
    if result.ended is not None:
        lines.append(f"ended early: {result.ended}")
    return "\n".join(lines)


def _nodes(result: SimulationResult) -> list[str]:
    lifetimes, radio = result.lifetimes(), result.radio
    spent = result.ledger.joules.sum(axis=1)
    order = [row for row in (-spent).argsort(kind="stable") if spent[row] > 0]
    rows = []
    for row in order[:MOST_NODES]:
        node = result.ledger.nodes[row]
        energy = result.ledger.of(node)
        rows.append(
            (
                node,
                int(radio.sent[row]),
                int(radio.lost[row]),
                joules(energy.cpu_active),
                joules(energy.cpu_idle),
                joules(energy.cpu_sleep),
                joules(energy.radio_receive),
                joules(energy.radio_transmit),
                joules(energy.sensor),
                joules(energy.sensor_board),
                joules(energy.total),
                days(lifetimes.get(node)),
            )
        )
    columns = (
        "node",
        "packets",
        "lost",
        "CPU active",
        "idle",
        "asleep",
        "radio rx",
        "radio tx",
        "sensor",
        "board",
        "joules",
        "lifetime (days)",
    )
    lines = table(columns, rows, left=(0,))
    if len(order) > MOST_NODES:
        lines.append(f"the {MOST_NODES} of {len(order)} nodes that spent most")
    return lines


def _summary(result: SimulationResult) -> list[str]:
    span = result.duration / 1e6
    lifetime = min(result.lifetimes().values(), default=None)
    text = (
        f"{span / 86400:.2f} days in {result.periods} periods: {result.answer_rows} rows delivered,"
        f" {result.packets} packets, {joules(result.energy())} without the sink"
    )
    lost = f"{result.packets_lost} packets lost, with {result.tuples_lost} tuples"
    return [
        text,
        lost + _why_lost(result) if result.packets_lost else "no packet lost",
        *_acknowledgements(result),
        UNKNOWN_LIFETIME if lifetime is None else f"the first node lasts {days(lifetime)} days",
    ]


def _why_lost(result: SimulationResult) -> str:
    """The losses by reason, unless only links lost packets and nothing was retried."""
    words = {
        "link": "on the air",
        "slot": "as their slot was over",
        "clock": "as clocks had drifted apart",
        "death": "as a node was dead",
    }
    found = {name: count for name, count in result.lost_by_reason.items() if count}
    if list(found) == ["link"]:
        return ""
    return ": " + ", ".join(f"{count} {words[name]}" for name, count in found.items())


def _acknowledgements(result: SimulationResult) -> list[str]:
    radio = result.radio
    if not radio.acknowledged.any():
        return []
    again = int(radio.sent.sum() - radio.packets.sum())
    return [
        f"{again} packets sent again, {int(radio.acknowledged.sum())} acknowledgements,"
        f" {int(radio.duplicates.sum())} duplicates dropped"
    ]


def _mended(mended: Mended) -> list[str]:
    names = ", ".join(str(node) for node in mended.dead)
    after = f"after {mended.after / 86400e6:.3f} days"
    if mended.chosen is None:
        why = mended.weighed[-1].reason if mended.weighed else "none was wanted"
        return [f"no repair for {names} {after}: {why}"]
    lines = [f"repaired {names} {after}: {mended.chosen.strategy}, {_why(mended)}"]
    rows = [
        (
            f"  {repair.strategy}",
            repair.dissemination.packets if repair.feasible else "-",
            joules(repair.dissemination.energy) if repair.feasible else "-",
            _who(repair.dissemination) if repair.feasible else repair.reason,
            days(repair.lifetime),
        )
        for repair in mended.weighed
    ]
    columns = ("  repair", "packets", "energy", "told", "lifetime (days)")
    lines += table(columns, rows, left=(0, 3))
    if _cut_off(mended):
        names = join_names(map(str, _cut_off(mended)), "and")
        lines.append(f"  no way to the sink is left for {names}: what they sense is missing from then on")
    return lines


def _cut_off(mended: Mended) -> list[NodeId]:
    """The sources that are alive but can no longer be heard."""
    lost = () if mended.chosen is None else mended.chosen.lost
    return [site for site in lost if site not in mended.dead]


def _why(mended: Mended) -> str:
    chosen = mended.chosen
    assert chosen is not None
    others = [repair for repair in mended.weighed if repair.feasible and repair is not chosen]
    if not others:
        return "the only one that can be made"
    if best_repair(mended.weighed) is not chosen:
        return "as it was asked for"
    longest = max((repair.lifetime or 0.0 for repair in others), default=0.0)
    if chosen.lifetime is not None and chosen.lifetime > longest * 1.001:
        return "with which the network lives longest"
    return "which tells least of those with which the network lives as long"


def _who(told: Dissemination) -> str:
    parts = {
        "new program": told.reprogrammed,
        "redirected": told.redirected,
        "activated": told.activated,
        "switched off": told.deactivated,
        "new times": told.shifted,
    }
    return ", ".join(f"{len(sites)} {name}" for name, sites in parts.items() if sites) or "nobody"


def report_json(result: SimulationResult) -> dict[str, Any]:
    """The same report for programs. Times are seconds."""
    lifetimes, radio = result.lifetimes(), result.radio
    return {
        "seconds": result.duration / 1e6,
        "periods": result.periods,
        "rows": result.answer_rows,
        "packets": result.packets,
        "packets_lost": result.packets_lost,
        "lost_by_reason": result.lost_by_reason,
        "tuples_lost": result.tuples_lost,
        "acknowledgements": int(radio.acknowledged.sum()),
        "duplicates": int(radio.duplicates.sum()),
        "joules": result.energy(),
        "ended": result.ended,
        "nodes": [
            {
                "node": node,
                "packets": int(radio.packets[row]),
                "sent": int(radio.sent[row]),
                "lost": int(radio.lost[row]),
                "joules": {name: float(result.ledger.joules[row, i]) for i, name in enumerate(COMPONENTS)},
                "lifetime": lifetimes.get(node),
            }
            for row, node in enumerate(result.ledger.nodes)
        ],
        "deaths": [
            {"node": death.node, "after": death.after / 1e6, "reason": death.reason}
            for death in result.deaths
        ],
        "repairs": [
            {
                "after": mended.after / 1e6,
                "dead": list(mended.dead),
                "chosen": None if mended.chosen is None else mended.chosen.strategy,
                "cut_off": _cut_off(mended),
                "weighed": [_repair_json(repair) for repair in mended.weighed],
            }
            for mended in result.mended
        ],
    }


def _repair_json(repair: Repair) -> dict[str, Any]:
    told = repair.dissemination
    return {
        "strategy": repair.strategy,
        "feasible": repair.feasible,
        "reason": repair.reason,
        "lifetime": repair.lifetime,
        "packets": told.packets,
        "joules": told.energy,
        "reprogrammed": list(told.reprogrammed),
        "redirected": list(told.redirected),
        "activated": list(told.activated),
        "deactivated": list(told.deactivated),
        "shifted": list(told.shifted),
    }
