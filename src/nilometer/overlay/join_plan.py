"""An equijoin by WINDOW as peers run it: its inputs, its equality classes, its widths, and its stages.

A join of type 1 has one class over all streams, and one stage: each peer joins the keys of its arc. A join of type 2 has
several classes, and a stage for each (section 3.3): the rows of a stage go on to the owner of their key in the next.

    X.B = Y.B and Y.C = Z.C      stage 0: X, Y by B      stage 1: XY, Z by C

The widths say t_j - t_i <= widths[i][j] for every two inputs, so that `WINDOW = w`, `WINDOW(a) = w` and conditions on times
are one case.

>>> plan = JoinPlan.of(
...     [("X", ("B",)), ("Y", ("B", "C")), ("Z", ("C",))], [((0, "B"), (1, "B")), ((1, "C"), (2, "C"))], 5
... )
>>> plan.kind, [stage.ports for stage in plan.stages]
(2, [((0,), (1,)), ((0, 1), (2,))])
>>> JoinPlan.from_json(plan.as_json()) == plan
True
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.window_bounds import UNCONNECTED, implied_widths

Member = tuple[int, str]
"""An input's place, and one of its columns."""


@dataclass(frozen=True)
class Input:
    """A stream under a name. `columns` are those that the query reads; `condition` is the selection on it alone, in
    the language of filters, over its bare columns."""

    stream: str
    columns: tuple[str, ...]
    alias: str
    condition: str | None = None


@dataclass(frozen=True)
class Stage:
    """The joined inputs of each port, and the class whose value is the key."""

    ports: tuple[tuple[int, ...], ...]
    by: int

    @property
    def members(self) -> tuple[int, ...]:
        """All inputs that the rows of this stage have."""
        return tuple(sorted(one for port in self.ports for one in port))


@dataclass(frozen=True)
class JoinPlan:
    """A join. `classes` are sets of columns that must be equal, and `order` says which of them to join by first; without
    it, the one with the most inputs. Each peer keeps at most `memory` rows of each input (empty, or None: as many as
    fit), and sheds others by `policy`."""

    inputs: tuple[Input, ...]
    classes: tuple[tuple[Member, ...], ...]
    widths: tuple[tuple[int, ...], ...]
    order: tuple[int, ...] = ()
    memory: tuple[int | None, ...] = ()
    policy: str = ""

    @staticmethod
    def of(
        inputs: Sequence[tuple[str, tuple[str, ...]]],
        classes: Sequence[tuple[Member, ...]],
        window: int | Sequence[tuple[int, int, int]],
    ) -> JoinPlan:
        """A join whose streams have their own names. `window` holds between all of them, or between the given pairs."""
        count = len(inputs)
        pairs = (
            [(i, j, window) for i in range(count) for j in range(i)] if isinstance(window, int) else window
        )
        widths = implied_widths(count, pairs)
        return JoinPlan(
            tuple(Input(name, columns, f"{name}{at}") for at, (name, columns) in enumerate(inputs)),
            tuple(classes),
            tuple(tuple(map(int, row)) for row in widths),
        )

    def __post_init__(self) -> None:
        widths = np.array(self.widths)
        if bool((widths >= UNCONNECTED).any()):
            raise ConfigurationError("windows that do not connect all streams cannot be joined by peers")
        if self.order and sorted(self.order) != list(range(len(self.classes))):
            raise ConfigurationError(f"{self.order} is no order of {len(self.classes)} classes")
        if self.memory and len(self.memory) != len(self.inputs):
            raise ConfigurationError(f"{len(self.memory)} bounds of memory for {len(self.inputs)} streams")
        joined = [one for stage in self.stages for one in stage.members]
        if set(joined) != set(range(len(self.inputs))):
            raise ConfigurationError(
                "the streams are not all connected by equalities",
                hint="peers join by equal values: add a condition such as A.site = B.site",
            )

    @property
    def kind(self) -> int:
        """1: one class over all streams; 2: a pipeline."""
        return 1 if len(self.stages) == 1 else 2

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The pipeline, left-deep: the first class in the order, then the first that is connected to what is joined."""
        left = list(self.order) or sorted(
            range(len(self.classes)), key=lambda one: (-len(self._inputs_of(one)), one)
        )
        stages: list[Stage] = []
        joined: set[int] = set()
        while left:
            fits = [
                one
                for one in left
                if not joined or (joined & self._inputs_of(one) and self._inputs_of(one) - joined)
            ]
            if not fits:
                break
            by = fits[0]
            left.remove(by)
            new = sorted(self._inputs_of(by) - joined)
            ports: list[tuple[int, ...]] = [(one,) for one in new]
            if joined:
                ports = [tuple(sorted(joined)), *ports]
            stages.append(Stage(tuple(ports), by))
            joined |= set(new)
        return tuple(stages)

    @property
    def identity(self) -> str:
        """The same for equal joins, on every machine."""
        return hashlib.blake2b(self.as_json().encode(), digest_size=8).hexdigest()

    @cached_property
    def shared(self) -> str:
        """The same for joins that share a stage: those that differ in their windows alone. A join of type 2 shares none, since
        what its stages send on depends on the window; nor does one with a bound or a policy of memory."""
        if self.kind == 2 or self.policy or any(one is not None for one in self.memory):
            return self.identity
        count = len(self.inputs)
        return replace(self, widths=((0,) * count,) * count).identity

    def place_of(self, by: int) -> str:
        """Where the keys of a class are put: the first of its columns' names. So joins with other streams by the same column
        share its rows, which are put once, and values of other columns are elsewhere."""
        return "=" + min(column.lower() for _, column in self.classes[by])

    def key_column(self, by: int, at: int) -> str:
        """The column of an input in a class."""
        return next(column for place, column in self.classes[by] if place == at)

    def stage_of(self, at: int) -> tuple[int, int]:
        """The stage and port at which an input enters."""
        return next(
            (number, port)
            for number, stage in enumerate(self.stages)
            for port, members in enumerate(stage.ports)
            if members == (at,)
        )

    def most_rows(self, port: tuple[int, ...], otherwise: int) -> int:
        """The most rows of a port: those of its input, or, for results of stages before, of its largest input."""
        bounds = [self.memory[at] if self.memory else None for at in port]
        return max(otherwise if one is None else min(one, otherwise) for one in bounds)

    @property
    def reach(self) -> int:
        """The longest time between two members of a result."""
        return max(max(row) for row in self.widths)

    def as_json(self) -> str:
        """As text, for the wire."""
        inputs = [[one.stream, list(one.columns), one.alias, one.condition] for one in self.inputs]
        plan = [inputs, self.classes, self.widths, self.order, self.memory, self.policy]
        return json.dumps(plan, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> JoinPlan:
        """Read the output of `as_json`."""
        inputs, classes, widths, order, memory, policy = json.loads(text)
        return JoinPlan(
            tuple(Input(stream, tuple(columns), alias, said) for stream, columns, alias, said in inputs),
            tuple(tuple((int(at), str(column)) for at, column in one) for one in classes),
            tuple(tuple(map(int, row)) for row in widths),
            tuple(map(int, order)),
            tuple(None if rows is None else int(rows) for rows in memory),
            str(policy),
        )

    def _inputs_of(self, by: int) -> set[int]:
        return {at for at, _ in self.classes[by]}
