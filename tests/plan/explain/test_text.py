"""Plan text: how things are spelt, and what is said of a text that is no plan."""

from __future__ import annotations

import pytest

from nilometer import algebra
from nilometer.errors import NilometerError
from nilometer.expressions import Call, ColumnReference, InList, Literal
from nilometer.plan import logical, physical
from nilometer.plan.explain import PlanTextError, explain_text, parse_physical_plan, parse_plan
from nilometer.plan.explain.expressions import print_expression, print_name
from nilometer.types import BOOLEAN, FLOAT, INT, MINUTE, STRING
from plan.explain.strategies import CATALOG, RIVER

ACQUIRE = logical.Acquire(RIVER, "R", RIVER.columns)


@pytest.mark.parametrize(
    ("start", "end", "slide", "open_start", "text"),
    [
        (0, 0, None, False, "NOW"),
        (0, 0, MINUTE, False, "NOW SLIDE 1 MINUTE"),
        (15 * MINUTE, 15 * MINUTE, None, False, "AT NOW - 15 MINUTES"),
        (60 * MINUTE, 0, None, True, "RANGE 1 HOUR"),
        (60 * MINUTE, 0, 60 * MINUTE, False, "FROM NOW - 1 HOUR TO NOW SLIDE 1 HOUR"),
        (60 * MINUTE, MINUTE, None, True, "AFTER NOW - 1 HOUR TO NOW - 1 MINUTE"),
        (None, 0, None, False, "UNBOUNDED"),
        (None, MINUTE, None, False, "FROM BEGINNING TO NOW - 1 MINUTE"),
    ],
)
def test_time_windows(start: int | None, end: int, slide: int | None, open_start: bool, text: str):
    assert explain_text(logical.TimeWindow(ACQUIRE, start, end, slide, open_start)).startswith(
        f"TIME_WINDOW [{text}]\n"
    )


@pytest.mark.parametrize(
    ("start", "end", "slide", "text"),
    [
        (9, 0, 10, "RANGE 10 ROWS SLIDE 10 ROWS"),
        (10, 2, 1, "FROM NOW - 10 ROWS TO NOW - 2 ROWS SLIDE 1 ROWS"),
        (None, 0, 1, "UNBOUNDED SLIDE 1 ROWS"),
    ],
)
def test_row_windows(start: int | None, end: int, slide: int, text: str):
    window = logical.RowWindow(ACQUIRE, start, end, slide)
    assert explain_text(window).startswith(f"ROW_WINDOW [{text}]\n")
    assert parse_plan(explain_text(window), CATALOG) == window


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Literal(None, INT), "null_int()"),
        (Literal("a\nb", STRING), "unescape('a\\nb')"),
        (InList(ColumnReference("x", INT), ()), "in_nothing(x)"),
        (Call("negative", (Literal(5, INT),), INT), "negate(5)"),
        (Literal(5, FLOAT), "5.0"),
        (ColumnReference("AVG(x)", INT), '"AVG(x)"'),
        (Call("and", (ColumnReference("not", BOOLEAN), Literal(True, BOOLEAN)), BOOLEAN), '"not" AND TRUE'),
    ],
)
def test_what_str_would_lose_is_written_otherwise(expression: Call, text: str):
    assert print_expression(expression) == text


def test_names_are_quoted_where_the_language_needs_it():
    assert print_name("R.depth") == "R.depth"
    assert print_name("select.x") == '"select.x"'
    assert print_name('say "hi"') == '"say ""hi"""'


def test_an_elided_window_is_a_mark_on_its_input():
    acquire = physical.SpAcquire(RIVER, "R", RIVER.columns[:1])
    plan = physical.RStream(physical.TimeWindow(acquire, 0, 0, None, False, elided=True))
    text = "RSTREAM\n  SP_ACQUIRE [river AS R; time; EVERY 1 MINUTE] @now"
    assert explain_text(plan) == text
    assert parse_physical_plan(text, CATALOG) == plan
    assert plan.input.collection is algebra.Collection.WINDOWS


def test_blank_lines_and_comments_are_passed_over():
    text = """

    SAMPLE [EVERY 1 MINUTE]   -- a comment

      ACQUIRE [river AS R; time, id]
    """
    assert parse_plan(text, CATALOG) == logical.Sample(logical.Acquire(RIVER, "R", RIVER.columns[:2]), MINUTE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the plan is empty"),
        ("ACQUIRE [river AS R; time]\nACQUIRE [river AS R; time]", "line 2: a second root"),
        ("ACQUIER [river AS R; time]", "no operator 'ACQUIER'"),
        ("SP_ACQUIRE [river AS R; time]", "no operator 'SP_ACQUIRE'"),
        ("ACQUIRE [rover AS R; time]", "no stream or table 'rover'"),
        ("ACQUIRE [select AS R; time]", "SELECT"),
        ('ACQUIRE ["select" AS R; id]', "'select' is not a stream"),
        ("STORED [river AS R; id]", "'river' is not a table"),
        ("ACQUIRE [river AS R; depht]", "no column 'depht' in 'river'"),
        ("SELECT [R.depht > 5]\n  ACQUIRE [river AS R; depth]", "no column 'R.depht'"),
        ("SELECT [nonsense(R.depth)]\n  ACQUIRE [river AS R; depth]", "no function 'nonsense'"),
        ("SELECT [sqrt('x') > 1.0]\n  ACQUIRE [river AS R; depth]", "sqrt takes"),
        ("SELECT [R.depth IN (R.depth)]\n  ACQUIRE [river AS R; depth]", "IN takes constants"),
        ("SELECT [R.depth]\n  ACQUIRE [river AS R; depth]", "not a condition"),
        ("SELECT [TRUE]", "SELECT does not take 0 inputs"),
        ("JOIN [OUTER]\n  ACQUIRE [river AS R; depth]", "OUTER"),
        ("TIME_WINDOW [RANGE 5]\n  ACQUIRE [river AS R; depth]", "a duration was expected"),
        ("AGGREGATE [R.depth AS x]\n  ACQUIRE [river AS R; depth]", "an aggregate was expected"),
        ("LAG [R.depth AS x]\n  ACQUIRE [river AS R; depth]", "LAG, DELTA or RATE"),
        ("DELIVER [TICK] more\n  ACQUIRE [river AS R; depth]", "more"),
    ],
)
def test_what_is_no_plan_is_refused(text: str, message: str):
    with pytest.raises(NilometerError) as caught:
        parse_plan(text, CATALOG)
    assert message in str(caught.value)


def test_merge_and_eval_need_an_init_below():
    with pytest.raises(PlanTextError, match="stand above an AGGR_INIT"):
        parse_physical_plan("AGGR_EVAL\n  SP_ACQUIRE [river AS R; depth]", CATALOG)
