"""A stateful stage in Spark's terms: `transformWithState` around processor.py.

This module imports nothing heavy, because Spark starts a process beside the driver for every query that only
asks for the state variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

if TYPE_CHECKING:
    import pyarrow as pa

# One variable for everything, and its types not as text: each variable, and each text, costs a call to the
# JVM in every task, of tens of milliseconds.
VARIABLE = "panes"
NAME = StructType([StructField("name", StringType())])
PANE = StructType([StructField("pane", BinaryType())])
HEAD = ("",)
"""The name of the entry with the mark and the small panes."""


class Stage(StatefulProcessor):
    """The `number`-th stateful stage of a packed job."""

    def __init__(self, text: str, number: int) -> None:
        self._text = text
        self._number = number

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark asks for the state variables, on the driver and in every task."""
        self._states = SparkStates(handle.getMapState(VARIABLE, NAME, PANE))

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
        """Nothing to do: only the flows are held, which stay."""


def at_once(text: str, number: int) -> Callable[[pa.Table], pa.Table]:
    """The `number`-th stage of a packed job that is one batch: the packets of a bucket -> what it gives. It has no state
    before or after."""

    def run(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        from nilometer.spark.processor import process

        packed = [value.as_py() for value in table.column("packet")]
        found = list(process(text, number, table.column("key")[0].as_py(), packed, NoStates(), last=True))
        # In the types of the session: it may ask for large ones (spark.sql.execution.arrow.useLargeVarTypes).
        return pa.Table.from_pydict(
            {"key": [key for key, _ in found], "packet": [packet for _, packet in found]}, schema=table.schema
        )

    return run


class NoStates:
    """The state of a batch (processor.States)."""

    def get(self) -> None:
        """Nothing came before."""

    def update(self, mark: str, small: bytes) -> None:
        """Nothing comes after."""

    def large(self) -> dict[str, bytes]:
        """Nothing."""
        return {}

    def put(self, name: str, pane: bytes) -> None:
        """Nothing comes after."""

    def remove(self, name: str) -> None:
        """Nothing comes after."""


class SparkStates:
    """The state of Spark's current bucket (processor.States)."""

    def __init__(self, panes: MapState) -> None:
        self._panes = panes

    def get(self) -> tuple[str, bytes] | None:
        """The mark and the small panes."""
        found = self._panes.getValue(HEAD)
        if found is None:
            return None
        mark, _, small = bytes(found[0]).partition(b"\n")
        return mark.decode(), small

    def update(self, mark: str, small: bytes) -> None:
        """Replace the mark and the small panes."""
        self._panes.updateValue(HEAD, (mark.encode() + b"\n" + small,))

    def large(self) -> dict[str, bytes]:
        """All large panes."""
        return {name[0]: bytes(pane[0]) for name, pane in self._panes.iterator() if tuple(name) != HEAD}

    def put(self, name: str, pane: bytes) -> None:
        """Write a large pane."""
        self._panes.updateValue((name,), (pane,))

    def remove(self, name: str) -> None:
        """Delete a large pane."""
        self._panes.removeKey((name,))
