"""Brings arrays to one form, contiguous and read-only; contiguous arrays are not copied.

numba compiles a kernel for each form of its arguments, and Polars' arrays are read-only. A kernel gets the
arrays that it only reads in this form. So one compiled kernel serves all calls, without copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only view of the array; the array itself stays writable."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
