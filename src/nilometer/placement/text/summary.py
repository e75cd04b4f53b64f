"""The costs of a plan, site by site and for the whole network: the end of the output of `nilometer plan`."""

from __future__ import annotations

from nilometer.placement.placement import Placement
from nilometer.placement.text.tables import UNKNOWN_LIFETIME, days, joules, seconds, table

MOST_SITES = 24
"""For a large network, only this many sites are listed: those that run out of energy first."""


def summary_text(placement: Placement) -> str:
    """RAM, packets, energy by component and lifetime of each site, and the sums."""
    estimate = placement.estimate
    plans = list(placement.sites.values())
    cut = len(plans) > MOST_SITES
    if cut:
        plans = sorted(plans, key=lambda plan: plan.lifetime or float("inf"))[:MOST_SITES]
    rows = [
        (
            plan.site,
            " ".join(f"F{number}" for number in plan.fragments) or "relay",
            plan.ram,
            plan.packets_sent,
            f"{plan.radio_time:.3f}",
            joules(plan.energy.cpu),
            joules(plan.energy.radio),
            joules(plan.energy.sensor),
            joules(plan.energy.sensor_board),
            days(plan.lifetime),
            days(plan.lifetime_without_board),
        )
        for plan in plans
    ]
    columns = (
        "site",
        "runs",
        "RAM (B)",
        "packets",
        "radio (s)",
        "CPU",
        "radio",
        "sensor",
        "board",
        "days",
        "days, board off",
    )
    lines = table(columns, rows, left=(0, 1))
    if cut:
        lines.append(f"the {MOST_SITES} of {len(placement.sites)} sites that run dry first")
    lines += [
        "",
        f"period {seconds(estimate.period)}, delivered after {seconds(estimate.delivery_time)},"
        f" buffering factor {placement.beta}",
        f"a day: {estimate.packets_per_day:.0f} packets, radios on for {seconds(estimate.radio_time_per_day)},"
        f" {joules(estimate.power * 86400)} without the sink",
        UNKNOWN_LIFETIME
        if estimate.lifetime is None
        else f"lifetime {days(estimate.lifetime)} days, with sensor boards that can be switched off"
        f" {days(estimate.lifetime_without_board)} days",
        f"costs by profile {placement.costs.name}, placed by profile {placement.profile.name}",
    ]
    return "\n".join(lines)
