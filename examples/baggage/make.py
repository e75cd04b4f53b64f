"""Makes the directory of this example: `python make.py OUT [GAMMA_MEASURED]`.

With the folder of the measured spectra, templates are learned from one half of their counts, and boxes are drawn from
the other. Without, spectra with known lines are generated. Every third box holds only background.
"""

from __future__ import annotations

import csv
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from nilometer.laboratory.baggage.prediction import horizon
from nilometer.laboratory.baggage.spectra import BACKGROUND_RATE, BINS, WIDTH, generated, halves, measured
from nilometer.laboratory.baggage.templates import AMPLITUDES, templates

START = datetime(2026, 11, 18, 12, tzinfo=UTC)
BOXES, BURSTS, CHANNELS = 12, 8, 2048
EXAMPLES = 6
"""So many examples of each label and number of counts."""
GAIN = BINS * WIDTH / CHANNELS


def main(out: Path, data: Path | None) -> None:
    """Write the directory."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("schema.sql"), out / "schema.sql")
    traces = measured(data) if data is not None else generated()
    both = halves(traces)
    known = templates(both)
    random = np.random.default_rng(7)
    _write(out / "background.csv", ("rate",), [(_vector(known.background),)])
    rows = [
        (label, amplitude, known.rates[place], _vector(known.weights[place]))
        for place, (label, amplitude) in enumerate((name, a) for name in known.labels for a in AMPLITUDES)
    ]
    _write(out / "templates.csv", ("label", "amplitude", "rate", "weights"), rows)
    left = horizon(known, both)
    stretches = list(
        zip(left.edges[:-1].tolist(), left.edges[1:].tolist(), left.bursts.tolist(), strict=True)
    )
    _write(out / "horizon.csv", ("low", "high", "bursts"), stretches)
    _write(out / "library.csv", ("label", "features"), _library(both, np.random.default_rng(5)))
    _write(
        out / "detections.csv",
        ("time", "id", "detector", "live", "e0", "gain", "counts"),
        _bursts(both, random),
    )


def _library(both: object, random: np.random.Generator) -> list[tuple[object, ...]]:
    """Examples as net spectra are: a source of so many counts over as many of background, less the mean background. Those
    without a source are 'none'."""
    background = both.background_learned / both.background_learned.sum()  # type: ignore[attr-defined]
    shapes = {label: counts / counts.sum() for label, counts in both.learned.items()}  # type: ignore[attr-defined]
    rows: list[tuple[object, ...]] = []
    for label, shape in {**shapes, "none": 0 * background}.items():
        for counts in (100, 300, 1_000, 10_000, 100_000):
            for _ in range(EXAMPLES):
                net = random.poisson(counts * (shape + background)) - counts * background
                rows.append((label, _vector(net / np.linalg.norm(net))))
    return rows


def _bursts(both: object, random: np.random.Generator) -> list[tuple[object, ...]]:
    """Bursts of a second. A box is named after its content, so that a reader can judge the decisions."""
    background = BACKGROUND_RATE * both.background_drawn / both.background_drawn.sum()  # type: ignore[attr-defined]
    labels = both.labels  # type: ignore[attr-defined]
    rows: list[tuple[object, ...]] = []
    for box in range(BOXES):
        label = None if box % 3 == 2 else labels[box * len(labels) // BOXES]
        rates = background.copy()
        if label is not None:
            shape = both.drawn[label] / both.drawn[label].sum()  # type: ignore[attr-defined]
            rates = rates + BACKGROUND_RATE * (0.5, 2.0)[box % 2] * shape
        for burst in range(1, BURSTS + 1):
            bins = random.poisson(rates)
            places = (
                random.uniform(np.repeat(np.arange(BINS), bins), np.repeat(np.arange(BINS), bins) + 1.0)
                * WIDTH
            )
            counts = np.bincount(np.minimum((places / GAIN).astype(int), CHANNELS - 1), minlength=CHANNELS)
            time = START + timedelta(seconds=burst)
            name = f"{box:02d} {label or 'background'}"
            rows.append((time.isoformat(), name, "HPGe", 1.0, GAIN / 2, GAIN, _vector(counts)))
    return sorted(rows, key=lambda row: str(row[0]))


def _vector(values: object) -> str:
    return " ".join(f"{value:.6g}" for value in np.asarray(values))


def _write(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
