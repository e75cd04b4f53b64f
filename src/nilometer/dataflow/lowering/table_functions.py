"""Lowers the table functions of FROM. `SPECS` maps the name of an operator to the function that makes its
Spec from a call, the schema of its input and that of a table beside it."""

from __future__ import annotations

from collections.abc import Callable

from nilometer.dataflow.dataflow import Dataflow
from nilometer.mining.clusters import ClusterCentres, Clusters
from nilometer.mining.discords import Discords, TopDiscords
from nilometer.mining.motifs import Motifs
from nilometer.mining.occurrences import Occurrences
from nilometer.mining.outliers import Outliers
from nilometer.mining.patterns import Patterns
from nilometer.mining.periods import Periods
from nilometer.mining.similar_to import NearestTo, SimilarTo
from nilometer.mining.subsequences import Subsequences
from nilometer.operators.last_of_each.latest import Latest
from nilometer.operators.last_of_each.resample import Resample
from nilometer.operators.logic import Spec
from nilometer.operators.session import Session
from nilometer.operators.silent import Silent
from nilometer.operators.similar.similar import Similar
from nilometer.operators.unit import Unit
from nilometer.phenomena.candidates import Candidates
from nilometer.phenomena.totals import Totals
from nilometer.phenomena.track import Track
from nilometer.plan.physical import TableFunction

SPECS: dict[str, Callable[..., Spec]] = {
    "SN_JOIN": Similar.of,
    "SILENT": Silent.of,
    "LATEST": Latest.of,
    "RESAMPLE": Resample.of,
    "SESSION": Session.of,
    "PERIODS": Periods,
    "PATTERNS": Patterns,
    "OUTLIERS": Outliers,
    "DISCORDS": Discords,
    "TOP_DISCORDS": TopDiscords,
    "MOTIFS": Motifs,
    "SUBSEQUENCES_OCCUR": Occurrences,
    "SUBSEQUENCES": Subsequences,
    "SIMILAR_TO": SimilarTo,
    "NEAREST_TO": NearestTo,
    "CLUSTERS": Clusters,
    "CLUSTER_CENTRES": ClusterCentres,
    "UNIT": Unit,
    "PH_CANDIDATES": Candidates,
    "PH_SOURCES": Candidates.with_places,
    "PH_TOTALS": Totals,
    "PH_TRACK": Track,
    "PH_CURRENT": Track,
    "PH_PREDICT": Track,
    "PH_ARRIVALS": Track,
    "PH_MEMBERS": Track,
    "PH_SUMMARY": Track,
}


def table_function(node: TableFunction, flow: Dataflow) -> int:
    """The rows or windows that a function makes of a stream."""
    return flow.add_operator(node, spec_of(node))


def spec_of(node: TableFunction) -> Spec:
    """The Spec of the function's operator."""
    if node.beside is not None:
        return SPECS[node.operator](node.call, node.input.schema, node.beside.schema)
    return SPECS[node.operator](node.call, node.input.schema)
