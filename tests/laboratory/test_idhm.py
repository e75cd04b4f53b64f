"""IDHM on generated spectra, with few boxes: every figure is there, and those with a bar meet it."""

from __future__ import annotations

import numpy as np
import pytest

from nilometer.laboratory.baggage.decisions import decide
from nilometer.laboratory.baggage.spectra import BACKGROUND_RATE, LINES, generated, halves
from nilometer.laboratory.baggage.templates import templates
from nilometer.laboratory.reproductions.idhm import idhm


def test_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.delenv("NILOMETER_EXAMPLE_DATA", raising=False)
    found = idhm(boxes=300, draws=4)
    verdicts = {name: figure["verdict"] for name, figure in found["figures"].items()}
    assert set(verdicts) == {
        "lines",
        "labels by counts",
        "none",
        "false alarms",
        "time to decision",
        "upcoming spectra",
        "bursts left",
        "views and matrices",
    }
    for mean in ("time to decision", "bursts left"):  # a few boxes say little about means
        assert verdicts.pop(mean)
    assert "missed" not in verdicts.values()


def test_halves_are_independent_and_whole() -> None:
    traces = generated()
    both = halves(traces)
    assert both.labels == tuple(sorted(LINES))
    for trace in traces[1:]:
        inside = trace.counts[10:8000].sum()
        assert both.learned[trace.label].sum() + both.drawn[trace.label].sum() == pytest.approx(
            inside, rel=0.01
        )
        assert both.learned[trace.label].sum() == pytest.approx(inside / 2, rel=0.05)


def test_a_strong_source_is_a_hazard_of_its_label() -> None:
    both = halves(generated())
    test = templates(both)
    place = both.labels.index("Cs-137")
    shape = both.drawn["Cs-137"] / both.drawn["Cs-137"].sum()
    found = decide(test, test.background + 5 * BACKGROUND_RATE * shape, 20, np.random.default_rng(1))
    assert (found.decision == 1).all()
    assert (found.label == place).mean() > 0.8
    assert found.bursts.max() <= 3
