"""The naive twin of every table function, by name: all tuples of the input -> rows or evaluations.

`first_tick` is the stream's first tick, None before there is one. Results at W or later are not returned yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nilometer.plan.reference.functions.clusters import clusters
from nilometer.plan.reference.functions.discords import discords, motifs
from nilometer.plan.reference.functions.latest import latest
from nilometer.plan.reference.functions.outliers import outliers
from nilometer.plan.reference.functions.patterns import patterns
from nilometer.plan.reference.functions.periods import periods
from nilometer.plan.reference.functions.phenomena import (
    arrivals,
    current,
    membership,
    phenomena,
    predict,
    summary,
)
from nilometer.plan.reference.functions.resample import resample
from nilometer.plan.reference.functions.session import session
from nilometer.plan.reference.functions.silent import silent
from nilometer.plan.reference.functions.similar import similar
from nilometer.plan.reference.functions.similar_to import similar_to
from nilometer.plan.reference.functions.subsequences import subsequences
from nilometer.plan.reference.functions.unit import unit

Naive = Callable[..., list[Any]]
"""(node, tuples, first_tick, watermark) -> rows of a stream, or evaluations of windows, in order. A function that
reads a table beside its stream gets the table's rows, too."""

NAIVE: dict[str, Naive] = {
    "SIMILAR": similar,
    "SILENT": silent,
    "LATEST": latest,
    "RESAMPLE": resample,
    "SESSION": session,
    "PHENOMENA": phenomena,
    "CURRENT": current,
    "PREDICT": predict,
    "ARRIVALS": arrivals,
    "MEMBERSHIP": membership,
    "SUMMARY": summary,
    "PERIODS": periods,
    "PATTERNS": patterns,
    "OUTLIERS": outliers,
    "DISCORDS": discords,
    "MOTIFS": motifs,
    "SUBSEQUENCES": subsequences,
    "SIMILAR_TO": similar_to,
    "CLUSTERS": clusters,
    "UNIT": unit,
}
