"""What is known about the queries of a station: metrics, ledgers, offsets, where each runs, and what it has cost.

A query runs on the gateway, alone or together with others, or on Spark, alone or in a pipeline; who asks need not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nilometer.dataflow.analysis import Work
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Clock
from nilometer.ingest.manager import StreamManager
from nilometer.live.groups import Groups
from nilometer.live.live_query import LiveQuery
from nilometer.live.on_spark import OnSpark
from nilometer.live.own_log_queries import OwnLogQueries
from nilometer.live.pipelines.pipeline_query import PipelineQuery
from nilometer.live.pipelines.pipelines import Pipelines
from nilometer.live.query_metrics import QueryMetrics, metrics_of
from nilometer.live.shared_queries import SharedQueries
from nilometer.live.spark_query import SparkQuery
from nilometer.live.standing import DurableQuery
from nilometer.log import Offset


class QueryReports:
    """Reads the station's parts and changes none of them. `round_milliseconds` is the time of the last round."""

    def __init__(
        self,
        queries: Mapping[str, LiveQuery],
        graph: Graph,
        manager: StreamManager,
        groups: Groups,
        own: OwnLogQueries,
        shared: SharedQueries,
        spark: OnSpark,
        pipelines: Pipelines,
        clock: Clock,
    ) -> None:
        self._queries = queries
        self._graph = graph
        self._manager = manager
        self._groups = groups
        self._own = own
        self._shared = shared
        self._spark = spark
        self._pipelines = pipelines
        self._clock = clock
        self.round_milliseconds: int | None = None

    def metrics(self, name: str) -> QueryMetrics:
        """The metrics of a query."""
        live, now = self._queries[name], self._clock()
        took: int | None
        if (spark := self._on_spark(name)) is not None:
            host, version = "spark", spark.version
            found = spark.metrics
            state, took = (found.state_panes, found.state_bytes), found.batch_milliseconds
        else:
            standing = self._shared[name] if name in self._shared else self._own.get(name)
            host, version = "gateway", "" if standing is None else standing.version
            own = standing.state if isinstance(standing, DurableQuery) else (0, 0)
            if name in self._shared:
                own = self._shared.sizes.get(name, own)
            state, took = own, self.round_milliseconds
        if isinstance(spark, PipelineQuery):
            tables = None if spark.tables is None else spark.tables.stored
        else:
            tables = None if spark is not None else self._groups.of(live).tables
        return metrics_of(
            live,
            self.ledger(name),
            self._manager,
            tables,
            when=now,
            host=host,
            version=version,
            batch_milliseconds=took,
            state=state,
        )

    def ledger(self, name: str) -> QueryLedger:
        """The accounts of all readings that a query was given, by all its versions."""
        if (spark := self._on_spark(name)) is not None:
            earlier = spark.earlier
        else:
            standing = self._shared[name] if name in self._shared else self._own.get(name)
            earlier = QueryLedger() if standing is None else standing.earlier
        return earlier + self._queries[name].ledger

    def host(self, name: str) -> str:
        """Where a query runs."""
        return "gateway" if self._on_spark(name) is None else "spark"

    def _on_spark(self, name: str) -> SparkQuery | PipelineQuery | None:
        """The query, if Spark runs it."""
        return self._pipelines.get(name) or self._spark.get(name)

    def offsets(self, name: str) -> Mapping[str, Offset]:
        """How far a query has read and answered."""
        spark = self._on_spark(name)
        return self._queries[name].offsets if spark is None else spark.offsets

    def is_standing(self, name: str) -> bool:
        """Whether a query was created, and is not only asked by a client."""
        return name in self._shared or name in self._own or name in self._pipelines

    def saved_bytes(self, name: str) -> int | None:
        """The size of a query's state when it was last saved; None: it is not saved."""
        if (spark := self._on_spark(name)) is not None:
            return spark.metrics.state_bytes
        if name in self._shared:
            return self._shared.sizes.get(name, (0, 0))[1]
        return None if (own := self._own.get(name)) is None else own.state[1]

    def work(self, name: str) -> Work:
        """How long a query has computed in this process, and with how many others it shares operators."""
        if (spark := self._on_spark(name)) is not None:
            return spark.work
        return self._graph.work(name)

    def analysis(self, name: str) -> str:
        """The plan of a running query with the work of each operator since this process began."""
        return self.ask_analysis(name)()

    def ask_analysis(self, name: str) -> Callable[[], str]:
        """Ask for that. The result may wait for a round of Spark, so call it in a thread that nobody waits for."""
        if name not in self._queries:
            raise ConfigurationError(
                f"no query '{name}' is running", hint=f"running: {', '.join(self._queries) or 'none'}"
            )
        spark = self._on_spark(name)
        if isinstance(spark, PipelineQuery):
            return spark.ask_analysis()
        if spark is not None:
            text = spark.analysis()
        else:
            apart = self._queries[name].apart
            text = self._graph.analysis(name) + (f"\n-- runs apart: {apart}" if apart else "")
        return lambda: text
