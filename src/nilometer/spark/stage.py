"""A stateful stage as Spark sees it: `transformWithState` around processor.py.

Nothing of weight is imported here: for every query Spark starts a process beside the driver that asks for the state variables
and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)


class Stage(StatefulProcessor):
    """The `number`-th stateful stage of a packed job."""

    def __init__(self, text: str, number: int) -> None:
        self._text = text
        self._number = number

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark asks for the state variables, on the driver and in every task."""
        value = handle.getValueState("state", "mark string, panes binary")
        self._states = SparkStates(value, handle.getMapState("large", "name string", "pane binary"))

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803, ARG002
    ) -> Iterator[Row]:
        """One bucket's part of a micro-batch."""
        from nilometer.spark.processor import process

        packed = [bytes(row.packet) for row in rows]
        for target, packet in process(self._text, self._number, key[0], packed, self._states):
            yield Row(key=target, packet=packet)

    def close(self) -> None:
        """Nothing is held but what lives on."""


class SparkStates:
    """The state of the bucket that Spark is at (processor.States)."""

    def __init__(self, value: ValueState, large: MapState) -> None:
        self._value = value
        self._large = large

    def get(self) -> tuple[str, bytes] | None:
        """The mark and the small panes."""
        found = self._value.get()
        return None if found is None else (found[0], bytes(found[1]))

    def update(self, mark: str, small: bytes) -> None:
        """Others."""
        self._value.update((mark, small))

    def large(self) -> dict[str, bytes]:
        """All large panes."""
        return {name[0]: bytes(pane[0]) for name, pane in self._large.iterator()}

    def put(self, name: str, pane: bytes) -> None:
        """Another large pane."""
        self._large.updateValue((name,), (pane,))

    def remove(self, name: str) -> None:
        """One less."""
        self._large.removeKey((name,))
