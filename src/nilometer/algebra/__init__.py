"""Terms that plans and operators share: kinds of collections, joins, lags, matches, shedding and streams."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nilometer.errors import InternalError
from nilometer.expressions import Expression, type_of
from nilometer.types import FLOAT, Type


class Collection(StrEnum):
    """The kind of collection that a node yields (SNEE section 4.1)."""

    STREAM = "STREAM"
    WINDOWS = "WINDOWS"
    TABLE = "TABLE"


class Relation(StrEnum):
    """CQL's window-to-stream operators."""

    RSTREAM = "RSTREAM"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"


class JoinKind(StrEnum):
    """INNER without a predicate is a cross join; SEMI and ANTI keep only the left side's columns.

    There is no RIGHT: the binder exchanges the sides of a RIGHT join.
    """

    INNER = "INNER"
    LEFT = "LEFT"
    FULL = "FULL"
    SEMI = "SEMI"
    ANTI = "ANTI"

    @property
    def pairs(self) -> bool:
        """Whether the right side's columns are in the answer."""
        return self in (JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL)


class BagOperator(StrEnum):
    """The operators on two bags of rows besides their union, by SQL's names: EXCEPT ALL and INTERSECT ALL."""

    EXCEPT = "EXCEPT"
    INTERSECT = "INTERSECT"


class SimilarForm(StrEnum):
    """The form in which a variable-arity join returns its matches."""

    LIST = "LIST"
    PAIRS = "PAIRS"
    FLATTEN = "FLATTEN"
    COUNTS = "COUNTS"
    SAMPLE = "SAMPLE"


class ShedPolicy(StrEnum):
    """Which tuples a join with bounded memory drops first.

    RANDOM: any, after they have probed; SAMPLE: any, before; PROB: those whose key is rare in the other
    streams; LIFE: those that are rare or expire soon; AGE: those of an age that finds few matches.
    """

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
class SortKey:
    """A key of ORDER BY. NULLs come last, also in a descending order, unless `nulls_first`."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Completeness:
    """The parameters of COMPLETENESS() for one windowed stream.

    A window at T expects sensors x (clipped length / interval) readings; the window is clipped at the
    stream's first tick. `sensors` None counts the sensors heard up to T (or 1 when grouped by id). The
    window's length counts acquisition ticks: a closed end adds one interval, so [NOW] expects one reading per
    sensor. `name` is the FLOAT output column.
    """

    name: str
    interval: int
    sensors: int | None = None
    id_column: str = ""

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise InternalError("COMPLETENESS without an interval")
