"""Models that classify vectors, as JSON of plain arrays: no pickle, and no version of any library in it.

A model is the one row of a stored table, so it has versions as every table has. Hosts read the JSON and evaluate it
with kernels of their own; only fitting needs scikit-learn.

>>> read_model(
...     '{"kind": "nearest", "size": 1, "labels": ["a"], "vectors": [[0.5]], "classes": [0], "count": 1, "above": null}'
... ).labels
('a',)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nilometer.errors import DataError

KINDS = ("tree", "nearest", "clusters")
NONE = "none"
"""The label that means that a vector is of no class."""


@dataclass(frozen=True)
class Model:
    """A fitted model. `arrays` are those of its kind: `kernels/classification.py` names them."""

    kind: str
    size: int
    labels: tuple[str, ...]
    arrays: dict[str, Any]
    count: int = 1
    above: float | None = None

    def text(self) -> str:
        """The model as JSON."""
        told = {"kind": self.kind, "size": self.size, "labels": self.labels}
        return json.dumps(told | self.arrays | {"count": self.count, "above": self.above})


@lru_cache(maxsize=32)
def read_model(text: str) -> Model:
    """The model of a JSON text; a DataError if it is none."""
    try:
        found = json.loads(text)
        kind, size, labels = found.pop("kind"), found.pop("size"), tuple(found.pop("labels"))
        count, above = found.pop("count", 1), found.pop("above", None)
    except (ValueError, KeyError, TypeError, AttributeError):
        kind = None
    if kind not in KINDS:
        raise DataError(
            "this is no model", hint="CREATE MODEL m FROM (SELECT label, features FROM t) USING TREE"
        )
    return Model(kind, size, labels, found, count, above)


def wrong_length(model: Model, found: int) -> DataError:
    """The error of a vector that the model was not fitted for."""
    return DataError(f"the model takes vectors of {model.size} elements, not of {found}")
