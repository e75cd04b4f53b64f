"""The selection of a query on a stream of another gateway: what that gateway needs in order to ship only the rows that match.

    SP_ACQUIRE roof AS R [id, concentration] WHERE R.concentration > 5        <->        SP_ACQUIRE

It travels as the text of EXPLAIN, as joins do (overlaid.py). The law: the home sends at least the rows that the query
needs. Where it cannot judge a row, it sends it: the query still has its condition.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from nilometer.errors import DataError, NilometerError
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.overlay.overlaid import runs_code
from nilometer.plan import physical
from nilometer.plan.explain import explain_text
from nilometer.plan.explain.parse import parse_physical_plan
from nilometer.plan.explain.readers import Extents

Matching = Callable[[pl.DataFrame], pl.DataFrame]


def selection_of(leaf: physical.SpAcquire) -> str | None:
    """The selection of a leaf as text; None if it takes all rows, or runs code of its user."""
    if leaf.predicate is None or leaf.of is not None or runs_code(leaf.predicate):
        return None
    return explain_text(leaf)


def leaf_of(text: str, extents: Extents) -> physical.SpAcquire:
    """The leaf of a text. An error if it is none, or if it runs code: who sends one would name the code that runs."""
    node = parse_physical_plan(text, extents)
    if not isinstance(node, physical.SpAcquire) or runs_code(node):
        raise DataError("a peer asked for a part of a stream by something that is no selection")
    return node


def matching(leaf: physical.SpAcquire) -> Matching:
    """The rows of a stream that a leaf lets through, and those on which its condition fails."""
    predicate = compile_predicate(leaf.predicate)
    qualified = {column.name: f"{leaf.alias}.{column.name}" for column in leaf.columns + leaf.reads}
    back = {new: old for old, new in qualified.items()}

    def chosen(rows: pl.DataFrame) -> pl.DataFrame:
        try:
            return predicate(rows.rename(qualified)).rename(back)
        except (NilometerError, pl.exceptions.PolarsError):
            return rows

    return chosen
