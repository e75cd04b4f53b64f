"""The modules of a Fjord: state machines with one method, `transition` (fjords.txt section 3.1.3).

    status = module.transition()

looks at the inputs once, never waits, puts what there is to give into the output queues and returns control. A module is
neither pushed nor pulled: that is up to its queues.
"""

from __future__ import annotations

from typing import Any

from nilometer.dataflow.fjord.messages import Status
from nilometer.dataflow.fjord.queues import Queue
from nilometer.errors import InternalError, NilometerError


class ModuleError(Exception):
    """A module met an error, of the data or of ours; the queries above it cannot go on."""

    def __init__(self, module: Module, error: NilometerError) -> None:
        super().__init__(str(error))
        self.module = module
        self.error = error


def failure_of(error: Exception, where: str) -> NilometerError:
    """What a query that met this error says: whatever it is, it is the trouble of the queries above, and of nobody else."""
    if isinstance(error, NilometerError):
        return error
    return InternalError(f"a bug of ours: {type(error).__name__}: {error}", detail=f"in {where}")


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
        except ModuleError:  # of a module below, which was pulled
            raise
        except Exception as error:
            raise ModuleError(self, failure_of(error, self.name)) from error

    def _step(self) -> Status:
        """What a transition does once all outputs have room."""
        raise NotImplementedError

    def give(self, message: object) -> None:
        """The same message to every module above: one copy, however many read it."""
        for queue in self.outputs:
            queue.put(message)

    def __repr__(self) -> str:
        return f"<{self.name}>"
