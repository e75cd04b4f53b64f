"""The unit before a stream's log: readings as they arrive -> the rows that the log gets (THROUGH, STEAM section 3.2).

The unit is given the readings of a result in the order in which they arrived. Its state is in the note of the record that
holds its rows, so after a crash it knows exactly the readings that the books say were taken. A reading for which the unit
raises becomes a dead letter by itself; if its process ends, takes too long or grows, all readings of the result do, and the
unit goes on from the state before them. The law: absorbed = readings taken - rows given, and it is never negative.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError, NilometerError, ResourceError
from nilometer.operators import frames
from nilometer.operators.unit_rows import arguments_of, columns_of
from nilometer.workers.meanwhile import alone
from nilometer.workers.units import UnitProcess

MOST_STATE = 1_000_000
"""The bytes of a unit's state: it is written with every record."""
MOST_FAILURES = 1_000
"""So often a unit may raise for the readings of one result; then the rest is not tried one by one."""


@dataclass(frozen=True)
class Taken:
    """The rows for the log, how many readings are absorbed in them or in the unit's state, and the readings that the unit
    refused, by reason."""

    rows: pl.DataFrame
    absorbed: int = 0
    refused: list[tuple[str, pl.DataFrame]] = field(default_factory=list)


class UnitBefore:
    """A unit at work for one stream. `note` is what the log's last note says of it."""

    def __init__(self, stream: Stream, note: Mapping[str, Any] | None) -> None:
        through = stream.form.through
        assert through is not None, "a stream without a unit"
        self._arriving, self._unit = stream.arriving, through.unit
        self._name = through.name
        self._numbers = through.numbers
        time, identity = stream.column("time"), stream.column("id")
        assert time is not None
        assert identity is not None
        self._time, self._id, self._id_type = time.name, identity.name, identity.type.plain
        self._taken = [(column.name, column.type.plain) for column in through.columns]
        self._dtypes = {column.name: frames.dtype(column.type) for column in stream.columns}
        self._process = UnitProcess(self._unit, self._numbers)
        self._given = self._process.description.columns
        same = note is not None and {**note, "state": None} == {**self._note(None), "state": None}
        self._state: bytes | None = None
        if same and note is not None and note["state"] is not None:
            self._state = base64.b64decode(note["state"])
            self._process.restore(self._state)
        self._before = self._state

    def note(self) -> dict[str, Any]:
        """The unit's name, version and state, for the note of a record."""
        return self._note(self._state)

    def _note(self, state: bytes | None) -> dict[str, Any]:
        return {
            "name": self._name,
            "unit": self._unit,
            "version": self._process.description.version,
            "numbers": list(self._numbers),
            "state": None if state is None else base64.b64encode(state).decode(),
        }

    def undo(self) -> None:
        """The rows could not be written, and the readings come again: the unit forgets them."""
        self._state = self._before
        with alone():
            self._again()

    def take(self, rows: pl.DataFrame) -> Taken:
        """Give readings to the unit."""
        self._before = self._state
        named = [self._id, *(name for name, _ in self._taken)]
        whole = pl.all_horizontal(pl.col(name).is_not_null() for name in named)
        lacking = rows.filter(~whole)
        refused = [] if not lacking.height else [(f"no value of {' or '.join(named)}", lacking)]
        rows = rows.filter(whole)
        with alone():  # reading on would give this unit the next readings before it has these
            found = self._tried(rows) if rows.height else Taken(self._nothing())
        return Taken(found.rows, found.absorbed, refused + found.refused)

    def _tried(self, rows: pl.DataFrame) -> Taken:
        """The rows of all readings for which the unit does not raise."""
        given: list[pl.DataFrame] = []
        refused: list[tuple[str, pl.DataFrame]] = []
        waiting, failures, absorbed = [rows], 0, 0
        while waiting:
            part = waiting.pop()
            try:
                made = self._updated(part)
            except ResourceError as error:
                # Its process has ended, and nobody knows which reading did it.
                self._state = self._before
                self._again()
                return Taken(self._nothing(), 0, [(error.message, rows)])
            except NilometerError as error:
                failures += 1
                self._again()
                if part.height == 1 or failures >= MOST_FAILURES:
                    refused.append((error.message, part))
                else:
                    half = part.height // 2
                    waiting += [part[half:], part[:half]]
                continue
            given.append(made)
            absorbed += part.height - made.height
        return Taken(pl.concat(given) if given else self._nothing(), absorbed, refused)

    def _updated(self, rows: pl.DataFrame) -> pl.DataFrame:
        arguments = arguments_of(rows, self._time, self._id, self._id_type, self._taken)
        found = self._process.update(arguments, rows.height)
        if len(np.unique(found.places)) < len(found.places):
            raise DataError(
                f"the unit {self._name} gave several rows for one reading, which a unit before a log must not"
            )
        state = self._process.snapshot()
        if len(state) > MOST_STATE:
            raise ResourceError(
                f"the unit {self._name} keeps {len(state):,} bytes, and may keep {MOST_STATE:,} before a log",
                hint="FROM UNIT, behind the log, has no such limit",
            )
        self._state = state
        own = rows.select(self._time, self._id)[found.places]
        return frames.conform(own.hstack(columns_of(self._given, found)), self._dtypes)

    def _again(self) -> None:
        """The unit as it was when `_state` was saved."""
        try:
            if not self._process.alive:
                self._process = UnitProcess(self._unit, self._numbers)
            self._process.begin_again(self._state)
        except NilometerError as error:
            # The readings wait and are tried again, as if the disk had no room.
            raise ResourceError(f"the unit {self._name} cannot go on: {error.message}") from None

    def _nothing(self) -> pl.DataFrame:
        return frames.empty(self._dtypes)
