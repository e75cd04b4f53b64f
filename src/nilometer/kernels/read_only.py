"""Arrays -> arrays of one form: contiguous and read-only, without a copy where they are contiguous.

numba compiles a kernel for each form of its arguments, and Polars' arrays may not be written to. What a kernel only reads is
given to it in this form, so that one compiled kernel serves all calls and nothing is copied to make it so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of the array; the array itself may still be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
