"""Simulated sensors that obey: a world (physics.py) and the commands to each sensor (sensors.py) -> readings
and presences.

The caller of `advance` sets the time: there is no clock here, and the same calls give the same readings. At
each step the sensors first listen, then sample, then report that they are alive:

    a sensor that reads a command acknowledges it, and sends its next reading whatever the filter and the rate
    a sensor that has sent nothing for its heartbeat interval says that nothing earlier will come
    a sensor whose battery is empty leaves a last will

The law: the readings sent are a subset of those that sensors without any command would send, and include all
that the commands ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.catalog.extents import Sensor, Stream, stream_columns
from nilometer.ingest.adapters.adapter import Command, Presence
from nilometer.kernels.arrays import Booleans, Integers
from nilometer.live.proxies.demand import Demand
from nilometer.live.proxies.filters import passing
from nilometer.simulated.physics import Physics, Readings
from nilometer.simulated.power import TABLE_1, Hardware
from nilometer.simulated.sensors import Sensors
from nilometer.simulated.traffic import Road, program_for
from nilometer.types import MILLISECOND, Column

WINDOW = 50 * MILLISECOND
"""How long a radio listens: "a few tens of milliseconds" (fjords.txt section 3.2)."""

STEPS = 1_000
"""The most steps of one call. A caller that asks after a long pause gets the rest in its next calls."""


@dataclass(frozen=True)
class Energy:
    """The energy that a field has used so far: joules in all, and the seconds that a battery lasts at the
    mean power since the start."""

    joules: float
    watts: float
    lifetime: float
    dead: int


class SimulatedField:
    """Sensors 1, 2, 3 ... in a world. `mailbox`: a command waits until its sensor listens; otherwise a sensor
    that does not listen misses it."""

    def __init__(
        self,
        physics: Physics,
        *,
        start: int = 0,
        mailbox: bool = True,
        hardware: Hardware = TABLE_1,
        battery: float = 1.0,
        listen: int = 0,
    ) -> None:
        self.physics = physics
        self.mailbox = mailbox
        self.start: int = -(-start // physics.step) * physics.step
        """The first step's tick."""
        self.now = self.start - physics.step
        count = physics.sensor_count
        self.sensors = Sensors(
            count,
            stream_columns(physics.columns()),
            physics.programs,
            hardware=hardware,
            battery=battery,
            now=self.now,
            listen=listen,
        )
        self._waiting: dict[int, Command] = {}
        self._listening = np.zeros(count, bool)
        self._born = False
        self._summaries: list[pl.DataFrame] = []
        self.statuses = 0
        """How many statuses the sensors have sent."""
        self.fixed = False
        """Whether the field has its own start time, whatever the clock says."""
        self.follows = False
        """Whether the field's time is the clock's each time it begins, as that of real sensors, and never stands still."""

    # ---- what it is --------------------------------------------------------------------------------------------------

    def begin(self, start: int, after: int | None = None) -> int:
        """Start at this time, unless the field has started or has a start time of its own, and in any case
        with readings later than `after`. A field that follows the clock starts at this time each time. Returns the field's
        present time."""
        step = self.physics.step
        present = self.now if self._born else self.start if self.fixed else start
        # The step at T brings readings later than T - step; if sensors are off the grid, some up to T + step.
        first = self.next_tick if self._born else -(-present // step) * step
        if after is not None and (after >= first if self._born else after > first - step):
            present = max(after + step, start) if self.follows else after + step
        elif self.follows and start > self.next_tick:
            present = start
        elif self._born:
            return present
        first = -(-present // step) * step
        shift = first - step - self.now
        self.start += shift
        self.now += shift
        self.sensors.listened += shift
        self.sensors.said += shift
        return present

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, `time` and `id` first."""
        return self.sensors.columns

    def stream(self, name: str, url: str | None = None, *, sensed: bool = False) -> Stream:
        """The stream that a user would declare for this field."""
        every = self.physics.step
        expect = None if sensed or self.physics.programs else every
        return Stream(
            name,
            self.columns,
            every=every if sensed else None,
            url=url,
            key=("id", "time"),
            expect=expect,
        )

    def sensors_of(self, stream: str) -> list[Sensor]:
        """The sensors, for the catalog."""
        return self.physics.sensors(stream)

    def program_for(self, demands: tuple[Demand, ...]) -> str | None:
        """The program that answers all these demands with the least energy; None if the sensors have only
        one."""
        return program_for(demands) if isinstance(self.physics, Road) else None

    # ---- what it does ------------------------------------------------------------------------------------------------

    @property
    def next_tick(self) -> int:
        """The time of the next step."""
        return self.now + self.physics.step

    def command(self, sensor: int | str, command: Command) -> bool:
        """Give a sensor a command. It obeys from the next step on, or when it listens."""
        try:
            place = int(sensor) - 1
        except ValueError:
            return False
        if not 0 <= place < self.physics.sensor_count:
            return False
        if self.mailbox or self._listening[place]:
            self._waiting[place] = command
        return True

    def restart(self, sensor: int) -> None:
        """Put in a new battery: the sensor forgets all commands."""
        self.sensors.forget(sensor - 1)

    def advance(self, until: int, steps: int = STEPS) -> tuple[pl.DataFrame, tuple[Presence, ...]]:
        """The readings and presences of the steps up to this time, in the order of sending. It stops at a step that
        brings summaries, which the caller then takes."""
        frames: list[pl.DataFrame] = []
        presences: list[Presence] = []
        while self.next_tick <= until and steps and not self._summaries:
            rows, said = self._step(self.next_tick)
            if rows.height:
                frames.append(rows)
            presences += said
            steps -= 1
        if not frames:
            return self._frame(np.empty(0, np.int64), np.empty(0, np.int64), None), tuple(presences)
        return pl.concat(frames) if len(frames) > 1 else frames[0], tuple(presences)

    def take_summaries(self) -> pl.DataFrame | None:
        """The summaries of the last step; None if there are none."""
        found, self._summaries = self._summaries, []
        return pl.concat(found) if found else None

    def energy(self) -> Energy:
        """The energy used so far."""
        joules = float(self.sensors.spent.sum())
        seconds = max(1e-9, (self.now - self.start + self.physics.step) / 1e6)
        watts = joules / seconds / len(self.sensors.spent)
        lifetime = self.sensors.hardware.lifetime(watts) if watts else float("inf")
        return Energy(joules, watts, lifetime, int((~self.sensors.alive).sum()))

    def _step(self, tick: int) -> tuple[pl.DataFrame, list[Presence]]:
        self.now = tick
        sensors = self.sensors
        statuses = np.zeros(len(sensors.spent), np.int64)
        presences: list[Presence] = []
        self._listen(tick, statuses, presences)
        readings = self.physics.readings(tick, sensors.level)
        samples, frame, messages = self._sample(tick, readings)
        summaries = sensors.summaries
        self._send(sensors.alive & (summaries.ends <= tick), summaries.ends, messages)
        self._beat(tick, messages, statuses, presences)
        for place in np.flatnonzero(sensors.draw(self.physics.step, samples, messages, statuses)).tolist():
            presences.append(Presence(place + 1, False, tick))
            summaries.forget(np.array([place]))
        self.statuses += int(statuses.sum())
        return frame, presences

    def _send(self, which: Booleans, time: Integers | int, messages: Integers) -> None:
        """Send the summaries that these sensors have begun."""
        found = self.sensors.summaries.close(which, time)
        if found is not None:
            self._summaries.append(found)
            messages[found.get_column("id").to_numpy() - 1] += 1
            self.sensors.summaries_sent[found.get_column("id").to_numpy() - 1] += 1

    def _listen(self, tick: int, statuses: Integers, presences: list[Presence]) -> None:
        """Births, commands and their acknowledgements; on the radio, also the news that a sensor listens."""
        sensors = self.sensors
        begins = tick - self.physics.step + self.physics.every  # the earliest time of this step's readings
        self._listening = sensors.listening(tick)
        waiting, self._waiting = self._waiting, {}
        for place, command in waiting.items():
            if not self.mailbox or self._listening[place]:
                if command.number != sensors.number[place]:
                    # Each reading is in one message: what was begun is sent before the new command counts.
                    one = np.zeros(len(sensors.spent), bool)
                    one[place] = sensors.alive[place]
                    self._send(one, tick, np.zeros(len(one), np.int64))
                if sensors.obey(place, command, tick):
                    statuses[place] += 1
                    presences.append(
                        Presence(place + 1, True, tick, begins, command=int(sensors.number[place]))
                    )
            else:
                self._waiting[place] = command
        if not self._born:
            self._born = True
            for place in np.flatnonzero(sensors.number == 0).tolist():
                presences.append(Presence(place + 1, True, tick, begins, command=0))
        if not self.mailbox:
            until = tick + WINDOW
            for place in np.flatnonzero(self._listening).tolist():
                number = int(sensors.number[place])
                presences.append(Presence(place + 1, True, tick, listening=until, command=number))

    def _sample(self, tick: int, readings: Readings) -> tuple[Integers, pl.DataFrame, Integers]:
        """How often each sensor sampled, the rows that are sent, and the number of rows by each sensor."""
        sensors, place = self.sensors, readings.place
        step, every = self.physics.step, self.physics.every
        running = sensors.alive & ~sensors.asleep
        if step == every:
            everyone = np.arange(len(sensors.spent))
            due = running & (sensors.first | sensors.due(everyone, np.full(len(everyone), tick)))
            samples = due.astype(np.int64)
            wanted = due[place]
        else:
            # Programs above raw samples need every sample; raw samples are taken as often as they are sent.
            raw = sensors.level == len(sensors.programs) - 1
            pace = np.where(raw & (sensors.interval > every), sensors.interval, every)
            samples = np.where(running, step // np.maximum(pace, every), 0)
            wanted = running[place] & (readings.level <= sensors.level[place])
            thinned = (readings.level == len(sensors.programs) - 1) & ~sensors.due(place, readings.time)
            wanted &= ~thinned | sensors.first[place]
        rows = np.flatnonzero(wanted)
        place, time = place[rows], readings.time[rows]
        level = sensors.level[place]
        values = self.physics.masked(readings.values[rows], level) if len(rows) else None
        frame = self._frame(place, time, values)
        passes = self._passes(frame, place)
        first = sensors.first[place] & _first_of_each(place)
        sent = passes | first
        if step != every:
            thin = ~first & (readings.level[rows] == len(sensors.programs) - 1)
            sent &= ~(thin & ~sensors.due(place, time))
        sensors.first[place] = False
        changing = sent & (sensors.changes[place] > 0)
        if changing.any():
            rows_sent = np.flatnonzero(changing)
            sent[rows_sent] = ~sensors.repeats(
                place[rows_sent], time[rows_sent], frame[rows_sent], first[rows_sent]
            )
        kept = sent & ~first & (sensors.summaries.told[place] >= 0)
        if kept.any():
            rows_kept = np.flatnonzero(kept)
            self._summarise(place[rows_kept], time[rows_kept], frame[rows_kept])
            sent &= ~kept
        opened = first & (sensors.summaries.told[place] >= 0)
        sensors.summaries.begun[place[opened]] = time[opened]
        messages = np.bincount(place[sent], minlength=len(sensors.spent)).astype(np.int64)
        sensors.sent += messages
        return samples, frame.filter(pl.Series(sent)) if not sent.all() else frame, messages

    def _summarise(self, place: Integers, time: Integers, frame: pl.DataFrame) -> None:
        """Add readings to the summaries of their sensors. One that a reading no longer belongs to is sent first."""
        summaries = self.sensors.summaries
        ends = summaries.pane_ends(place, time)
        over = np.zeros(len(summaries.told), bool)
        over[place] = (summaries.readings[place] > 0) & (summaries.ends[place] < ends)
        self._send(over, summaries.ends, np.zeros(len(summaries.told), np.int64))
        summaries.add(place, ends, frame)

    def _passes(self, frame: pl.DataFrame, place: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Tests each row against its own sensor's filter: one evaluation per distinct filter."""
        numbers = self.sensors.filter[place]
        passes = np.ones(len(place), bool)
        for number in np.unique(numbers):
            predicate = self.sensors.filters[number]
            if predicate is not None:
                rows = np.flatnonzero(numbers == number)
                passes[rows] = passing(predicate, frame[rows])
        return passes

    def _beat(self, tick: int, messages: Integers, statuses: Integers, presences: list[Presence]) -> None:
        """Heartbeats of the sensors that have sent nothing for long: nothing before the next step will come
        from them."""
        sensors = self.sensors
        sensors.said[(messages > 0)] = tick
        silent = sensors.alive & ~sensors.asleep & (sensors.heartbeat > 0)
        silent &= tick + self.physics.step - sensors.said > sensors.heartbeat
        for place in np.flatnonzero(silent).tolist():
            number = int(sensors.number[place])
            presences.append(Presence(place + 1, True, tick, tick + self.physics.every, command=number))
        sensors.said[silent] = tick
        statuses[silent] += 1

    def _frame(self, place: Integers, time: Integers, values: pl.DataFrame | None) -> pl.DataFrame:
        stamps = pl.DataFrame({"time": time, "id": place + 1})
        if values is None:
            values = self.physics.masked(
                self.physics.readings(self.start, self.sensors.level).values.clear(), np.empty(0, np.int64)
            )
        return stamps.hstack(values)


def _first_of_each(place: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows are the first of their sensor."""
    first = np.zeros(len(place), bool)
    first[np.unique(place, return_index=True)[1]] = True
    return first
