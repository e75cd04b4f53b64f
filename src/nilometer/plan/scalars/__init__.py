"""The scalar functions, value by value: what they mean. NULL in, NULL out."""

from __future__ import annotations

from nilometer.plan.scalars.casts import CASTS, TRY_CASTS
from nilometer.plan.scalars.numbers import NUMBERS
from nilometer.plan.scalars.texts import TEXTS
from nilometer.plan.scalars.times import TIMES
from nilometer.plan.scalars.vectors import ELEMENTWISE, VECTORS, by_element

__all__ = ["CASTS", "ELEMENTWISE", "NUMBERS", "TEXTS", "TIMES", "TRY_CASTS", "VECTORS", "by_element"]
