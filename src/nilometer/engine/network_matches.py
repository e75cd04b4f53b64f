"""The values of readings as numbers that motes compare, and the matches that the network found as rows of SIMILAR."""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.errors import ResourceError
from nilometer.kernels.arrays import Integers
from nilometer.kernels.similar_pairs import SimilarRows, similar_partners
from nilometer.operators.limits import MOST_MATCHES
from nilometer.sensornet.snjoin import Answers, Readings
from nilometer.sensornet.snjoin.readings import Values
from nilometer.types import Kind


def comparable(values: pl.Series, kind: Kind) -> Values:
    """Numbers that are equal, or near, where the values are. None is NULL."""
    match kind:
        case Kind.FLOAT:
            return values.to_numpy().astype(np.float64) + np.float64(0)
        case Kind.INT | Kind.TIME | Kind.DURATION:
            return values.to_physical().to_numpy().astype(np.int64)
        case Kind.BOOLEAN:
            return values.cast(pl.Int64).to_numpy()
        case Kind.POINT:
            points = values.struct.unnest().to_numpy() + 0.0
            return np.unique(points, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
        case _:
            return values.rank("dense").to_numpy().astype(np.int64)


def value_bytes(values: pl.Series, kind: Kind) -> int:
    """The bytes of a value on the air; of text, on the average."""
    if kind is Kind.STRING:
        length = values.str.len_bytes().mean()
        return 1 + (round(length) if isinstance(length, float) else 0)
    return {Kind.BOOLEAN: 1, Kind.INT: 4, Kind.FLOAT: 4}.get(kind, 8)


def matched_rows(readings: Readings, answers: Answers) -> tuple[Integers, Integers]:
    """The row numbers of probing tuples and of their matches, in order."""
    tuples, matches = answers.tuples, answers.matches
    most = int(readings.sequence.max()) + 1
    keys = readings.stream * most + readings.sequence
    order = np.argsort(keys)
    ordered = keys[order]

    def rows(stream: Integers, sequence: Integers) -> Integers:
        return order[np.searchsorted(ordered, stream * most + sequence)]

    if not len(matches):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    probe = rows(tuples.stream, tuples.sequence)[matches.probe]
    other = rows(matches.stream, matches.sequence)
    place = np.lexsort((other, probe))
    return probe[place], other[place]


def count_matches(readings: Readings, window: int, within: float) -> int:
    """The number of matches in one place that has all readings. Refuses more than can be held."""
    ordered = readings.take(readings.order())
    reach = np.minimum(ordered.reach, window).astype(np.int64)
    rows = SimilarRows(ordered.time, ordered.stream, ordered.value, within, reach)
    count = int(similar_partners(rows, np.arange(len(ordered))).sum())
    if count > MOST_MATCHES:
        raise ResourceError(
            f"the clusters would find {count:,} matches of {len(ordered):,} readings",
            detail=f"the limit is {MOST_MATCHES:,}",
            hint="simulate a shorter time (--for 1h), or ask for a shorter window",
        )
    return count
