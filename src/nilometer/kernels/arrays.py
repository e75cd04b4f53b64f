"""Names for the arrays that kernels take and return."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
"""Unsigned 64-bit words: hashes, and the bits of values."""
