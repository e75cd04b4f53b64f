"""One standing query of a pipeline, as the station sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nilometer.dataflow.analysis import Work
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Rows
from nilometer.errors import NilometerError
from nilometer.live.declarations import CompiledQuery
from nilometer.live.shared_queries import Opened
from nilometer.live.spark_query import Metrics
from nilometer.log import Offset
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.live.checkpoints import Panes
    from nilometer.live.live_query import LiveQuery
    from nilometer.live.pipelines.pipeline import Pipeline
    from nilometer.live.pipelines.pipeline_tables import PipelineTables


@dataclass(eq=False)
class PipelineQuery:
    """A query. `group` is its number in the commit log. `goes_on` is set while it waits to join its pipeline: its state, the
    offsets of that state, and those up to which it has answered."""

    query: CompiledQuery
    streams: Mapping[str, Stream]
    opened: Opened
    group: int
    stops: bool
    pipeline: Pipeline
    clock: Callable[[], int]
    live: LiveQuery
    goes_on: tuple[Panes | None, Mapping[str, Offset], Mapping[str, Offset]] | None = None
    ledger: QueryLedger = field(default_factory=QueryLedger)
    watermark: int | None = None
    failure: NilometerError | None = None
    dead: str | None = None
    state: tuple[int, int] = (0, 0)
    work: Work = field(default_factory=Work)
    tables: PipelineTables | None = None
    """The stored tables that it joins; None: it joins none."""
    taking: bool = False
    """Whether it is a new version with a state whose readings are in the books of the versions before."""
    number: int = 0
    """Tells it from earlier queries of its name in the same run."""
    joined: bool = False
    """Whether the run has taken it up. What it says of this name before is of an earlier query."""
    left: bool = False
    """Whether its last round is committed."""
    behind: bool = False
    """Whether it reads again what it has answered."""
    fresh: deque[Rows] = field(default_factory=deque)
    """The answers that the station has not passed on yet."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.opened.standing.name

    @property
    def key(self) -> str:
        """Its name in the commit log."""
        return self.opened.standing.key

    @property
    def version(self) -> str:
        """The version of the query."""
        return self.opened.standing.version

    @property
    def earlier(self) -> QueryLedger:
        """The counters of the versions before this one."""
        return self.opened.standing.earlier

    @property
    def rows(self) -> int:
        """The number of rows ever answered."""
        return self.opened.standing.rows

    @property
    def offsets(self) -> Mapping[str, Offset]:
        """The offsets up to which it has answered."""
        return self.pipeline.offsets.get(self.group, self.opened.offsets)

    @property
    def heard(self) -> int | None:
        """The watermark; None before the first reading, and after the end."""
        return None if self.watermark in (INT_MINIMUM, INT_MAXIMUM) else self.watermark

    @property
    def metrics(self) -> Metrics:
        """How the query does."""
        watermark = self.heard
        lag = None if watermark is None else self.clock() - watermark
        took = self.pipeline.milliseconds
        return Metrics(
            self.ledger, self.rows, self.pipeline.rounds, took, watermark, lag, self.state[1], self.state[0]
        )

    def ask_analysis(self) -> Callable[[], str]:
        """Ask for the plan with the work of each operator since the pipeline began. The result waits for it."""
        return self.pipeline.ask_analysis(self)
