"""SNEE section 6.3 (Figs. 32 and 33): energy and lifetime of random scenarios of 30 and of 200 nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nilometer.errors import NilometerError
from nilometer.laboratory.placement_comparison import placed
from nilometer.laboratory.reproductions.snee_networks import six_months_energy
from nilometer.laboratory.reproductions.verdict import Ratio, measured
from nilometer.laboratory.scenarios import Scenario, random_scenario
from nilometer.placement import QualityOfService
from nilometer.placement.text.tables import table

SIZES = (30, 200)
EACH = 15
"""The number of scenarios of each size, as in the paper."""


@dataclass(frozen=True)
class PlannedScenario:
    """A scenario that could be planned."""

    scenario: Scenario
    sites: int
    energy: float  # kJ in six months
    lifetime: float  # days


def outcomes(size: int, count: int = EACH, profile: str = "snee-2010") -> tuple[list[PlannedScenario], int]:
    """The first `count` scenarios of a size that can be planned, by their number of sites, and the number of
    scenarios before them that could not."""
    found: list[PlannedScenario] = []
    seed, refused = 0, 0
    while len(found) < count:
        scenario = random_scenario(seed, size)
        seed += 1
        try:
            quality = QualityOfService.of(delivery_time=scenario.delivery_time)
            placement = placed(scenario, profile, quality)
        except NilometerError:
            refused += 1
            continue
        lifetime = placement.estimate.lifetime
        assert lifetime is not None
        energy = six_months_energy(placement) / 1000
        found.append(PlannedScenario(scenario, len(placement.sites), energy, lifetime / 86400))
    return sorted(found, key=lambda outcome: outcome.sites), refused


def figures_32_and_33(count: int = EACH) -> dict[str, dict[str, Any]]:
    """Both figures."""
    found = {size: outcomes(size, count) for size in SIZES}
    all_of_them = [outcome for size in SIZES for outcome in found[size][0]]
    means = {size: float(np.mean([o.energy for o in found[size][0]])) for size in SIZES}
    per_node = {size: float(np.mean([o.energy / (o.sites - 1) for o in found[size][0]])) for size in SIZES}
    lifetimes = {size: float(np.mean([o.lifetime for o in found[size][0]])) for size in SIZES}
    together = _rank_correlation([o.sites for o in all_of_them], [o.energy for o in all_of_them])
    rows = [
        (
            number,
            len(o.scenario.network.nodes),
            o.sites,
            o.scenario.query_name,
            f"{o.energy:.0f}",
            f"{o.lifetime:.0f}",
        )
        for number, o in enumerate(all_of_them, 1)
    ]
    lines = table(("scenario", "nodes", "sites", "query", "kJ", "days"), rows, left=(3,))
    refused = sum(found[size][1] for size in SIZES)
    lines.append(
        f"{refused} more could not be planned" if refused else "all that were drawn could be planned"
    )
    data = [
        {"nodes": len(o.scenario.network.nodes), "sites": o.sites, "kilojoules": o.energy, "days": o.lifetime}
        for o in all_of_them
    ]
    return {
        "Fig. 32, energy of random scenarios": measured(
            "grows with the number of sites, broadly; on average 1052 kJ (30 nodes) and 5764 kJ (200), 42.4 and 40.0 kJ a node",
            "\n".join(
                [
                    *lines,
                    f"on average {means[30]:.0f} kJ and {means[200]:.0f} kJ, {per_node[30]:.1f} and {per_node[200]:.1f} kJ a node;"
                    f" rank correlation with the sites {together:.2f}",
                ]
            ),
            wins=means[200] > 3 * means[30],
            everywhere=together > 0.8 and per_node[200] < 2 * per_node[30],
            ratios=[
                Ratio("energy with 200 nodes over 30", 5764 / 1052, means[200] / means[30]),
                Ratio("energy a node with 200 nodes over 30", 40.0 / 42.4, per_node[200] / per_node[30]),
            ],
            data=data,
        ),
        "Fig. 33, lifetime of random scenarios": measured(
            "on average 107 days (30 nodes) and 97 days (200): a larger network does not necessarily live shorter",
            f"on average {lifetimes[30]:.0f} days and {lifetimes[200]:.0f} days",
            wins=lifetimes[200] > 0.7 * lifetimes[30],
            everywhere=True,
            ratios=[Ratio("lifetime with 200 nodes over 30", 97 / 107, lifetimes[200] / lifetimes[30])],
            data=data,
        ),
    }


def _rank_correlation(one: list[float] | list[int], other: list[float]) -> float:
    """Spearman's rank correlation."""
    first, second = (np.argsort(np.argsort(values)).astype(float) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])
