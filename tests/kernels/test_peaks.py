"""Peaks: the kernel against its naive twin, and spectra whose peaks are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.kernels.peaks import peaks_of
from nilometer.plan.scalars.peaks import peaks


def found_by_kernel(
    spectrum: list[float], e0: float, gain: float, least: float, width: float
) -> list[tuple[float, float, float]]:
    given_ = (np.array([value]) for value in (e0, gain, least, width))
    starts, found = peaks_of(np.array([spectrum], dtype=np.float64), *given_)
    assert starts.tolist() == [0, len(found)]
    return [tuple(row) for row in found.tolist()]


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 120),
    level=st.sampled_from([0.0, 0.5, 5.0, 200.0]),
    gain=st.sampled_from([0.2, 0.5, 3.0, 0.0, -1.0]),
    width=st.sampled_from([0.0, 4.0, 45.0]),
)
@settings(deadline=None, max_examples=30)
def test_kernel_equals_twin(seed: int, size: int, level: float, gain: float, width: float) -> None:
    random = np.random.default_rng(seed)
    shape = np.full(size, level)
    for centre in random.integers(0, size, 3):
        shape += random.choice([0.0, 40.0, 900.0]) * np.exp(-0.5 * ((np.arange(size) - centre) / 2.0) ** 2)
    spectrum = (random.poisson(shape) - random.integers(0, 2, size)).astype(float).tolist()
    expected = [tuple(each.values()) for each in peaks(tuple(spectrum), 1.0, gain, 5.0, width)]
    found = found_by_kernel(spectrum, 1.0, gain, 5.0, width)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


def test_two_lines_on_a_continuum() -> None:
    """A line of 5,000 counts and one of 300 on a sloping continuum; nothing else is a peak."""
    random = np.random.default_rng(5)
    energies = 0.5 + 0.25 * np.arange(4096)
    shape = 40.0 * np.exp(-energies / 400.0)
    for energy, area in ((302.85, 300.0), (356.01, 5_000.0)):
        shape += area * 0.25 / (0.7 * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((energies - energy) / 0.7) ** 2)
    found = found_by_kernel(random.poisson(shape).tolist(), 0.5, 0.25, 5.0, 0.0)
    assert [round(energy) for energy, _, _ in found] == [303, 356]
    assert found[1][1] == pytest.approx(5_000, rel=0.1)


def test_nothing_in_a_flat_spectrum() -> None:
    random = np.random.default_rng(7)
    assert found_by_kernel(random.poisson(50.0, 8192).tolist(), 0.0, 0.2, 5.0, 0.0) == []
