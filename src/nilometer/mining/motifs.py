"""MOTIFS: a stream -> windows of the pairs of subsequences of each source that are most alike.

It keeps the profiles that DISCORDS keeps. A subsequence whose nearest one has left the window is compared again with those
that are still there; on average that is one for each slot that leaves, so a slot costs what it costs DISCORDS.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.mining.discords import TopDiscordsLogic
from nilometer.operators.validation import require
from nilometer.types import Schema


@dataclass(frozen=True)
class Motifs:
    """The most alike subsequences in windows."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "MOTIFS without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> TopDiscordsLogic:
        return TopDiscordsLogic(self, motifs=True)
