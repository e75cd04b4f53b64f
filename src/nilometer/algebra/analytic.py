"""Analytic functions: `ROW_NUMBER() OVER (PARTITION BY k ORDER BY v)` and the others, as plans hold them.

The rows of an evaluation, of a table or (in the order of time) of a stream are divided into partitions and
ordered. Rows with equal values of ORDER BY are *peers*. A function adds a column:

    ROW_NUMBER RANK DENSE_RANK NTILE        the place of the row in its partition
    LAG LEAD                                the value `offset` rows before or behind
    FIRST_VALUE LAST_VALUE NTH_VALUE        a value of the row's frame
    COUNT SUM AVG MIN MAX STDEV VARIANCE MEDIAN   an aggregate of the row's frame
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nilometer.expressions import Expression
from nilometer.types import Type


class AnalyticFunction(StrEnum):
    """The functions that take OVER."""

    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"
    NTILE = "NTILE"
    LAG = "LAG"
    LEAD = "LEAD"
    FIRST_VALUE = "FIRST_VALUE"
    LAST_VALUE = "LAST_VALUE"
    NTH_VALUE = "NTH_VALUE"
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    STDEV = "STDEV"
    VARIANCE = "VARIANCE"
    MEDIAN = "MEDIAN"


SHIFTS: Final = (AnalyticFunction.LAG, AnalyticFunction.LEAD)
VALUES: Final = (
    AnalyticFunction.FIRST_VALUE,
    AnalyticFunction.LAST_VALUE,
    AnalyticFunction.NTH_VALUE,
)
OF_NUMBERS: Final = (
    AnalyticFunction.AVG,
    AnalyticFunction.STDEV,
    AnalyticFunction.VARIANCE,
    AnalyticFunction.MEDIAN,
)
AGGREGATES: Final = (
    AnalyticFunction.COUNT,
    AnalyticFunction.SUM,
    AnalyticFunction.MIN,
    AnalyticFunction.MAX,
    *OF_NUMBERS,
)
FRAMED: Final = VALUES + AGGREGATES
"""The functions that look at a frame. The others look at the whole partition."""


class FrameUnit(StrEnum):
    """The unit of a frame's ends: rows, or the value of ORDER BY."""

    ROWS = "ROWS"
    RANGE = "RANGE"


@dataclass(frozen=True)
class Frame:
    """The rows from `start` to `end`, inclusive, relative to the current row: negative is before it.

    None is the partition's own end. In RANGE, 0 is the current row with its peers, and any other number is a
    distance of the ORDER BY value (microseconds of a TIME).
    """

    unit: FrameUnit
    start: int | float | None
    end: int | float | None

    @property
    def by_distance(self) -> bool:
        """Whether an end is a distance of values."""
        return self.unit is FrameUnit.RANGE and any(end not in (None, 0) for end in (self.start, self.end))


TO_CURRENT: Final = Frame(FrameUnit.RANGE, None, 0)
"""The frame with ORDER BY, unless another is written: all rows before, this row, and its peers."""
WHOLE: Final = Frame(FrameUnit.ROWS, None, None)
"""The frame without ORDER BY: the whole partition."""


@dataclass(frozen=True)
class AnalyticItem:
    """`name` = function(argument) OVER the node's partitions.

    `offset` is the number of rows of LAG and LEAD, the number n of NTH_VALUE, and the number of tiles of
    NTILE. `default` is the value of LAG and LEAD where there is no such row. With `ignore_nulls` a row whose
    argument is NULL is none, for LAG, LEAD and the values of a frame.
    """

    name: str
    function: AnalyticFunction
    type: Type
    argument: Expression | None = None
    offset: int = 1
    default: Expression | None = None
    frame: Frame | None = None
    ignore_nulls: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions that it reads."""
        return tuple(each for each in (self.argument, self.default) if each is not None)

    @property
    def breaks_ties(self) -> bool:
        """Whether its value depends on the order of peers."""
        match self.function:
            case AnalyticFunction.RANK | AnalyticFunction.DENSE_RANK:
                return False
            case function if function in AGGREGATES:
                frame = self.frame or WHOLE
                return frame.unit is FrameUnit.ROWS and (frame.start, frame.end) != (None, None)
            case _:
                return True
