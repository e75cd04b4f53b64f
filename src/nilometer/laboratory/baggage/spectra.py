"""Measured gamma spectra -> two independent halves on one axis: one to learn from, one to draw boxes from.

Each count goes to either half with probability 1/2 (Poisson thinning), so that the halves are independent although
they are of one measurement. `gamma_measured` has background-subtracted spectra of nuclides and materials, and the
background itself. Without it, spectra with the same strongest lines are generated.
"""

from __future__ import annotations

import csv
import gzip
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

BINS, WIDTH = 800, 2.0
"""The common axis: 800 bins of 2 keV."""
FILE = "opengamma_measured.csv.gz"
LEAST = 5_000
"""A spectrum with fewer counts than this is no template."""
LOW = 50.0
"""Labels without a line above this energy are left out, in keV."""
NO_LINE = ("Fe-55", "I-125", "Pb-210")
BACKGROUND_RATE = 18.0
"""Counts a second: 5,400 in the five minutes of a background trace."""

LINES: dict[str, tuple[float, ...]] = {
    "Am-241": (59.54,),
    "Co-57": (122.06,),
    "Tc-99m": (140.51,),
    "Lu-177": (112.95, 208.37),
    "Lu-176": (201.83, 306.78),
    "Ba-133": (81.00, 302.85, 356.01),
    "I-131": (364.49,),
    "Ac-225": (218.1, 440.4),
    "Na-22": (511.0, 1274.54),
    "Cs-137": (661.66,),
    "Co-60": (1173.23, 1332.49),
    "Eu-152": (121.78, 344.28, 1408.0),
    "Ra-226": (186.2, 351.93, 609.31),
    "K-40": (1460.82,),
}
"""Energies of known lines, in keV (the reference's golden list)."""


@dataclass(frozen=True)
class Measured:
    """One trace: counts per channel of the detector's own axis."""

    label: str
    background: bool
    e0: float
    gain: float
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Halves:
    """Spectra on the common axis: those to learn from, and those to draw from."""

    labels: tuple[str, ...]
    learned: dict[str, Vector]
    drawn: dict[str, Vector]
    background_learned: Vector
    background_drawn: Vector


def measured(folder: Path) -> list[Measured]:
    """The traces of `gamma_measured`."""
    csv.field_size_limit(sys.maxsize)
    found = []
    with gzip.open(folder / FILE, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            counts = np.array(row["counts"].split(), dtype=np.int64)
            axis = float(row["e0_kev"]), float(row["kev_per_channel"])
            found.append(Measured(row["label"], row["trace"] == "Background", *axis, counts))
    return found


def generated(seed: int = 1) -> list[Measured]:
    """Spectra with known lines on a falling continuum, for those without the measurements."""
    random = np.random.default_rng(seed)
    energies = 0.1 + 0.2 * np.arange(8192)
    falling = np.exp(-energies / 250.0)
    found = [Measured("", True, 0.1, 0.2, random.poisson(5_000 * falling / falling.sum()))]
    for label, lines in LINES.items():
        shape = 0.4 * falling / falling.sum()
        for line in lines:
            peak = np.exp(-0.5 * ((energies - line) / 0.8) ** 2)
            shape += 0.6 / len(lines) * peak / peak.sum()
        found.append(Measured(label, False, 0.1, 0.2, random.poisson(200_000 * shape)))
    return found


def halves(traces: list[Measured], seed: int = 1) -> Halves:
    """Thinned halves on the common axis. The first channels hold a detector's own pulses, and are left out."""
    from nilometer.kernels.regrid import regrid

    random = np.random.default_rng(seed)
    learned: dict[str, Vector] = {}
    drawn: dict[str, Vector] = {}
    backgrounds: dict[bytes, tuple[Vector, Vector]] = {}
    for trace in traces:
        counts = np.clip(trace.counts, 0, None)
        counts[:10] = 0
        one = random.binomial(counts, 0.5)
        both = np.stack([one, counts - one]).astype(np.float64)
        axis = np.full(2, trace.e0), np.full(2, trace.gain)
        first, second = regrid(both, *axis, BINS, WIDTH)
        if trace.background:
            backgrounds[counts.tobytes()] = first, second  # several measurements share one background
        elif trace.label not in NO_LINE and counts.sum() >= LEAST:
            learned[trace.label], drawn[trace.label] = first, second
    whole = [np.sum([pair[half] for pair in backgrounds.values()], axis=0) for half in (0, 1)]
    return Halves(tuple(sorted(learned)), learned, drawn, whole[0], whole[1])
