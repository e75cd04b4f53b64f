"""The words that plans and operators share: kinds of collections, joins, lags, matches, shedding and window-to-stream."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nilometer.errors import InternalError
from nilometer.expressions import Expression, type_of
from nilometer.types import FLOAT, Type


class Collection(StrEnum):
    """What a node yields (SNEE section 4.1)."""

    STREAM = "STREAM"
    WINDOWS = "WINDOWS"
    TABLE = "TABLE"


class Relation(StrEnum):
    """CQL's window-to-stream operators."""

    RSTREAM = "RSTREAM"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"


class JoinKind(StrEnum):
    """INNER without a predicate is a cross join; SEMI and ANTI keep the left's columns alone."""

    INNER = "INNER"
    LEFT = "LEFT"
    SEMI = "SEMI"
    ANTI = "ANTI"

    @property
    def pairs(self) -> bool:
        """Whether the right's columns are in the answer."""
        return self in (JoinKind.INNER, JoinKind.LEFT)


class SimilarForm(StrEnum):
    """How a variable-arity join gives its matches."""

    LIST = "LIST"
    PAIRS = "PAIRS"
    FLATTEN = "FLATTEN"
    COUNTS = "COUNTS"
    SAMPLE = "SAMPLE"


class ShedPolicy(StrEnum):
    """Which tuples a join with bounded memory gives up first: any (RANDOM after they probed, SAMPLE before), those whose key is
    rare in the other streams (PROB), those that are rare or expire soon (LIFE), those of an age that finds little (AGE)."""

    RANDOM = "RANDOM"
    SAMPLE = "SAMPLE"
    PROB = "PROB"
    LIFE = "LIFE"
    AGE = "AGE"


class Shift(StrEnum):
    """The functions over a source's earlier tuples."""

    LAG = "LAG"
    DELTA = "DELTA"
    RATE = "RATE"


@dataclass(frozen=True)
class Lagged:
    """`name` = LAG(expression, offset), DELTA(expression) or RATE(expression) within each source."""

    name: str
    function: Shift
    expression: Expression
    offset: int = 1

    @property
    def type(self) -> Type:
        """LAG and DELTA keep the type; RATE is FLOAT, per second."""
        return FLOAT if self.function == Shift.RATE else type_of(self.expression).plain


@dataclass(frozen=True)
class Completeness:
    """What COMPLETENESS() of one windowed stream needs: a window at T expects sensors x (clipped length / interval) readings,
    where the window is clipped at the stream's first tick.

    `sensors` None: those heard up to T (or 1 when grouped by id). The window's length counts acquisition ticks: a closed end
    adds one interval, so [NOW] expects one reading a sensor. `name` is the FLOAT output column.
    """

    name: str
    interval: int
    sensors: int | None = None
    id_column: str = ""

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise InternalError("COMPLETENESS without an interval")
