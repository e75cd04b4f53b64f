"""The scalar functions of vectors: `FLOAT[n]` and `INT[n]`."""

from __future__ import annotations

from typing import Any, Final

from nilometer.catalog.functions.arguments import DIGITS, NUMBER, VECTOR, WHOLE
from nilometer.catalog.functions.signature import FunctionKind, FunctionSignature
from nilometer.catalog.functions.type_rules import always, element
from nilometer.types import FLOAT, LONGEST_VECTOR, Column, Type, list_of, struct_of, vector_of

PEAK: Final = struct_of(Column("energy", FLOAT), Column("area", FLOAT), Column("sigma", FLOAT))


def _alike(types: tuple[Type, ...]) -> Type:
    """Two vectors of one length."""
    sizes = [type_.size for type_ in types if type_.size is not None]
    if len(set(sizes)) > 1:
        raise ValueError(f"vectors of one length, not of {sizes[0]} and {sizes[1]} elements")
    return FLOAT


def _rebinned(types: tuple[Type, ...], constants: tuple[Any, ...]) -> Type:
    of, count = types[0], constants[1]
    if of.element is None or of.size is None:
        return of
    if not isinstance(count, int) or count < 1:
        raise ValueError("a vector and a constant number of neighbours, at least 1")
    return vector_of(of.element, -(-of.size // count))


def _sliced(types: tuple[Type, ...], constants: tuple[Any, ...]) -> Type:
    of, (start, end) = types[0], constants[1:]
    if of.element is None or of.size is None:
        return of
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end <= of.size:
        raise ValueError(f"a vector and two places, from 0 to {of.size}, of which the second is greater")
    return vector_of(of.element, end - start)


def _regridded(_types: tuple[Type, ...], constants: tuple[Any, ...]) -> Type:
    bins, width = constants[3:5]
    if not isinstance(bins, int) or not 1 <= bins <= LONGEST_VECTOR:
        raise ValueError(f"a constant number of bins, from 1 to {LONGEST_VECTOR:,}, as argument 4")
    if isinstance(width, bool) or not isinstance(width, int | float) or not width > 0:
        raise ValueError("a constant width above 0 as argument 5")
    return vector_of(FLOAT, bins)


def _of_numbers(types: tuple[Type, ...], _constants: tuple[Any, ...]) -> Type:
    return vector_of(FLOAT, len(types))


VECTORS: Final[tuple[FunctionSignature, ...]] = (
    FunctionSignature(
        "vector",
        FunctionKind.SCALAR,
        (NUMBER,),
        always(FLOAT),
        "a vector of these numbers",
        "vector(depth, rain)",
        repeats=True,
        wants_float=True,
        shape=_of_numbers,
    ),
    FunctionSignature(
        "element",
        FunctionKind.SCALAR,
        (VECTOR, WHOLE),
        element,
        "the element of a vector at a place, from 0; NULL if there is none",
        "element(counts, 0)",
    ),
    FunctionSignature(
        "dot",
        FunctionKind.SCALAR,
        (VECTOR, VECTOR),
        _alike,
        "the sum of the products of two vectors' elements",
        "dot(counts, weights)",
    ),
    FunctionSignature(
        "norm",
        FunctionKind.SCALAR,
        (VECTOR,),
        always(FLOAT),
        "the length of a vector: the root of the sum of its squares",
        "norm(counts)",
    ),
    FunctionSignature(
        "rebin",
        FunctionKind.SCALAR,
        (VECTOR, DIGITS),
        element,
        "the sums of n neighbours each; the last one may have fewer",
        "rebin(counts, 4)",
        shape=_rebinned,
    ),
    FunctionSignature(
        "slice",
        FunctionKind.SCALAR,
        (VECTOR, DIGITS, DIGITS),
        element,
        "the elements from a place, counted from 0, up to and without another",
        "slice(counts, 0, 8)",
        shape=_sliced,
    ),
    FunctionSignature(
        "regrid",
        FunctionKind.SCALAR,
        (VECTOR, NUMBER, NUMBER, DIGITS, NUMBER),
        element,
        "a spectrum on another axis, from 0: arguments are the energy of element 0, the energy per element, the number "
        "of bins and their width",
        "regrid(counts, 0.1, 0.5, 2, 2.0)",
        shape=_regridded,
    ),
    FunctionSignature(
        "peaks",
        FunctionKind.SCALAR,
        (VECTOR, NUMBER, NUMBER),
        always(list_of(PEAK)),
        "the peaks of a spectrum: energy, area and significance of each; arguments are the energy of element 0, "
        "the energy per element, the least significance (5), and the width of a peak (3)",
        "peaks(counts, 0, 0.5)",
        optional=(NUMBER, NUMBER),
    ),
)
