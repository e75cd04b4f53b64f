"""The forms of SIMILAR's answer: pairs of row numbers -> a frame of lists, of pairs, of combinations, or of counts.

All but the last say the same (SNJoin section 4; algorithms, section 9.1): given the probing tuple, the per-source lists are
independent, so LIST is the answer factorised, and FLATTEN its Cartesian product, counted before it is built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.errors import ResourceError
from nilometer.kernels.nesting import nested
from nilometer.kernels.ranges import Integers, expand


@dataclass(frozen=True)
class Matches:
    """Pairs (probe, other) of rows, by probe and then by other; `sources` number the ids in their order, NULL first."""

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
    """One row a match."""
    others = [matches.times[matches.other], matches.ids[matches.other], matches.values[matches.other]]
    names = ("other_time", "other_id", "other_value")
    columns = [column.alias(name) for column, name in zip(others, names, strict=True)]
    return matches.probe, pl.DataFrame([*matches.head(matches.probe), *columns])


def listed(matches: Matches) -> tuple[Integers, pl.DataFrame]:
    """One row a probing tuple: its arity, and its members with all their times."""
    members = _members(matches)
    first = members.others[members.offsets[:-1]]
    times = nested(matches.times[members.others], members.offsets)
    structs = pl.DataFrame([matches.ids[first].alias("id"), times.alias("times")]).to_struct("members")
    arity = pl.Series("arity", 1 + np.diff(members.firsts))
    columns = [*matches.head(members.probes), arity, nested(structs, members.firsts)]
    return members.probes, pl.DataFrame(columns)


def counted(matches: Matches) -> tuple[Integers, pl.DataFrame]:
    """One row a probing tuple: its arity, and how many match."""
    members = _members(matches)
    arity = pl.Series("arity", 1 + np.diff(members.firsts))
    many = pl.Series("matches", np.diff(members.offsets[members.firsts]))
    return members.probes, pl.DataFrame([*matches.head(members.probes), arity, many])


def flattened(matches: Matches, limit: int) -> tuple[Integers, pl.DataFrame]:
    """One row a combination of one occurrence per member; refuses to build more than `limit` rows."""
    members = _members(matches)
    if not len(members.probes):
        return listed(matches)
    lengths = np.diff(members.offsets)
    expected = float(np.multiply.reduceat(lengths.astype(np.float64), members.firsts[:-1]).sum())
    if expected > limit:
        count = f"{int(expected):,}" if expected < 2**53 else f"{expected:.3g}"
        raise ResourceError(
            f"SIMILAR ... FLATTEN would build {count} rows at once",
            detail=f"the limit is {limit:,} rows; the matches themselves are {len(matches.probe):,}",
            hint="leave FLATTEN out: the members' lists say the same in less space",
        )
    sizes = np.multiply.reduceat(lengths, members.firsts[:-1])
    arities = np.diff(members.firsts)
    # Cells are the members of each output row: row r of a probe takes of member m its (r // stride m) % length m -th.
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


def _members(matches: Matches) -> Members:
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
    """Per member the product of the lengths of those after it of the same probe: an odometer's places.

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
