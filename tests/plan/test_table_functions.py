"""Table functions: every one has all its parts; and the mechanism carries functions that it has never seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import nilometer
from contract.operators import CASES
from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    BySource,
    Choice,
    Frame,
    FunctionCall,
    Intervals,
    Option,
    OptionKind,
    Output,
    TableFunction,
    Undivided,
    Windowing,
)
from nilometer.algebra.table_functions import TABLE_FUNCTIONS, operators
from nilometer.dataflow.lowering.table_functions import SPECS
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import NilometerError
from nilometer.expressions import Aggregate, ColumnReference
from nilometer.language import parse
from nilometer.language.print_queries import print_query
from nilometer.language.vocabulary import NOT_AN_ALIAS
from nilometer.operators.frames import concatenate, stream_dtypes
from nilometer.operators.logic import ID, STREAM_COLUMNS, Progress, no_evaluations
from nilometer.operators.logic import Output as Output_
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.plan import logical, physical
from nilometer.plan.explain import explain_text, readers
from nilometer.plan.explain import parse as plan_text
from nilometer.plan.reference.functions import NAIVE
from nilometer.plan.reference.rows import Evaluation, Row, order_key
from nilometer.spark.layout import lay_out, text_of
from nilometer.types import DAY, INT, Column, Schema, Type, ceil_to
from spark.layout.pipeline import Pipeline

DOCUMENT = Path(__file__).parents[2] / "docs" / "language.md"


# ---- every function has all its parts --------------------------------------------------------------------------------


def test_every_function_has_an_operator_a_twin_a_contract_and_a_paragraph() -> None:
    names = set(TABLE_FUNCTIONS)
    assert set(SPECS) == set(operators()), "dataflow/lowering/table_functions.py"
    assert set(NAIVE) == names, "plan/reference/functions"
    held = {type(getattr(case.spec, "spec", case.spec)) for case in CASES}
    contract = {name for name, build in SPECS.items() if getattr(build, "__self__", build) in held}
    assert contract == set(operators()), "tests/contract/operators.py"
    paragraphs = set(re.findall(r"^(?:- )?`([A-Z_]+)` ", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    assert names <= paragraphs, "docs/language.md"


@pytest.mark.parametrize("function", TABLE_FUNCTIONS.values(), ids=repr)
def test_what_every_declaration_keeps(function: TableFunction) -> None:
    words = [option.word for option in function.all_options]
    assert len(set(words)) == len(words)
    assert all(option.meaning and (option.example or not option.pieces) for option in function.all_options)
    if not function.least_columns:
        # Behind the source's name they would be its alias.
        assert {word.split()[0] for word in words} <= NOT_AN_ALIAS
    outside = [
        o.word for each in function.options if isinstance(each, Choice) and each.outside for o in each.options
    ]
    assert set(outside) <= NOT_AN_ALIAS
    parse(f"SELECT * FROM {function.example}")
    assert (function.output is Output.WINDOWS) == (function.windowing is Windowing.FRAME) or function.defined


# ---- functions that the mechanism has never seen ----------------------------------------------------------------------


def _tally_columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (Column("id", call.id_type), Column("n", INT))


def _tally_spec(call: FunctionCall, _input: Schema) -> WindowAggregate:
    frame = call.window
    assert isinstance(frame, Frame)
    source, count = (f"{call.alias}.{name}" for name in ("id", "n"))
    keys = ((source, ColumnReference(ID, call.id_type)),)
    items = ((count, Aggregate("count", None, False, INT)),)
    return WindowAggregate(frame.start, frame.end, frame.slide, frame.open_start, None, keys, items)


def _tally(
    node: logical.TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    frame = node.call.window
    assert isinstance(frame, Frame)
    assert frame.start is not None
    if first_tick is None:
        return []
    found = []
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        seen = [row.id for row in rows if tick - frame.start < row.tick <= tick - frame.end]
        counts = [(source, seen.count(source)) for source in sorted(set(seen), key=order_key)]
        found.append(Evaluation(tick, tuple(dict(zip(node.schema.names, c, strict=True)) for c in counts)))
    return found


def tally(**changes: Any) -> TableFunction:
    """How many tuples each source has in the window."""
    declared: dict[str, Any] = {
        "name": "TALLY",
        "description": "how many tuples of each source",
        "example": "TALLY(s)",
        "gives": _tally_columns,
        "output": Output.WINDOWS,
        "divides": BY_SOURCE,
        "least_columns": 0,
        "most_columns": 0,
        "windowing": Windowing.FRAME,
        "ordered": False,
    }
    return TableFunction(**(declared | changes))


MINE = TableFunction(
    name="MINE",
    description="one of each kind of option",
    example="MINE(s, x, 4 HOURS UP TO 5)",
    gives=_tally_columns,
    output=Output.EVENTS,
    divides=BySource(),
    most_columns=None,
    options=(
        Option(
            "HORIZON",
            OptionKind.DURATION,
            default=None,
            least=1,
            positional=True,
            example="4 HOURS",
            meaning="how far",
        ),
        Option("UP TO", OptionKind.WHOLE, default=REQUIRED, least=1, most=9, example="5", meaning="how many"),
        Option(
            "EVERY",
            OptionKind.DURATION,
            default=Intervals(1, "how long is a slot?"),
            most=DAY,
            example="1 HOUR",
            meaning="slots",
        ),
        Option("OF", OptionKind.NAME, example="other", meaning="whose"),
        Option("SEGMENTS", meaning="whole ones"),
        Choice(
            "SYMBOLS",
            (
                Option(
                    "LEVELS",
                    (OptionKind.WHOLE, "BETWEEN", OptionKind.NUMBER, "AND", OptionKind.NUMBER),
                    example="8 BETWEEN 1 AND 2",
                    meaning="equal widths",
                ),
                Option("BREAKS", OptionKind.LIST, example="(1, 2)", meaning="own widths"),
            ),
            default="VALUES",
        ),
    ),
)


@dataclass(frozen=True)
class Heard:
    """The lower operator of a function that takes two: of each tuple only whose it is."""

    call: FunctionCall
    input: Schema

    def build(self) -> HeardLogic:
        return HeardLogic(self.call.schema(self.input), self.call.id_type)


class HeardLogic:
    """Rows pass through."""

    def __init__(self, schema: Schema, id_type: Type) -> None:
        self._columns = stream_dtypes(schema, id_type)
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        visible = [pl.col(ID).alias(name) for name in self._columns if name not in STREAM_COLUMNS]
        self._parts.append(rows.select(*STREAM_COLUMNS, *visible))

    def advance(self, progress: Progress) -> Output_:
        parts, self._parts = self._parts, []
        return Output_(concatenate(parts, self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


def _heard_columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (Column("id", call.id_type),)


HEARD = tally(name="TALLY", algorithm="TALLY_HEARD", gives=_heard_columns, output=Output.TUPLES)


def install(patch: pytest.MonkeyPatch, function: TableFunction) -> None:
    """As one line in each registry does."""
    patch.setitem(TABLE_FUNCTIONS, function.name, function)
    reader = readers.read_table_function(function)
    patch.setitem(plan_text.LOGICAL, function.name, (logical.TableFunction, reader))
    patch.setitem(plan_text.PHYSICAL, function.operator, (physical.TableFunction, reader))
    patch.setitem(SPECS, function.operator, _tally_spec)
    if function.first is not None:
        lower = (physical.TableFunction, readers.read_table_function(function.first))
        patch.setitem(plan_text.PHYSICAL, function.first.operator, lower)
        patch.setitem(SPECS, function.first.operator, Heard)
    patch.setitem(NAIVE, function.name, _tally)


@pytest.fixture
def database() -> nilometer.Database:
    database = nilometer.connect()
    database.execute(
        "CREATE STREAM s (x FLOAT, y FLOAT) PUSHED DELAY 2 SECONDS; CREATE STREAM e (x FLOAT) PUSHED EXPECT EVERY 1 MINUTE"
    )
    frame = pl.DataFrame(
        {
            "time": [t * 1_000_000 for t in (3, 1, 2, 5, 5, 9, 8, 14)],
            "id": [1, 2, 1, 1, 3, 2, 1, 3],
            "x": [1.0] * 8,
            "y": [2.0] * 8,
        }
    )
    database.append("s", frame)
    return database


QUERIES = (
    "SELECT * FROM TALLY(s) [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "SELECT t.id, t.n FROM TALLY(s) [RANGE 4 SECONDS SLIDE 2 SECONDS] t WHERE t.n > 1",
    "SELECT SUM(t.n) AS n FROM TALLY(s) [RANGE 4 SECONDS SLIDE 3 SECONDS] t",
    "ISTREAM SELECT t.id FROM TALLY(s) [RANGE 4 SECONDS SLIDE 1 SECOND] t",
    "SELECT t.n, u.n FROM TALLY(s) [RANGE 4 SECONDS SLIDE 2 SECONDS] t, s [RANGE 4 SECONDS SLIDE 2 SECONDS] u2, TALLY(s) [RANGE 3 SECONDS SLIDE 1 SECOND] u WHERE t.id = u.id AND u.id = u2.id",
)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize(
    "function",
    [tally(), tally(divides=Undivided("counts all")), tally(divides=Undivided("counts all"), first=HEARD)],
    ids=["by source", "one bucket", "two operators"],
)
def test_a_function_of_windows_runs_everywhere(
    text: str, function: TableFunction, database: nilometer.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, function)
    query = database.sql(text)
    expected = sorted(query.run("reference").given)
    assert expected
    assert sorted(query.run("gateway").given.rows()) == expected
    for rows in (None, 1, 3):
        layout = lay_out(query.physical, 5)
        sources = DatabaseSources(database, query.physical)
        laid_out = Pipeline(query.physical, layout, sources, rows, restarted=rows is not None).collect()
        assert sorted(laid_out.rows()) == expected
    plan = query.physical
    assert plan_text.parse_physical_plan(explain_text(plan), database.catalog) == plan


def test_explain_says_why_a_function_is_in_one_bucket(
    database: nilometer.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tally(divides=Undivided("counts all sources")))
    layout = lay_out(database.sql(QUERIES[0]).physical, 5)
    assert (
        "one bucket: TALLY [AS tally BY INT; RANGE 4 SECONDS SLIDE 2 SECONDS] counts all sources"
        in text_of(layout)
    )


def test_a_function_of_two_operators_is_two_stages(
    database: nilometer.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tally(divides=Undivided("counts all sources"), first=HEARD))
    assert text_of(lay_out(database.sql(QUERIES[0]).physical, 5)).splitlines() == [
        'fragment 0 (reader) -> fragment 1 by "@id"',
        "  SP_ACQUIRE [s AS s; ()]",
        "fragment 1 (stage 1, 5 buckets) -> fragment 2",
        "  TALLY_HEARD [AS tally BY INT; RANGE 4 SECONDS SLIDE 2 SECONDS]",
        "    RECEIVE [fragment 0]",
        "fragment 2 (stage 2, 1 bucket) -> answer",
        "  DELIVER [TICK]",
        "    PROJECT [tally.id AS id, tally.n AS n]",
        "      TALLY [AS tally BY INT; RANGE 4 SECONDS SLIDE 2 SECONDS]",
        "        RECEIVE [fragment 1]",
        "one bucket: TALLY [AS tally BY INT; RANGE 4 SECONDS SLIDE 2 SECONDS] counts all sources",
    ]


def test_options_of_every_kind_are_read_printed_bound_and_explained(
    database: nilometer.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, MINE)
    text = "SELECT * FROM MINE(s, x, y, 4 HOURS LEVELS 8 BETWEEN -1.5 AND 35 SEGMENTS UP TO n OF other EVERY 2 SECONDS) m"
    tree = parse(text)
    canonical = "SELECT * FROM MINE(s, x, y, 4 HOURS UP TO n EVERY 2 SECONDS OF other SEGMENTS LEVELS 8 BETWEEN -1.5 AND 35) m"
    assert print_query(tree) == canonical  # type: ignore[arg-type]
    assert parse(canonical) == tree
    plan = database.sql(text, n=3).logical
    node = next(node for node in logical.walk_plan(plan) if isinstance(node, logical.TableFunction))
    assert node.call.columns == ("s.x", "s.y")
    assert node.call.options == (
        ("HORIZON", 14_400_000_000),
        ("UP TO", 3),
        ("EVERY", 2_000_000),
        ("OF", "other"),
        ("SEGMENTS", True),
        ("SYMBOLS", "LEVELS"),
        ("LEVELS", (8, -1.5, 35.0)),
    )
    assert plan_text.parse_plan(explain_text(plan), database.catalog) == plan
    query = database.sql("SELECT * FROM MINE(e, x UP TO 1 BREAKS (1, b, -2.5))", b=2)
    assert "BETWEEN" in database.sql(text, n=3).explain("ast")
    assert "Amounts" in query.explain("ast")
    node = next(node for node in logical.walk_plan(query.logical) if isinstance(node, logical.TableFunction))
    assert node.call["BREAKS"] == (1.0, 2.0, -2.5)
    assert plan_text.parse_plan(explain_text(query.logical), database.catalog) == query.logical
    least = database.sql("SELECT * FROM MINE(e, x UP TO 1)").logical
    node = next(node for node in logical.walk_plan(least) if isinstance(node, logical.TableFunction))
    assert [node.call[word] for word in ("EVERY", "SYMBOLS", "OF")] == [60_000_000, "VALUES", None]
    assert plan_text.parse_plan(explain_text(least), database.catalog) == least


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("MINE(e)", "name a column: MINE(s, x, 4 HOURS UP TO 5)"),
        ("MINE(e, x)", "MINE needs UP TO"),
        ("MINE(e, z UP TO 2)", "no column 'z' in 'e'"),
        ("MINE(e, x UP TO 0)", "UP TO needs a whole number from 1 to 9"),
        ("MINE(e, x UP TO k)", "no value for the parameter 'k'"),
        ("MINE(s, x UP TO 2)", "how long is a slot? 's' has no expected rate"),
        ("MINE(e, x UP TO 2 BREAKS (1, 2) LEVELS 3 BETWEEN 1 AND 2)", "BREAKS and LEVELS exclude each other"),
        ("MINE(e, x UP TO 2 LEVELS 3 BETWEEN 1)", "expected AND"),
        ("MINE(e, x SEGMENT)", "did you mean SEGMENTS?"),
        ("MINE(e, x UP TO 2 EVERY 2 DAYS)", "MINE EVERY cannot be 2 DAYS"),
        ("MINE(e, x, 0 HOURS UP TO 2)", "MINE HORIZON must be longer than nothing"),
        ("TALLY(s)", "TALLY needs a window"),
        ("TALLY(s) [RANGE 5 SECONDS]", "TALLY needs a SLIDE: 's' has no expected rate"),
        ("TALLY(s) [RANGE 5 ROWS]", "TALLY takes a window of time, not of rows"),
        ("TALLY(s [NOW]) [RANGE 5 SECONDS]", "TALLY takes a stream, and 's' is windowed"),
    ],
)
def test_what_is_refused(
    call: str, message: str, database: nilometer.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, MINE)
    install(monkeypatch, tally())
    with pytest.raises(NilometerError) as caught:
        database.sql(f"SELECT * FROM {call}")
    assert message in str(caught.value)
