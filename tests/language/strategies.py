"""Hypothesis strategies for syntax trees of every kind, as `parse` could have made them.

`expressions(depth)`, `sources(depth)`, `queries(depth)` and `statements()` nest at most `depth` levels.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st

from nilometer.algebra.table_function import Choice, Option, OptionKind, TableFunction
from nilometer.algebra.table_functions import TABLE_FUNCTIONS
from nilometer.algebra.table_functions.phenomena import DEFINITION
from nilometer.language import ast
from nilometer.language.vocabulary import (
    DISTANCE_UNITS,
    NOT_AN_ALIAS,
    SHED_WORDS,
    SHOW_KINDS,
    STAGES,
    STREAM_WORDS,
    TEMPLATES,
    TIME_UNITS,
    UNIT_SPELLINGS,
)
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

DEPTH = 3

OLD_WORDS = {"NEW", "UNTIL", "UP", "RESCAN", "GROUPBY"}

# Plain names, names that must be quoted, and every word that means something somewhere.
names = st.one_of(
    st.sampled_from(
        ["depth", "time", "id", "River", "r2", "_x", "Größe", "ſelect", "point", "odd name", 'a"b', "1st"]
    ),
    st.sampled_from(
        sorted(
            NOT_AN_ALIAS
            | UNIT_SPELLINGS.keys()
            | {"TIME", "POINT", "SIMILAR", "SILENT", "TO", "KEY"}
            | OLD_WORDS
        )
    ),
    st.text(min_size=1, max_size=8),
)
optional_names = st.none() | names
strings = st.text(max_size=12)
ints = st.integers(INT_MINIMUM, INT_MAXIMUM)
floats = st.floats(allow_nan=False, allow_infinity=False)
naturals = st.integers(0, INT_MAXIMUM) | st.floats(0, allow_nan=False, allow_infinity=False)
units = st.sampled_from([*TIME_UNITS, "ROWS"])
constants: st.SearchStrategy[Any] = st.none() | st.booleans() | ints | floats | strings

# ---- windows ---------------------------------------------------------------------------------------------------------

parameters = st.builds(ast.Amount, names, st.none() | units)
amounts = parameters | st.builds(ast.Amount, naturals, st.none() | units)
# Only windows have ends, which may lie in the future, for the binder to refuse.
offsets = amounts | st.builds(ast.Amount, ints | floats, st.none() | units)
durations = st.builds(ast.Amount, names, st.none() | st.sampled_from(TIME_UNITS)) | st.builds(
    ast.Amount, naturals, st.sampled_from(TIME_UNITS)
)
optional_durations = st.none() | durations
slides = st.none() | amounts
lengths = st.builds(ast.Amount, names, st.none()) | st.builds(
    ast.Amount, naturals, st.sampled_from(["SECONDS", "DAYS", "MONTHS", "YEARS"])
)
windows: st.SearchStrategy[ast.Window] = st.one_of(
    st.builds(ast.NowWindow, slides),
    st.builds(ast.AtWindow, st.none() | offsets, slides),
    st.builds(ast.FromToWindow, st.none() | offsets, st.none() | offsets, slides),
    st.builds(ast.RangeWindow, offsets, slides),
    st.builds(
        ast.RangeWindow,
        amounts,
        slides,
        st.lists(names.map(lambda name: ast.Name((name,))), max_size=2).map(tuple),
        st.none() | amounts,
        st.none() | strings,
    ),
    st.builds(ast.UnboundedWindow, slides),
    st.builds(ast.RescanWindow, durations),
)
optional_windows = st.none() | windows

# ---- expressions -----------------------------------------------------------------------------------------------------

column_names = st.builds(ast.Name, st.lists(names, min_size=1, max_size=3).map(tuple))
leaves: st.SearchStrategy[ast.Expression] = st.one_of(
    column_names,
    st.builds(ast.Constant, constants),
    st.builds(ast.TimeConstant, ints),
    st.builds(ast.PointConstant, floats, floats),
    st.builds(ast.DurationConstant, ints | floats, units),
    st.builds(ast.NowConstant),
    st.builds(ast.FunctionCall, names, st.just((ast.Star(),))),
)
frame_bounds = st.one_of(
    st.just(ast.FrameBound("CURRENT ROW")),
    st.builds(ast.FrameBound, st.sampled_from(["PRECEDING", "FOLLOWING"]), st.none() | amounts),
)
frames = st.builds(ast.Frame, st.sampled_from(["ROWS", "RANGE"]), frame_bounds, frame_bounds)
OPERATORS = (
    *("OR", "AND", "=", "!=", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
    *("||", "+", "-", "*", "/", "%", "^"),
)
CAST_TYPES = st.one_of(
    st.tuples(st.sampled_from(["INT", "FLOAT", "STRING", "BOOLEAN", "TIME", "POINT", "DATE"]), st.none()),
    st.tuples(st.sampled_from(["FLOAT", "STRING"]), st.integers(0, 99)),
    st.tuples(st.just("TIME"), st.sampled_from([0, 3, 6])),
)


@cache
def expressions(depth: int = DEPTH) -> st.SearchStrategy[ast.Expression]:
    """Expressions of all kinds."""
    if depth == 0:
        return leaves
    inner = expressions(depth - 1)
    lists = st.lists(inner, min_size=1, max_size=3).map(tuple)
    orders = st.lists(st.builds(ast.ArgumentOrder, inner, st.booleans()), min_size=1, max_size=2).map(tuple)
    kinds: list[st.SearchStrategy[ast.Expression]] = [
        leaves,
        st.builds(ast.Unary, st.sampled_from(["-", "NOT"]), inner),
        st.builds(ast.Binary, st.sampled_from(OPERATORS), inner, inner),
        st.builds(ast.IsNull, inner, st.booleans()),
        st.builds(ast.Between, inner, inner, inner, st.booleans()),
        st.builds(ast.Like, inner, inner, st.booleans(), st.booleans()),
        st.builds(lambda x, to, safe: ast.Cast(x, *to, safe), inner, CAST_TYPES, st.booleans()),
        st.builds(ast.In, inner, lists, st.booleans()),
        st.builds(
            ast.Case,
            st.none() | inner,
            st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple),
            st.none() | inner,
        ),
        st.builds(ast.FunctionCall, names, st.just(()) | lists),
        st.builds(ast.Nearest, inner, st.integers(0, 99), floats, floats, st.booleans()),
        st.builds(ast.FunctionCall, names, lists, st.just(True)),
        st.builds(ast.FunctionCall, names, lists, st.booleans(), orders, st.booleans(), st.none() | inner),
        st.builds(ast.FunctionCall, names, lists, st.booleans(), st.just(()), st.just(False), inner),
        st.builds(
            ast.Over,
            names,
            st.just(()) | lists,
            st.just(False),
            st.none() | inner,
            st.just(()) | lists,
            st.lists(
                st.builds(ast.SortKey, inner, st.booleans(), st.booleans()),
                max_size=2,
            ).map(tuple),
            st.none() | frames,
            st.booleans(),
        ),
    ]
    if depth > 1:
        subqueries = queries(depth - 2)
        kinds += [
            st.builds(ast.InQuery, inner, subqueries, st.booleans()),
            st.builds(ast.Exists, subqueries),
            st.builds(ast.ScalarQuery, subqueries),
        ]
    return st.one_of(kinds)


# ---- queries ---------------------------------------------------------------------------------------------------------

extents = st.builds(ast.ExtentSource, names, optional_windows, optional_names)


names_of_columns = st.lists(names, max_size=2).map(tuple)
JOIN_KINDS = ("INNER", "LEFT", "RIGHT", "FULL")


@cache
def sources(depth: int = DEPTH) -> st.SearchStrategy[ast.Source]:
    """What may stand in FROM."""
    if depth == 0:
        return extents
    inner = sources(depth - 1)
    return st.one_of(
        extents,
        st.builds(ast.QuerySource, queries(depth - 1), optional_windows, optional_names),
        st.builds(
            ast.GroupWindowSource,
            st.just("TUMBLE"),
            inner,
            lengths,
            st.none(),
            st.none() | lengths,
            st.none() | strings,
            optional_names,
        ),
        st.builds(
            ast.GroupWindowSource,
            st.sampled_from(["HOP", "CUMULATE"]),
            inner,
            lengths,
            lengths,
            st.none(),
            st.none(),
            time=st.none() | st.just(ast.Name(("ts",))),
        ),
        st.builds(ast.QuerySource, queries(depth - 1), optional_windows, names, names_of_columns),
        st.builds(ast.AsofSource, inner, inner, expressions(depth - 1), optional_durations, st.booleans()),
        st.builds(ast.JoinSource, inner, inner, st.sampled_from(JOIN_KINDS), expressions(depth - 1)),
        st.builds(
            ast.JoinSource,
            inner,
            inner,
            st.sampled_from(JOIN_KINDS),
            st.none(),
            st.lists(st.builds(ast.Name, st.tuples(names)), min_size=1, max_size=2).map(tuple),
        ),
        st.builds(ast.JoinSource, inner, inner, st.just("INNER")),
        st.builds(ast.UnnestSource, expressions(depth - 1), names, names_of_columns),
        st.builds(ast.UnnestSource, expressions(depth - 1)),
        *(
            function_sources(function, inner)
            for function in TABLE_FUNCTIONS.values()
            if function.defined is None
        ),
        *(
            function_of_phenomena(function, depth)
            for function in TABLE_FUNCTIONS.values()
            if function.defined is not None
        ),
    )


def definitions(depth: int) -> st.SearchStrategy[ast.PhenomenonSource]:
    """A phenomenon, with any options."""
    given = st.tuples(*(st.none() | _setting(each) for each in DEFINITION.options))
    settings = given.map(lambda found: tuple(each for each in found if each is not None))
    return st.builds(ast.PhenomenonSource, names, names, settings, st.none() | expressions(depth))


def function_of_phenomena(function: TableFunction, depth: int) -> st.SearchStrategy[ast.Source]:
    """A function of a definition, or of the name of one."""
    given = st.tuples(*(st.none() | _setting(each) for each in function.own.options))
    settings = given.map(lambda found: tuple(each for each in found if each is not None))
    return st.builds(
        ast.FunctionSource,
        st.just(function.name),
        st.builds(ast.ExtentSource, names) | definitions(depth),
        st.just(()),
        settings,
        optional_windows,
        optional_names,
    )


def function_sources(
    function: TableFunction, inner: st.SearchStrategy[ast.Source]
) -> st.SearchStrategy[ast.Source]:
    """A table function with any of its options."""
    most = 3 if function.most_columns is None else function.most_columns
    columns = st.lists(column_names, min_size=function.least_columns, max_size=most).map(tuple)
    given = st.tuples(*(st.none() | _setting(each) for each in function.options))
    settings = given.map(lambda found: tuple(each for each in found if each is not None))
    return st.builds(
        ast.FunctionSource,
        st.just(function.name),
        inner,
        columns,
        settings,
        optional_windows,
        optional_names,
    )


def _setting(option: Option | Choice) -> st.SearchStrategy[ast.Setting]:
    if isinstance(option, Choice):
        return st.one_of(*map(_setting, option.options))
    values = st.tuples(*(_piece(option, piece) for piece in option.pieces))
    return st.builds(ast.Setting, st.just(option.word), values, st.just(option.positional))


def _piece(option: Option, piece: OptionKind | str) -> st.SearchStrategy[object]:
    numbers = st.builds(ast.Amount, names | naturals | (floats if option.least is None else naturals))
    match piece:
        case OptionKind.WHOLE:
            return st.builds(ast.Amount, names | st.integers(0, INT_MAXIMUM))
        case OptionKind.NUMBER:
            return numbers
        case OptionKind.DURATION if option.positional:  # a name there is a column
            return st.builds(ast.Amount, naturals, st.sampled_from(TIME_UNITS))
        case OptionKind.DURATION:
            return durations
        case OptionKind.DISTANCE:
            units = st.none() | st.sampled_from(sorted(DISTANCE_UNITS))
            return st.builds(ast.Amount, names | naturals, units)
        case OptionKind.NAME:
            return column_names
        case OptionKind.LIST:
            return st.lists(numbers, min_size=1, max_size=3).map(lambda found: ast.Amounts(tuple(found)))
        case OptionKind.SHAPES:
            amounts = st.lists(numbers, min_size=1, max_size=3).map(lambda found: ast.Amounts(tuple(found)))
            shapes = st.lists(st.builds(ast.Shape, st.text(max_size=4), amounts), min_size=1, max_size=3)
            several = shapes.map(lambda found: ast.Shapes(tuple(found)))
            sources = st.integers(-INT_MAXIMUM, INT_MAXIMUM) | st.text(max_size=4)
            return amounts | several | st.builds(ast.ShapeOf, sources, st.text(max_size=4)) | column_names
        case _:
            return st.just(ast.Word(piece))


bounds = (
    st.just(())
    | st.tuples(st.builds(ast.WindowBound, st.none(), st.none(), durations))
    | st.lists(st.builds(ast.WindowBound, names, st.none() | names, durations), min_size=1, max_size=3).map(
        tuple
    )
)


row_counts = st.builds(ast.Amount, st.integers(0, 10**6), st.just("ROWS")) | st.builds(
    ast.Amount, names, st.sampled_from([None, "ROWS"])
)
memories = st.tuples(st.builds(ast.MemoryBound, st.none(), row_counts)) | st.lists(
    st.builds(ast.MemoryBound, names, row_counts), max_size=3
).map(tuple)


def _with_memory(select: ast.Select) -> ast.Select:
    """The MEMORY clause stands behind a WINDOW clause, and SHED behind it."""
    memory = select.memory if select.bounds else ()
    return replace(select, memory=memory, shed=select.shed if memory else None)


@cache
def selects(depth: int = DEPTH) -> st.SearchStrategy[ast.Select]:
    """SELECT with any of its clauses."""
    values = expressions(depth)
    keys = st.lists(values, max_size=2).map(tuple)
    grouping = st.lists(keys, min_size=1, max_size=3).map(lambda sets: (ast.GroupingSets(tuple(sets)),))
    excluded = st.just(()) | st.lists(names, min_size=1, max_size=2).map(tuple)
    items = st.builds(ast.SelectItem, st.builds(ast.Star, optional_names, excluded)) | st.builds(
        ast.SelectItem, values, optional_names
    )
    return st.builds(
        ast.Select,
        st.lists(items, min_size=1, max_size=3).map(tuple),
        st.lists(sources(depth), min_size=1, max_size=3).map(tuple),
        st.none() | st.sampled_from(STREAM_WORDS),
        bounds,
        st.none() | values,
        st.lists(values, max_size=2).map(tuple) | grouping,
        st.none() | values,
        optional_durations,
        optional_durations,
        memories,
        st.none() | st.sampled_from(SHED_WORDS),
        st.booleans(),
        st.sampled_from([None, "NULL", "PREVIOUS"]),
        st.none() | values,
        st.none() | st.builds(ast.Guided, names, st.none() | st.integers(0, 99).map(ast.Amount)),
    ).map(_with_memory)


@cache
def queries(depth: int = DEPTH) -> st.SearchStrategy[ast.QueryNode]:
    """SELECT, VALUES, and queries made of queries."""
    if depth == 0:
        return selects(0)
    inner = queries(depth - 1)
    values = expressions(depth - 1)
    row_numbers = st.integers(0, 9).map(ast.Constant) | names.map(lambda name: ast.Name((name,)))
    keys = st.builds(ast.SortKey, values, st.booleans(), st.booleans())
    tables = st.builds(ast.CommonTable, names, names_of_columns, inner)
    ordered = st.builds(
        ast.Ordered,
        inner,
        st.lists(keys, max_size=2).map(tuple),
        st.none() | row_numbers,
        st.none() | row_numbers,
    )
    constant = st.builds(ast.SelectItem, st.builds(ast.Constant, constants), optional_names)
    return st.one_of(
        selects(depth),
        st.builds(ast.Union, inner, inner, st.booleans()),
        st.builds(ast.SetOperation, st.sampled_from(("EXCEPT", "INTERSECT")), inner, inner, st.booleans()),
        st.lists(st.lists(values, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(
            lambda rows: ast.Values(tuple(rows))
        ),
        ordered.filter(lambda query: query.order_by or query.limit or query.offset),
        st.builds(ast.With, st.lists(tables, min_size=1, max_size=2).map(tuple), inner),
        st.builds(ast.Select, st.lists(constant, min_size=1, max_size=2).map(tuple), st.just(())),
    )


# ---- declarations ----------------------------------------------------------------------------------------------------

origins = st.builds(ast.Origin, strings | names.filter(lambda name: not name.startswith("$")))
columns = st.lists(
    st.builds(
        ast.ColumnDefinition,
        names,
        st.sampled_from(["INT", "FLOAT", "STRING", "BOOLEAN", "TIME", "POINT"]),
        st.none() | st.integers(0, 64),
        st.none() | strings,
        st.none() | origins,
    )
    | st.builds(ast.ColumnDefinition, names, st.none(), st.none(), st.none(), origins),
    max_size=3,
).map(tuple)
format_options = st.one_of(
    st.builds(ast.FormatOption, st.just("HEADER"), st.booleans()),
    st.builds(ast.FormatOption, st.just("SKIP"), st.integers(0, 99)),
    st.builds(ast.FormatOption, st.just("NULL"), st.lists(strings, min_size=1, max_size=3).map(tuple)),
    st.builds(
        ast.FormatOption,
        st.sampled_from(["DELIMITER", "QUOTE", "DECIMAL", "ENCODING", "TIME FORMAT", "TIMEZONE"]),
        strings,
    ),
)
formats = st.builds(
    ast.Format,
    st.sampled_from(["CSV", "JSON"]),
    st.lists(format_options, max_size=3, unique_by=lambda option: option.word).map(tuple),
)
forms = (st.none() | st.builds(ast.Origin, strings), st.none() | formats)
keys = st.lists(names, max_size=3).map(tuple)
identifiers = ints | strings
attributes = st.lists(st.tuples(names, constants), max_size=3).map(tuple)
declared = st.sampled_from(["QUERY", "STREAM", "TABLE", "NETWORK", "VIEW", "ALERT", "DECISION"])


def alerts(depth: int) -> st.SearchStrategy[ast.CreateAlert]:
    """Alerts with any of their clauses."""
    silences = st.builds(ast.Silence, durations) | st.builds(ast.Silence, st.none(), strings, strings)
    named = st.builds(ast.Template, st.sampled_from(TEMPLATES), st.just(True))
    return st.builds(
        ast.CreateAlert,
        names,
        queries(depth),
        strings,
        optional_durations,
        st.lists(names, max_size=3).map(tuple),
        optional_durations,
        optional_durations,
        st.none() | silences,
        st.none() | st.integers(0, 99),
        st.none() | named | st.builds(ast.Template, strings),
    )


def decisions(depth: int) -> st.SearchStrategy[ast.CreateDecision]:
    """Decisions with and without OTHERWISE."""
    met = st.builds(ast.DecisionChoice, strings, expressions(depth))
    last = st.lists(st.builds(ast.DecisionChoice, strings), max_size=1)
    choices = st.tuples(st.lists(met, min_size=1, max_size=2), last).map(lambda both: (*both[0], *both[1]))
    return st.builds(ast.CreateDecision, names, names | queries(depth), choices)


def models(depth: int) -> st.SearchStrategy[ast.CreateModel]:
    """Models of every method; a tree has no distance."""
    above = st.none() | st.floats(0, 1e6)
    return st.one_of(
        st.builds(ast.CreateModel, names, queries(depth), st.just("TREE")),
        st.builds(ast.CreateModel, names, queries(depth), st.just("NEAREST"), st.integers(1, 9), above),
        st.builds(ast.CreateModel, names, queries(depth), st.just("CLUSTERS"), st.none(), above),
    )


def python_functions() -> st.SearchStrategy[ast.CreateFunction]:
    """Functions in Python, of numbers and vectors."""
    arguments = st.lists(
        st.builds(
            ast.ColumnDefinition,
            names,
            st.sampled_from(("INT", "FLOAT", "STRING")),
            size=st.none() | st.integers(1, 9),
        ),
        max_size=3,
    ).map(tuple)
    return st.builds(
        ast.CreateFunction,
        names,
        arguments,
        st.sampled_from(("INT", "FLOAT", "STRING")),
        strings,
        st.none() | st.integers(1, 9),
    )


def declarations(depth: int = DEPTH) -> st.SearchStrategy[ast.Statement]:
    """Every statement that is not a query."""
    places = st.none() | st.just("WGS84") | strings
    options = (optional_durations, keys, optional_durations, optional_durations, *forms, places)
    starts = st.none() | st.just("BEGINNING") | ints
    return st.one_of(
        st.builds(ast.CreateStream, names, columns, durations, st.none(), *options),
        st.builds(
            ast.CreateStream, names, columns, st.none(), st.none() | strings, *options, st.none() | throughs
        ),
        st.builds(ast.CreateTable, names, columns, strings, optional_names, optional_durations, *forms),
        st.builds(ast.CreateSensor, identifiers, names, st.none() | st.tuples(floats, floats), attributes),
        st.builds(ast.CopySensors, strings, optional_names),
        st.builds(ast.CopyStreams, strings, optional_durations),
        st.builds(
            ast.CreateNetwork,
            names,
            strings,
            st.none() | identifiers,
            st.none() | st.integers(0, 99),
            st.none() | strings,
            st.none() | strings,
        ),
        st.builds(ast.CreateQuery, names, queries(depth), starts, st.booleans()),
        st.builds(ast.CreateView, names, names_of_columns, queries(depth)),
        python_functions(),
        st.builds(ast.Replace, python_functions()),
        st.builds(ast.CreatePhenomenon, names, definitions(0)),
        st.builds(ast.Replace, st.builds(ast.CreatePhenomenon, names, definitions(0))),
        st.builds(
            ast.Replace,
            st.builds(ast.CreateQuery, names, queries(depth), st.none(), st.booleans()),
            st.none() | st.sampled_from(["KEEP STATE", "BACKFILL", "EMPTY STATE"]),
        ),
        st.builds(ast.Replace, st.builds(ast.CreateView, names, names_of_columns, queries(depth))),
        alerts(depth),
        st.builds(ast.Replace, alerts(depth)),
        decisions(depth),
        models(depth),
        st.builds(ast.Replace, models(depth)),
        st.builds(ast.Pause, names),
        st.builds(ast.Resume, names),
        st.builds(ast.Drop, declared, names, st.booleans()),
        st.builds(ast.Drop, st.just("SENSOR"), identifiers, st.booleans(), optional_names),
        st.builds(ast.Show, st.sampled_from(SHOW_KINDS)),
        st.builds(ast.Explain, queries(depth), st.none() | st.sampled_from(STAGES), st.booleans()),
    )


taken_columns = st.lists(
    st.builds(ast.ColumnDefinition, names, st.none(), origin=st.none() | origins), min_size=1, max_size=3
)
throughs = st.builds(
    ast.Through,
    names,
    taken_columns.map(tuple),
    st.lists(st.builds(ast.Amount, naturals | floats), max_size=2).map(tuple),
)


def statements(depth: int = DEPTH) -> st.SearchStrategy[ast.Statement | ast.QueryNode]:
    """Everything that `parse` can return."""
    return queries(depth) | declarations(depth)
