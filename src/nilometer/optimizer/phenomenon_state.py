"""How much the operators of phenomena keep at most, as lines for EXPLAIN.

PH_CANDIDATES (also PH_SOURCES, PH_TOTALS) keeps a slice for each source, class and pair of evaluations between which a reading
counts, and a few values for each source; with WITHIN, the trackers keep the readings of the window instead. A tracker keeps
the candidates and the places of their sources. The figures are for the sources that are declared or were heard. In all
cases an operator refuses to keep more rows than the limits allow (operators/limits.py).
"""

from __future__ import annotations

from math import ceil, inf

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.phenomena import BUCKET, EQUAL, SHARE, WITHIN
from nilometer.catalog.extents import Stream
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan import physical

SLICE_BYTES, SOURCE_BYTES, CANDIDATE_BYTES, READING_BYTES = 56, 64, 64, 16
FIRST_STAGES = ("PH_CANDIDATES", "PH_SOURCES", "PH_TOTALS")


def phenomenon_notes(plan: physical.Node, context: OptimizerContext) -> list[str]:
    """A line for each operator of phenomena in the plan, and one for MEMBERS that there are not."""
    lines = []
    for node in physical.walk_plan(plan):
        if isinstance(node, physical.TableFunction) and node.operator.startswith("PH_"):
            stream = _streams(node)[0]
            lines.append(_note(node, stream, context))
            members, sources = node.call["MEMBERS"], _sources(stream, context)
            if node.operator not in FIRST_STAGES and isinstance(members, int) and 0 < sources < members:
                lines.append(
                    f"warning: MEMBERS {members} is more than the {sources:,} sensors of '{stream.name}' that are declared "
                    "or were heard; no phenomenon can appear before there are more"
                )
    return lines


def rows_of_source(call: FunctionCall, interval: int | None) -> float:
    """The most rows that are kept of a source: slices, with WITHIN readings. Infinite if the stream's interval would say
    it, and there is none."""
    frame = call.window
    assert isinstance(frame, Frame)
    assert frame.start is not None
    readings = inf if interval is None else float(ceil(frame.start / interval))
    if call["LIKENESS"] == WITHIN:
        return readings
    # A RANGE that is no multiple of SLIDE cuts each SLIDE in two.
    slices = ceil(frame.start / frame.slide) * (1 if frame.start % frame.slide == 0 else 2)
    # A source has one class of ABOVE; of EQUAL and BUCKET, as many as readings.
    return readings if call["LIKENESS"] in (EQUAL, BUCKET) else min(readings, slices)


def _note(node: physical.TableFunction, stream: Stream, context: OptimizerContext) -> str:
    call = node.call
    sources, rows = _sources(stream, context), rows_of_source(call, context.interval(stream))
    first = node.operator in FIRST_STAGES
    # PH_TOTALS and SHARE need those of the class and those of all readings.
    whole = (node.operator == "PH_TOTALS") + bool(first and call[SHARE.word])
    text, size = _kept(call, first, rows * (1 + whole))
    if sources and size < inf:
        total = f"{sources:,} sources x {text} = {sources * size:,.0f} bytes"
    elif size < inf:
        total = f"{text} for each source that is heard; none is declared"
    else:
        total = f"{text}; EXPECT EVERY declares how many there are"
    besides = "the readings that wait for an evaluation" if first else "the pairs of neighbours among these"
    return f"state of {node.operator}: at most {total}; besides, {besides}"


def _kept(call: FunctionCall, first: bool, rows: float) -> tuple[str, float]:
    """What the first stage or the tracker keeps of a source."""
    match call["LIKENESS"], first:
        case "WITHIN", True:
            return f"{SOURCE_BYTES} bytes", SOURCE_BYTES
        case "WITHIN", False:
            return _each(rows, "readings", READING_BYTES)
        case _, True:
            return _each(rows, "slices", SLICE_BYTES)
        case (("EQUAL" | "BUCKET"), False):
            return _each(rows, "classes", CANDIDATE_BYTES)
        case _:
            return _each(1, "candidate", CANDIDATE_BYTES)


def _each(rows: float, what: str, size: int) -> tuple[str, float]:
    """The state of a source, in words and in bytes."""
    if rows == inf:
        return f"{size} bytes for each of the {what} of a source in the window", inf
    return f"({rows:.0f} {what} x {size} + {SOURCE_BYTES} bytes)", rows * size + SOURCE_BYTES


def _sources(stream: Stream, context: OptimizerContext) -> int:
    """The sources that were heard or are declared; 0 if nothing is known of them."""
    measured = context.measured(stream)
    return (measured.sources if measured is not None else 0) or len(context.catalog.sensors(stream.name))


def _streams(node: physical.Node) -> list[Stream]:
    return [leaf.stream for leaf in physical.walk_plan(node) if isinstance(leaf, physical.SpAcquire)]
