"""PHENOMENA, CURRENT: groups of neighbouring sensors that read alike, how they change, and which there are. PREDICT,
ARRIVALS: where they will be, and whom they will reach. MEMBERSHIP: who is in one. SUMMARY: few rows that stand for all
readings.

A phenomenon is defined on a column of a stream (docs/phenomena.md has the whole law):

    class(reading)   what LIKENESS makes of the value: ABOVE 35 gives 'above' or nothing
    n(s, c, T)       the number of readings of source s with class c and T - RANGE < tick <= T
    candidates       the sources with n(s, c, T) >= STRENGTH
    phenomena        connected components of the candidates of a class, joined by NEIGHBOURS, with at least MEMBERS

`ON stream.column` with these options defines one in place; CREATE PHENOMENON gives the definition a name. RANGE
and SLIDE become the frame of the bound call, LOCATED AT its second column, and STRENGTH p PERCENT a number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from nilometer.algebra.motion import Noise
from nilometer.algebra.places import degrees_among
from nilometer.algebra.prediction import GROWTH as DEFAULT_GROWTH
from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    Choice,
    Frame,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Undivided,
    Windowing,
)
from nilometer.algebra.table_functions.phenomenon_columns import (
    arrival_columns,
    candidate_columns,
    current_columns,
    membership_columns,
    predicted_columns,
    summary_columns,
    update_columns,
)
from nilometer.types import (
    SECOND,
    Column,
    Kind,
    Schema,
    format_duration,
)

EQUAL: Final = "EQUAL"
BUCKET: Final = "BUCKET"
ABOVE: Final = "ABOVE"
BELOW: Final = "BELOW"
BETWEEN: Final = "BETWEEN"
RISING: Final = "RISING"
FALLING: Final = "FALLING"
WITHIN: Final = "WITHIN"

ALL: Final = "NEIGHBOURS ALL"
BY: Final = "NEIGHBOURS BY"
NEAR: Final = "NEIGHBOURS WITHIN"

HULL: Final = "REGION HULL"
CONCAVE: Final = "REGION CONCAVE"

LIKENESS = Choice(
    "LIKENESS",
    (
        Option(EQUAL, meaning="readings of the same value are alike"),
        Option(BUCKET, OptionKind.NUMBER, example="10", meaning="readings of the same bucket of this width"),
        Option(ABOVE, OptionKind.NUMBER, example="35", meaning="readings above this value"),
        Option(BELOW, OptionKind.NUMBER, example="4", meaning="readings below this value"),
        Option(
            BETWEEN,
            (OptionKind.NUMBER, "AND", OptionKind.NUMBER),
            example="20 AND 30",
            meaning="readings from the one value to the other, both included",
        ),
        Option(
            RISING,
            (OptionKind.NUMBER, "PER", OptionKind.DURATION),
            example="5 PER 1 HOUR",
            meaning="readings that have risen at least this fast since the sensor's reading before",
        ),
        Option(
            FALLING,
            (OptionKind.NUMBER, "PER", OptionKind.DURATION),
            example="5 PER 1 HOUR",
            meaning="readings that have fallen at least this fast since the sensor's reading before",
        ),
        Option(
            WITHIN,
            OptionKind.NUMBER,
            least=0,
            example="0.5",
            meaning="neighbours whose readings differ by at most this are linked",
        ),
    ),
    default=REQUIRED,
)
FROM = Option("FROM", OptionKind.NUMBER, example="5", meaning="where a bucket begins; 0 if not said")
RANGE = Option(
    "RANGE",
    OptionKind.DURATION,
    default=REQUIRED,
    least=1,
    example="3 HOURS",
    meaning="how long a reading counts",
)
SLIDE = Option(
    "SLIDE", OptionKind.DURATION, least=1, example="1 HOUR", meaning="how often phenomena are evaluated"
)
STRENGTH = Option(
    "STRENGTH",
    OptionKind.NUMBER,
    default=1.0,
    least=1,
    example="2",
    meaning="how many alike readings make a sensor a candidate",
)
COUNTED = Option(STRENGTH.word, OptionKind.WHOLE, default=1, least=1, example="2", meaning=STRENGTH.meaning)
PERCENT = Option("PERCENT", meaning="STRENGTH is a percentage of the readings expected within RANGE")
SHARE = Option(
    "SHARE",
    OptionKind.NUMBER,
    least=0,
    most=100,
    example="60",
    meaning="and this percentage of the readings that the sensor has within RANGE",
)
NEIGHBOURS = Choice(
    "NEIGHBOURS",
    (
        Option(
            NEAR,
            OptionKind.DISTANCE,
            least=0,
            example="60 KM",
            meaning="sensors at most this far apart are neighbours",
        ),
        Option(
            BY,
            OptionKind.NAME,
            example="adjacency",
            meaning="the pairs (from_id, to_id) of this table are neighbours",
        ),
        Option(ALL, meaning="all sensors are neighbours"),
    ),
    default=ALL,
)
MEMBERS = Option(
    "MEMBERS",
    OptionKind.WHOLE,
    default=2,
    least=1,
    example="3",
    meaning="how many sensors make a phenomenon",
)
CONTINUE = Option(
    "CONTINUE WITHIN",
    OptionKind.DISTANCE,
    least=0,
    example="60 KM",
    meaning="how far a phenomenon may jump between two evaluations and still be the same",
)
REGION = Choice(
    "REGION",
    (
        Option(HULL, meaning="the convex hull of the members' places"),
        Option(
            CONCAVE,
            OptionKind.NUMBER,
            least=0,
            most=1,
            example="0.3",
            meaning="a concave hull; 0 is the tightest, 1 the convex hull",
        ),
    ),
    default=HULL,
)
BUFFER = Option(
    "BUFFER", OptionKind.DISTANCE, least=0, example="5 KM", meaning="how far the region reaches beyond"
)
PRECISION = Option(
    "PRECISION",
    OptionKind.DISTANCE,
    least=0,
    example="30 KM",
    meaning="how far the middle may be off; half the distance of neighbours if not said",
)
SPEED = Option(
    "SPEED",
    (OptionKind.DISTANCE, "PER", OptionKind.DURATION),
    example="20 KM PER 1 HOUR",
    meaning="how fast a new phenomenon may be; the distance of neighbours in a SLIDE if not said",
)
STEADY = Option(
    "STEADY",
    OptionKind.NUMBER,
    least=0.001,
    example="10",
    meaning="after how many evaluations its velocity is another; 10 if not said",
)
GROWTH = Option(
    "GROWTH",
    OptionKind.NUMBER,
    least=0,
    most=1,
    example="0.5",
    meaning="the share of its growth that lasts from one evaluation to the next; 0.5 if not said",
)
MOTION: Final = (PRECISION, SPEED, STEADY, GROWTH)
"""How it moves and grows (algebra/motion.py, algebra/prediction.py)."""
LOCATED = Option(
    "LOCATED AT", OptionKind.NAME, example="position", meaning="the column with a mobile sensor's place"
)
GUIDE = Option(
    "GUIDE FAST",
    (OptionKind.DURATION, "IDLE", OptionKind.DURATION),
    least=1,
    example="1 MINUTE IDLE 10 MINUTES",
    meaning="how often the sensors at a phenomenon are asked, and how often the others",
)
REACH = Option(
    "REACH",
    OptionKind.WHOLE,
    least=0,
    most=1_000,
    example="2",
    meaning="how many steps from neighbour to neighbour count as near a member",
)
AHEAD = Option(
    "AHEAD",
    OptionKind.DURATION,
    least=0,
    example="20 MINUTES",
    meaning="how long before a predicted region reaches a sensor it counts as near",
)
HOPS = Option(
    "HOPS",
    OptionKind.WHOLE,
    least=0,
    most=1_000,
    example="2",
    meaning="sensors so many steps from neighbour to neighbour away from a member count, too",
)
SOON = Option(
    "HORIZON",
    OptionKind.DURATION,
    least=0,
    example="20 MINUTES",
    meaning="sensors that a predicted region reaches so soon count, too",
)
NAMED = Option("NAMED", OptionKind.NAME, example="smoke", meaning="how the ids of the phenomena begin")
METRES = Option(
    "METRES", OptionKind.NUMBER, least=0, example="1000.0", meaning="the length of the places' unit in metres"
)
GUIDED = Option(
    GUIDE.word,
    (
        *(OptionKind.DURATION, "IDLE", OptionKind.DURATION),
        *("AHEAD", OptionKind.DURATION, "REACH", OptionKind.WHOLE),
    ),
    least=0,
    example="1 MINUTE IDLE 10 MINUTES AHEAD 20 MINUTES REACH 2",
    meaning="how often which sensors are asked while a query follows the phenomenon",
    emission_only=True,
)


def _nothing(_call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return ()


DEFINITION = TableFunction(
    name="PHENOMENON",
    description="the options of a definition, as they are written",
    example="ON air.pm25 ABOVE 35 RANGE 3 HOURS NEIGHBOURS WITHIN 60 KM MEMBERS 3",
    gives=_nothing,
    output=Output.EVENTS,
    divides=BY_SOURCE,
    options=(
        LIKENESS,
        FROM,
        RANGE,
        SLIDE,
        STRENGTH,
        PERCENT,
        NEIGHBOURS,
        MEMBERS,
        CONTINUE,
        REGION,
        BUFFER,
        *MOTION,
        LOCATED,
        GUIDE,
        AHEAD,
        REACH,
    ),
)
"""What CREATE PHENOMENON and `ON` take. It is no function of FROM itself."""

EVERY = Option(
    "EVERY",
    OptionKind.DURATION,
    least=1,
    example="1 HOUR",
    meaning="how often a summary is made; the SLIDE if not said",
)
CELLS = Option(
    "CELLS",
    OptionKind.WHOLE,
    default=8,
    least=1,
    example="8",
    meaning="the most sensors of a cell",
)

BOUND: Final = (
    LIKENESS,
    FROM,
    COUNTED,
    SHARE,
    NEIGHBOURS,
    MEMBERS,
    CONTINUE,
    REGION,
    BUFFER,
    *MOTION,
    NAMED,
    METRES,
    GUIDED,
)
"""The options of a bound call."""


def noise_of(call: FunctionCall) -> Noise | None:
    """How sure the motion of the call's phenomena is; None: nothing gives it a length to begin with."""
    frame, near = call.window, call[NEAR]
    assert isinstance(frame, Frame)
    if not isinstance(near, float) or near <= 0:
        return None
    metres, precision, speed, steady = (call[w] for w in ("METRES", PRECISION.word, SPEED.word, STEADY.word))
    scale = metres if isinstance(metres, float) else 1.0
    fast = None
    if isinstance(speed, tuple):
        distance, length = speed
        assert isinstance(distance, float)
        assert isinstance(length, int)
        fast = distance * scale / (length / SECOND)
    return Noise.of(
        near * scale,
        frame.slide / SECOND,
        precision * scale if isinstance(precision, float) else None,
        fast,
        steady if isinstance(steady, float) else None,
    )


def alike_readings(call: FunctionCall) -> tuple[int, float]:
    """What makes a candidate: a number of alike readings, and a percentage of all that it has (0: any)."""
    strength, share = call[COUNTED.word], call[SHARE.word]
    assert isinstance(strength, int)
    return strength, share if isinstance(share, float) else 0.0


def growth_of(call: FunctionCall) -> float:
    """The share of a growth that lasts."""
    growth = call[GROWTH.word]
    return growth if isinstance(growth, float) else DEFAULT_GROWTH


_NUMERIC = (Kind.INT, Kind.FLOAT)
_COMPARABLE = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.DURATION)


def refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    """A definition that makes no sense for its column or without places."""
    value = input[call.columns[0]].type
    likeness = str(call["LIKENESS"])
    if likeness != EQUAL and value.kind not in _NUMERIC:
        return Refusal(f"{likeness} needs numbers, and '{{column}}' is {value}", "EQUAL takes any values", 0)
    if value.kind not in _COMPARABLE:
        return Refusal(f"values of type {value} cannot be alike", "choose a column of numbers or text", 0)
    width = call[BUCKET]
    if likeness == BUCKET and not (isinstance(width, float) and width > 0):
        return Refusal("the width of a BUCKET must be greater than 0", "such as BUCKET 10")
    bounds = call[BETWEEN]
    if isinstance(bounds, tuple) and not float(bounds[0]) <= float(bounds[1]):  # type: ignore[arg-type]
        return Refusal(f"nothing lies BETWEEN {bounds[0]:g} AND {bounds[1]:g}", "write the lower value first")
    speed = call[SPEED.word]
    if isinstance(speed, tuple) and float(speed[0]) < 0:  # type: ignore[arg-type]
        return Refusal(f"SPEED cannot be {speed[0]:g}", SPEED.hint)
    if len(call.columns) < 2:
        for word in (NEAR, CONTINUE.word, BUFFER.word):
            if call[word] is not None:
                return Refusal(
                    f"{word} needs the sensors' places, and there are none", how_to_place(call, input)
                )
    return None


def how_to_place(call: FunctionCall, input: Schema) -> str:
    """How readings get places: from two of their columns, or from what is declared of the sensors."""
    alias, column = call.columns[0].split(".", 1)
    degrees = degrees_among(name.removeprefix(f"{alias}.") for name in input.names)
    if degrees is not None:
        return (
            f"make points of {degrees[0]} and {degrees[1]}: CREATE VIEW placed AS SELECT *, "
            f"point({degrees[0]}, {degrees[1]}) AS location FROM {alias}; and define it ON placed.{column}"
        )
    return (
        f"declare them: COPY SENSORS OF {alias} FROM 'places.csv', or CREATE SENSOR 5 OF {alias} AT (8.5, 47.4); "
        "or name a column of points: LOCATED AT position"
    )


MOST_STEPS: Final = 1_000
"""The most evaluations that a prediction looks ahead."""


def _refuses_prediction(call: FunctionCall, input: Schema) -> Refusal | None:
    if call[NEAR] is None:
        return Refusal(f"{call.name} needs a distance to measure movements by", "add NEIGHBOURS WITHIN 60 KM")
    frame, horizon = call.window, call["HORIZON"]
    if isinstance(frame, Frame) and isinstance(horizon, int):
        if horizon < frame.slide:
            return Refusal(
                f"{call.name} looks ahead by less than a SLIDE: {format_duration(horizon)}",
                f"write at least {format_duration(frame.slide)}",
            )
        if horizon // frame.slide > MOST_STEPS:
            return Refusal(
                f"{call.name} looks {horizon // frame.slide:,} evaluations ahead",
                f"{MOST_STEPS:,} are the most",
            )
    return refuses(call, input)


def summary_interval(call: FunctionCall) -> int:
    """How often a summary is made."""
    frame, every = call.window, call[EVERY.word]
    assert isinstance(frame, Frame)
    return every if isinstance(every, int) else frame.slide


def _refuses_summary(call: FunctionCall, input: Schema) -> Refusal | None:
    value = input[call.columns[0]].type
    if value.kind not in _NUMERIC:
        return Refusal(f"a summary has means, and '{{column}}' is {value}", "choose a column of numbers", 0)
    frame, every = call.window, summary_interval(call)
    assert isinstance(frame, Frame)
    assert frame.start is not None
    if every % frame.slide:
        return Refusal(
            f"a summary every {format_duration(every)} is between evaluations",
            f"write a multiple of the SLIDE, {format_duration(frame.slide)}",
        )
    if every > frame.start:
        return Refusal(
            f"a summary every {format_duration(every)} leaves readings out: RANGE is {format_duration(frame.start)}",
            f"write at most EVERY {format_duration(frame.start)}",
        )
    return refuses(call, input)


_ONE_BUCKET: Final = Undivided("joins the candidates of all sources into phenomena")

CANDIDATES = TableFunction(
    name="PHENOMENA",
    algorithm="PH_CANDIDATES",
    description="the sources that have enough alike readings",
    example=DEFINITION.example,
    gives=candidate_columns,
    output=Output.EVENTS,
    divides=BY_SOURCE,
    options=BOUND,
    most_columns=2,
    windowing=Windowing.WITHIN,
)

PHENOMENA = TableFunction(
    name="PHENOMENA",
    algorithm="PH_TRACK",
    description="how groups of neighbouring sensors that read alike appear, grow, move, merge, split and disappear",
    example="PHENOMENA(ON air.pm25 ABOVE 35 RANGE 3 HOURS NEIGHBOURS WITHIN 60 KM)",
    gives=update_columns,
    output=Output.EVENTS,
    divides=_ONE_BUCKET,
    options=BOUND,
    most_columns=2,
    windowing=Windowing.WITHIN,
    first=CANDIDATES,
    refuses=refuses,
    defined=DEFINITION,
)

CURRENT = TableFunction(
    name="CURRENT",
    algorithm="PH_CURRENT",
    description="at each evaluation, the groups of neighbouring sensors that read alike",
    example="CURRENT(ON air.pm25 ABOVE 35 RANGE 3 HOURS NEIGHBOURS WITHIN 60 KM)",
    gives=current_columns,
    output=Output.WINDOWS,
    divides=_ONE_BUCKET,
    options=BOUND,
    most_columns=2,
    windowing=Windowing.WITHIN,
    first=CANDIDATES,
    refuses=refuses,
    defined=DEFINITION,
)

SOURCES = replace(
    CANDIDATES,
    name="ARRIVALS",
    algorithm="PH_SOURCES",
    description="the sources that have enough alike readings, and where every source is",
)

TOTALS = replace(
    CANDIDATES,
    name="SUMMARY",
    algorithm="PH_TOTALS",
    description="the sources that have enough alike readings, and how all readings of each source stand",
)

HORIZON = Option(
    "HORIZON",
    OptionKind.DURATION,
    default=REQUIRED,
    least=1,
    positional=True,
    example="4 HOURS",
    meaning="how far ahead",
)

PREDICT = TableFunction(
    name="PREDICT",
    algorithm="PH_PREDICT",
    description="at each evaluation, where each of these groups will be at the evaluations to come",
    example="PREDICT(smoke, 4 HOURS)",
    gives=predicted_columns,
    output=Output.EVENTS,
    divides=_ONE_BUCKET,
    options=(*BOUND, HORIZON),
    behind=("HORIZON",),
    most_columns=2,
    windowing=Windowing.WITHIN,
    first=CANDIDATES,
    refuses=_refuses_prediction,
    defined=DEFINITION,
)

ARRIVALS = replace(
    PREDICT,
    name="ARRIVALS",
    algorithm="PH_ARRIVALS",
    description="at each evaluation, which sensors each of these groups will reach, and when",
    example="ARRIVALS(smoke, 4 HOURS)",
    gives=arrival_columns,
    first=SOURCES,
)


def _refuses_membership(call: FunctionCall, input: Schema) -> Refusal | None:
    ahead, frame = call[SOON.word], call.window
    if ahead and call[NEAR] is None:
        return Refusal("HORIZON needs a distance to measure movements by", "add NEIGHBOURS WITHIN 60 KM")
    if isinstance(ahead, int) and isinstance(frame, Frame) and ahead // frame.slide > MOST_STEPS:
        return Refusal(
            f"HORIZON looks {ahead // frame.slide:,} evaluations ahead", f"{MOST_STEPS:,} are the most"
        )
    return refuses(call, input)


MEMBERSHIP = TableFunction(
    name="MEMBERSHIP",
    algorithm="PH_MEMBERS",
    description="which sensors come to and leave these groups, and those near them or in their way",
    example="MEMBERSHIP(smoke HOPS 2 HORIZON 20 MINUTES)",
    gives=membership_columns,
    output=Output.EVENTS,
    divides=_ONE_BUCKET,
    options=(*BOUND, HOPS, SOON),
    behind=(HOPS.word, SOON.word),
    most_columns=2,
    windowing=Windowing.WITHIN,
    first=SOURCES,
    refuses=_refuses_membership,
    defined=DEFINITION,
)

SUMMARY = replace(
    PREDICT,
    name="SUMMARY",
    algorithm="PH_SUMMARY",
    description="at each evaluation a row for each of these groups and for each cell of the other sensors",
    example="SUMMARY(smoke)",
    gives=summary_columns,
    options=(*BOUND, EVERY, CELLS),
    behind=("EVERY", "CELLS"),
    first=TOTALS,
    refuses=_refuses_summary,
)
