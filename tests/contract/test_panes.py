"""What a round writes is what is new in it (design principle 8): a shell stores the panes that are not what they were.

`LARGE` gives every operator whose state is rows a state of some ten thousand; a few new ones may then change only so much. Justified
exceptions: SAMPLE and SILENT rewrite their one row per sensor, and every operator the panes of up to `SMALL` rows at its end. The operators in
`WHOLE` hold a table or their inputs' latest window, which is new as a whole when it changes at all; for them, as for all, holds that
a round without rows writes next to nothing.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from contract.in_two_steps import InTwoSteps
from contract.operators import (
    BY_KIND,
    CASES,
    EQUAL,
    ITEMS,
    KEYS,
    LESS,
    MEAN,
    MEDIAN,
    NUMBERS,
    SUM,
    Case,
    R,
    S,
    phenomenon,
    reference,
    sensed,
    stream_of_r,
    stream_of_s,
)
from contract.rounds import STREAM, Port, Timeline, generate, rounds, run, state_size
from contract.windowed_streams import OverWindows
from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.phenomena import CANDIDATES
from nilometer.mining.clusters import ClusterCentres, Clusters
from nilometer.mining.discords import Discords, TopDiscords
from nilometer.mining.motifs import Motifs
from nilometer.mining.occurrences import Occurrences
from nilometer.mining.outliers import Outliers
from nilometer.mining.patterns import Patterns
from nilometer.mining.periods import Periods
from nilometer.mining.similar_to import NearestTo, SimilarTo
from nilometer.operators.aggregate import Aggregate
from nilometer.operators.analytic.analytic import Analytic
from nilometer.operators.analytic.running import RunningAnalytic
from nilometer.operators.asof_join import AsofJoin
from nilometer.operators.bag_operation import BagOperation
from nilometer.operators.fill import Fill
from nilometer.operators.join import WindowsJoin, WindowsTableJoin
from nilometer.operators.keyed_row_window import KeyedRowWindow
from nilometer.operators.lag import Lag
from nilometer.operators.last_of_each.latest import Latest
from nilometer.operators.last_of_each.resample import Resample
from nilometer.operators.limit import Limit
from nilometer.operators.logic import TICK, Logic, Progress, no_evaluations
from nilometer.operators.panes import SMALL
from nilometer.operators.row_window import RowWindow
from nilometer.operators.row_window_aggregate import RowWindowAggregate
from nilometer.operators.sample import Sample
from nilometer.operators.session import Session
from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
from nilometer.operators.silent import Silent
from nilometer.operators.similar.similar import Similar
from nilometer.operators.sort import Sort
from nilometer.operators.table_join import StreamTableJoin, TableJoin
from nilometer.operators.table_outer_join import TableOuterJoin
from nilometer.operators.time_window import TimeWindow
from nilometer.operators.to_stream import ToStream
from nilometer.operators.union import Union
from nilometer.operators.unit import Unit
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.operators.window_join.outer import OuterWindowJoin
from nilometer.operators.window_join.plan import Form
from nilometer.operators.window_join.window_join import WindowJoin
from nilometer.operators.window_scope import Scope
from nilometer.phenomena.candidates import Candidates
from nilometer.phenomena.totals import Totals
from nilometer.types import INT

WIDTH = 20_000
MANY, FEW = 30_000, 3
BYTES_A_ROW = 120

WHOLE = (
    *(Periods, Patterns, Outliers, Discords, TopDiscords, Motifs),  # rings of slots change everywhere
    *(Occurrences, SimilarTo, NearestTo, Clusters, ClusterCentres),
    Aggregate,
    Analytic,
    BagOperation,
    Fill,
    InTwoSteps,  # candidates and phenomena are few
    OverWindows,
    Session,  # the rows of a session are one pane
    SessionAggregate,  # so are the partials of all open sessions, which are few
    Sort,
    StreamTableJoin,
    TableJoin,
    TableOuterJoin,
    ToStream,
    Totals,  # two of the candidates
    Union,
    Unit,  # a unit saves its state as one
    WindowsJoin,
    WindowsTableJoin,
)

both = (stream_of_r, stream_of_s)
LARGE = [
    Case(
        "candidates",
        Candidates(
            replace(
                phenomenon(CANDIDATES, {"ABOVE": 0.0}), window=Frame(WIDTH, 0, 2, True), columns=("R.rain",)
            ),
            R,
        ),
        (stream_of_r,),
    ),
    Case("time window", TimeWindow(R, WIDTH, 0, WIDTH // 2, True), (stream_of_r,)),
    Case("time window, at every tick", TimeWindow(R, 10, 0, None, True), (stream_of_r,)),
    Case("row window", RowWindow(R, WIDTH, 0, WIDTH // 2), (stream_of_r,)),
    Case("window aggregate", WindowAggregate(WIDTH, 0, 50, True, None, BY_KIND, (SUM, MEAN)), (stream_of_r,)),
    Case(
        "window aggregate, every tick",
        WindowAggregate(WIDTH, 0, None, True, None, (), (SUM, MEAN)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate, holistic",
        WindowAggregate(WIDTH, 0, WIDTH // 2, True, None, BY_KIND, (MEDIAN,)),
        (stream_of_r,),
    ),
    Case("row window aggregate", RowWindowAggregate(R, WIDTH, 0, 100, BY_KIND, (SUM, MEAN)), (stream_of_r,)),
    Case(
        "window join", WindowJoin((R, S), ((0, 1, WIDTH),), ((0, *KEYS[0][:1], 1, KEYS[0][1]),), LESS), both
    ),
    Case("window join, merge", WindowJoin((R, S), ((0, 1, WIDTH),), EQUAL, LESS, form=Form.MW), both),
    Case("as-of join", AsofJoin(R, S, KEYS), both),
    Case("as-of join, no keys", AsofJoin(R, S), both),
    Case(
        "outer window join",
        OuterWindowJoin(WindowJoin((R, S), ((0, 1, WIDTH),), EQUAL, LESS, form=Form.MW), "FULL"),
        both,
    ),
    Case("similar", Similar(R, "R.depth", 0, WIDTH, "LIST", "Q"), (stream_of_r,)),
    Case("lag", Lag(R, ITEMS), (sensed,)),
    Case("running analytic", RunningAnalytic(R, (reference("R.depth"),), NUMBERS), (stream_of_r,)),
    Case("latest", Latest(R, ("R.kind",), Scope(None, 0, 100_000, False), "Q"), (stream_of_r,)),
    Case("resample", Resample(R, ("R.depth", "R.rain"), 3, "FILL PREVIOUS", "Q", INT, 8), (stream_of_r,)),
    Case("row window per key", KeyedRowWindow(R, 3, 1, 2, ("R.depth",)), (stream_of_r,)),
    Case("sample", Sample(R, 7), (stream_of_r,)),
    Case("limit", Limit(R, 10 * MANY), (stream_of_r,)),
    Case("silent", Silent(6, "Q"), (stream_of_r,)),
]


def changed(logic: Logic, before: dict[str, bytes]) -> int:
    """How many bytes a shell would write."""
    return sum(len(data) for name, data in logic.snapshot().items() if data != before.get(name))


def large_timeline(case: Case, disorder: int) -> tuple[Timeline, Timeline]:
    """Many rows, and a few that come after them; the depths are all different, so that little joins."""
    whole = generate(case.inputs, MANY + 10 * FEW, 1, disorder)
    distinct = tuple(
        Port(STREAM, port.rows.with_columns((2 * pl.int_range(pl.len()) + number).alias(depth)))
        for number, port in enumerate(whole)
        for depth in [next(name for name in port.rows.columns if name.endswith(".depth"))]
    )
    heads = tuple(Port(STREAM, port.rows.head(MANY)) for port in distinct)
    return heads, tuple(Port(STREAM, port.rows.slice(MANY)) for port in distinct)


@pytest.mark.parametrize("disorder", [5, WIDTH], ids=["in order", "waiting"])
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_a_few_rows_change_little(case: Case, disorder: int) -> None:
    many, few = large_timeline(case, disorder)
    mark = min(int(port.rows[TICK].min()) for port in few)  # type: ignore[arg-type]
    first = min(port.first_ticks[0] for port in many)
    logic = case.spec.build()
    list(run(logic, rounds(many, 5_000, end=mark)))
    size = state_size(logic)
    for one in rounds(few, FEW)[:-1]:
        before = logic.snapshot()
        # Where rows wait the watermark stands still: those that it releases are new to what comes behind the waiting.
        watermark = mark if disorder == WIDTH else one.progress.watermark
        progress = replace(one.progress, watermark=watermark, first_tick=first)
        list(run(logic, [replace(one, progress=progress)]))
        allowed = len(case.inputs) * (FEW + 2 * SMALL) * BYTES_A_ROW
        assert changed(logic, before) <= allowed
    assert disorder == 5 or size > WIDTH, "a small state shows nothing"


@pytest.mark.parametrize("case", [*CASES, *LARGE], ids=str)
def test_a_round_without_rows_changes_next_to_nothing(case: Case) -> None:
    whole = rounds(generate(case.inputs, 300, 1), 100)
    sequence = whole[:-1] or whole
    logic = case.spec.build()
    list(run(logic, sequence))
    progress = sequence[-1].progress
    nothing = tuple(no_evaluations() for _ in case.inputs)
    before = logic.snapshot()
    logic.advance(Progress(progress.watermark, progress.first_tick, nothing))
    after = logic.snapshot()
    assert changed(logic, before) == 0
    large = [name for name, data in after.items() if len(data) > 1_000]
    assert all(after[name] is before[name] for name in large), "what has not changed is not made again"


def test_every_operator_is_looked_at() -> None:
    looked_at = {type(case.spec) for case in LARGE} | set(WHOLE)
    assert {type(case.spec) for case in CASES} <= looked_at
