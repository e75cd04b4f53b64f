"""The registry of all functions of FROM, by name. A function is one file here and one line below.

Its operator is listed in `dataflow/lowering/table_functions.py`, its naive twin in
`plan/reference/functions`. A test proves that the three, the documents and the contract tests have the same
names.
"""

from __future__ import annotations

from typing import Final

from nilometer.algebra.table_function import TableFunction
from nilometer.algebra.table_functions.clusters import CLUSTERS
from nilometer.algebra.table_functions.discords import DISCORDS, MOTIFS
from nilometer.algebra.table_functions.latest import LATEST
from nilometer.algebra.table_functions.outliers import OUTLIERS
from nilometer.algebra.table_functions.patterns import PATTERNS
from nilometer.algebra.table_functions.periods import PERIODS
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
from nilometer.algebra.table_functions.similar_to import SIMILAR_TO
from nilometer.algebra.table_functions.subsequences import SUBSEQUENCES
from nilometer.algebra.table_functions.unit import UNIT

MINING: Final = (PERIODS, PATTERNS, SUBSEQUENCES, OUTLIERS, DISCORDS, MOTIFS, SIMILAR_TO, CLUSTERS)

TABLE_FUNCTIONS: Final[dict[str, TableFunction]] = {
    each.name: each
    for each in (
        *(SIMILAR, SILENT, LATEST, RESAMPLE, SESSION),
        *(PHENOMENA, CURRENT, PREDICT, ARRIVALS, MEMBERSHIP, SUMMARY),
        *MINING,
        UNIT,
    )
}


def operators() -> dict[str, TableFunction]:
    """All functions by the name of their operator; a function of several operators is listed with each."""
    parts = (part for each in TABLE_FUNCTIONS.values() for part in (each.first, each, each.windows))
    return {part.operator: part for part in parts if part is not None}


__all__ = [
    "ARRIVALS",
    "CLUSTERS",
    "CURRENT",
    "DISCORDS",
    "LATEST",
    "MEMBERSHIP",
    "MOTIFS",
    "OUTLIERS",
    "PATTERNS",
    "PERIODS",
    "PHENOMENA",
    "PREDICT",
    "RESAMPLE",
    "SESSION",
    "SILENT",
    "SIMILAR",
    "SUMMARY",
    "SIMILAR_TO",
    "SUBSEQUENCES",
    "TABLE_FUNCTIONS",
    "UNIT",
    "operators",
]
