"""How much a kept tuple of a window join is worth: the policies of load shedding (algorithms, section 6.6).

    RANDOM   all tuples are equal: each has a number drawn once, so that those kept are a uniform sample
    SAMPLE   the same, but decided before a tuple probes: a share of memory / (rows that the window would hold)
             of the new tuples is let in, the others take no part at all (DHTJoin's equation (11)): the results
             found are a uniform sample of all results
    PROB     the probability that its key comes in the other streams (Das, Gehrke and Riedewald): the product
             over the streams that a key ties to it
    LIFE     PROB's probability times the time for which it may still join
    AGE      the matches that tuples of its age have yet to find, per memory they take (kernels/age_curve.py)

Frequencies are learnt from the streams themselves (kernels/count_min.py), in fixed memory. "Drawn" means
hashed from the seed and the tuple's number. No policy uses any other randomness, so a replay, or a restart in
the middle, sheds the same tuples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from nilometer.algebra import ShedPolicy
from nilometer.kernels.age_curve import AgeCurve
from nilometer.kernels.arrays import Floats, Integers
from nilometer.kernels.count_min import CountMin
from nilometer.kernels.stable_hash import hash_words
from nilometer.operators.panes import Pane, Panes
from nilometer.operators.window_join.keys import KeyClass, combined
from nilometer.operators.window_join.steps import Members, times_of

ARRIVAL = "@arrival"
"""The column that numbers a stream's tuples in arrival order."""

_SEED_STEP = 0x9E3779B97F4A7C15
_WORDS = 1 << 64


class Worth(Protocol):
    """Learns from arrivals and results. The tuples that are worth least are shed first."""

    def came(self, fresh: Sequence[Pane | None], kept: Sequence[Panes]) -> None:
        """Learn from the tuples that arrive, per port, and from those kept. The join has not run yet."""

    def found(self, members: Members) -> None:
        """Learn from the N-tuples that the join found."""

    def of(self, port: int, pane: Pane, now: int) -> Floats:
        """The worth of each row of a pane, dead ones included, when the latest tuple has the time `now`."""

    def snapshot(self) -> dict[str, bytes]:
        """Returns the learnt statistics."""

    def restore(self, panes: Mapping[str, bytes]) -> None:
        """Take back a snapshot."""


class Drawn:
    """RANDOM and SAMPLE: worth is a number drawn once per tuple."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def came(self, fresh: Sequence[Pane | None], kept: Sequence[Panes]) -> None:
        """Nothing is learnt."""

    def found(self, members: Members) -> None:
        """Nothing is learnt."""

    def of(self, port: int, pane: Pane, now: int) -> Floats:  # noqa: ARG002
        return drawn(self._seed, port, pane.rows.get_column(ARRIVAL).to_numpy())

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: Mapping[str, bytes]) -> None:
        """Does nothing, because there is no state."""


def drawn(seed: int, port: int, arrivals: Integers) -> Floats:
    """A number in [0, 1) for each tuple, the same at every call."""
    salt = np.uint64(((2 * seed + 1) * _SEED_STEP + port) % _WORDS)
    hashes = hash_words(arrivals.view(np.uint64) ^ hash_words(np.array([salt]))[0])
    return np.asarray(hashes / float(_WORDS), dtype=np.float64)


class Probable:
    """PROB, or LIFE if `reach` is given: per port, how long a tuple may join."""

    def __init__(self, classes: Sequence[KeyClass], ports: int, reach: Sequence[int] | None = None) -> None:
        self._reach = reach
        # Per port, the classes that tie it to other streams.
        self._ties: list[list[tuple[int, list[KeyClass]]]] = [
            [(other, shared) for other in range(ports) if (shared := _shared(classes, port, other))]
            for port in range(ports)
        ]
        # (port, other): how often each key between them came in `port`.
        self._counts = {(port, other): CountMin() for port in range(ports) for other, _ in self._ties[port]}

    def came(self, fresh: Sequence[Pane | None], kept: Sequence[Panes]) -> None:  # noqa: ARG002
        for port, pane in enumerate(fresh):
            if pane is None:
                continue
            for other, shared in self._ties[port]:
                numbers, known = combined([one.hashes(port, pane) for one in shared])
                self._counts[port, other].add(numbers if known is None else numbers[known])

    def found(self, members: Members) -> None:
        """Nothing is learnt: the frequencies of the keys are enough."""

    def of(self, port: int, pane: Pane, now: int) -> Floats:
        worth = np.ones(len(pane.order))
        for other, shared in self._ties[port]:
            numbers, known = combined([one.hashes(port, pane) for one in shared])
            share = self._counts[other, port].share(numbers)
            worth *= share if known is None else np.where(known, share, 0.0)
        if self._reach is not None:
            worth *= np.maximum(pane.order + self._reach[port] - now, 0)
        return worth

    def snapshot(self) -> dict[str, bytes]:
        return {f"counts{port}-{other}": counts.to_bytes() for (port, other), counts in self._counts.items()}

    def restore(self, panes: Mapping[str, bytes]) -> None:
        for (port, other), counts in self._counts.items():
            counts.restore(panes[f"counts{port}-{other}"])


def _shared(classes: Sequence[KeyClass], port: int, other: int) -> list[KeyClass]:
    return [one for one in classes if one.hashed and port != other and {port, other} <= one.ports]


class Aged:
    """AGE: a curve for each stream."""

    def __init__(self, reach: Sequence[int]) -> None:
        self._curves = [AgeCurve(one) for one in reach]

    def came(self, fresh: Sequence[Pane | None], kept: Sequence[Panes]) -> None:
        counts = [0 if pane is None else pane.height for pane in fresh]
        now = max((pane.last for pane in fresh if pane is not None), default=None)
        if now is None:
            return
        for port, (curve, panes) in enumerate(zip(self._curves, kept, strict=True)):
            comers = sum(counts) - counts[port]
            for pane in panes if comers else ():
                curve.exposed(now - pane.order[pane.start :], comers)

    def found(self, members: Members) -> None:
        times = {port: times_of(member) for port, member in members.items()}
        last = np.maximum.reduce(list(times.values()))
        for port, own in times.items():
            # The member that came last had no age yet: it would have been found without memory.
            earlier = own < last
            self._curves[port].matched((last - own)[earlier])

    def of(self, port: int, pane: Pane, now: int) -> Floats:
        return self._curves[port].worth(now - pane.order)

    def snapshot(self) -> dict[str, bytes]:
        return {f"ages{port}": curve.to_bytes() for port, curve in enumerate(self._curves)}

    def restore(self, panes: Mapping[str, bytes]) -> None:
        for port, curve in enumerate(self._curves):
            curve.restore(panes[f"ages{port}"])


def worth_by(policy: ShedPolicy, seed: int, classes: Sequence[KeyClass], reach: Sequence[int]) -> Worth:
    """Builds the Worth of a policy for the streams of a join."""
    match policy:
        case ShedPolicy.PROB:
            return Probable(classes, len(reach))
        case ShedPolicy.LIFE:
            return Probable(classes, len(reach), reach)
        case ShedPolicy.AGE:
            return Aged(reach)
        case _:
            return Drawn(seed)
