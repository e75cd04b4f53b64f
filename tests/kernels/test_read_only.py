"""A view, not a copy, of arrays that are contiguous."""

from __future__ import annotations

import numpy as np

from nilometer.kernels.read_only import read_only


def test_a_view_that_may_only_be_read() -> None:
    array = np.arange(4)
    view = read_only(array)
    assert np.shares_memory(view, array)
    assert not view.flags.writeable
    assert array.flags.writeable


def test_what_is_not_contiguous_is_copied() -> None:
    column = np.arange(6).reshape(3, 2)[:, 1]
    view = read_only(column)
    assert view.tolist() == [1, 3, 5]
    assert view.flags.c_contiguous
    assert not view.flags.writeable
