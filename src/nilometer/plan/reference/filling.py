"""Fills gaps in the groups of windows: a group that an earlier evaluation had is in every later one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nilometer.plan.logical import Fill
from nilometer.plan.reference.rows import Evaluation, Values, freeze


def filled(node: Fill, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Each evaluation, and in it the groups that it lacks."""
    last: dict[Any, Values] = {}
    result = []
    for evaluation in evaluations:
        here = {freeze([row[key] for key in node.keys]): row for row in evaluation.bag}
        gaps = [_gap(node, row) for group, row in last.items() if group not in here]
        last |= here
        result.append(replace(evaluation, bag=(*evaluation.bag, *gaps)))
    return result


def _gap(node: Fill, row: Values) -> Values:
    return {name: value if node.previous or name in node.keys else None for name, value in row.items()}
