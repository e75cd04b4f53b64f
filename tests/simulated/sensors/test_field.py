"""Simulated sensors: they do what they are told and no more, the same each time, and it costs them what the paper says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Command, Presence, Status, adapter_for
from nilometer.ingest.adapters.generate import FieldAdapter
from nilometer.live.proxies import Demand, asks_for
from nilometer.live.proxies.filters import read_filter
from nilometer.simulated import Generators, SimulatedField, simulated_field
from nilometer.simulated.fields.diurnal import Diurnal
from nilometer.simulated.grid import DiurnalGrid
from nilometer.simulated.programs import COUNTS, RAW_SAMPLES, VEHICLE_TIMES
from nilometer.types import HOUR, SECOND

START = 1_767_225_600_000_000
FILTERS = ["TRUE", "temperature > 8.0", "humidity < 80.0 OR temperature > 9.0", "id = 2"]


def weather(sensors: int = 3, seed: int = 1, **options: object) -> SimulatedField:
    world = DiurnalGrid(Diurnal(sensor_count=sensors, start=START, interval=SECOND, seed=seed, noise=3.0))
    return SimulatedField(world, start=START, **options)  # type: ignore[arg-type]


# ---- the twin: one sensor in plain Python ----------------------------------------------------------------------------


class Mote:
    """What one sensor does with its own readings, said plainly."""

    def __init__(self) -> None:
        self.told = Command(interval=0, filter="TRUE", sleep=False, number=0)
        self.first = True
        self.mail: Command | None = None
        self.listened = START - SECOND

    def step(
        self, tick: int, reading: dict[str, object], columns: tuple[object, ...]
    ) -> tuple[bool, int | None]:
        """Whether it sends this reading, and the number of a command that it has just read."""
        obeyed = None
        if not self.told.sleep or tick - self.listened >= (self.told.listen or 0):
            self.listened = tick
            if self.mail is not None and self.mail.number != self.told.number:
                self.told, self.first, obeyed = self.mail, not self.mail.sleep, self.mail.number
            self.mail = None
        if self.told.sleep:
            return False, obeyed
        several = self.told.intervals or ((self.told.interval,) if self.told.interval else (1,))
        if not any(tick % interval == 0 for interval in several) and not self.first:
            return False, obeyed
        predicate = read_filter(self.told.filter or "TRUE", columns)  # type: ignore[arg-type]
        sent = self.first or asks_for(Demand((), frozenset(), predicate), reading)
        self.first = False
        return sent, obeyed


commands = st.one_of(
    st.builds(
        Command,
        st.sampled_from([0, SECOND, 2 * SECOND, 3 * SECOND]),
        st.sampled_from(FILTERS),
        st.none(),
        st.just(False),
        intervals=st.sampled_from([None, (2 * SECOND, 3 * SECOND)]),
    ),
    st.builds(Command, sleep=st.just(True), listen=st.sampled_from([0, SECOND, 4 * SECOND])),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 3), commands, st.integers(0, 5)), max_size=12), st.integers(0, 9))
def test_all_sensors_at_once_do_what_each_would_do(script: list[tuple[int, Command, int]], seed: int) -> None:
    field, free = weather(seed=seed), weather(seed=seed)
    motes = {number: Mote() for number in (1, 2, 3)}
    for number, (sensor, command, ticks) in enumerate(script, 1):
        told = Command(
            command.interval,
            command.filter or ("TRUE" if command.sleep is False else None),
            None,
            command.sleep,
            number,
            None,
            command.listen,
            command.intervals,
        )
        assert field.command(sensor, told)
        motes[sensor].mail = told
        for _ in range(ticks):
            rows, presences = field.advance(field.next_tick)
            everything, _ = free.advance(free.next_tick)
            expected, acknowledged = [], []
            for row in everything.rows(named=True):
                sent, obeyed = motes[row["id"]].step(field.now, row, field.columns)
                expected += [row] if sent else []
                acknowledged += [(row["id"], obeyed)] if obeyed is not None else []
            assert rows.rows(named=True) == expected
            said = [(p.sensor, p.command) for p in presences if p.command]
            assert sorted(said) == acknowledged  # type: ignore[type-var]


# ---- one thing at a time ---------------------------------------------------------------------------------------------


def run(field: SimulatedField, steps: int) -> tuple[pl.DataFrame, tuple[Presence, ...]]:
    return field.advance(field.now + steps * field.physics.step)


def test_the_same_each_time_however_it_is_cut() -> None:
    first, second = weather(), weather()
    whole, _ = run(first, 40)
    parts = [run(second, steps)[0] for steps in (1, 7, 0, 32)]
    assert whole.equals(pl.concat(parts))
    other, _ = run(weather(seed=2), 40)
    assert not whole.equals(other)


def test_heartbeats_when_there_is_nothing_to_say() -> None:
    field = weather(sensors=2)
    field.command(1, Command(0, "temperature > 1000.0", None, False, 7, 5 * SECOND))
    rows, presences = run(field, 21)
    assert rows.filter(pl.col("id") == 1)["time"].to_list() == [START]  # the first after the command
    beats = [p.time for p in presences if p.sensor == 1 and p.command == 7]
    assert beats == [START, *(START + seconds * SECOND for seconds in (6, 11, 16, 21))]


def test_what_it_cannot_make_sense_of_is_not_obeyed() -> None:
    field = weather()
    run(field, 1)
    assert field.command("2", Command(filter="no such thing >", number=3))
    assert not field.command(4, Command(sleep=True))
    assert not field.command("hub", Command(sleep=True))
    rows, presences = run(field, 2)
    assert rows.height == 6
    assert not presences


def test_on_the_radio_a_sleeping_sensor_hears_only_when_it_listens() -> None:
    field = weather(sensors=1, mailbox=False)
    run(field, 1)
    field.command(1, Command(sleep=True, number=1, listen=3 * SECOND))
    _, presences = run(field, 1)
    assert [p.command for p in presences] == [1, 1]
    field.command(1, Command(sleep=False, number=2))  # in its window still
    field.command(1, Command(sleep=True, number=3))
    run(field, 1)
    field.command(1, Command(sleep=False, number=4))  # in none: lost
    rows, presences = run(field, 1)
    assert rows.is_empty()
    assert not presences
    field.command(1, Command(sleep=False, number=5))
    _, presences = run(field, 1)
    assert field.sensors.number.tolist() == [3]
    assert any(p.listening is not None for p in presences)


def test_batteries_run_out_and_can_be_changed() -> None:
    field = weather(sensors=2, battery=1e-6)
    field.command(2, Command(sleep=True, number=1, listen=SECOND))
    _, presences = run(field, 70)
    gone = [p for p in presences if not p.online]
    assert [p.sensor for p in gone] == [1, 2]
    assert gone[0].arrived < gone[1].arrived  # who sleeps lives longer
    assert field.energy().dead == 2
    assert run(field, 3)[0].is_empty()
    field.restart(2)
    assert set(run(field, 2)[0]["id"]) == {2}


@pytest.mark.parametrize("program", [RAW_SAMPLES, VEHICLE_TIMES, COUNTS])
def test_programs_draw_what_the_paper_says(program: object) -> None:
    """As programs.power at 200 Hz, but for the rows of whole seconds that vehicle times come with."""
    assert program in (RAW_SAMPLES, VEHICLE_TIMES, COUNTS)
    chosen = next(p for p in (RAW_SAMPLES, VEHICLE_TIMES, COUNTS) if p == program)
    field = simulated_field("traffic", {"sensors": "4", "start": "2026-01-05T08:00:00Z"})
    for number in range(1, 5):
        field.command(number, Command(0, "TRUE", chosen.name, False, 1))
    rows, _ = run(field, 20)
    vehicles = int(np.sum(rows["vehicles"].fill_null(0).to_numpy())) / 20 / 4
    expected = chosen.power(samples=200.0, vehicles=vehicles + (chosen is VEHICLE_TIMES)).total
    assert field.energy().watts == pytest.approx(expected, rel=0.05)


def test_a_road_shows_the_same_traffic_to_all_programs() -> None:
    seen = []
    for name in ("counts", "vehicle times", "raw samples"):
        field = simulated_field("traffic", {"sensors": "3", "start": "2026-01-05T08:00:00Z"})
        for number in (1, 2, 3):
            field.command(number, Command(0, "TRUE", name, False, 1))
        seen.append(run(field, 30)[0])
    counts, times, raw = seen
    assert counts.height == 90
    assert raw.height == 3 * 30 * 200
    keys = ["time", "id", "vehicles"]
    whole = [frame.filter(pl.col("vehicles").is_not_null()).select(keys) for frame in seen]
    assert whole[0].equals(whole[1])
    assert whole[0].equals(whole[2])
    vehicles = [frame.filter(pl.col("speed").is_not_null()).drop("reading") for frame in (times, raw)]
    assert vehicles[0].equals(vehicles[1])
    assert vehicles[0].height == counts["vehicles"].sum() > 0
    passed = vehicles[0]
    assert passed.select((pl.col("t0") < pl.col("t1")).all() & (pl.col("t2") < pl.col("t3")).all()).item()
    assert passed["speed"].is_between(10, 100).all()
    assert passed["length"].is_between(8, 56).all()
    assert raw["reading"].null_count() == 0
    assert set(raw["reading"].is_between(50, 65)) == {True, False}  # some samples are under a vehicle


# ---- generate:// -----------------------------------------------------------------------------------------------------


def test_urls() -> None:
    now = [START + 5]
    generators = Generators()
    url = "generate://plume?sensors=8&seed=7&speed=60&every=30s"
    field = generators.at(url)
    stream = field.stream("air", url)
    source = adapter_for(stream, lambda: now[0], generators=generators)
    assert isinstance(source, FieldAdapter)
    assert source.field is field
    assert source.mailbox
    with source:
        assert source.due == START + 5 + SECOND // 2  # half a second for half a minute
        now[0] = source.due
        result = source.read()
        assert result.status is Status.NEW_VALUE
        assert result.rows.columns == ["time", "id", "concentration"]
        assert result.rows["time"].unique().to_list() == [START + 30 * SECOND]
        assert {p.arrived for p in result.presences} == {now[0]}
        assert source.read().status is Status.NO_VALUE
        assert source.command(3, Command(0, "concentration > 1e9", None, False, 1, HOUR))
        now[0] += SECOND
        result = source.read()
        assert result.rows.group_by("id").len().filter(pl.col("len") < 2)["id"].to_list() == [3]
    assert source.read().status is Status.END
    now[0] += HOUR
    with source:  # nobody looked for an hour: their time goes on where it stood
        now[0] += SECOND // 2
        assert source.read().rows["time"].max() == START + 120 * SECOND
    assert generators.at("generate://plume?seed=7&sensors=8&every=30s") is field
    assert generators.at("generate://plume?seed=8") is not field


@pytest.mark.parametrize("ahead", [-10 * HOUR, -SECOND, 0, 1, 30 * SECOND, 10 * HOUR + 7])
@pytest.mark.parametrize(
    "options", ["plume?every=30s&jitter=0.9&", "plume?every=30s&start=2026-01-01T00:00:00Z&", "traffic?"]
)
def test_another_process_begins_behind_the_log(options: str, ahead: int) -> None:
    now = [START + 5]
    url = f"generate://{options}sensors=3&speed=60"
    greatest = now[0] + ahead
    generators = Generators()
    stream = generators.at(url).stream("air", url)
    step = generators.at(url).physics.step
    source = adapter_for(stream, lambda: now[0], generators=generators)
    source.begin_after(lambda: greatest)
    seen: list[int] = []
    with source:
        assert source.due is not None
        assert source.due - now[0] <= step // 60 + 1, "the first step is not long in coming"
        for _ in range(3):
            now[0] += step // 60 + 1
            seen += source.read().rows["time"].to_list()
    assert greatest < min(seen)
    assert min(seen) <= max(greatest, START + 5) + 3 * step
    # Opened again in the same process its time goes on; unless yet another process has gone ahead meanwhile.
    for leap in (0, 5 * step):
        greatest = max(seen) + leap
        with source:
            now[0] += 2 * (step // 60 + 1)
            times = source.read().rows["time"].to_list()
        if leap:
            assert greatest < min(times)
        assert max(seen) < max(times) <= greatest + 4 * step
        seen += times


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("generate://plum", "no generator 'plum'"),
        ("generate://plume?sensor=4", "no option 'sensor'"),
        ("generate://plume?start=noon", "start=noon"),
        ("generate://diurnal?jitter=1", "jitter"),
    ],
)
def test_urls_that_make_no_sense(url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        adapter_for(weather().stream("s", url), lambda: 0, generators=Generators())
