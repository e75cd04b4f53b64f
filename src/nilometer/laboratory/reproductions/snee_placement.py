"""Our default placement against SNEE's: the running example, and random scenarios of 30 and of 200 nodes
(SNEE section 6.3).
"""

from __future__ import annotations

from statistics import median
from typing import Any

from nilometer.laboratory.placement_comparison import Comparison, compare, comparison_lines
from nilometer.laboratory.reproductions.verdict import claimed
from nilometer.laboratory.scenarios import QUERIES, random_scenario, running_example

SCENARIOS = 30
SIZES = (30, 200)

PAPER = """SNEE names as future work what is measured here: nodes that sleep on their own (6.1, point 2), transmissions at the same
time (5.2.4), plans partly outside the network (7, b). It has no figures of it; beside each of ours stands what its own
compiler (profile snee-2010) makes of the same scenario, as "SNEE / ours"."""


def snee_placement(scenarios: int = SCENARIOS, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """The comparison, and the claims about it."""
    groups = {"the running example": [compare(running_example(name)) for name in QUERIES]}
    for size in sizes:
        groups[f"{scenarios} scenarios of {size} nodes"] = [
            compare(random_scenario(seed, size)) for seed in range(scenarios)
        ]
    figures = {}
    for title, comparisons in groups.items():
        lines = comparison_lines(comparisons)
        ours = "\n".join([*lines, "", *summary(comparisons)])
        figures[title] = claimed(PAPER, ours, bears_out(comparisons))
    return {
        "name": "snee-placement",
        "title": "SNEE, our default placement against that of 2010, same motes, same costs, every predicate true",
        "figures": figures,
        "assumptions": [
            "costs are those behind SNEE's Fig. 22 for both; ours must deliver no later than SNEE's plan does",
            "packets: at least 40 % fewer for Q1 and Q3; radios: at least 50 % less time on, in every scenario",
            "where SNEE's compiler has no plan (RAM, or too long an agenda) nothing is compared, and ours stands alone",
            "a reading's time is the tick at which the agenda takes it, so that our tuples need not carry it",
        ],
    }


def bears_out(comparisons: list[Comparison]) -> bool:
    """Whether every claim holds for every scenario that both can plan."""
    both = [found for found in comparisons if found.paper is not None]
    heavy = [found for found in both if found.query in ("Q1", "Q3")]
    return (
        all(found.fewer_packets >= 0.4 for found in heavy)
        and all(found.less_radio >= 0.5 and found.fewer_packets > 0 for found in both)
        and all(found.earlier > 0 for found in both)
        and all(found.longer > 1 and found.longer_without_board > 1 for found in both)
    )


def summary(comparisons: list[Comparison]) -> list[str]:
    """The least, the median and the most of each saving."""
    both = [found for found in comparisons if found.paper is not None]
    lines = []
    for title, values in (
        ("fewer packets", [found.fewer_packets for found in both]),
        ("less radio-on time", [found.less_radio for found in both]),
        ("longer life", [found.longer - 1 for found in both]),
        ("longer life, board off", [found.longer_without_board - 1 for found in both]),
    ):
        least, most = min(values), max(values)
        lines.append(f"{title}: {least:.0%} to {most:.0%}, median {median(values):.0%}")
    return lines
