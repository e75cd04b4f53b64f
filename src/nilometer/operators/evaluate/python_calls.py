"""Calls of functions in Python as Polars expressions: columns -> a column, by a worker process.

The check of a call (`PythonFailure`) runs before its value is asked for, and finds the rows for which the function raises.
The value is then known, so a batch goes to the worker once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from threading import Lock

import numpy as np
import polars as pl

from nilometer.algebra.conversion_errors import function_failed, place_of
from nilometer.errors import DataError
from nilometer.expressions import Call, Literal, type_of
from nilometer.operators.evaluate.functions import Builder, full_length
from nilometer.operators.frames import dtype
from nilometer.operators.vectors import matrix_of, vectors_of
from nilometer.types import Kind
from nilometer.workers.functions import Argument
from nilometer.workers.functions import call as call_function

REMEMBERED = 2
"""The last answers that are kept for each call: those of the check, and of a check of the same call elsewhere."""
CALLS = 64


@dataclass(frozen=True)
class Answer:
    """What a function gave for some columns."""

    columns: tuple[pl.Series, ...]
    values: pl.Series
    failed: tuple[tuple[str, list[int]], ...]

    def is_of(self, columns: Sequence[pl.Series]) -> bool:
        """Whether it was given for columns like these."""
        return all(
            len(mine) == len(other) and mine.equals(other)
            for mine, other in zip(self.columns, columns, strict=True)
        )


_answers: OrderedDict[Call, deque[Answer]] = OrderedDict()
_turn = Lock()


def answer_of(call: Call, columns: Sequence[pl.Series]) -> Answer:
    """What the function gives for these columns, which it may have given just now."""
    with _turn:
        kept = _answers.setdefault(call, deque(maxlen=REMEMBERED))
        _answers.move_to_end(call)
        while len(_answers) > CALLS:
            _answers.popitem(last=False)
        for answer in kept:
            if answer.is_of(columns):
                return answer
    answer = _asked(call, columns)
    with _turn:
        kept.append(answer)
    return answer


def _asked(call: Call, columns: Sequence[pl.Series]) -> Answer:
    """Ask a worker. Rows with a NULL among the arguments are not sent."""
    rows = len(columns[0])
    present = np.ones(rows, dtype=bool)
    for column in columns:
        present &= column.is_not_null().to_numpy()
    sent = np.flatnonzero(present)
    arguments = [
        Argument(type_of(argument).plain, _array(column.filter(pl.Series(present))))
        for argument, column in zip(call.arguments[2:], columns, strict=True)
    ]
    found = call_function(_reference(call), arguments, call.type, len(sent))
    known = np.zeros(rows, dtype=bool)
    known[sent] = ~found.nulls
    whole = np.zeros((rows, *found.values.shape[1:]), dtype=found.values.dtype)
    if found.values.dtype == object:
        whole = np.full(rows, None, dtype=object)
    whole[sent] = found.values
    if call.type.kind is Kind.VECTOR:
        values = vectors_of("", whole, known)
    else:
        column = pl.Series("", whole.tolist() if whole.dtype == object else whole)
        values = pl.select(pl.when(pl.Series(known)).then(column)).to_series().cast(dtype(call.type))
    failed = tuple((reason, sent[places].tolist()) for reason, places in found.failed.items())
    return Answer(tuple(columns), values, failed)


def _reference(call: Call) -> str:
    """`module:function`."""
    reference = call.arguments[0]
    assert isinstance(reference, Literal), "a function that is no constant"
    return str(reference.value)


def _array(column: pl.Series) -> np.ndarray:
    if isinstance(column.dtype, pl.Array):
        return matrix_of(column)[0]
    if column.dtype == pl.String:
        return np.array(column.to_list(), dtype=object)
    return column.to_physical().to_numpy()


@dataclass(frozen=True)
class PythonFailure:
    """A call that may fail in some rows. Only a row for which the guards are true needs the value."""

    call: Call
    operands: tuple[pl.Expr, ...]
    guards: tuple[pl.Expr, ...]

    def failing(self, frame: pl.DataFrame) -> Iterator[tuple[pl.Series, DataError]]:
        """The rows for which the function raises, by reason."""
        if frame.height == 0:
            return
        names = [f"@argument{place}" for place in range(len(self.operands))]
        columns = frame.with_columns(
            *(operand.alias(name) for operand, name in zip(self.operands, names, strict=True)),
            reduce(pl.Expr.and_, self.guards, pl.lit(True)).alias("@needed"),
        )
        needed = columns.get_column("@needed").to_numpy()
        for reason, rows in answer_of(self.call, [columns.get_column(name) for name in names]).failed:
            fails = np.zeros(frame.height, dtype=bool)
            fails[rows] = True
            fails &= needed
            if fails.any():
                error = function_failed(_reference(self.call), reason)
                error.detail = place_of(self.call)
                yield pl.Series(fails), error


def inputs_of(call: Call, operands: Sequence[pl.Expr]) -> list[pl.Expr]:
    """The columns that the function is given, in their declared types."""
    pairs = zip(call.arguments[2:], operands[2:], strict=True)
    return [full_length(argument, value).cast(dtype(type_of(argument))) for argument, value in pairs]


def python_failure(call: Call, operands: Sequence[pl.Expr], guards: tuple[pl.Expr, ...]) -> PythonFailure:
    """The check of a call."""
    return PythonFailure(call, tuple(inputs_of(call, operands)), guards)


def _python(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    wanted = dtype(call.type)

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        return answer_of(call, columns).values

    return pl.map_batches(inputs_of(call, operands), apply, return_dtype=wanted, is_elementwise=True)


PYTHON: dict[str, Builder] = {"python": _python}
