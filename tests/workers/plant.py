"""Functions of a user, good and bad."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np


def twice(x: Any) -> Any:
    return x * 2


def picky(x: Any) -> Any:
    if (x < 0).any():
        raise ValueError(f"{x[x < 0][0]:g} is below zero")
    return np.sqrt(x)


def mean(v: Any) -> Any:
    return v.mean(axis=1)


def scaled(v: Any, x: Any) -> Any:
    return v * x[:, None]


def named(name: Any, n: Any) -> list[str | None]:
    return [None if one == "none" else f"{one}-{number}" for one, number in zip(name, n, strict=True)]


def later(t: Any) -> Any:
    return t + 1_000_000


def wet(x: Any) -> Any:
    return x > 1


def sleeps(x: Any) -> Any:
    time.sleep(3_600)
    return x


def works(x: Any) -> Any:
    while True:
        x = x + 0


def told(path: Any) -> Any:
    """Waits until somebody writes to the pipes of these paths."""
    found = []
    for each in path:
        with open(each) as pipe:
            found.append(pipe.read())
    return np.array(found, dtype=object)


def grows(x: Any) -> Any:
    return x + np.ones(2_000_000_000).sum()


def ends(x: Any) -> Any:
    os.kill(os.getpid(), 9)
    return x


def short(x: Any) -> Any:
    return x[:1]


def text(x: Any) -> Any:
    return np.array(["a"] * len(x))


def secret(x: Any) -> Any:
    print("a function may print")
    return np.full(len(x), float("PLANT_PASSWORD" in os.environ))


not_a_function = 5
