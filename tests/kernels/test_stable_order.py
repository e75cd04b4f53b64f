"""The stable order against numpy's stable argsort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.stable_order import stable_order

numbers = st.one_of(st.integers(-4, 4), st.integers(-(2**63), 2**63 - 1))


@given(st.one_of(st.lists(numbers), st.lists(st.integers(0, 5))))
def test_like_the_stable_argsort(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()
