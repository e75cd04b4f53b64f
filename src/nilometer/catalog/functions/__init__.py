"""Function names -> signatures: a function's arguments, the type of its result, and its purpose.

One table holds the scalar functions, the aggregates, and the special forms LAG, DELTA, RATE and COMPLETENESS.
Names ignore case, and aliases lead to the canonical lower-case name. A type rule is a plain function from
argument types to a type; it raises a `ValueError` that says which arguments the function takes.

>>> from nilometer.types import FLOAT, INT, STRING
>>> resolve("SQUARE").name
'sqr'
>>> str(resolve("least").result((INT, FLOAT)))
'FLOAT'
>>> resolve("sqrt").result((STRING,))
Traceback (most recent call last):
ValueError: sqrt takes a number (INT or FLOAT), not STRING
"""

from __future__ import annotations

from typing import Final

from nilometer.catalog.functions.aggregates import AGGREGATES
from nilometer.catalog.functions.models import MODELS
from nilometer.catalog.functions.scalars import SCALARS
from nilometer.catalog.functions.signature import Argument, FunctionKind, FunctionSignature
from nilometer.catalog.functions.special_forms import SPECIAL_FORMS
from nilometer.catalog.functions.vectors import VECTORS

__all__ = ["FUNCTIONS", "Argument", "FunctionKind", "FunctionSignature", "names", "resolve"]

FUNCTIONS: Final[tuple[FunctionSignature, ...]] = SCALARS + VECTORS + MODELS + AGGREGATES + SPECIAL_FORMS

_BY_NAME: Final = {name: f for f in FUNCTIONS for name in (f.name, *f.aliases)}


def resolve(name: str) -> FunctionSignature | None:
    """The function of that name or alias; case does not matter."""
    return _BY_NAME.get(name.lower())


def names() -> tuple[str, ...]:
    """All names by which a function can be called, aliases included."""
    return tuple(_BY_NAME)
