"""Fills gaps in the groups of windows: a group that an earlier evaluation had is in every later one.

FILL(LINEAR) cannot know the values of a gap before the group returns. So its rows are in the bag of the evaluation in
which the group returns; their columns of the window say which evaluations they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from nilometer.plan.logical import Fill
from nilometer.plan.reference.rows import Evaluation, Values, freeze
from nilometer.plan.scalar import evaluate
from nilometer.types import Kind


def filled(node: Fill, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Each evaluation, and in it the groups that it lacks; with LINEAR, what the groups in it had lacked."""
    last: dict[Any, tuple[int, Values]] = {}
    result = []
    for place, evaluation in enumerate(evaluations):
        here = {freeze([row[key] for key in node.keys]): row for row in evaluation.bag}
        if node.method == "LINEAR":
            gaps = [
                _on_the_line(node, evaluations, last[group], (place, row), between)
                for group, row in here.items()
                if group in last
                for between in range(last[group][0] + 1, place)
            ]
        else:
            gaps = [_gap(node, row, evaluation.tick) for group, (_, row) in last.items() if group not in here]
        last |= {group: (place, row) for group, row in here.items()}
        result.append(replace(evaluation, bag=(*evaluation.bag, *gaps)))
    return result


def _gap(node: Fill, row: Values, tick: int) -> Values:
    values = {n: v if node.method == "PREVIOUS" or n in node.keys else None for n, v in row.items()}
    return values | {item.name: evaluate(item.expression, row, tick) for item in node.windows}


def _on_the_line(
    node: Fill,
    evaluations: Sequence[Evaluation],
    one: tuple[int, Values],
    other: tuple[int, Values],
    between: int,
) -> Values:
    start, at, end = (evaluations[place].tick for place in (one[0], between, other[0]))
    values = dict(_gap(node, one[1], at))
    for column in node.schema:
        before, after = one[1][column.name], other[1][column.name]
        if column.name in (*node.keys, *(item.name for item in node.windows)):
            continue
        if column.type.kind in (Kind.INT, Kind.FLOAT) and before is not None and after is not None:
            exact = Fraction(before) + (Fraction(after) - Fraction(before)) * Fraction(
                at - start, end - start
            )
            values[column.name] = float(exact) if column.type.kind is Kind.FLOAT else _nearest(exact)
    return values


def _nearest(exact: Fraction) -> int:
    """Halves go away from 0."""
    return int(math.copysign(math.floor(abs(exact) + Fraction(1, 2)), exact))
