"""Scalar expressions in C, compiled by avr-gcc and computed by an emulated ATmega128, against `plan.scalar`: its `int` has 16 bits,
so that a missing cast would show."""

from __future__ import annotations

import struct
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.errors import UnsupportedError
from nilometer.expressions import Call, Case, ColumnReference, Expression, InList, Literal
from nilometer.plan.scalar import evaluate
from nilometer.sensornet.motes.c_text import identifier
from nilometer.sensornet.motes.c_text import struct as struct_of
from nilometer.sensornet.motes.emulate import emulate
from nilometer.sensornet.motes.scalars import is_true, value_of
from nilometer.sensornet.motes.toolchain import build
from nilometer.sensornet.motes.values import Value, integer
from nilometer.types import BOOLEAN, INT

COLUMNS = ("a", "b", "c")
ROWS = [(0, 0, 0), (1023, 1023, 1023), (7, 0, 1023), (5, 3, 2), (1023, 1, 0), (12, 700, 3)]
FIELD = integer(0, 1023, "a reading")


def number(random: Random, depth: int) -> Expression:
    if depth == 0 or random.random() < 0.2:
        if random.random() < 0.3:
            return Literal(random.randint(-300, 300), INT)
        return ColumnReference(random.choice(COLUMNS), INT)
    if random.random() < 0.1:
        otherwise = Literal(None, INT) if random.random() < 0.3 else number(random, depth - 1)
        return Case((condition(random, depth - 1),), (number(random, depth - 1),), otherwise, INT)
    match random.choice("+-*/%+-*/%ns"):
        case "n":
            return Call("negative", (number(random, depth - 1),), INT)
        case "s":
            return Call("abs", (number(random, depth - 1),), INT)
        case symbol:
            return Call(symbol, (number(random, depth - 1), number(random, depth - 1)), INT)


def condition(random: Random, depth: int) -> Expression:
    if depth <= 0 or random.random() < 0.4:
        if random.random() < 0.2:
            return InList(number(random, 0), tuple(Literal(random.randint(0, 9), INT) for _ in range(3)))
        if random.random() < 0.2:
            return Call("is_null", (number(random, max(depth, 1)),), BOOLEAN)
        symbol = random.choice(("=", "!=", "<", "<=", ">", ">="))
        return Call(symbol, (number(random, max(depth, 0)), number(random, max(depth, 0))), BOOLEAN)
    match random.choice(("and", "or", "not")):
        case "not":
            return Call("not", (condition(random, depth - 1),), BOOLEAN)
        case word:
            return Call(word, (condition(random, depth - 1), condition(random, depth - 1)), BOOLEAN)


def fitting(random: Random, count: int) -> list[Expression]:
    """Expressions of which no value can leave 32 bits."""
    found: list[Expression] = []
    row = {name: Value(name, FIELD) for name in COLUMNS}
    while len(found) < count:
        candidate = number(random, 3) if random.random() < 0.6 else condition(random, 2)
        try:
            is_true(candidate, row) if candidate.type == BOOLEAN else value_of(candidate, row)  # type: ignore[attr-defined]
        except UnsupportedError:
            continue
        found.append(candidate)
    return found


def program(expressions: list[Expression]) -> str:
    runtime = files("nilometer.sensornet.motes") / "runtime"
    row = {name: Value(name, FIELD) for name in COLUMNS}
    lines = [(runtime / "head.c").read_text(), "#define PLAN 0", (runtime / "serial.c").read_text()]
    for at, expression in enumerate(expressions):
        if expression.type == BOOLEAN:  # type: ignore[attr-defined]
            null, text = "0", is_true(expression, row)
        else:
            value = value_of(expression, row)
            null, text = value.null or "0", value.text
        lines.append(
            f"static void __attribute__((noinline)) e{at}(int16_t a, int16_t b, int16_t c) {{ (void)a; (void)b; (void)c;"
            f" uint8_t null = ({null}); int32_t value = null ? 0 : (int32_t)({text});"
            " serial_bytes(&null, 1); serial_bytes(&value, 4); }"
        )
    calls = "".join(f" e{at}(row[0], row[1], row[2]);" for at in range(len(expressions)))
    rows = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in ROWS)
    lines.append(
        f"static volatile int16_t rows[][3] = {{{rows}}};\nint main(void) {{ serial_start();"
        f" for (uint8_t i = 0; i < {len(ROWS)}; i++) {{ volatile int16_t *row = rows[i];{calls} }} serial_close(); for (;;) ; }}"
    )
    return "\n".join(lines)


@pytest.mark.motes
@pytest.mark.slow
def test_motes_compute_as_the_reference_does(tmp_path: Path) -> None:
    expressions = fitting(Random(20261116), 80)
    source = tmp_path / "expressions.c"
    source.write_text(program(expressions), "utf-8")
    network = Network("one", 0, (NetworkNode(0), NetworkNode(1)), (Link(0, 1),))
    serial = emulate({0: build(source).elf}, network, {}, alpha=1024, ticks=10 * 1024)[0].serial
    given = iter(struct.iter_unpack("<Bi", serial[: 5 * len(ROWS) * len(expressions)]))
    for row in ROWS:
        values: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
        for expression in expressions:
            null, value = next(given)
            expected = evaluate(expression, values, None)
            if expression.type == BOOLEAN:  # type: ignore[attr-defined]
                expected = int(expected is True)
            assert (None if null else value) == expected, (str(expression), values)


def test_what_may_overflow_is_refused() -> None:
    square = Call("*", (ColumnReference("a", INT), ColumnReference("a", INT)), INT)
    fourth = Call("*", (square, square), INT)
    row = {"a": Value("a", FIELD)}
    assert value_of(square, row).field.high == 1023 * 1023
    with pytest.raises(UnsupportedError, match="32 bits"):
        value_of(fourth, row)


def test_names_of_columns_are_names_of_c() -> None:
    names = ("River.rain", "avg_1#sum", "@site", "long", "ADC", "débit", "2nd")
    assert [identifier(name) for name in names] == [
        "River_rain",
        "avg_1_sum",
        "site_",
        "long_",
        "ADC_",
        "d_e9bit",
        "n2nd_",
    ]
    field = integer(0, 1, "a reading")
    with pytest.raises(UnsupportedError, match="same name"):
        struct_of("row", [], {"a.b_c": field, "a_b.c": field})
