"""The program of a worker process that runs a unit: it opens one, gives it rows, and saves and takes back its state.

Messages are those of child.py. A unit is a class of its author's: `update` takes arrays and gives a dictionary of arrays.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

_spec = importlib.util.spec_from_file_location("child", Path(__file__).with_name("child.py"))
assert _spec is not None
assert _spec.loader is not None
child: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(child)

SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


class Unit:
    """The unit of this process."""

    def __init__(self, reference: str, numbers: list[float]) -> None:
        made = child.load(reference)
        for name in ("columns", "inputs", "update", "snapshot", "restore"):
            if not hasattr(made, name):
                raise child.ContractError(f"the unit {reference} has no '{name}'")
        columns = made.columns(*numbers) if callable(made.columns) else made.columns
        self.inputs = list(made.inputs)
        self.columns = {str(name): str(type_) for name, type_ in dict(columns).items()}
        self.each = bool(getattr(made, "by_source", False))
        self.version = str(getattr(made, "version", ""))
        self.made = made(*numbers)
        self._limit(getattr(made, "memory", None))

    def _limit(self, memory: str | None) -> None:
        """A unit may say that it takes less than the settings allow."""
        if memory is not None:
            number, unit = memory.rstrip("kMGB"), memory.lstrip("0123456789. ")
            soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (min(soft, int(float(number) * SIZES[unit])), hard))

    def update(self, head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """The rows that it gives for some rows, and to which of these each belongs."""
        rows = head["rows"]
        given = self.made.update(*child.columns_of(head["arguments"], rows, body))
        if given is None:
            given = {name: [] for name in self.columns} | {"row": np.zeros(0, dtype=np.int64)}
        strange = (given.keys() ^ self.columns.keys()) - {"row"}
        if strange:
            raise child.ContractError(
                f"it gave other columns than it has declared: {', '.join(sorted(strange))}"
            )
        first = next(iter(self.columns))
        count = len(given[first])
        places = np.asarray(given.get("row", np.arange(rows)), dtype=np.int64)
        if len(places) != count:
            raise child.ContractError(f"it gave {count} rows for {len(places)} places in 'row'")
        if count and (places.min() < 0 or places.max() >= rows or (np.diff(places) < 0).any()):
            raise child.ContractError("'row' must be the numbers of rows that it was given, in their order")
        columns, bodies = [], [places.astype("<i8").tobytes()]
        for name, text in self.columns.items():
            kind, _, size = text.partition("[")
            length = int(size.removesuffix("]")) if size else None
            column: dict[str, Any] = {"kind": kind, "size": length}
            empty = np.zeros(0 if length is None else (0, length), dtype=child.DTYPES.get(kind, object))
            values, nulls = child.taken(given[name] if count else empty, count, column)
            if kind == "STRING":
                column["values"] = list(values)
            else:
                bodies.append(np.ascontiguousarray(values, dtype=child.DTYPES[kind]).tobytes())
            bodies.append(np.asarray(nulls, dtype=bool).tobytes())
            columns.append(column)
        return {"rows": count, "columns": columns}, b"".join(bodies)


def main(requests: Any, replies: Any) -> None:
    """Answer requests until there are no more."""
    unit: Unit | None = None
    while (message := child.receive(requests)) is not None:
        head, body = message
        try:
            child.limit_time(head["seconds"])
            match head["do"], unit:
                case "open", _:
                    unit = Unit(head["unit"], head["numbers"])
                    reply = (
                        {
                            "columns": unit.columns,
                            "inputs": unit.inputs,
                            "each": unit.each,
                            "version": unit.version,
                        },
                        b"",
                    )
                case "update", Unit():
                    reply = unit.update(head, body)
                case "snapshot", Unit():
                    reply = {}, bytes(unit.made.snapshot())
                case "restore", Unit():
                    unit.made.restore(body)
                    reply = {}, b""
                case _:
                    raise child.ContractError("no unit is open")
        except MemoryError:
            reply = {"error": "memory", "limit": resource.getrlimit(resource.RLIMIT_DATA)[0]}, b""
        except child.ContractError as error:
            reply = {"error": "contract", "text": str(error)[: child.LONGEST]}, b""
        except BaseException as error:
            reply = {"error": "raised", "text": child.told(error)}, b""
        finally:
            child.limit_time(None)
        child.send(replies, *reply)


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the process that started this one, which ends it
    _incoming, _outgoing, _life, _memory = (int(text) for text in sys.argv[1:5])
    threading.Thread(target=child._end_with, args=(_life,), daemon=True).start()
    os.dup2(2, 1)
    sys.path[:0] = json.loads(sys.argv[5])
    resource.setrlimit(resource.RLIMIT_DATA, (_memory, _memory))
    with os.fdopen(_incoming, "rb") as _requests, os.fdopen(_outgoing, "wb") as _replies:
        main(_requests, _replies)
