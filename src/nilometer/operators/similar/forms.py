"""The forms of SIMILAR's answer: pairs of row numbers -> a frame of lists, of pairs, of combinations, of
counts, or of samples.

LIST, PAIRS and FLATTEN carry the same information (SNJoin section 4; algorithms, section 9.1). Given the
probing tuple, the per-source lists are independent. So LIST is the factorised answer, and FLATTEN is its
Cartesian product, counted before it is built.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.kernels.nesting import nested
from nilometer.kernels.ranges import expand
from nilometer.kernels.spread_sample import in_sample, offsets_of


@dataclass(frozen=True)
class Matches:
    """Pairs (probe, other) of rows, sorted by probe and then by other. `sources` numbers the ids in their
    order, NULL first.
    """

    times: pl.Series
    ids: pl.Series
    values: pl.Series
    sources: Integers
    probe: Integers
    other: Integers

    def head(self, probe: Integers) -> list[pl.Series]:
        """The probing tuples' own columns."""
        return [
            self.times[probe].alias("time"),
            self.ids[probe].alias("id"),
            self.values[probe].alias("value"),
        ]


@dataclass(frozen=True)
class Members:
    """The per-source lists: member m of probe `probes[i]` (firsts[i] <= m < firsts[i + 1]) has the occurrences
    `others[offsets[m]:offsets[m + 1]]`, ascending."""

    probes: Integers
    firsts: Integers
    offsets: Integers
    others: Integers


def paired(matches: Matches) -> tuple[Integers, pl.DataFrame]:
    """Returns one row per match."""
    others = [matches.times[matches.other], matches.ids[matches.other], matches.values[matches.other]]
    names = ("other_time", "other_id", "other_value")
    columns = [column.alias(name) for column, name in zip(others, names, strict=True)]
    return matches.probe, pl.DataFrame([*matches.head(matches.probe), *columns])


def listed(matches: Matches) -> tuple[Integers, pl.DataFrame]:
    """Returns one row per probing tuple: its arity, and its members with all their times."""
    members = members_of(matches)
    first = members.others[members.offsets[:-1]]
    times = nested(matches.times[members.others], members.offsets)
    structs = pl.DataFrame([matches.ids[first].alias("id"), times.alias("times")]).to_struct("members")
    arity = pl.Series("arity", 1 + np.diff(members.firsts))
    columns = [*matches.head(members.probes), arity, nested(structs, members.firsts)]
    return members.probes, pl.DataFrame(columns)


def counted(matches: Matches) -> tuple[Integers, pl.DataFrame]:
    """Returns one row per probing tuple: its arity and its number of matches."""
    members = members_of(matches)
    arity = pl.Series("arity", 1 + np.diff(members.firsts))
    many = pl.Series("matches", np.diff(members.offsets[members.firsts]))
    return members.probes, pl.DataFrame([*matches.head(members.probes), arity, many])


def sampled(matches: Matches, count: int) -> tuple[Integers, pl.DataFrame]:
    """Returns one row per probing tuple: its arity, its number of matches, and as members `count` of these,
    evenly spread over them.
    """
    begins = np.flatnonzero(_changes(matches.probe))
    many = np.diff(np.append(begins, len(matches.probe)))
    ranks = np.arange(len(matches.probe), dtype=np.int64) - np.repeat(begins, many)
    offsets = offsets_of(matches.times.to_numpy()[matches.probe[begins]])
    taken = np.flatnonzero(in_sample(ranks, np.repeat(many, many), np.repeat(offsets, many), count))
    probes, frame = listed(replace(matches, probe=matches.probe[taken], other=matches.other[taken]))
    everyone = members_of(matches)
    arity = pl.Series("arity", 1 + np.diff(everyone.firsts))
    head = frame.select("time", "id", "value")
    return probes, head.with_columns(arity, pl.Series("matches", many), frame["members"])


def combinations(members: Members) -> float:
    """The number of rows that FLATTEN would make of the members."""
    if not len(members.probes):
        return 0.0
    lengths = np.diff(members.offsets).astype(np.float64)
    return float(np.multiply.reduceat(lengths, members.firsts[:-1]).sum())


def flattened(matches: Matches, members: Members) -> tuple[Integers, pl.DataFrame]:
    """Returns one row per combination of one occurrence per member. There must be at least one match."""
    lengths = np.diff(members.offsets)
    sizes = np.multiply.reduceat(lengths, members.firsts[:-1])
    arities = np.diff(members.firsts)
    # A cell is one member of one output row: row r of a probe takes occurrence (r // stride m) % length m of
    # member m.
    row_probe = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    row_number = np.arange(len(row_probe), dtype=np.int64) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    cell_row, member = expand(members.firsts[:-1][row_probe], members.firsts[1:][row_probe])
    strides = _strides(lengths, members.firsts)
    pick = row_number[cell_row] // strides[member] % lengths[member]
    occurrence = members.others[members.offsets[:-1][member] + pick]
    structs = pl.DataFrame([matches.ids[occurrence].alias("id"), matches.times[occurrence].alias("time")])
    offsets = np.concatenate([[0], np.cumsum(arities[row_probe])]).astype(np.int64)
    probe = members.probes[row_probe]
    arity = pl.Series("arity", 1 + arities[row_probe])
    return probe, pl.DataFrame([*matches.head(probe), arity, nested(structs.to_struct("members"), offsets)])


def members_of(matches: Matches) -> Members:
    """Groups the matches into lists, by probing tuple and source."""
    sources = matches.sources[matches.other]
    order = np.lexsort((matches.other, sources, matches.probe))
    probe, source, other = matches.probe[order], sources[order], matches.other[order]
    new_probe = _changes(probe)
    new_member = new_probe | _changes(source)
    member_starts = np.flatnonzero(new_member)
    firsts = np.flatnonzero(new_probe[member_starts])
    return Members(
        probe[new_probe],
        np.append(firsts, len(member_starts)).astype(np.int64),
        np.append(member_starts, len(probe)).astype(np.int64),
        other,
    )


def _changes(numbers: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a run of equal numbers begins."""
    changes = np.ones(len(numbers), dtype=np.bool_)
    changes[1:] = numbers[1:] != numbers[:-1]
    return changes


def _strides(lengths: Integers, firsts: Integers) -> Integers:
    """Per member, the product of the lengths of the members after it in the same probe: the places of an
    odometer.

    The number of steps is the largest arity, not the number of members.
    """
    strides = np.ones(len(lengths), dtype=np.int64)
    places = firsts[1:] - 1
    begins = firsts[:-1]
    while len(places := places[(inside := places > begins)]):
        begins = begins[inside]
        strides[places - 1] = strides[places] * lengths[places]
        places = places - 1
    return strides
