"""An operator of a function that takes two: with the lower one, whose rows are all that it ever gets."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators.logic import Logic, Output, Progress, Spec


@dataclass(frozen=True)
class InTwoSteps:
    """A Spec whose first input comes through another operator."""

    spec: Spec
    first: Spec

    def build(self) -> InTwoStepsLogic:
        return InTwoStepsLogic(self.spec.build(), self.first.build())


class InTwoStepsLogic:
    """Both, one after the other."""

    def __init__(self, logic: Logic, first: Logic) -> None:
        self._logic = logic
        self._first = first

    def update(self, port: int, rows: pl.DataFrame) -> None:
        (self._logic if port else self._first).update(port, rows)

    def advance(self, progress: Progress) -> Output:
        output = self._first.advance(progress)
        if output.rows.height:
            self._logic.update(0, output.rows)
        return self._logic.advance(progress)

    def snapshot(self) -> dict[str, bytes]:
        panes = {f"first {name}": data for name, data in self._first.snapshot().items()}
        return panes | {f"then {name}": data for name, data in self._logic.snapshot().items()}

    def restore(self, panes: dict[str, bytes]) -> None:
        for prefix, logic in (("first ", self._first), ("then ", self._logic)):
            logic.restore({n.removeprefix(prefix): d for n, d in panes.items() if n.startswith(prefix)})
