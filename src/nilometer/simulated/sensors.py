"""The commands and the state of simulated sensors, as columns: one entry per sensor, and no loop over them.

Sampling, sending and idling draw from each battery by Table 1 of fjords.txt (power.py). Listening is not
counted, as in the paper. Before any command a sensor samples at its own rate and sends every reading.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.errors import NilometerError
from nilometer.expressions import Expression
from nilometer.ingest.adapters.adapter import Changes, Command
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.live.proxies.filters import read_filter
from nilometer.simulated.power import TABLE_1, Hardware
from nilometer.simulated.programs import HEADER_BITS, Program
from nilometer.simulated.summaries import Summaries
from nilometer.types import SECOND, Column

VALUE_BITS = 16
STATUS_BITS = HEADER_BITS + 4 * 8
CYCLES = 50
"""Cycles per sample of a sensor with only one program: as many as for sending raw samples."""


class Sensors:
    """The state of `count` sensors of one kind."""

    def __init__(
        self,
        count: int,
        columns: tuple[Column, ...],
        programs: tuple[Program, ...] = (),
        *,
        hardware: Hardware = TABLE_1,
        battery: float = 1.0,
        now: int = 0,
        listen: int = 0,
    ) -> None:
        self.columns = columns
        self.hardware = hardware
        self.programs = programs
        self._levels = {program.name: level for level, program in enumerate(programs)}
        self.interval: Integers = np.zeros(count, np.int64)
        self.rhythm: Integers = np.zeros(count, np.int64)
        """The place in `rhythms` of a sensor that was told several intervals; 0: it samples every `interval`."""
        self.rhythms: list[tuple[int, ...]] = [()]
        self.level: Integers = np.full(count, max(0, len(programs) - 1))
        self.filter: Integers = np.zeros(count, np.int64)
        self.filters: list[Expression | None] = [None]
        self._filter_numbers: dict[str, int] = {"TRUE": 0}
        self.asleep: Booleans = np.zeros(count, bool)
        self.alive: Booleans = np.ones(count, bool)
        self.first: Booleans = np.ones(count, bool)
        self.number: Integers = np.zeros(count, np.int64)
        self.heartbeat: Integers = np.zeros(count, np.int64)
        self.listen: Integers = np.full(count, listen)
        self.listened: Integers = np.full(count, now - listen)
        self.said: Integers = np.full(count, now)
        self.sent: Integers = np.zeros(count, np.int64)
        self.summaries = Summaries(count, columns)
        self.changes: Integers = np.zeros(count, np.int64)
        """The place in `change_kinds` of what a sensor that sends on change compares; 0: it sends all."""
        self.change_kinds: list[Changes | None] = [None]
        self._last = np.full((count, len(columns)), np.nan)
        self._last_pane: Integers = np.zeros(count, np.int64)
        self.summaries_sent: Integers = np.zeros(count, np.int64)
        self.spent: Floats = np.zeros(count)
        """Joules spent so far."""
        self.energy: Floats = np.full(count, hardware.battery_energy * battery)
        cycles = [program.cycles for program in programs] or [CYCLES]
        busy = np.array(cycles) / hardware.processor_speed + hardware.latch_time
        self._sample_energy = busy * (hardware.processor_active - hardware.processor_idle)
        self._sample_energy += hardware.latch_time * hardware.converter
        payload = [program.payload_bits for program in programs] or [VALUE_BITS * len(columns)]
        self._message_energy = (HEADER_BITS + np.array(payload)) * hardware.transmit_bit

    def obey(self, place: int, command: Command, now: int = 0) -> bool:
        """Apply a command that has reached its sensor. A command that it cannot understand, or has already
        obeyed, changes nothing."""
        if command.number is not None and command.number == self.number[place]:
            return False
        number = self.filter[place]
        if command.filter is not None:
            try:
                number = self._filter_number(command.filter)
            except NilometerError:
                return False
        self.filter[place] = number
        if command.interval is not None:
            self.interval[place] = command.interval
            self.rhythm[place] = self._rhythm(command.intervals)
        if command.program is not None and command.program in self._levels:
            self.level[place] = self._levels[command.program]
        if command.sleep is not None:
            self.asleep[place] = command.sleep
        if command.heartbeat is not None:
            self.heartbeat[place] = command.heartbeat
        if command.listen is not None:
            self.listen[place] = command.listen
        if command.interval is not None or command.sleep:
            # Sensors with programs of their own know no summaries: they send what the program gives.
            kind = None if self.programs else command.changes
            if kind not in self.change_kinds:
                self.change_kinds.append(kind)
            self.changes[place] = self.change_kinds.index(kind)
            self.summaries.tell(place, None if self.programs else command.aggregate, now)
        self.number[place] = command.number or 0
        self.first[place] = not self.asleep[place]
        return True

    def forget(self, place: int) -> None:
        """Put in a new battery: the sensor forgets all commands."""
        self.interval[place] = self.number[place] = self.heartbeat[place] = self.filter[place] = 0
        self.rhythm[place] = 0
        self.level[place] = max(0, len(self.programs) - 1)
        self.asleep[place], self.alive[place], self.first[place] = False, True, True
        self.spent[place] = 0.0
        self.changes[place] = 0
        self.summaries.tell(place, None, 0)
        self.summaries.forget(np.array([place]))

    def listening(self, now: int) -> Booleans:
        """Which sensors have the receiver on at this moment: those awake at each step, those asleep now and
        then."""
        turn = self.alive & (~self.asleep | (now - self.listened >= self.listen))
        self.listened[turn] = now
        return turn

    def draw(self, duration: int, samples: Integers, messages: Integers, statuses: Integers) -> Booleans:
        """Take the cost of a step from the batteries, and return which sensors died of it."""
        joules = np.full(len(self.spent), duration / SECOND * self.hardware.processor_idle)
        joules += samples * self._sample_energy[self.level]
        joules += messages * self._message_energy[self.level]
        joules += statuses * (STATUS_BITS * self.hardware.transmit_bit)
        self.spent += np.where(self.alive, joules, 0.0)
        died = self.alive & (self.spent >= self.energy)
        self.alive &= ~died
        return died

    def due(self, place: Integers, time: Integers) -> Booleans:
        """Whether a reading at each of these times is one that its sensor, at that place, was told to take."""
        due: Booleans = time % np.maximum(self.interval[place], 1) == 0
        several = self.rhythm[place]
        for number in np.unique(several[several > 0]).tolist():
            rows = several == number
            due[rows] = np.any([time[rows] % interval == 0 for interval in self.rhythms[number]], axis=0)
        return due

    def repeats(self, place: Integers, time: Integers, frame: pl.DataFrame, forced: Booleans) -> Booleans:
        """Which readings, at most one of each sensor, repeat the values sent before in their pane. The others are now
        the last ones sent. `forced` ones are sent in any case."""
        held = np.zeros(len(place), bool)
        for number in np.unique(self.changes[place][self.changes[place] > 0]).tolist():
            kind = self.change_kinds[number]
            assert kind is not None
            rows = np.flatnonzero(self.changes[place] == number)
            ticks = time[rows] if kind.grid is None else time[rows] // kind.grid * kind.grid
            at, panes = place[rows], -(-ticks // kind.every)
            same: Booleans = (self._last_pane[at] == panes) & ~forced[rows]
            for number_of, column in enumerate(self.columns):
                if column.name not in kind.columns:
                    continue
                values = frame.get_column(column.name)[rows]
                if not values.dtype.is_numeric():
                    same[:] = False  # simulated sensors measure numbers; anything else counts as changed
                    continue
                found = values.cast(pl.Float64).fill_null(np.inf).to_numpy()
                same &= self._last[at, number_of] == found
                self._last[at, number_of] = found
            self._last_pane[at] = panes
            held[rows] = same
        return held

    def _rhythm(self, intervals: tuple[int, ...] | None) -> int:
        if not intervals:
            return 0
        if intervals not in self.rhythms:
            self.rhythms.append(intervals)
        return self.rhythms.index(intervals)

    def _filter_number(self, text: str) -> int:
        found = self._filter_numbers.get(text)
        if found is None:
            self.filters.append(read_filter(text, self.columns))
            found = self._filter_numbers[text] = len(self.filters) - 1
        return found
