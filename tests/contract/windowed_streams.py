"""An operator over the windows of several streams that never makes them, with what stands below each of its inputs."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import Logic, Output, Progress, Spec
from nilometer.operators.window_scope import Scope
from nilometer.operators.window_ticks import WindowTicks, WindowTicksLogic
from nilometer.types import Schema


@dataclass(frozen=True)
class OverWindows:
    """A Spec whose inputs are streams with the evaluations of their windows."""

    spec: Spec
    windows: tuple[tuple[Schema, Scope], ...]

    def build(self) -> OverWindowsLogic:
        ticks = [
            WindowTicks(scope, tuple(frames.stream_dtypes(schema).items())).build()
            for schema, scope in self.windows
        ]
        return OverWindowsLogic(self.spec.build(), ticks)


class OverWindowsLogic:
    """Both, one after the other."""

    def __init__(self, logic: Logic, ticks: list[WindowTicksLogic]) -> None:
        self._logic = logic
        self._ticks = ticks

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._ticks[port].update(0, rows)

    def advance(self, progress: Progress) -> Output:
        given = [ticks.advance(progress) for ticks in self._ticks]
        for port, output in enumerate(given):
            if output.rows.height:
                self._logic.update(port, output.rows)
        evaluations = tuple(output.evaluations for output in given)
        return self._logic.advance(Progress(progress.watermark, progress.first_tick, evaluations))

    def snapshot(self) -> dict[str, bytes]:
        panes = {f"join {name}": data for name, data in self._logic.snapshot().items()}
        for port, ticks in enumerate(self._ticks):
            panes |= {f"{port} {name}": data for name, data in ticks.snapshot().items()}
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        def of(prefix: str) -> dict[str, bytes]:
            return {n.removeprefix(prefix): data for n, data in panes.items() if n.startswith(prefix)}

        self._logic.restore(of("join "))
        for port, ticks in enumerate(self._ticks):
            ticks.restore(of(f"{port} "))
