"""The special forms: functions of other readings of a source, of a window, and of several rows."""

from __future__ import annotations

from typing import Final

from nilometer.catalog.functions.arguments import (
    LIST,
    NUMBER,
    SCALAR_VALUE,
    WHOLE,
)
from nilometer.catalog.functions.signature import FunctionKind, FunctionSignature
from nilometer.catalog.functions.type_rules import always, element, first
from nilometer.types import BOOLEAN, FLOAT

SPECIAL_FORMS: Final[tuple[FunctionSignature, ...]] = (
    FunctionSignature(
        "lag",
        FunctionKind.SPECIAL,
        (SCALAR_VALUE,),
        first,
        "the value n (default 1) readings before, of the same source",
        "LAG(depth, 2)",
        optional=(WHOLE,),
    ),
    FunctionSignature(
        "delta",
        FunctionKind.SPECIAL,
        (NUMBER,),
        first,
        "the difference to the reading before, of the same source",
        "DELTA(depth)",
    ),
    FunctionSignature(
        "rate",
        FunctionKind.SPECIAL,
        (NUMBER,),
        always(FLOAT),
        "the change per second since the reading before, of the same source; NULL when no time has passed",
        "RATE(depth)",
    ),
    FunctionSignature(
        "completeness",
        FunctionKind.SPECIAL,
        (),
        always(FLOAT),
        "the readings in the window over those expected; NULL without a rate",
        "COMPLETENESS()",
    ),
    FunctionSignature(
        "inside",
        FunctionKind.SPECIAL,
        (SCALAR_VALUE,),
        always(BOOLEAN),
        "whether the reading's sensor was a member of a phenomenon at the last evaluation before it",
        "INSIDE(smoke)",
        optional=(SCALAR_VALUE,),
    ),
    FunctionSignature(
        "unnest",
        FunctionKind.ROWS,
        (LIST,),
        element,
        "a row for each element of a list, in the select list",
        "UNNEST(members)",
    ),
)
