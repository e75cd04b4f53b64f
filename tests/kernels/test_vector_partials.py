"""Partials of vectors: each element is aggregated as a column of numbers is."""

from __future__ import annotations

import numpy as np

from nilometer.kernels.vector_partials import reduce_vector_sums, reduce_vectors, sum_vectors


def test_elements_are_reduced_one_by_one() -> None:
    random = np.random.default_rng(3)
    values = random.integers(-9, 9, (4, 50)).astype(np.float64)
    entry_of = random.integers(0, 5, 50)
    for operation, identity, of in ((0, 0.0, np.sum), (1, np.inf, np.min), (2, -np.inf, np.max)):
        found = reduce_vectors(operation, identity, entry_of, values, 5)
        expected = np.array([[of(row[entry_of == entry]) for entry in range(5)] for row in values])
        assert (found == expected).all()


def test_sums_are_rounded_once() -> None:
    values = np.array([[1e100, 1.0, -1e100, 1.0], [1.0, 2.0, 3.0, 4.0]])
    sums = sum_vectors(np.zeros(4, dtype=np.int64), values, 1)
    assert sums[0::2].ravel().tolist() == [2.0, 10.0]
    twice = reduce_vector_sums(np.zeros(2, dtype=np.int64), np.hstack([sums, sums]), 1)
    assert twice[0::2].ravel().tolist() == [4.0, 20.0]
