"""The registry of all functions of FROM, by name. A function is one file here and one line below.

Its operator is listed in `dataflow/lowering/table_functions.py`, its naive twin in
`plan/reference/functions`. A test proves that the three, the documents and the contract tests have the same
names.
"""

from __future__ import annotations

from typing import Final

from nilometer.algebra.table_function import TableFunction
from nilometer.algebra.table_functions.latest import LATEST
from nilometer.algebra.table_functions.phenomena import (
    ARRIVALS,
    CURRENT,
    MEMBERSHIP,
    PHENOMENA,
    PREDICT,
    SUMMARY,
)
from nilometer.algebra.table_functions.resample import RESAMPLE
from nilometer.algebra.table_functions.session import SESSION
from nilometer.algebra.table_functions.silent import SILENT
from nilometer.algebra.table_functions.similar import SIMILAR

TABLE_FUNCTIONS: Final[dict[str, TableFunction]] = {
    each.name: each
    for each in (
        *(SIMILAR, SILENT, LATEST, RESAMPLE, SESSION),
        *(PHENOMENA, CURRENT, PREDICT, ARRIVALS, MEMBERSHIP, SUMMARY),
    )
}


def operators() -> dict[str, TableFunction]:
    """All functions by the name of their operator; a function of two operators is listed with both."""
    both = (part for each in TABLE_FUNCTIONS.values() for part in (each.first, each) if part is not None)
    return {part.operator: part for part in both}


__all__ = [
    "ARRIVALS",
    "CURRENT",
    "LATEST",
    "MEMBERSHIP",
    "PHENOMENA",
    "PREDICT",
    "RESAMPLE",
    "SESSION",
    "SILENT",
    "SIMILAR",
    "SUMMARY",
    "TABLE_FUNCTIONS",
    "operators",
]
