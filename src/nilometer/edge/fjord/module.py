"""The modules of a Fjord: state machines with one method, `transition` (fjords.txt section 3.1.3).

    status = module.transition()

looks at the inputs once, never waits, puts what there is to give into the output queues and returns control. A module is
neither pushed nor pulled: that is up to its queues.
"""

from __future__ import annotations

from typing import Any

from nilometer.edge.fjord.messages import Status
from nilometer.edge.fjord.queues import Queue
from nilometer.errors import NilometerError


class ModuleError(Exception):
    """A module met an error of the data; the queries above it cannot go on."""

    def __init__(self, module: Module, error: NilometerError) -> None:
        super().__init__(str(error))
        self.module = module
        self.error = error


class Module:
    """The base: `outputs` are the queues it puts into. With one of them full it does nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.outputs: list[Queue[Any]] = []

    def transition(self) -> Status:
        """One step."""
        for queue in self.outputs:
            if not queue.room:
                return Status.BLOCKED
        try:
            return self._step()
        except NilometerError as error:
            raise ModuleError(self, error) from error

    def _step(self) -> Status:
        raise NotImplementedError

    def give(self, message: object) -> None:
        """The same message to every module above: one copy, however many read it."""
        for queue in self.outputs:
            queue.put(message)

    def __repr__(self) -> str:
        return f"<{self.name}>"
