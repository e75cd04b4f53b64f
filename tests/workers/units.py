"""Units of a user, good and bad."""
# ruff: noqa: RUF012

from __future__ import annotations

import json
import os
import time as clock
from typing import Any

import numpy as np


class Named:
    """Labels of every type, some of them NULL, and two rows for a large value."""

    inputs = ("FLOAT", "STRING")
    columns = {"label": "STRING", "pair": "INT[2]", "wet": "BOOLEAN"}

    def update(self, time: Any, id: Any, x: Any, name: Any) -> dict[str, Any] | None:
        rows = np.repeat(np.arange(len(x)), np.where(x > 5, 2, 1))
        return {
            "row": rows,
            "label": [None if name[row] == "none" else f"{name[row]}{id[row]}" for row in rows],
            "pair": np.stack([rows * 0 + 1, x[rows].astype(np.int64)], axis=1),
            "wet": x[rows] > 1,
        }

    def snapshot(self) -> bytes:
        return b""

    def restore(self, state: bytes) -> None:
        pass


class Plain(Named):
    inputs = ("FLOAT",)
    columns = {"y": "FLOAT"}

    def update(self, time: Any, id: Any, x: Any) -> dict[str, Any] | None:  # type: ignore[override]
        return {"y": x}


class Silent(Plain):
    def update(self, time: Any, id: Any, x: Any) -> None:  # type: ignore[override]
        return None


class Raises(Plain):
    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        raise ValueError("no such spectrum")


class Hangs(Plain):
    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        clock.sleep(3_600)


class Grows(Plain):
    memory = "150MB"

    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        return {"y": x + np.ones(50_000_000)[: len(x)]}


class OtherColumns(Plain):
    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        return {"z": x}


class Backwards(Plain):
    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        return {"y": x, "row": np.arange(len(x))[::-1]}


class Counts(Plain):
    """It counts batches, which it must not."""

    def __init__(self) -> None:
        self.batches = 0

    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        self.batches += 1
        return {"y": x + self.batches}


class Forgets(Plain):
    """It does not save its sum."""

    def __init__(self) -> None:
        self.sum = 0.0

    def update(self, time: Any, id: Any, x: Any) -> Any:  # type: ignore[override]
        sums = np.cumsum(np.append(self.sum, x))[1:]
        self.sum = float(sums[-1])
        return {"y": sums}


class Mixes(Forgets):
    """It says that sensors do not matter to each other, and they do."""

    by_source = True

    def snapshot(self) -> bytes:
        return repr(self.sum).encode()

    def restore(self, state: bytes) -> None:
        self.sum = float(state)


class Reserved(Plain):
    columns = {"time": "TIME"}


class Sums:
    """The sum of every third reading of a source and the two before it; it knows what it has seen of each."""

    inputs = ("FLOAT",)
    columns = {"total": "FLOAT"}
    version = "3"

    def __init__(self, many: float = 3) -> None:
        self.many = many
        self.seen: dict[str, list[float]] = {}

    def update(self, time: Any, id: Any, x: Any) -> dict[str, Any] | None:
        if (x == 13).any():
            raise ValueError("thirteen")
        if (x == 666).any():
            os._exit(3)
        rows, totals = [], []
        for row, (source, value) in enumerate(zip(id.tolist(), x.tolist(), strict=True)):
            seen = self.seen.setdefault(str(source), [])
            seen.append(value)
            if len(seen) == self.many:
                rows.append(row)
                totals.append(sum(seen))
                seen.clear()
        return {"row": np.array(rows, dtype=np.int64), "total": np.array(totals, dtype=np.float64)}

    def snapshot(self) -> bytes:
        return json.dumps(self.seen).encode()

    def restore(self, state: bytes) -> None:
        self.seen = json.loads(state)


class Doubling(Sums):
    """Two rows for a reading."""

    def update(self, time: Any, id: Any, x: Any) -> dict[str, Any] | None:
        rows = np.repeat(np.arange(len(x)), 2)
        return {"row": rows, "total": x[rows]}


class Greedy(Sums):
    """A state that grows."""

    def snapshot(self) -> bytes:
        return b" " * 1_000_001
