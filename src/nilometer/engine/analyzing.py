"""EXPLAIN ANALYZE: runs a query on the gateway over the available data, and says what each operator did."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nilometer.dataflow import BATCH_ROWS, Run
from nilometer.dataflow.analysis import Measure, measures, remark, state_sizes
from nilometer.dataflow.run import RunSummary
from nilometer.engine.gateway import DatabaseSources
from nilometer.plan import physical
from nilometer.plan.explain import explain_text, to_json

if TYPE_CHECKING:
    from nilometer.engine.query import Query

LOOKS = 16
"""How often the size of the state is measured: in every round at first, then less and less often."""


@dataclass(frozen=True)
class Analysis:
    """A plan, the work of its nodes, and the whole run. `seconds` is wall time, with reading the data."""

    plan: physical.Node
    measures: dict[physical.Node, Measure]
    summary: RunSummary
    seconds: float

    def text(self) -> str:
        """The plan with what each node did at the end of its line."""
        return "\n".join([explain_text(self.plan, self._remark), *self._account()])

    def as_dict(self) -> dict[str, Any]:
        """The plan and the numbers, for `--json`."""
        return {
            "stage": "analyze",
            "plan": to_json(self.plan),
            "text": self.text(),
            "operators": [
                {
                    "operator": node.operator,
                    "depth": depth,
                    "rows_in": found.rows_in,
                    "rows_out": found.rows_out,
                    "milliseconds": found.nanoseconds / 1e6,
                    "state_bytes": found.held,
                }
                for depth, node in _nodes(self.plan)
                if (found := self.measures.get(node)) is not None
            ],
            "rounds": self.summary.rounds,
            "seconds": self.seconds,
            "streams": {name: ledger.as_dict() for name, ledger in self.summary.ledgers.items()},
        }

    def _remark(self, node: Any) -> str | None:
        found = self.measures.get(node)
        if found is None:
            return None if isinstance(node, physical.Exchange) else "done by the operator above"
        return remark(found, inputs=len(node.inputs))

    def _account(self) -> list[str]:
        inside = sum(found.nanoseconds for found in self.measures.values()) / 1e9
        lines = [
            f"-- {name}: " + ", ".join(f"{count:,} {what}" for what, count in _spoken(ledger.as_dict()))
            for name, ledger in self.summary.ledgers.items()
        ]
        rounds = "1 round" if self.summary.rounds == 1 else f"{self.summary.rounds:,} rounds"
        rows = "1 row" if self.summary.rows_out == 1 else f"{self.summary.rows_out:,} rows"
        total = f"-- {rows} in {rounds}"
        return [*lines, f"{total}; {self.seconds:.3f} s, of which {inside:.3f} s in operators"]


def analyze(query: Query) -> Analysis:
    """Run the query to the end of its data."""
    began = time.perf_counter()
    run = Run(query.physical, DatabaseSources(query.database, query.physical), BATCH_ROWS)
    held: dict[int, int] = {}
    rounds, next_look, measuring = 0, 1, 0.0
    while not run.over:
        run.step()
        rounds += 1
        if rounds >= next_look:
            at = time.perf_counter()
            for place, size in state_sizes(run.flow).items():
                held[place] = max(size, held.get(place, 0))
            next_look = rounds + 1 + rounds // LOOKS
            measuring += time.perf_counter() - at
    seconds = time.perf_counter() - began - measuring
    return Analysis(query.physical, measures(run.flow, query.physical, held), run.summary, seconds)


def _spoken(counts: dict[str, int]) -> list[tuple[str, int]]:
    return [(name, count) for name, count in counts.items() if count]


def _nodes(plan: physical.Node, depth: int = 0) -> list[tuple[int, physical.Node]]:
    return [(depth, plan), *(pair for child in plan.inputs for pair in _nodes(child, depth + 1))]
