"""Functions of vectors, value by value: a vector is a tuple of numbers. What they mean; NULL in, NULL out."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from nilometer.plan.scalars.classification import classify
from nilometer.plan.scalars.peaks import peaks

Vector = tuple[Any, ...]


def _elementwise(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Vector]:
    """Two vectors element by element, or each element of one with a number."""

    def apply(left: Any, right: Any) -> Vector:
        if not isinstance(left, tuple):
            return tuple(function(left, each) for each in right)
        if not isinstance(right, tuple):
            return tuple(function(each, right) for each in left)
        return tuple(function(one, other) for one, other in zip(left, right, strict=True))

    return apply


def _of_numbers(*numbers: float) -> Vector | None:
    return tuple(map(float, numbers)) if all(map(math.isfinite, numbers)) else None


def _element(vector: Vector, place: int) -> Any:
    return vector[place] if 0 <= place < len(vector) else None


def _total(numbers: list[Any]) -> Any:
    return math.fsum(numbers) if any(isinstance(number, float) for number in numbers) else sum(numbers)


def _rebin(vector: Vector, count: int) -> Vector:
    return tuple(_total(list(vector[place : place + count])) for place in range(0, len(vector), count))


def _regrid(vector: Vector, e0: float, gain: float, bins: int, width: float) -> Vector:
    """Each channel is spread evenly over the bins that it overlaps; `kernels/regrid.py` says which."""
    found = [0.0] * bins
    for channel, count in enumerate(vector if gain > 0 else ()):
        low, high = ((e0 + gain * (channel + side)) / width for side in (-0.5, 0.5))
        for place in range(max(math.floor(low), 0), min(math.ceil(high), bins)):
            share = (min(high, place + 1) - max(low, place)) / (high - low)
            found[place] += count * max(share, 0.0)
    return tuple(found)


VECTORS: dict[str, Callable[..., Any]] = {
    "peaks": peaks,
    "classify": classify,
    "field": lambda fields, name: fields[name],
    "vector": _of_numbers,
    "element": _element,
    "length": len,
    "dot": lambda one, other: math.fsum(float(a) * float(b) for a, b in zip(one, other, strict=True)),
    "norm": lambda vector: math.sqrt(math.fsum(float(each) ** 2 for each in vector)),
    "rebin": _rebin,
    "regrid": _regrid,
    "slice": lambda vector, start, end: vector[start:end],
}

ELEMENTWISE: dict[str, Callable[..., Vector]] = {
    "+": _elementwise(operator.add),
    "-": _elementwise(operator.sub),
    "*": _elementwise(operator.mul),
    "negative": lambda vector: tuple(-each for each in vector),
    "float": lambda vector: tuple(map(float, vector)),
}
"""The operators, where one of the operands is a vector."""


def by_element(aggregate: Callable[[list[Any]], Any], vectors: list[Vector]) -> Vector:
    """An aggregate of vectors, element by element."""
    return tuple(aggregate(list(elements)) for elements in zip(*vectors, strict=True))
