"""SNJoin against the outer MJoin and a tree of hash-merge joins on one server: Figs. 8, 9, 10 and 14
(snjoin.txt sections 7.2.1, 7.2.2 and 7.2.4).

A virtual machine that is too slow for all readings serves each join the same readings (snjoin_server.py). The
readings that it drops are lost to the detection of phenomena (laboratory/phenomenon_updates.py), which is the
paper's measure: with each join as phase 1, phenomena are those of the readings that it was given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.kernels.occurrence_table import OccurrenceTable
from nilometer.laboratory.baselines import Arrivals
from nilometer.laboratory.phenomenon_updates import PhenomenonRule, Updates, phenomenon_updates
from nilometer.laboratory.reproductions.snjoin_printed_costs import by_printed_costs
from nilometer.laboratory.reproductions.snjoin_readings import board, changing_fleet, chosen, fleet
from nilometer.laboratory.reproductions.snjoin_rivals import WINDOW, entry_cost, joins
from nilometer.laboratory.reproductions.snjoin_server import BATCH, Costs, Join, fed, measured_costs, serve
from nilometer.laboratory.reproductions.verdict import Ratio, claimed, exact, measured, quotient, rises
from nilometer.types import MILLISECOND, SECOND

BOARD = (5, 10, 15, 20, 25)
FLEET = (200, 600, 1000, 1400, 2000)
BOARD_SECONDS, FLEET_SECONDS, CHANGING_SECONDS = 60, 60, 300
MEASURED = 60_000
"""The number of tuples over which the cost of one is measured; for the largest fleets it is two windows."""
OVERLOAD = 1.25
"""SNJoin's work at the largest size, relative to what the server can do."""
LOADS = (OVERLOAD, 2.5, 5.0, 10.0)
"""Others, to show how much depends on it."""

BOARD_RULE = PhenomenonRule(members=2, strength=2, range=SECOND, slide=500 * MILLISECOND)
FLEET_RULE = PhenomenonRule(members=3, strength=2, range=WINDOW, slide=2 * SECOND)

RIVALS = ("HMJ tree", "outer MJoin")
BALANCED = "balanced tree"
JOINS = (*RIVALS, "SNJoin", "factorised", BALANCED)

Clock = Callable[[], float]


@dataclass(frozen=True)
class Point:
    """One join at one size. `cost` is the processor time of a tuple on this machine, in microseconds. The
    others are of the virtual server: delay in milliseconds, drop rate in per cent, matches and updates found
    per second. `true_updates` would be found if nothing were dropped."""

    sensors: int
    join: str
    cost: float
    delay: float
    drop: float
    output: float
    updates: float
    true_updates: float
    exact: bool


@dataclass(frozen=True)
class Trial:
    """The readings of one size, and the findings of a detector that sees them all."""

    sensors: int
    seconds: int
    arrivals: Arrivals
    changes: Integers | None
    rule: PhenomenonRule

    def updates(self, seen: Booleans) -> Updates:
        """The updates detected in the readings that a join was given."""
        given = self.arrivals
        return phenomenon_updates(
            given.times[seen],
            given.values[seen].astype(np.int64),
            given.sources[seen],
            self.rule,
            self.seconds * SECOND,
        )

    def partners(self, seen: Booleans) -> int:
        """The number of matches in them."""
        given = self.arrivals
        found = OccurrenceTable(WINDOW).probe(
            given.times[seen], given.values[seen].view(np.uint64), given.sources[seen]
        )
        return int(found.partners.sum())


Makers = dict[str, Callable[[int], Join]]
Curves = dict[tuple[int, str], Costs]
"""The costs of each join at each size."""


def costs_of(trials: Sequence[Trial], made: Makers, clock: Clock) -> Curves:
    """The costs measured on this machine, on the beginning of each trial."""
    curves = {}
    for trial in trials:
        windows = int(np.searchsorted(trial.arrivals.times, 2 * WINDOW))
        some = trial.arrivals[: max(windows, MEASURED)]
        for name in JOINS:
            fed(made[name](trial.sensors), some[:BATCH])  # compiles
            curves[trial.sensors, name] = measured_costs(
                lambda name=name, count=trial.sensors: made[name](count),  # type: ignore[misc]
                some,
                WINDOW,
                clock,
            )
    return curves


def slowness_for(trial: Trial, costs: Costs, load: float = OVERLOAD) -> float:
    """The factor by which a server is slower than this machine if a join of these costs has that load."""
    rate = len(trial.arrivals) / trial.seconds
    return load * SECOND / (rate * max(costs.at(rate * WINDOW / SECOND), 1e-6))


def measure(trial: Trial, made: Makers, curves: Curves, slowness: float, verify: bool = True) -> list[Point]:
    """Run every join on the same readings. With `verify`, each is run on the readings that its server let
    through, and its matches are compared."""
    true = trial.updates(np.ones(len(trial.arrivals), dtype=np.bool_))
    points = []
    for name in JOINS:
        costs, join = curves[trial.sensors, name], made[name](trial.sensors)
        rebuilds = trial.changes if join.rebuilt else None
        served = serve(trial.arrivals.times, costs.slowed(slowness), WINDOW, rebuilds)
        found = trial.updates(served.admitted)
        partners = trial.partners(served.admitted)
        given = chosen(trial.arrivals, served.admitted)
        points.append(
            Point(
                trial.sensors,
                name,
                costs.at(len(trial.arrivals) / trial.seconds * WINDOW / SECOND),
                served.delay(trial.arrivals.times),
                100 * (1 - float(served.admitted.mean())),
                partners / trial.seconds,
                found.found_of(true) / trial.seconds,
                len(true) / trial.seconds,
                not verify or fed(join, given) == partners,
            )
        )
    return points


def snjoin_central(
    board_sizes: Sequence[int] = BOARD,
    fleet_sizes: Sequence[int] = FLEET,
    seconds: tuple[int, int, int] = (BOARD_SECONDS, FLEET_SECONDS, CHANGING_SECONDS),
    seed: int = 2006,
    clock: Clock = time.process_time,
) -> dict[str, Any]:
    """Figs. 8 to 10, and the measured part of Fig. 14. `seconds` are those of the board, the fleet and the
    changing fleet."""
    made = joins(entry_cost(clock))
    boards = [Trial(n, seconds[0], board(n, seconds[0], seed), None, BOARD_RULE) for n in board_sizes]
    fleets = [Trial(n, seconds[1], fleet(n, seconds[1], seed), None, FLEET_RULE) for n in fleet_sizes]
    board_curves, fleet_curves = costs_of(boards, made, clock), costs_of(fleets, made, clock)
    board_slowness = slowness_for(boards[-1], board_curves[boards[-1].sensors, "SNJoin"])
    fleet_slowness = slowness_for(fleets[-1], fleet_curves[fleets[-1].sensors, "SNJoin"])
    eighth = [p for trial in boards for p in measure(trial, made, board_curves, board_slowness)]
    ninth = [p for trial in fleets for p in measure(trial, made, fleet_curves, fleet_slowness)]
    tenth: list[tuple[Point, Point, Point]] = []
    for sensors in fleet_sizes:
        steady = Trial(sensors, seconds[2], fleet(sensors, seconds[2], seed), None, FLEET_RULE)
        given, changes, sizes = changing_fleet(sensors, seconds[2], seed)
        moving = Trial(sensors, seconds[2], given, changes, FLEET_RULE)
        one_by_one = replace(moving, changes=np.repeat(changes, sizes))
        runs = (
            measure(trial, made, fleet_curves, fleet_slowness, verify=False)
            for trial in (steady, moving, one_by_one)
        )
        tenth += zip(*runs, strict=True)
    return {
        "name": "snjoin-central",
        "title": "SNJoin, the outer MJoin and a tree of hash-merge joins on one server (sections 7.2.1, 7.2.2 and 7.2.4)",
        "figures": {
            "One answer": _exact(eighth + ninth),
            **_panels("Fig. 8", eighth, FIGURE_8),
            "Fig. 8d, by the paper's own costs of a tuple": by_printed_costs(boards, WINDOW),
            **_panels("Fig. 9", ninth, FIGURE_9),
            "Figs. 8d and 9d, by load at the largest size": _by_load(
                (boards[-1], fleets[-1]), made, board_curves | fleet_curves
            ),
            "Fig. 10, sensors that come and go": _figure_10(tenth),
            "Fig. 14, the measured cost of a tuple": _figure_14(eighth),
        },
        "assumptions": [
            *_ASSUMPTIONS,
            f"measured here: a partial result of the tree {made['HMJ tree'](2).charged * 1e9:.0f} ns; the server is {board_slowness:.0f} times slower than this machine for "
            f"the board, {fleet_slowness:.0f} times for the fleet",
        ],
    }


# ---- the figures -----------------------------------------------------------------------------------------------------

PANELS = {
    "a, output delay (ms)": ("delay", "{:,.1f}"),
    "b, input drop rate (%)": ("drop", "{:.1f}"),
    "c, output rate (matches/s)": ("output", "{:,.0f}"),
    "d, detected phenomena updates (1/s)": ("updates", "{:.1f}"),
}

FIGURE_8 = {
    "delay": "SNJoin up to 36 % below the HMJ tree and up to 19 % below MJoin (20 sensors)",
    "drop": "the lower the processing time, the lower the drop rate: SNJoin, MJoin, HMJ tree",
    "output": "the lower the drop rate, the higher the output rate: SNJoin, MJoin, HMJ tree",
    "updates": "SNJoin up to 75 % more than the HMJ tree and up to 43 % more than MJoin",
}
FIGURE_9 = {
    "delay": "SNJoin below MJoin below the HMJ tree; no numbers in the text",
    "drop": "SNJoin below MJoin below the HMJ tree; no numbers in the text",
    "output": "SNJoin doubles the HMJ tree's and is up to 60 % above MJoin's",
    "updates": "SNJoin up to 180 % more than the HMJ tree and up to 85 % more than MJoin",
}
RATIOS = {
    ("Fig. 8", "delay"): {"HMJ tree": 0.64, "outer MJoin": 0.81},
    ("Fig. 8", "updates"): {"HMJ tree": 1.75, "outer MJoin": 1.43},
    ("Fig. 9", "output"): {"HMJ tree": 2.0, "outer MJoin": 1.6},
    ("Fig. 9", "updates"): {"HMJ tree": 2.8, "outer MJoin": 1.85},
}
"""The best ratios of SNJoin's values to a rival's that the text prints."""
FIGURE_10 = {"HMJ tree": 80, "outer MJoin": 50, "SNJoin": 20}
"""By how many per cent the updates fall short of the undisturbed number, at 2000 sensors."""

_ASSUMPTIONS = [
    "the server is virtual: the joins run here, and a tuple takes their processor time times a factor, one for all joins and sizes of a figure, with which SNJoin has "
    f"{OVERLOAD} times as much to do as it can at the largest size; a tuple that finds 500 others waiting takes the place of one of them, drawn at random, as in the paper; memory is enough",
    "'factorised' is not the paper's: our SNJoin, whose results stay ranges of the values' lists; SNJoin is the same table with each tuple's list written out "
    "(Fig. 4, step 4), MJoin writes its lists too; none builds the flat product, which has no end where many sensors repeat a value",
    "the HMJ tree is left-deep; 'balanced tree' has as few levels as there can be, and is charged for no probe; the paper says 'a binary tree', and that its processing is not symmetric",
    "the tree's partial results are charged at one a level, with the cost measured where they are just that: a kindness, as are the NULLs that neither rival writes",
    "the board's 25 thermometers are simulated: a heat effect goes over it and back every 20 s; in a window a sensor has 100 values and all have 495 (Fig. 13: 100 and 494); a reading has the value of "
    "one in 500 of another sensor's readings (Fig. 13: one in 900); the paper's readings are not to be had",
    "the fleet's values: 12 phenomena, each with 100 values of its own, Zipf exponents 1 to 5 by sensor, as in the network of Figs. 11 and 12; the paper does not say "
    "how values of different sensors meet",
    "phenomena are those of docs/phenomena.md: EQUAL, NEIGHBOURS ALL; on the board RANGE 1 s SLIDE 0.5 s STRENGTH 2 MEMBERS 2, in the fleet RANGE 10 s SLIDE 2 s STRENGTH 2 MEMBERS 3; "
    "an update is that one appears, disappears or has other members; detected is what is also found when nothing is dropped",
    "by the paper's own costs: Fig. 7 with Fig. 13's constants, read as microseconds, for it prints no unit; the rate is the paper's, a reading of each sensor every 10 ms; results are "
    "sums of lists, as in the network, or Fig. 7's products; these fall so fast with the readings in a window that a tenth dropped is enough",
    "in Fig. 10 a group of 1 to 100 sensors comes or leaves every minute, by the toss of a coin, and the numbers of updates are compared, as in the paper; it does not say "
    "how its rivals take in a change: here they are made anew from the window, once for the group (the verdict) or once for each sensor of it (beside it); to SNJoin nothing happens",
]


def _exact(points: list[Point]) -> dict[str, Any]:
    same = all(point.exact for point in points)
    ours = (
        f"in {len(points)} runs each join found as many matches as there are in what its server let through: "
    )
    return exact("three techniques for one answer", ours + ("all" if same else "NOT ALL"), same)


def _panels(name: str, points: list[Point], paper: dict[str, str]) -> dict[str, dict[str, Any]]:
    return {
        name + panel: _panel(points, measure_, form, paper[measure_], RATIOS.get((name, measure_), {}))
        for panel, (measure_, form) in PANELS.items()
    }


def _by_size(points: list[Point]) -> dict[int, dict[str, Point]]:
    found: dict[int, dict[str, Point]] = {}
    for point in points:
        found.setdefault(point.sensors, {})[point.join] = point
    return found


def _panel(
    points: list[Point], name: str, form: str, paper: str, printed: dict[str, float]
) -> dict[str, Any]:
    sizes = _by_size(points)
    lines = ["sensors " + "".join(f"{join:>14}" for join in JOINS)]
    for sensors, found in sizes.items():
        lines.append(f"{sensors:7} " + "".join(f"{form.format(getattr(found[j], name)):>14}" for j in JOINS))
    less = name in ("delay", "drop")
    # The wait is that of a full queue or of none, but the paper's percentages are of the work on a tuple.
    compared, of_what = ("cost", " in processor time a tuple") if name == "delay" else (name, "")
    best = {rival: _best(sizes, compared, rival, less) for rival in RIVALS}
    word = "below" if less else "above"
    changes = (
        f"{abs(ratio - 1):.0%} {word} the {rival}" for rival, ratio in best.items() if ratio is not None
    )
    lines.append("SNJoin, at best: " + ", ".join(changes) + of_what)
    flat = _best(sizes, compared, BALANCED, less)
    if flat is not None:
        lines.append(f"beside a balanced tree: {flat:.2f} times")
    # From the best to the worst, in the paper's order; equal where no join is overloaded.
    rising = [
        [getattr(found[join], name) for join in ("SNJoin", "outer MJoin", "HMJ tree")]
        for found in sizes.values()
    ]
    ordered = rising if less else [values[::-1] for values in rising]
    mine, *others = rising[-1]
    return measured(
        paper,
        "\n".join(lines),
        wins=all(mine < other if less else mine > other for other in others),
        everywhere=all(rises(values) for values in ordered),
        ratios=[
            Ratio(f"SNJoin over the {rival}, at best{of_what}", told, best[rival])
            for rival, told in printed.items()
        ],
        data=[asdict(point) for point in points],
    )


def _best(sizes: dict[int, dict[str, Point]], name: str, rival: str, less: bool) -> float | None:
    """The ratio of SNJoin's value to the rival's at the size where it is lowest, or highest."""
    ratios = [
        quotient(getattr(found["SNJoin"], name), getattr(found[rival], name)) for found in sizes.values()
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    return (min if less else max)(known, default=None)


def _by_load(trials: Sequence[Trial], made: Makers, curves: Curves) -> dict[str, Any]:
    """How the updates that SNJoin detects, over those of its rivals, depend on the speed of the server."""
    lines = ["sensors  load  SNJoin over the HMJ tree  over a balanced one  over the outer MJoin"]
    data: list[dict[str, Any]] = []
    for trial in trials:
        for load in LOADS:
            slowness = slowness_for(trial, curves[trial.sensors, "SNJoin"], load)
            points = measure(trial, made, curves, slowness, verify=False)
            found = {point.join: point.updates for point in points}
            ratios = (quotient(found["SNJoin"], found[rival]) for rival in (RIVALS[0], BALANCED, RIVALS[1]))
            tree, flat, mjoin = ("none" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
            lines.append(f"{trial.sensors:7} {load:5}{tree:>26}{flat:>21}{mjoin:>22}")
            data.append({"sensors": trial.sensors, "load": load, **found})
    return claimed(
        "how fast the server is, and how many readings it drops, is printed nowhere",
        "\n".join(lines),
        all(row["SNJoin"] >= max(row[rival] for rival in RIVALS) for row in data),
        data,
    )


def _figure_10(runs: list[tuple[Point, Point, Point]]) -> dict[str, Any]:
    lines = ["sensors " + "".join(f"{join:>30}" for join in JOINS)]
    losses: dict[int, dict[str, float]] = {}
    for steady, moving, _ in runs:
        losses.setdefault(steady.sensors, {})[steady.join] = _less(steady, moving)
    for sensors in losses:
        mine = {each[0].join: each for each in runs if each[0].sensors == sensors}
        cells = (
            f"{moving.updates:.1f}/s, {-_less(steady, moving):+.0f} % ({-_less(steady, single):+.0f} %)"
            for steady, moving, single in (mine[join] for join in JOINS)
        )
        lines.append(f"{sensors:7} " + "".join(f"{cell:>30}" for cell in cells))
    lines.append(
        "a rival loses the time in which it takes in the window once more: at each change, or (in parentheses) for each sensor of it"
    )
    last = losses[max(losses)]
    return measured(
        "updates detected, against an undisturbed network of 2000 sensors: "
        + ", ".join(f"{join} -{loss} %" for join, loss in FIGURE_10.items()),
        "\n".join(lines),
        wins=all(last["SNJoin"] < last[rival] for rival in RIVALS),
        everywhere=all(
            rises([found[join] for join in ("SNJoin", "outer MJoin", "HMJ tree")])
            for found in losses.values()
        ),
        ratios=[
            Ratio(f"{join}, the share still detected", 1 - loss / 100, 1 - last[join] / 100)
            for join, loss in FIGURE_10.items()
        ],
        data=[
            {"steady": asdict(steady), "moving": asdict(moving), "one by one": asdict(single)}
            for steady, moving, single in runs
        ],
    )


def _less(steady: Point, moving: Point) -> float:
    """By how many per cent fewer updates are found; the paper compares their numbers (Figs. 9d and 10)."""
    return 100 * (1 - moving.updates / steady.updates) if steady.updates else 0.0


def _figure_14(points: list[Point]) -> dict[str, Any]:
    sizes = _by_size(points)
    lines = ["streams  outer MJoin    SNJoin  factorised   (microseconds of this machine)"]
    shown = ("outer MJoin", "SNJoin", "factorised")
    for streams, found in sizes.items():
        mjoin, snjoin, ranges = (found[join].cost for join in shown)
        lines.append(f"{streams:7} {mjoin:12.2f} {snjoin:9.2f} {ranges:11.2f}")
    below = [found["SNJoin"].cost < found["outer MJoin"].cost for found in sizes.values()]
    return measured(
        "measured as computed: SNJoin below the outer MJoin for every number of streams from 5 to 25",
        "\n".join(lines),
        wins=below[-1],
        everywhere=all(below),
        data=[{"streams": n, **{join: found[join].cost for join in shown}} for n, found in sizes.items()],
    )
