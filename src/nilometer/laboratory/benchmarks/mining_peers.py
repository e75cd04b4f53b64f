"""What stumpy, scikit-learn, river and NumPy take for the work of mining functions, where they are installed.

Each follows the readings of a few sensors second by second, and is timed in the last seconds, when windows are full. Where a
peer does the same work, it gives its answers, to be compared with ours. stumpy's `stumpi(egress=True)` and river's
GaussianScorer do other work: the first remembers neighbours that have left the window, the second takes mean and deviation.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

WINDOW, LENGTH = 120, 20
EXAMPLE = (0.0, 0.31, 0.59, 0.81, 0.95, 1.0, 0.95, 0.81)
"""The rise of a wave."""
APART = -(-LENGTH // 4)
"""How many slots before a subsequence another one must begin."""

Answers = dict[tuple[int, int], float]
"""A number by sensor and second."""


@dataclass(frozen=True)
class Peer:
    """Its name, the seconds of the processor, the readings that these were for, and its answers, if it does our work."""

    name: str
    seconds: float
    readings: int
    answers: Answers | None


Waves = np.ndarray
"""Seconds x sensors x 2 values."""
Step = Callable[[np.ndarray, int], float | None]


def installed(module: str) -> bool:
    """Whether a library is there."""
    return importlib.util.find_spec(module) is not None


def peers_of(task: str, waves: Waves, warm: int) -> list[Peer]:
    """The peers of a task that are installed here."""
    return [measure(waves, warm) for library, measure in PEERS.get(task, ()) if installed(library)]


def _followed(name: str, waves: Waves, warm: int, step: Step) -> Peer:
    """Call a step for each sensor and second, with the sensor's values and the second's place."""
    answers: Answers = {}
    took = 0.0
    for sensor in range(waves.shape[1]):
        values = np.ascontiguousarray(waves[:, sensor, 0])
        step(values, warm - 1)  # compilers warm up
        begin = time.process_time()
        found = [step(values, place) for place in range(warm, len(values))]
        took += time.process_time() - begin
        answers |= {(sensor, warm + n): value for n, value in enumerate(found) if value is not None}
    return Peer(name, took, waves.shape[1] * (len(waves) - warm), answers)


def _mass(waves: Waves, warm: int) -> Peer:
    """The newest subsequence against all of its window that are before it."""
    stumpy = importlib.import_module("stumpy")

    def step(values: np.ndarray, place: int) -> float:
        window = values[place + 1 - WINDOW : place + 1]
        profile = stumpy.mass(window[-LENGTH:], window)
        return float(profile[: len(profile) - APART].min())

    return _followed("stumpy.mass", waves, warm, step)


def _stumpi(waves: Waves, warm: int) -> Peer:
    stumpy = importlib.import_module("stumpy")
    took = 0.0
    sensors = min(waves.shape[1], 2)  # it takes milliseconds a reading
    for sensor in range(sensors):
        profile = stumpy.stumpi(waves[:warm, sensor, 0].copy(), LENGTH, egress=True)
        profile.update(waves[warm, sensor, 0])
        begin = time.process_time()
        for value in waves[warm + 1 :, sensor, 0]:
            profile.update(value)
        took += time.process_time() - begin
    return Peer("stumpy.stumpi, other work", took, sensors * (len(waves) - warm - 1), None)


def _stump(waves: Waves, warm: int) -> Peer:
    """The least distance in the profile of each window."""
    stumpy = importlib.import_module("stumpy")

    def step(values: np.ndarray, place: int) -> float:
        return float(stumpy.stump(values[place + 1 - WINDOW : place + 1], LENGTH)[:, 0].min())

    return _followed("stumpy.stump", waves, warm, step)


def _similar(waves: Waves, warm: int) -> Peer:
    stumpy = importlib.import_module("stumpy")
    example = np.array(EXAMPLE)

    def step(values: np.ndarray, place: int) -> float | None:
        distance = float(stumpy.mass(example, values[place + 1 - len(example) : place + 1])[0])
        return distance if distance <= 1.0 else None

    return _followed("stumpy.mass", waves, warm, step)


def _median(waves: Waves, warm: int) -> Peer:
    def step(values: np.ndarray, place: int) -> float | None:
        window = values[place - WINDOW + 1 : place]  # RANGE 2 MINUTES without the reading itself
        median = np.median(window)
        spread = 1.4826 * np.median(np.abs(window - median))
        apart = abs(values[place] - median)
        return float(values[place]) if apart > 5 * spread else None

    return _followed("numpy.median", waves, warm, step)


def _gaussian(waves: Waves, warm: int) -> Peer:
    anomaly: Any = importlib.import_module("river.anomaly")
    took = 0.0
    for sensor in range(waves.shape[1]):
        scorer = anomaly.GaussianScorer(window_size=WINDOW)
        for value in waves[:warm, sensor, 0].tolist():
            scorer.learn_one(None, value)
        rest = waves[warm:, sensor, 0].tolist()
        begin = time.process_time()
        for value in rest:
            scorer.score_one(None, value)
            scorer.learn_one(None, value)
        took += time.process_time() - begin
    return Peer("river GaussianScorer, other work", took, waves.shape[1] * (len(waves) - warm), None)


def _birch(waves: Waves, warm: int) -> Peer:
    """Birch has no fading and no order of ids, and its clusters are other ones where they touch."""
    birch = importlib.import_module("sklearn.cluster").Birch(threshold=0.25, n_clusters=None)
    for second in waves[:warm]:
        birch.partial_fit(second)
    begin = time.process_time()
    for second in waves[warm:]:
        birch.partial_fit(second)
    took = time.process_time() - begin
    return Peer("scikit-learn Birch", took, waves.shape[1] * (len(waves) - warm), None)


PEERS: dict[str, tuple[tuple[str, Callable[[Waves, int], Peer]], ...]] = {
    "DISCORDS": (("stumpy", _mass), ("stumpy", _stumpi)),
    "MOTIFS": (("stumpy", _stump),),
    "SIMILAR_TO": (("stumpy", _similar),),
    "OUTLIERS": (("numpy", _median), ("river", _gaussian)),
    "CLUSTERS": (("sklearn", _birch),),
}
