"""`nilometer bench overlay --only questions`: what a reading costs a ring of four simulated peers, as questions and keys grow.

Two streams flow for a minute of virtual time, and 1, 10, 100 questions join them: equal ones, or such that differ in their
windows. Then one question, with 10 to 100,000 keys. All peers run in this process, so the seconds are those of all. The
number of results of each question is compared with that of a join of the whole streams.
"""

from __future__ import annotations

import resource

import numpy as np
import polars as pl

from nilometer.laboratory.benchmarks.result import Measurement
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Settings
from nilometer.overlay.ring import contact
from nilometer.overlay.simulator import Network
from nilometer.types import INT_MINIMUM, MILLISECOND, SECOND

RATE = 500
WINDOW = 5 * SECOND
KEYS = 1_000


class _Given:
    """The readings that a home has been offered."""

    whole_since = INT_MINIMUM

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows, self.upto = rows, 0

    def since(self, moment: int) -> pl.DataFrame:
        return self._rows.head(self.upto).filter(pl.col("@time") >= moment)


def overlay_questions(seconds: int) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """The measurements, and what was sent and kept in each."""
    runs = [(f"{many} equal questions", many, 0, KEYS) for many in (1, 10, 100)]
    runs += [(f"{many} windows", many, 10 * MILLISECOND, KEYS) for many in (10, 100)]
    runs += [(f"1 question, {keys:,} keys", 1, 0, keys) for keys in (10, 100_000)]
    found = [_measured(f"{name}, {seconds} s", seconds, many, step, keys) for name, many, step, keys in runs]
    return tuple(measurement for measurement, _ in found), tuple(note for _, note in found)


def _measured(name: str, seconds: int, many: int, step: int, keys: int) -> tuple[Measurement, str]:
    """One run of `many` questions, each with a window that is `step` longer than the one before."""
    network = Network(1)
    contacts = [contact(f"p{at}", f"p{at}") for at in range(4)]
    # A window of five seconds, and ten of slack, is all that may be kept.
    network.settled(contacts, Settings(slack=10 * SECOND))
    streams = {name: _readings(seconds, keys, seed) for seed, name in enumerate("XY")}
    given = {stream: _Given(rows) for stream, rows in streams.items()}
    homes = {stream: network.peers[one.address] for stream, one in zip(streams, contacts[:2], strict=True)}
    for stream, home in homes.items():
        home.home(stream, given[stream], None)
    plans = [
        JoinPlan.of([("X", ("B",)), ("Y", ("B",))], [((0, "B"), (1, "B"))], WINDOW + at * step)
        for at in range(many)
    ]
    for at, plan in enumerate(plans):
        asker = network.peers[contacts[at % 4].address]
        asker.ask(0, f"q{at}", plan, 0)
    network.carry()
    network.run(SECOND)
    began, counts, kept = _processor(), [0] * many, 0
    for second in range(seconds + 15):
        for stream, home in homes.items():
            rows = streams[stream].slice(second * RATE, RATE)
            given[stream].upto += rows.height
            home.offer((second + 1) * SECOND, stream, rows, second * SECOND)
            network.carry()
        network.run((second + 2) * SECOND)
        kept = max(kept, *(peer.joining.kept for peer in network.peers.values()))
        for at in range(many):
            asked = network.peers[contacts[at % 4].address].asked[f"q{at}"]
            counts[at] += sum(frame.height for frame in asked.taken())
    took, readings = _processor() - began, 2 * seconds * RATE
    expected = _expected(streams, [plan.reach for plan in plans])
    indexed = sum(peer.books.indexed for peer in network.peers.values())
    note = (
        f"{name}: {1e6 * took / readings:.1f} us a reading, {1e6 * took / max(1, sum(counts)):.2f} us a result; "
        f"{indexed / readings:.2f} puts a reading; the busiest peer keeps {kept:,} rows"
    )
    return Measurement(name, took, None, readings, sum(counts), counts == expected), note


def _readings(seconds: int, keys: int, seed: int) -> pl.DataFrame:
    count = seconds * RATE
    values = np.random.default_rng(seed).integers(0, keys, count)
    places = pl.int_range(count, dtype=pl.Int64, eager=True)
    return pl.DataFrame({"@position": places, "@time": places * (SECOND // RATE), "B": values})


def _expected(streams: dict[str, pl.DataFrame], windows: list[int]) -> list[int]:
    """How many results each window has."""
    pairs = streams["X"].join(streams["Y"], on="B").select((pl.col("@time") - pl.col("@time_right")).abs())
    apart = np.sort(pairs.to_series().to_numpy())
    return [int(np.searchsorted(apart, window, side="right")) for window in windows]


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
