"""SNEE section 6.2 (Figs. 29 to 31): energy and lifetime by acquisition interval and delivery time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nilometer.catalog.network import Network
from nilometer.errors import InfeasibleError
from nilometer.laboratory.reproductions.snee_networks import (
    ALL_QUERIES,
    plan,
    six_months_energy,
    ten_nodes,
    thirty_nodes,
)
from nilometer.laboratory.reproductions.verdict import Ratio, measured
from nilometer.pictures import Curve
from nilometer.placement.text.tables import table
from nilometer.types import SECOND

INTERVALS = tuple(2**power for power in range(11))
"""Seconds: 1 to 1024."""
DELIVERIES = tuple(2**power for power in range(1, 8))
"""Seconds: 2 to 128, at an acquisition interval of 8 s."""


@dataclass(frozen=True)
class Point:
    """A plan's energy in six months (kJ), its lifetime (days) and buffering factor."""

    energy: float
    lifetime: float
    beta: int


Series = dict[str, dict[int, Point | None]]
"""By query and by seconds; None means not feasible."""


def figures_29_to_31() -> tuple[dict[str, dict[str, Any]], list[Curve]]:
    """The three figures, and their curves."""
    ten, thirty = _by_interval(ten_nodes()), _by_interval(thirty_nodes())
    small, large = _by_delivery(ten_nodes()), _by_delivery(thirty_nodes())
    figures = {
        "Fig. 29, ten nodes against the acquisition interval": _fig_29(ten),
        "Fig. 30, thirty nodes against the acquisition interval": _fig_30(ten, thirty),
        "Fig. 31, lifetime against the delivery time": _fig_31(small, large),
    }
    curves = [
        _curve("Fig. 29(a), ten nodes", ten, "energy"),
        _curve("Fig. 29(b), ten nodes", ten, "lifetime"),
        _curve("Fig. 30(a), thirty nodes", thirty, "energy"),
        _curve("Fig. 30(b), thirty nodes", thirty, "lifetime"),
        _curve("Fig. 31(a), ten nodes, every 8 s", small, "lifetime", "longest delivery time (s)"),
        _curve("Fig. 31(b), thirty nodes, every 8 s", large, "lifetime", "longest delivery time (s)"),
    ]
    return figures, curves


def _point(query: str, network: Network, interval: int, delivery: int | None = None) -> Point | None:
    try:
        placed = plan(
            query,
            network,
            interval * SECOND,
            delivery_time=None if delivery is None else delivery * SECOND,
        )
    except InfeasibleError:
        return None
    lifetime = placed.estimate.lifetime
    assert lifetime is not None
    return Point(six_months_energy(placed) / 1000, lifetime / 86400, placed.beta)


def _by_interval(network: Network) -> Series:
    return {query: {every: _point(query, network, every) for every in INTERVALS} for query in ALL_QUERIES}


def _by_delivery(network: Network) -> Series:
    return {query: {limit: _point(query, network, 8, limit) for limit in DELIVERIES} for query in ALL_QUERIES}


# ---- verdicts --------------------------------------------------------------------------------------------------------


def _fig_29(ten: Series) -> dict[str, Any]:
    at_one = [query for query in ALL_QUERIES if ten[query][1] is not None]
    at_two = [query for query in ("Q1", "Q2", "Q3") if ten[query][2] is not None]
    second, sixteenth = _ratio(ten["Q2"], 2, 1, "energy"), _ratio(ten["Q2"], 16, 2, "energy")
    closing = f"Q2: 2 s takes {second:.0%} of the energy of 1 s, 16 s {sixteenth:.0%} of that of 2 s"
    return measured(
        "at 1 s only Q2 is feasible, at 2 s all three; Q2: 2 s takes 38 % of the energy of 1 s, 16 s 76 % of that of 2 s;\n"
        "lifetime rises with the interval and levels off; Q* is infeasible sooner, else a little worse",
        "\n".join([*_table(ten, INTERVALS), closing]),
        wins=at_one == ["Q2"] and len(at_two) == 3,
        everywhere=second < sixteenth
        and _falls(ten, "energy")
        and all(_worse(ten["Q*"], ten[query]) for query in ("Q1", "Q2", "Q3")),
        ratios=[
            Ratio("Q2, energy at 2 s over 1 s", 0.38, second),
            Ratio("Q2, energy at 16 s over 2 s", 0.76, sixteenth),
        ],
        data=_data(ten),
    )


def _fig_30(ten: Series, thirty: Series) -> dict[str, Any]:
    growth = {
        query: _value(thirty[query][16], "energy") / _value(ten[query][16], "energy") - 1
        for query in ALL_QUERIES
        if thirty[query][16] is not None and ten[query][16] is not None
    }
    words = ", ".join(f"{query} {share:+.0%}" for query, share in growth.items())
    end = {
        query: _value(thirty[query][1024], "lifetime") / _value(ten[query][1024], "lifetime")
        for query in ALL_QUERIES
    }
    return measured(
        "the same behaviour as with ten nodes; at 16 s Q3 takes 77 % more than with ten, Q* around 180 % more",
        "\n".join([*_table(thirty, INTERVALS), f"at 16 s, against ten nodes: {words}"]),
        wins=growth.get("Q*", float("inf")) > growth["Q3"],
        everywhere=_falls(thirty, "energy") and all(0.9 < share < 1.1 for share in end.values()),
        ratios=[
            Ratio("Q3, energy at 16 s, thirty nodes over ten", 1.77, 1 + growth["Q3"]),
            Ratio(
                "Q*, energy at 16 s, thirty nodes over ten", 2.8, 1 + growth["Q*"] if "Q*" in growth else None
            ),
        ],
        data=_data(thirty),
    )


def _fig_31(small: Series, large: Series) -> dict[str, Any]:
    gain = _ratio(large["Q2"], 32, 16, "lifetime") - 1
    most = max(
        (_ratio(large["Q2"], longer, longer // 2, "lifetime") - 1, longer)
        for longer in DELIVERIES[1:]
        if large["Q2"][longer // 2] is not None
    )
    lines = ["ten nodes:", *_table(small, DELIVERIES, energy=False)]
    lines += ["thirty nodes:", *_table(large, DELIVERIES, energy=False)]
    lines.append(f"Q2, thirty nodes: {gain:+.0%} from 16 s to 32 s; most, {most[0]:+.0%}, up to {most[1]} s")
    rising = all(
        _value(series[query][longer], "lifetime") >= _value(series[query][shorter], "lifetime")
        for series in (small, large)
        for query in ("Q1", "Q2", "Q3")
        for shorter, longer in pairwise(DELIVERIES)
        if series[query][shorter] is not None and series[query][longer] is not None
    )
    return measured(
        "buffering pays: Q2 on thirty nodes lives 32 % longer when the delivery time goes from 16 s to 32 s",
        "\n".join(lines),
        wins=gain > 0.05 and most[0] > 0.15,
        everywhere=rising,
        ratios=[Ratio("Q2 on thirty nodes, lifetime at 32 s over 16 s", 1.32, 1 + gain)],
        data={"ten": _data(small), "thirty": _data(large)},
    )


def _value(point: Point | None, what: str) -> float:
    return float("nan") if point is None else float(getattr(point, what))


def _ratio(series: dict[int, Point | None], one: int, other: int, what: str) -> float:
    return _value(series[one], what) / _value(series[other], what)


def _falls(series: Series, what: str) -> bool:
    """Whether each curve falls from one interval to the next longer one."""
    for points in series.values():
        values = [_value(point, what) for point in points.values() if point is not None]
        if any(later > earlier for earlier, later in pairwise(values)):
            return False
    return True


def _worse(control: dict[int, Point | None], other: dict[int, Point | None]) -> bool:
    """Whether the control takes at least as much energy wherever both are feasible."""
    return all(
        _value(control[every], "energy") >= _value(other[every], "energy")
        for every in INTERVALS
        if control[every] is not None and other[every] is not None
    )


# ---- shown -----------------------------------------------------------------------------------------------------------


def _table(series: Series, xs: tuple[int, ...], *, energy: bool = True) -> list[str]:
    columns = ["query", *(f"{x} s" for x in xs)]
    rows = []
    if energy:
        rows += [(f"{q} kJ", *(_cell(points[x], "energy") for x in xs)) for q, points in series.items()]
    rows += [(f"{q} days", *(_cell(points[x], "lifetime") for x in xs)) for q, points in series.items()]
    return table(columns, rows, left=(0,))


def _cell(point: Point | None, what: str) -> str:
    return "-" if point is None else f"{_value(point, what):.0f}"


def _data(series: Series) -> list[dict[str, Any]]:
    return [
        {"query": query, "seconds": x, "kilojoules": point.energy, "days": point.lifetime, "beta": point.beta}
        for query, points in series.items()
        for x, point in points.items()
        if point is not None
    ]


def _curve(title: str, series: Series, what: str, x: str = "acquisition interval (s)") -> Curve:
    lines = {
        query: [(float(at), _value(point, what)) for at, point in points.items() if point is not None]
        for query, points in series.items()
    }
    return Curve(title, x, "kJ in six months" if what == "energy" else "days", lines)
