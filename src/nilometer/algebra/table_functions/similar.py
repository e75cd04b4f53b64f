"""SIMILAR: SNJoin's variable-arity join (Definition 1).

Each tuple, in the order (time, id, position), is joined with the strictly earlier tuples of other sources
whose values differ by at most WITHIN and whose times differ by at most the window. The window is one for all,
or the earlier tuple's own (section 4.2.1). Tuples without a match give no row. arity = 1 + the number of
other sources.

    LIST     (time, id, value, arity, members LIST<STRUCT<id, times LIST<TIME>>>), members by id, times ascending
    PAIRS    (time, id, value, other_time, other_id, other_value), one row per match
    FLATTEN  (time, id, value, arity, members LIST<STRUCT<id, time>>), one row per combination of one tuple
             per member
    COUNTS   (time, id, value, arity, matches), the numbers of sources and of tuples, without a list of them
    SAMPLE n (time, id, value, arity, matches, members as in LIST), with n of the m matches: in the order of
             the stream, those numbered floor((i + u) m / n) for i = 0 ... n - 1, where
             u = (time * 0x9E3779B97F4A7C15 mod 2^64) // 2^48 / 2^16; all if m <= n
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra import SimilarForm
from nilometer.algebra.table_function import (
    ByNearness,
    ByValue,
    Choice,
    Divides,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Windowing,
)
from nilometer.types import INT, TIME, Column, Kind, Schema, Type, list_of, struct_of

_WHOLE = (Kind.INT, Kind.TIME, Kind.DURATION)


def similar_columns(form: SimilarForm, id_type: Type, value: Type) -> tuple[Column, ...]:
    """The columns of its rows, for each form."""
    head = (Column("time", TIME), Column("id", id_type), Column("value", value))
    match form:
        case SimilarForm.LIST:
            member = struct_of(Column("id", id_type), Column("times", list_of(TIME)))
            return (*head, Column("arity", INT), Column("members", list_of(member)))
        case SimilarForm.PAIRS:
            return (
                *head,
                Column("other_time", TIME),
                Column("other_id", id_type),
                Column("other_value", value),
            )
        case SimilarForm.FLATTEN:
            member = struct_of(Column("id", id_type), Column("time", TIME))
            return (*head, Column("arity", INT), Column("members", list_of(member)))
        case SimilarForm.COUNTS:
            return (*head, Column("arity", INT), Column("matches", INT))
        case SimilarForm.SAMPLE:
            member = struct_of(Column("id", id_type), Column("times", list_of(TIME)))
            return (*head, Column("arity", INT), Column("matches", INT), Column("members", list_of(member)))


def alike_is_equal(value: Type, epsilon: float) -> bool:
    """Whether only equal values are within epsilon: two different whole numbers differ by at least 1."""
    return epsilon < 1 if value.kind in _WHOLE else epsilon == 0


def _columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    return similar_columns(SimilarForm(str(call["FORM"])), call.id_type, _value(call, input))


def _value(call: FunctionCall, input: Schema) -> Type:
    return input[call.columns[0]].type.plain


def _divides(call: FunctionCall, input: Schema) -> Divides:
    epsilon = call["WITHIN"]
    assert isinstance(epsilon, float)
    if alike_is_equal(_value(call, input), epsilon):
        return ByValue(call.columns[0], "value")
    return ByNearness(call.columns[0], epsilon)


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    value = input[call.columns[0]].type
    if not call["WITHIN"] or value.numeric:
        return None
    return Refusal(
        f"WITHIN needs numbers, and '{{column}}' is {value}", "leave WITHIN out: equal values are similar", 0
    )


def _narrowed(call: FunctionCall, needed: frozenset[str]) -> FunctionCall:
    """COUNTS instead of LIST or SAMPLE if the query does not read the members."""
    if call["FORM"] in (SimilarForm.LIST, SimilarForm.SAMPLE) and "members" not in needed:
        return replace(call, options=SIMILAR.settle({"WITHIN": call["WITHIN"], "COUNTS": True}))
    return call


SIMILAR = TableFunction(
    name="SIMILAR",
    description="each tuple with the earlier tuples of other sources that have (nearly) the same value",
    example="SIMILAR(river, depth)",
    gives=_columns,
    output=Output.TUPLES,
    divides=_divides,
    options=(
        Option(
            "WITHIN",
            OptionKind.NUMBER,
            default=0.0,
            least=0,
            example="0.5",
            meaning="how far apart similar values may be",
        ),
        Choice(
            "FORM",
            (
                Option(SimilarForm.PAIRS.value, meaning="a row for each match"),
                Option(
                    SimilarForm.FLATTEN.value, meaning="a row for each combination of one match per member"
                ),
                Option(SimilarForm.COUNTS.value, meaning="how many members and matches, none of them listed"),
                Option(
                    SimilarForm.SAMPLE.value,
                    OptionKind.WHOLE,
                    least=1,
                    most=1_000_000,
                    needs="a whole number of matches",
                    example="3",
                    meaning="lists so many of the matches, evenly spread",
                ),
            ),
            default=SimilarForm.LIST.value,
            outside=True,
        ),
    ),
    windowing=Windowing.REACH,
    algorithm="SN_JOIN",
    wants="the column to compare",
    window_hint="[RANGE 10 SECONDS]: how far apart in time similar readings may be",
    refuses=_refuses,
    narrowed=_narrowed,
)
