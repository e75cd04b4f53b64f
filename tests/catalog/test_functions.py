"""The function table: result types, aliases, what is said to wrong arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden
from nilometer import types
from nilometer.catalog import functions
from nilometer.catalog.functions import FUNCTIONS, FunctionKind, resolve
from nilometer.types import Kind, Type


def types_of(text: str) -> tuple[Type, ...]:
    named = {"INT(16)": Type(Kind.INT, 16)}
    return tuple(named.get(word) or getattr(types, word) for word in text.split())


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        *(
            (name, kind, kind)
            for name in ("abs", "sqr", "ceil", "floor", "round")
            for kind in ("INT", "FLOAT")
        ),
        ("abs", "DURATION", "DURATION"),
        ("abs", "INT(16)", "INT"),
        ("abs", "NULL", "NULL"),
        *((name, "INT", "FLOAT") for name in ("sqrt", "ln", "log10", "exp", "sin", "cos", "tan")),
        ("power", "INT FLOAT", "FLOAT"),
        ("sign", "FLOAT", "INT"),
        ("mod", "INT INT", "INT"),
        ("mod", "INT FLOAT", "FLOAT"),
        ("least", "INT FLOAT INT", "FLOAT"),
        ("greatest", "TIME TIME", "TIME"),
        ("coalesce", "NULL INT", "INT"),
        ("coalesce", "POINT", "POINT"),
        ("lower", "STRING", "STRING"),
        ("upper", "STRING", "STRING"),
        ("length", "STRING", "INT"),
        ("concat", "STRING STRING STRING", "STRING"),
        ("distance", "POINT POINT", "FLOAT"),
        ("x", "POINT", "FLOAT"),
        ("y", "POINT", "FLOAT"),
        ("count", "", "INT"),
        ("count", "POINT", "INT"),
        ("sum", "INT", "INT"),
        ("sum", "FLOAT", "FLOAT"),
        *((name, "INT", "FLOAT") for name in ("avg", "stdev", "variance", "median")),
        *(
            (name, kind, kind)
            for name in ("min", "max")
            for kind in ("INT", "FLOAT", "STRING", "BOOLEAN", "TIME")
        ),
        ("round", "FLOAT INT", "FLOAT"),
        ("trunc", "INT", "INT"),
        ("log", "INT", "FLOAT"),
        ("log", "INT FLOAT", "FLOAT"),
        ("atan2", "INT FLOAT", "FLOAT"),
        ("pi", "", "FLOAT"),
        ("nullif", "INT FLOAT", "FLOAT"),
        ("if", "BOOLEAN NULL STRING", "STRING"),
        ("substring", "STRING INT", "STRING"),
        ("substring", "STRING INT INT", "STRING"),
        ("split_part", "STRING STRING INT", "STRING"),
        ("strpos", "STRING STRING", "INT"),
        ("starts_with", "STRING STRING", "BOOLEAN"),
        ("regexp_like", "STRING STRING", "BOOLEAN"),
        ("regexp_extract", "STRING STRING INT", "STRING"),
        ("format", "STRING INT TIME DURATION", "STRING"),
        ("date_part", "STRING TIME", "INT"),
        ("epoch", "DURATION", "FLOAT"),
        ("date_trunc", "STRING TIME STRING", "TIME"),
        ("date_bin", "DURATION TIME", "TIME"),
        ("timezone", "STRING TIME", "TIME"),
        ("to_char", "TIME STRING", "STRING"),
        ("to_timestamp", "FLOAT", "TIME"),
        ("to_timestamp", "STRING STRING", "TIME"),
        ("convert", "INT STRING", "FLOAT"),
        ("lag", "STRING", "STRING"),
        ("lag", "INT INT", "INT"),
        ("delta", "INT", "INT"),
        ("rate", "INT", "FLOAT"),
        ("completeness", "", "FLOAT"),
    ],
)
def test_result_types(name: str, arguments: str, result: str) -> None:
    signature = resolve(name)
    assert signature is not None
    assert signature.result(types_of(arguments)) == getattr(types, result)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("AVERAGE", "avg"),
        ("minimum", "min"),
        ("Maximum", "max"),
        ("stddev", "stdev"),
        ("var", "variance"),
        ("square", "sqr"),
        ("squareroot", "sqrt"),
        ("pow", "power"),
        ("ceiling", "ceil"),
        ("ifnull", "coalesce"),
        ("substr", "substring"),
        ("instr", "strpos"),
        ("strftime", "to_char"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    found = resolve(alias)
    assert found is not None
    assert found.name == name


def test_names_are_there_once_and_in_small_letters() -> None:
    names = [name for function in FUNCTIONS for name in (function.name, *function.aliases)]
    assert len(set(names)) == len(names) == len(functions.names())
    assert all(name == name.lower() for name in names)


def test_every_function_is_described_and_its_example_calls_it() -> None:
    for function in FUNCTIONS:
        assert function.description
        assert not function.description.endswith(".")
        assert function.example.startswith(function.spelled + "(")


def test_only_functions_of_numbers_want_them_as_float() -> None:
    wanting = {function.name for function in FUNCTIONS if function.wants_float}
    circle = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "degrees", "radians"}
    assert wanting == circle | {
        "sqrt",
        "cbrt",
        "ln",
        "log",
        "log2",
        "log10",
        "exp",
        "power",
        "point",
        "vector",
    }
    assert [f.name for f in FUNCTIONS if f.kind is FunctionKind.SPECIAL] == [
        "lag",
        "delta",
        "rate",
        "completeness",
        "inside",
    ]


def test_wrong_arguments(rewrite: bool) -> None:
    def answer(text: str) -> str:
        name, _, arguments = text.partition(" ")
        signature = resolve(name)
        assert signature is not None
        try:
            return f"gives {signature.result(types_of(arguments))}"
        except ValueError as error:
            return str(error)

    golden.read(Path(__file__).with_name("function_errors.txt")).check(answer, rewrite=rewrite)
