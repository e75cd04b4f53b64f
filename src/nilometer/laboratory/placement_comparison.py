"""Compares our default placement with SNEE's of 2010: packets, radio-on time, delivery time and lifetime.

Both plan the same query for the same motes, with the same costs of actions and every predicate true, as in
SNEE section 6. Ours gets SNEE's delivery time as its bound, so that it cannot win by buffering for longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nilometer.engine import connect
from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.laboratory.scenarios import Scenario
from nilometer.placement import Estimate, Placement, QualityOfService, place, placement_profile
from nilometer.placement.quality import Bounds
from nilometer.types import SECOND


@dataclass(frozen=True)
class Comparison:
    """The costs of both plans. If SNEE's compiler has no plan, `paper` is None and `refused` gives the
    reason."""

    name: str
    query: str
    sites: int
    paper: Estimate | None
    ours: Estimate
    betas: tuple[int | None, int]
    refused: str = ""

    @property
    def fewer_packets(self) -> float:
        """The share of SNEE's packets a day that is saved."""
        return self._saved("packets_per_day")

    @property
    def less_radio(self) -> float:
        """The share of SNEE's radio-on time a day that is saved."""
        return self._saved("radio_time_per_day")

    @property
    def earlier(self) -> float:
        """Seconds by which an answer is delivered earlier."""
        return 0.0 if self.paper is None else self.paper.delivery_time - self.ours.delivery_time

    @property
    def longer(self) -> float:
        """The ratio of the network's lifetimes, with sensor boards that are always on."""
        return _ratio(self.ours.lifetime, None if self.paper is None else self.paper.lifetime)

    @property
    def longer_without_board(self) -> float:
        """The ratio of the network's lifetimes, with boards that can be switched off."""
        return _ratio(
            self.ours.lifetime_without_board,
            None if self.paper is None else self.paper.lifetime_without_board,
        )

    def _saved(self, name: str) -> float:
        return 0.0 if self.paper is None else 1 - getattr(self.ours, name) / getattr(self.paper, name)


def compare(scenario: Scenario) -> Comparison:
    """Place the scenario both ways."""
    quality = QualityOfService.of(delivery_time=scenario.delivery_time)
    paper: Placement | None = None
    refused = ""
    try:
        paper = placed(scenario, "snee-2010", quality)
    except (InfeasibleError, UnsupportedError) as error:
        refused = error.message
    else:
        bound = int(paper.estimate.delivery_time * SECOND)
        quality = replace(quality, delivery_time=Bounds(high=bound))
    ours = placed(scenario, "default", quality)
    return Comparison(
        f"{len(scenario.network.nodes)} nodes, {scenario.seed}",
        scenario.query_name,
        len(ours.routing.post_order),
        None if paper is None else paper.estimate,
        ours.estimate,
        (None if paper is None else paper.beta, ours.beta),
        refused,
    )


def placed(scenario: Scenario, profile: str, quality: QualityOfService) -> Placement:
    """The scenario's placement under a profile of the optimizer and of the placement."""
    database = connect()
    database.execute(scenario.schema)
    query = database.sql(scenario.query).with_profile(profile)
    return place(query.physical, scenario.network, quality, placement_profile(profile))


def _ratio(ours: float | None, paper: float | None) -> float:
    return 1.0 if not ours or not paper else ours / paper


def comparison_lines(comparisons: Iterable[Comparison]) -> list[str]:
    """A table with a line for each comparison."""
    from nilometer.placement.text.tables import days, table

    rows = []
    for found in comparisons:
        head = (found.name, found.query, found.sites)
        if found.paper is None:
            rows.append((*head, f"- / {found.betas[1]}", *("-",) * 3, "-", "-", found.refused))
            continue
        rows.append(
            (
                *head,
                f"{found.betas[0]} / {found.betas[1]}",
                f"{-found.fewer_packets:+.0%}",
                f"{-found.less_radio:+.0%}",
                f"{found.paper.delivery_time:.1f} / {found.ours.delivery_time:.1f}",
                f"{days(found.paper.lifetime)} / {days(found.ours.lifetime)}",
                f"{days(found.paper.lifetime_without_board)} / {days(found.ours.lifetime_without_board)}",
                "",
            )
        )
    columns = (
        "scenario",
        "query",
        "sites",
        "beta",
        "packets",
        "radio on",
        "delivered after (s)",
        "days",
        "days, board off",
        "",
    )
    return table(columns, rows, left=(0, 1, 9))
