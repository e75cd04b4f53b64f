"""A query: its text, its plan at every stage, and its answer on a host."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nilometer.catalog.peer_streams import is_of_peers
from nilometer.engine.accounts import with_unanswered
from nilometer.engine.examples import written_out
from nilometer.engine.hosts import HOSTS, host_name
from nilometer.engine.placing import PLACEMENT_STAGES, placement_of, stage_text
from nilometer.errors import ConfigurationError, NilometerError
from nilometer.language import ast
from nilometer.live.answers import Answer, answer_schema, frame_of_answer
from nilometer.plan import logical, physical
from nilometer.plan.bind import bind, is_whole
from nilometer.plan.explain import explain_text, to_json
from nilometer.types import Schema

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from nilometer.catalog.network import Network
    from nilometer.engine.analyzing import Analysis
    from nilometer.engine.clustering import ClusterOptions
    from nilometer.engine.database import Database
    from nilometer.engine.gateway import DatabaseSources
    from nilometer.engine.motes import CompileOptions, Emulation, EmulationOptions
    from nilometer.engine.simulating import SimulationOptions
    from nilometer.ingest.adapters.generate import Generators
    from nilometer.optimizer import Optimized, OptimizerContext
    from nilometer.pictures.answer_chart import Chart
    from nilometer.placement import Placement, QualityOfService
    from nilometer.sensornet.clustered_report import ClusteredResult
    from nilometer.sensornet.motes.compilation import Compilation
    from nilometer.sensornet.simulation import SimulationResult
    from nilometer.spark.typed import DataFrame

STAGES = ("ast", "logical", "optimized", "physical", *PLACEMENT_STAGES, "spark", "demand", "analyze")


@dataclass(frozen=True, eq=False, repr=False)
class Query:
    """One continuous query, a value: its plans are computed once, when first needed, and never change.
    `parameters` are the values of its `:name`s, and `profile` names the optimizer's rules. `measured`: the
    optimizer may use the statistics that were measured of its streams. Iterating runs it over the available data
    and gives rows as dictionaries.

    Example: `database.sql("SELECT AVG(depth) FROM river
    [NOW]").with_profile("snee-2010").explain("physical")`
    """

    database: Database
    text: str
    tree: ast.QueryNode
    parameters: Mapping[str, Any]
    profile: str = "default"
    measured: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "tree", written_out(self.database, self.tree, self.text))
        _ = self.logical  # errors are reported when the query is made, not when it is first run

    def with_profile(self, profile: str) -> Query:
        """The same query, optimized and placed by the rules of that profile."""
        return self if profile == self.profile else replace(self, profile=profile)

    # ---- plans -------------------------------------------------------------------------------------------------------

    @cached_property
    def logical(self) -> logical.Deliver:
        """The bound plan."""
        at_hand = self.database.data.at_hand()
        return bind(self.tree, self.database.catalog, self.parameters, self.text, at_hand)

    def standing(self) -> Query:
        """The query over streams that go on; refuses one that is only answered at their end. Its plan depends on
        declarations alone: it must be the same after every restart, because state is kept for it."""
        if is_whole(self.logical):
            bind(self.tree, self.database.catalog, self.parameters, self.text)
        if not self.measured:
            return self
        same = object.__new__(type(self))
        # The bound plan is the same, so it is not bound again; only the optimized one may differ.
        kept = {name: value for name, value in self.__dict__.items() if name != "optimized"}
        same.__dict__.update(kept, measured=False)
        return same

    @cached_property
    def optimized(self) -> Optimized:
        """The optimized plan and the trace of the rules."""
        from nilometer.optimizer import optimize

        return optimize(self.logical, self._context(), self.profile)

    def _context(self) -> OptimizerContext:
        """The catalog, and the kept statistics of the query's streams. SNEE's profile plans as SNEE did."""
        from nilometer.catalog.measured import kept
        from nilometer.optimizer import OptimizerContext

        statistics = {}
        if self.measured and self.profile == "default":
            leaves = (n for n in logical.walk_plan(self.logical) if isinstance(n, logical.Acquire))
            for name in {leaf.stream.name.lower() for leaf in leaves}:
                found = kept(self.database.data.base, name)
                if found is not None:
                    statistics[name] = found
        return OptimizerContext(self.database.catalog, statistics=statistics)

    @property
    def physical(self) -> physical.Node:
        """The physical plan, with the algorithms chosen."""
        return self.optimized.physical

    @property
    def schema(self) -> Schema:
        """The columns of the answer; those of a window query begin with `tick`."""
        return answer_schema(self.logical.schema, self.logical.tick)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the answer's columns."""
        return self.schema.names

    @property
    def extents(self) -> DatabaseSources:
        """The logs, tables and sensors that the plan reads, from the database."""
        from nilometer.engine.gateway import DatabaseSources

        return DatabaseSources(self.database, self.physical)

    def explain(
        self,
        stage: str = "optimized",
        *,
        verbose: bool = False,
        network: str | Network | None = None,
        quality: QualityOfService | None = None,
    ) -> str:
        """The plan at a stage: ast, logical, optimized, physical, routing, fragments, placed, agenda,
        spark, demand or analyze. `demand` says what sensors would be told. `analyze` runs the query on the gateway over the available data and says what each operator
        did. `verbose` shows the plan after each rule. `network` and `quality` apply to the stages in a
        network: routing, fragments, placed and agenda."""
        match stage:
            case "ast":
                return _ast_text(self.tree)
            case "logical":
                return explain_text(self.logical)
            case "optimized" | "physical" if verbose:
                from nilometer.optimizer import explain_verbose

                return explain_verbose(self.logical, self.optimized)
            case "optimized":
                return "\n".join([explain_text(self.optimized.plan), *self._notes()])
            case "physical":
                from nilometer.optimizer import why

                return "\n".join([explain_text(self.physical, why), *self._notes()])
            case "routing" | "fragments" | "placed" | "agenda":
                return stage_text(self.placement(network, quality), stage)
            case "spark":
                return "\n".join(self._layout_text())
            case "demand":
                return self._demand_text()
            case "analyze":
                return self.analyze().text()
            case _:
                raise ConfigurationError(f"no stage '{stage}'", hint=f"the stages are {', '.join(STAGES)}")

    def explain_json(
        self,
        stage: str = "optimized",
        *,
        verbose: bool = False,
        network: str | Network | None = None,
        quality: QualityOfService | None = None,
    ) -> dict[str, Any]:
        """The plan at a stage as JSON; the arguments are those of `explain`."""
        match stage:
            case "ast":
                return {"stage": stage, "plan": _ast_json(self.tree), "text": _ast_text(self.tree)}
            case "logical":
                plan: Any = self.logical
            case "optimized":
                plan = self.optimized.plan
            case "physical":
                plan = self.physical
            case "routing" | "fragments" | "placed" | "agenda":
                from nilometer.placement.text import placement_json

                placed = self.placement(network, quality)
                return {"stage": stage, "plan": placement_json(placed), "text": stage_text(placed, stage)}
            case "spark":
                return {
                    "stage": stage,
                    "plan": to_json(self.physical),
                    "text": "\n".join(self._layout_text()),
                }
            case "demand":
                return {"stage": stage, "plan": to_json(self.physical), "text": self._demand_text()}
            case "analyze":
                return self.analyze().as_dict()
            case _:
                raise ConfigurationError(f"no stage '{stage}'", hint=f"the stages are {', '.join(STAGES)}")
        result: dict[str, Any] = {"stage": stage, "plan": to_json(plan), "text": explain_text(plan)}
        if stage != "logical" and (notes := self._notes()):
            result["notes"] = [note.removeprefix("-- ") for note in notes]
        if verbose:
            result["rules"] = [
                {
                    "phase": step.phase,
                    "rule": step.rule,
                    "changed": step.changed,
                    "text": explain_text(step.plan),
                }
                for step in self.optimized.trace
            ]
        return result

    def picture(
        self,
        stage: str = "optimized",
        *,
        network: str | Network | None = None,
        quality: QualityOfService | None = None,
    ) -> str:
        """The plan at a stage as a drawing, SVG; the arguments are those of `explain`."""
        from nilometer.engine.picturing import picture_of

        return picture_of(self, stage, network, quality)

    def analyze(self) -> Analysis:
        """Run the query on the gateway over the available data: its plan, with what each operator did."""
        from nilometer.engine.analyzing import analyze

        try:
            return analyze(self)
        except NilometerError as error:
            raise error.at(self.text, None) from None

    def _notes(self) -> list[str]:
        """The expected behaviour of joins with bounded memory, the state of phenomena and the part of other gateways, as
        comment lines."""
        lines: list[str] = []
        nodes = list(logical.walk_plan(self.logical))
        if any(isinstance(node, logical.WindowJoin) and node.memory for node in nodes):
            from nilometer.optimizer.join_memory import memory_notes

            lines += memory_notes(self.optimized.plan, self._context())
        if any(isinstance(node, logical.TableFunction) and node.call.function.defined for node in nodes):
            from nilometer.optimizer.guided_notes import guided_notes
            from nilometer.optimizer.phenomenon_state import phenomenon_notes

            lines += phenomenon_notes(self.physical, self._context())
            lines += guided_notes(self.optimized.plan)
        streams = [node.stream for node in nodes if isinstance(node, logical.Acquire)]
        if any(is_of_peers(stream) for stream in streams):
            from nilometer.overlay.ways import peer_notes

            lines += peer_notes(self.physical)
        return [f"-- {line}" for line in lines]

    def _demand_text(self) -> str:
        """The commands that sensors would get if the query ran alone, and together with the declared queries."""
        from nilometer.live.proxies.demand_text import demand_text

        catalog = self.database.catalog
        others = []
        for query in catalog.queries():
            # A declared query that no longer fits the streams says so where it runs.
            with contextlib.suppress(NilometerError):
                others.append((query.name, self.database.sql(query.text).standing().physical))
        return demand_text(self.standing().physical, lambda stream: catalog.sensors(stream.name), others)

    def _layout_text(self) -> list[str]:
        """How Spark would run the query: fragments, buckets and their keys; and how, if it were a standing query."""
        from nilometer.spark.layout.lay_out import lay_out
        from nilometer.spark.layout.text import text_of
        from nilometer.spark.settings import SparkSettings
        from nilometer.spark.shared.ways import ways_text

        settings = SparkSettings.from_environment(self.database.data.base)
        fragments = text_of(lay_out(self.physical, settings.bucket_count, combine=True)).splitlines()
        return [*fragments, *ways_text(self.physical, settings)]

    # ---- in a network ------------------------------------------------------------------------------------------------

    def placement(
        self, network: str | Network | None = None, quality: QualityOfService | None = None
    ) -> Placement:
        """Where and when the query would run on the motes of a network, and what that costs."""
        try:
            return placement_of(self.standing(), network, quality)
        except NilometerError as error:
            raise error.at(self.text, None) from None

    def compile(self, directory: Path | str, options: CompileOptions | None = None) -> Compilation:
        """Write programs for the motes of a network into the directory and build them: one C file and one ELF
        file per site."""
        from nilometer.engine.motes import compile_query

        return compile_query(self.standing(), Path(directory), options)

    def emulate(self, compilation: Compilation, options: EmulationOptions | None = None) -> Emulation:
        """Run the compiled programs in the emulator, beside the reference evaluator's answer to the same
        readings."""
        from nilometer.engine.motes import emulate

        return emulate(self, compilation, options)

    def simulate(self, options: SimulationOptions) -> SimulationResult:
        """Run the query on simulated motes, in virtual time. `answers` of the result is a frame with the
        columns of the query. Use `prepare` in nilometer.engine.simulating to get the answers as they come,
        and the remarks to show before the run."""
        from nilometer.engine.simulating import prepare

        return prepare(self.standing(), options).run()

    def simulate_clusters(self, options: ClusterOptions) -> tuple[Answer, ClusteredResult]:
        """Run a query over SIMILAR or PHENOMENA on clusters of the sensors' own network, in virtual time: the heads' answer,
        and what it took. `ClusterOptions` is in nilometer.engine.clustering."""
        from nilometer.engine.clustering import prepare_clustered

        return prepare_clustered(self, options).run()

    # ---- answers -----------------------------------------------------------------------------------------------------

    def run(self, on: str | None = None, *, finished: bool = True, batch_rows: int | None = None) -> Answer:
        """The answer on a host (`gateway`, `spark` or `reference`) over the available data.

        With `finished` False it is the answer so far, as if the streams still ran.
        """
        host = HOSTS[host_name(on or self.database.host)]
        try:
            return with_unanswered(self, host(self, finished, batch_rows))
        except NilometerError as error:
            raise error.at(self.text, None) from None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.run())

    def live(
        self,
        *,
        seconds: float | None = None,
        start: str = "now",
        generators: Generators | None = None,
        on: str = "gateway",
        force: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Rows as they come from streams declared FROM an address, for that many seconds or until the sources
        end.

        The owner of the data directory runs the query (`nilometer serve`); where there is none, this process is
        the owner as long as the iterator is open. Readings are logged in the directory; without one, only while this
        runs. `start`: now, beginning or a time. `generators`: others than nilometer.simulated.Generators, for
        `generate://` addresses. `on`: gateway or spark. `force`: whatever the limits in nilometer.toml say.
        """
        from nilometer.engine.live_rows import live_rows

        return live_rows(self, seconds=seconds, start=start, generators=generators, on=on, force=force)

    def watch(self, *, seconds: float | None = None, start: str = "now") -> int:
        """In a notebook: the newest rows of the live query as a table with a small chart, updated as they come, for
        that many seconds or until the cell is interrupted. Returns how many rows came."""
        from nilometer.engine.notebook import watch

        return watch(self.live(seconds=seconds, start=start), self.text)

    def polars(self, on: str | None = None) -> pl.DataFrame:
        """The answer as a Polars frame. TIME columns are UTC datetimes, DURATION columns durations."""
        return frame_of_answer(self.run(on))

    def frame(self, on: str | None = None) -> pl.DataFrame:
        """The same as `polars`."""
        return self.polars(on)

    def arrow(self, on: str | None = None) -> pa.Table:
        """The answer as a pyarrow table."""
        return self.polars(on).to_arrow()

    def pandas(self, on: str | None = None) -> pd.DataFrame:
        """The answer as a pandas frame. pandas is not installed with Nilometer."""
        try:
            import pandas as pd  # noqa: F401
        except ImportError:
            raise ConfigurationError(
                "pandas is not installed", hint="pip install pandas, or use polars() or arrow()"
            ) from None
        return self.polars(on).to_pandas()

    def dataframe(self, *, streaming: bool | None = None) -> DataFrame:
        """The answer as an ordinary, typed Spark DataFrame, which composes with your own Spark code.

        It is a batch over data at hand, and streams (`writeStream`) over live streams. `streaming` True streams
        data at hand as well; False is the answer to what the logs of live streams hold now."""
        from nilometer.engine.spark import dataframe

        return dataframe(self, streaming=streaming)

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        by: str | None = None,
        *,
        title: str = "",
        on: str | None = None,
    ) -> Chart:
        """The answer as a chart: `y` over `x`, one line for each value of `by`; bars if there is no time.

        By default `x` is the tick or the time, `y` are the numbers, and `by` is the sensor or the first text
        column. A notebook shows the chart; `save("chart.svg")` writes it."""
        from nilometer.pictures.answer_chart import answer_chart, axes_of

        axes = axes_of(self.schema, x, y, by)
        return answer_chart(self.polars(on), self.schema, axes, title)

    def _repr_html_(self) -> str:
        """The query and, over data at hand, the first rows of its answer."""
        from nilometer.live.html import html_of, query_html

        at_hand = all(
            self.database.data.has(stream) for stream in physical.streams_of(self.physical).values()
        )
        return html_of(self.run(), self.text) if at_hand else query_html(self.text)

    def __repr__(self) -> str:
        return f"<Query {' '.join(self.text.split())!r}>"


def _ast_json(node: Any) -> Any:
    from dataclasses import fields, is_dataclass

    if is_dataclass(node) and not isinstance(node, type):
        entries = {f.name: _ast_json(getattr(node, f.name)) for f in fields(node) if f.name != "span"}
        return {"node": type(node).__name__} | {
            k: v for k, v in entries.items() if v not in (None, [], False)
        }
    if isinstance(node, tuple):
        return [_ast_json(part) for part in node]
    return node


def _ast_text(node: Any, depth: int = 0) -> str:
    """The syntax tree, one node per line."""
    from dataclasses import fields, is_dataclass

    scalars: list[str] = []
    children: list[tuple[str, Any]] = []
    for entry in fields(node):
        value = getattr(node, entry.name)
        if entry.name == "span" or value is None or value in ((), False):
            continue
        if is_dataclass(value):
            children.append((entry.name, value))
        elif isinstance(value, tuple) and (found := _nodes_in(value)):
            children += [(entry.name, part) for part in found]
        else:
            scalars.append(f"{entry.name}={json.dumps(value, ensure_ascii=False)}")
    lines = [type(node).__name__ + (" " + " ".join(scalars) if scalars else "")]
    for name, child in children:
        lines.append("  " * (depth + 1) + f"{name}: " + _ast_text(child, depth + 1))
    return "\n".join(lines)


def _nodes_in(value: tuple[Any, ...]) -> list[Any]:
    """The nodes of a tuple, also those in tuples inside it: the pairs of CASE, the rows of VALUES."""
    from dataclasses import is_dataclass

    nested = [_nodes_in(part) if isinstance(part, tuple) else [part] for part in value]
    return [part for parts in nested for part in parts if is_dataclass(part)]
