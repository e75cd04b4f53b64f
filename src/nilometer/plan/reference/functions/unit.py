"""Gives a unit its rows one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Row, order_key
from nilometer.types import TIME, Kind


def unit(node: TableFunction, rows: Sequence[Row], _first_tick: int | None, watermark: int) -> list[Row]:
    """The rows that the unit gives for those below W."""
    import numpy as np

    from nilometer.workers.functions import Argument
    from nilometer.workers.units import UnitProcess

    call = node.call
    numbers = call["WITH"]
    assert isinstance(numbers, tuple)
    types = [TIME, call.id_type.plain, *(node.input.schema[name].type.plain for name in call.columns)]
    process = UnitProcess(str(call["USING"]), [float(number) for number in numbers])  # type: ignore[arg-type]
    result = []
    try:
        for row in sorted(rows, key=_order):
            given = (row.time, row.id, *(row.values[name] for name in call.columns))
            if row.tick >= watermark or None in given:
                continue
            arguments = [
                Argument(type_, np.array([value], dtype=object if type_.kind is Kind.STRING else None))
                for type_, value in zip(types, given, strict=True)
            ]
            found = process.update(arguments, 1)
            for place in range(len(found.places)):
                columns: list[Any] = [
                    None if nulls[place] else values[place] for values, nulls in found.columns
                ]
                plain = [one.tolist() if hasattr(one, "tolist") else one for one in columns]
                named = (row.time, row.id, *(tuple(one) if isinstance(one, list) else one for one in plain))
                values = dict(zip(node.schema.names, named, strict=True))
                result.append(Row(row.tick, row.time, row.id, row.position, values))
    finally:
        process.close()
    return result


def _order(row: Row) -> tuple[Any, ...]:
    """(time, id, position), then the values of rows without a position."""
    values = order_key(row.values) if row.position is None else ()
    return (row.time, order_key(row.id), order_key(row.position), values)
