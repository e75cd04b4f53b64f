"""CLASSIFY, vector by vector: what it means. `kernels/classification.py` computes the same."""

from __future__ import annotations

import math
import struct
from typing import Any

from nilometer.algebra.models import NONE, Model, read_model, wrong_length


def classify(text: str, vector: tuple[Any, ...]) -> dict[str, Any]:
    """The label (None: none), the confidence, the second label, and the margin between both."""
    model = read_model(text)
    if len(vector) != model.size:
        raise wrong_length(model, len(vector))
    best, confidence, second, margin = (_tree if model.kind == "tree" else _near)(model, vector)
    return {
        "label": None if best is None or model.labels[best] == NONE else model.labels[best],
        "confidence": confidence,
        "second": None if second is None else model.labels[second],
        "margin": margin,
    }


def _tree(model: Model, vector: tuple[Any, ...]) -> tuple[int | None, float, int | None, float]:
    """The leaf's most frequent class; none if its share is below a half."""
    node = 0
    while model.arrays["left"][node] >= 0:
        element = struct.unpack("f", struct.pack("f", vector[model.arrays["feature"][node]]))[0]
        inside = element <= model.arrays["threshold"][node]
        node = model.arrays["left" if inside else "right"][node]
    shares = model.arrays["shares"][node]
    ranked = sorted(range(len(shares)), key=lambda label: (-shares[label], label))
    best, second = ranked[0], ranked[1] if len(ranked) > 1 and shares[ranked[1]] > 0 else None
    return (
        None if shares[best] < 0.5 else best,
        shares[best],
        second,
        shares[best] - (shares[second] if second is not None else 0.0),
    )


def _near(model: Model, vector: tuple[Any, ...]) -> tuple[int | None, float, int | None, float]:
    """Votes of the nearest vectors, or the nearest centre; none if the nearest one is too far away."""
    classes = model.arrays["classes"]
    distances = [
        math.sqrt(sum((a - b) ** 2 for a, b in zip(vector, other, strict=True)))
        for other in model.arrays["vectors"]
    ]
    order = sorted(range(len(distances)), key=lambda place: (distances[place], place))
    count = min(model.count, len(order))
    votes = [sum(classes[place] == label for place in order[:count]) for label in range(len(model.labels))]
    closest = [
        min((distances[place] for place in order if classes[place] == label), default=math.inf)
        for label in range(len(model.labels))
    ]
    ranked = sorted(range(len(votes)), key=lambda label: (-votes[label], closest[label], label))
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    both = closest[best] + (closest[second] if second is not None else 0.0)
    margin = 1.0 if second is None else (closest[second] - closest[best]) / both if both > 0 else 0.0
    confidence = model.arrays["purity"][order[0]] if model.kind == "clusters" else votes[best] / count
    far = model.above is not None and distances[order[0]] > model.above
    return None if far else best, confidence, second, margin
