"""One seed's story: a station lives in virtual time through faults, dies, lives again, and is judged at the end.

    sensors -> broker -> MQTT adapter -> stream manager -> logs -> standing queries -> result logs
                                                 all files on a faulty disk

Each kind of fault draws from a generator of its own. So a story without one kind of fault is otherwise the
same, as is one that ends earlier; a failing story is shortened by that (shrink.py).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import nilometer
from nilometer.engine import Database
from nilometer.errors import NilometerError
from nilometer.ingest.adapters import Adapter, Clock
from nilometer.ingest.manager.states import SourceState
from nilometer.laboratory.storm.broker import Broker, simulated_mqtt
from nilometer.laboratory.storm.declarations import (
    Declarations,
    changed_queries,
    changed_streams,
    first_declarations,
)
from nilometer.laboratory.storm.faulty_disk import FaultyDisk, Killed, Weather
from nilometer.laboratory.storm.judge import BrokenPromiseError, Judge
from nilometer.laboratory.storm.platter import Platter
from nilometer.laboratory.storm.repairs import repaired, verdicts
from nilometer.laboratory.storm.rot import Rot, spoil
from nilometer.laboratory.storm.sensors import Sensors
from nilometer.live import upkeep
from nilometer.live.outside import Outside
from nilometer.live.roster import Roster
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.live.versions import version_of
from nilometer.log import LogDirectory, LogSettings
from nilometer.log.disk import mounted
from nilometer.log.results.shared_log import forget_indexes
from nilometer.types import MILLISECOND, SECOND

BASE = 1_767_225_600 * SECOND
"""Virtual time begins on 2026-01-01."""
STEPS = 30
"""The steps of a story before the weather calms down."""
PATIENCE = 400
"""The steps in which everything must have been read and answered after that."""


class Fault(StrEnum):
    """The kinds of faults: the process is killed (with POWER, the machine, too); the disk has errors or is
    FULL; the network breaks, and the broker forgets its sessions; sensors send bad READINGS; QUERIES are
    added, changed, paused, dropped, replayed; STREAMS get another DELAY or KEY; files ROT while nothing runs.
    """

    KILLS = "kills"
    POWER = "power"
    DISK = "disk"
    FULL = "full"
    NETWORK = "network"
    FORGET = "forget"
    READINGS = "readings"
    QUERIES = "queries"
    STREAMS = "streams"
    ROT = "rot"


@dataclass
class SeedOutcome:
    """What became of a story. `wrong` says which promise was not kept; None: all were."""

    seed: int
    wrong: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    digest: str = ""
    """Of every event and every call of the disk with its bytes: two runs of a seed have the same."""

    def count(self, what: str, more: int = 1) -> None:
        """Count something that happened."""
        self.counts[what] = self.counts.get(what, 0) + more


class NoticedError(BrokenPromiseError):
    """The station says that something is wrong: with rotten files it should, else it should not."""


class Story:
    """The world of one seed."""

    def __init__(self, seed: int, folder: Path, faults: frozenset[Fault], steps: int = STEPS) -> None:
        self.outcome = SeedOutcome(seed)
        self._folder = folder
        self._faults = faults
        self._steps = steps
        self._random = {
            name: Random(f"{seed} {name}")
            for name in (*Fault, "time", "sensors", "broker", "start", "platter")
        }
        self.now = BASE
        self.broker = Broker(self._random["broker"])
        self.sensors = Sensors(self.broker, self._random["sensors"], bad=Fault.READINGS in faults)
        self.weather = Weather()
        self.platter = Platter(folder)
        self.judge = Judge(folder, self.broker, self.sensors.sent)
        self.declarations = first_declarations(self._random["start"])
        self.disk: FaultyDisk | None = None
        self.station: Station | None = None
        self.roster: Roster | None = None
        self.database: Database = nilometer.connect()
        self._databases: dict[str, Database] = {}
        self._read: set[str] = set()
        self._mount = contextlib.ExitStack()
        self._until = dict.fromkeys(Fault, 0)
        self._segment_bytes = self._random["start"].choice((1_500, 4_000, 1 << 20))
        self._mqtt = simulated_mqtt(self.broker)
        self._digest = blake2b(digest_size=8)

    def clock(self) -> int:
        """Virtual time."""
        return self.now

    # ---- the story ---------------------------------------------------------------------------------------------------------

    def run(self) -> SeedOutcome:
        """Live through it."""
        try:
            for step in range(self._steps):
                self._pass_time()
                self._happen(step)
                self._live()
            self._end()
            rots = Fault.ROT in self._faults and self._random[Fault.ROT].random() < 0.5
            rotten = self._rot() if rots else None
            try:
                self._calm()
                self._judge_streams(rotten)
                self.judge.queries(self.database)
            except (NoticedError, NilometerError) as error:
                if rotten is None:
                    raise
                self.outcome.count("rotten files noticed")
                self._tell(f"noticed: {error}")
                self._repair(rotten.path, str(error))
        except BrokenPromiseError as wrong:
            self.outcome.wrong = str(wrong)
        except (Exception, Killed) as error:
            import traceback

            self.outcome.wrong = f"{type(error).__name__}: {error}"
            self.outcome.trace += traceback.format_exc().splitlines()[-24:]
        finally:
            if self.disk is not None:
                self.disk.bury()
            self._mount.close()
        self.outcome.count("answers", self.judge.answers)
        self.outcome.count("versions of queries", self.judge.versions)
        self.outcome.count("messages", len(self.sensors.sent))
        self.outcome.digest = self._digest.hexdigest()
        return self.outcome

    def _pass_time(self) -> None:
        random = self._random["time"]
        self.now += random.choice((50, 200, 200, 700, 1_500)) * MILLISECOND
        for _ in range(random.randrange(5)):
            self.sensors.publish(self.now)

    def _live(self) -> None:
        """One step of the process, if it lives."""
        try:
            if self.station is None:
                self._begin()
            if self.station is not None:
                self.broker.pump(**self._network())
                self.station.step()
                assert self.roster is not None
                self.roster.look()
        except Killed:
            self._died("in the middle of a call")

    def _network(self) -> dict[str, Any]:
        bad = Fault.NETWORK in self._faults
        return {"reorder": 0.2, "hold": 0.2} if bad else {}

    def _calm(self) -> None:
        """The weather calms down; everything must be read and answered now."""
        self._tell("the weather calms down")
        self.weather.calm()
        self.broker.down = False
        self._faults = frozenset()
        self._end()
        quiet = 0
        for _ in range(PATIENCE):
            self.now += 300 * MILLISECOND
            if self.station is None:
                self._begin()
            assert self.station is not None
            assert self.roster is not None
            self.broker.pump()
            moved = self.station.step()
            self.roster.look()
            for live in self.station.queries.values():
                if live.failure is not None:
                    raise NoticedError(f"{live.name} fails in calm weather: {live.failure}")
            quiet = 0 if moved or self.broker.waiting else quiet + 1
            if quiet > 6:
                break
        else:
            raise BrokenPromiseError(f"{self.broker.waiting} messages still wait after {PATIENCE} calm steps")
        if self.roster.refused:
            refused = "; ".join(f"{name}: {error}" for name, error in self.roster.refused.items())
            raise NoticedError(f"refused in calm weather: {refused}")
        self._read = {key for live in self.station.queries.values() for key in live.offsets}
        for stream in sorted(self._read):
            state, why = self.station.manager.state(stream)
            if state is SourceState.FAILED:
                raise NoticedError(f"{stream} takes no reading in calm weather: {why}")
        running = list(self.station.queries)
        self._end()
        for name in running:
            self._check_reached(name)

    def _check_reached(self, name: str) -> None:
        from nilometer.live.standing import result_log

        last = result_log(self._folder, name).last
        if last is None:
            raise BrokenPromiseError(f"{name} has committed nothing")
        logs = LogDirectory(self._folder)
        for key, at in last.offsets.items():
            if logs.log(key).end.position != at.position:
                raise BrokenPromiseError(f"{name} has read {key} to {at}, not to its end {logs.log(key).end}")

    def _judge_streams(self, rotten: Rot | None) -> None:
        """Judge the logs. Rot in a log that nobody reads is noticed by `log verify` alone."""
        cut: frozenset[int] = frozenset()
        if rotten is not None and rotten.cut_off:
            self.outcome.count("rotten ends cut off")
            cut = rotten.exposed
        try:
            self.judge.streams(self.database, cut)
        except BrokenPromiseError:
            if rotten is None or rotten.path.parent.name in self._read:
                raise
            found = [damage.what for verdict in verdicts(self._folder) for damage in verdict.damages]
            if not found:
                raise
            raise NoticedError(f"log verify, of a log that nobody reads: {found[0]}") from None

    def _repair(self, rotten: Path, error: str) -> None:
        """What the station refuses, `log verify` finds and `log repair` mends, unless the error named the file."""
        if self.station is not None:
            self._died("killed", power=False)
        found = [damage for verdict in verdicts(self._folder) for damage in verdict.damages]
        for damage in found:
            self._tell(f"verify: {damage.segment}: {damage.what}")
        if not found and rotten.name not in error:
            raise BrokenPromiseError(f"the station refuses, and log verify finds nothing: {error}")
        for line in repaired(self._folder):
            self._tell(f"repair: {line}")
        if rotten.name in error and not any(damage.segment == rotten.name for damage in found):
            rotten.unlink(missing_ok=True)  # as the error says
        forget_indexes()
        try:
            self._calm()
        except (NoticedError, NilometerError) as still:
            raise BrokenPromiseError(f"after log repair: {still}") from still
        self.outcome.count("rotten files repaired")

    def _rot(self) -> Rot | None:
        """A file rots while nothing runs."""
        rot = spoil(self._folder, self._random[Fault.ROT])
        if rot is not None:
            self.outcome.count("rotten files")
            self._tell(f"{rot.path.relative_to(self._folder)} {rot.how}")
        return rot

    # ---- the process ---------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start the process: as `nilometer run` does."""
        calm = self.weather == Weather()
        self._mount = contextlib.ExitStack()
        self.disk = self._new_disk()
        self._mount.enter_context(mounted(self._folder, self.disk))
        schema = self.declarations.text()
        (self._folder / "schema.sql").write_text(schema)
        self.database = self._connect(schema)
        self.outcome.count("lives")
        try:
            settings = StationSettings(logging=LogSettings(segment_bytes=self._segment_bytes))
            self.station = Station(
                self.database, self._folder, settings, Outside(clock=self.clock, adapter_of=self._adapter)
            )
            self.roster = Roster(
                self.station,
                self.database.catalog.queries(),
                say=self._tell,
                clock=lambda: self.now / SECOND,
            )
            self.roster.begin()
        except NilometerError as error:
            if calm:
                raise NoticedError(f"does not start in calm weather: {error}") from error
            self._tell(f"does not start: {error}")
            self._died("refused to start", power=False)

    def _connect(self, schema: str) -> Database:
        """The database of a schema; the same declarations are not parsed twice."""
        found = self._databases.get(schema)
        if found is None:
            found = self._databases[schema] = nilometer.connect(self._folder)
            # Queries do not change, so a restart need not compile them again.
            found.sql = lru_cache(found.sql)  # type: ignore[method-assign]
            for definition in found.catalog.queries():
                version = version_of(found.sql(definition.text).standing()).name
                self.judge.declared(definition.name, version, found, definition.text)
        return found

    def _new_disk(self) -> FaultyDisk:
        return FaultyDisk(self.platter, self.weather, self._random[Fault.DISK], self._digest.update)

    def _adapter(self, stream: Any, clock: Clock) -> Adapter:
        from nilometer.catalog.address import Address

        return self._mqtt(stream, Address.parse(stream.url), clock, "storm")

    def _end(self) -> None:
        """Stop the process in order."""
        if self.station is None or self.disk is None:
            return
        try:
            self.station.close()
        except NilometerError as error:
            self._tell(f"did not close in order: {error}")
        except Killed:
            self._died("while it stopped")
            return
        self._died("stopped", power=False)

    def _died(self, how: str, *, power: bool | None = None) -> None:
        """The process is gone, and perhaps the machine."""
        assert self.disk is not None
        for what, times in self.disk.failed.items():
            self.outcome.count(what, times)
        self.disk.bury()
        self._mount.close()
        forget_indexes()
        self.broker.process_died()
        self.station = self.roster = None
        self.weather.kill_in = None
        cut = (
            Fault.POWER in self._faults and self._random[Fault.POWER].random() < 0.5
            if power is None
            else power
        )
        self.outcome.count(
            {"stopped": "orderly stops", "refused to start": "refused starts"}.get(how, "kills")
        )
        if cut:
            self.outcome.count("power cuts")
        self._tell(
            f"died: {how}{', with a power cut' if cut else ''} (after {self.disk.calls} calls of the disk)"
        )
        if cut:
            for line in self.platter.power_cut(self._random["platter"]):
                self._tell(f"  {line}")

    # ---- what happens ----------------------------------------------------------------------------------------------------

    def _happen(self, step: int) -> None:
        """Faults begin and end. Every kind draws its lot in every step, whether it is wanted or not."""
        lots: dict[Fault, float] = {
            fault: self._random[fault].random() for fault in Fault if fault is not Fault.DISK
        }
        lots[Fault.DISK] = Random(f"{self.outcome.seed} {step} disk").random()
        for fault in Fault:
            if fault in self._faults:
                self._try(fault, lots[fault], step)

    def _try(self, fault: Fault, lot: float, step: int) -> None:
        random = self._random[fault]
        match fault:
            case Fault.KILLS if lot < 0.10:
                if lot < 0.03 and self.station is not None:
                    self._died("killed between two steps")
                else:
                    self.weather.kill_in = 1 + int(lot * 1e5) % 150
            case Fault.DISK:
                if lot < 0.05:
                    self._until[fault] = step + 1 + int(lot * 1e5) % 6
                    self._tell("the disk fails now and then")
                bad = step < self._until[fault]
                self.weather.write_error = self.weather.sync_error = 0.15 if bad else 0.0
                self.weather.short_write = 0.3 if bad else 0.0
                self.weather.read_error = 0.05 if bad else 0.0
            case Fault.FULL:
                if lot < 0.03:
                    self._until[fault] = step + random.randint(1, 6)
                    self._tell("the disk is full")
                self.weather.full = step < self._until[fault]
            case Fault.NETWORK:
                if lot < 0.05:
                    self._tell("connections break")
                    self.outcome.count("lost connections")
                    self.broker.disconnect()
                elif lot < 0.08:
                    self._until[fault] = step + random.randint(1, 6)
                    self._tell("the broker is down")
                    self.outcome.count("broker outages")
                    self.broker.disconnect()
                self.broker.down = step < self._until[fault]
            case Fault.FORGET if lot < 0.015:
                gone = self.broker.forget()
                self.outcome.count("forgotten sessions")
                self._tell(f"the broker forgets its sessions, and {gone} messages")
            case Fault.QUERIES if lot < 0.08:
                self._change_queries(random)
            case Fault.STREAMS if lot < 0.03:
                self._restart(changed_streams(self.declarations, random), random, "other streams")
            case _:
                pass

    def _change_queries(self, random: Random) -> None:
        names = sorted(self.declarations.queries)
        name = random.choice(names)
        deed = random.choice(("change", "change", "pause", "resume", "resume", "drop", "replay"))
        try:
            match deed:
                case "change":
                    self._restart(changed_queries(self.declarations, random), random, "other queries")
                case "pause" if self.station is not None:
                    self._tell(f"pause {name}")
                    upkeep.pause(self.database, name)
                case "resume" if self.station is not None:
                    self._tell(f"resume {name}")
                    upkeep.resume(self.database, name)
                case "drop" | "replay":
                    self._upkeep(deed, name)
                case _:
                    return
            self.outcome.count(f"{deed}s of queries")
        except NilometerError as error:
            self._tell(f"{deed} {name}: {error}")
        except Killed:
            self._died(f"during {deed}")

    def _upkeep(self, deed: str, name: str) -> None:
        """Drop or replay a query while nothing runs."""
        self._end()
        self._tell(f"{deed} {name}")
        if self.database.data.base is None:
            return
        # Its answers will be gone, so they are judged now.
        self.judge.query(name)
        self.disk = self._new_disk()
        with mounted(self._folder, self.disk):
            if deed == "drop":
                upkeep.drop(self.database, name)
            else:
                upkeep.replay(self.database, name, BEGINNING)
        forget_indexes()

    def _restart(self, declarations: Declarations, random: Random, why: str) -> None:
        """Restart with other declarations, in order or not."""
        if self.station is not None and random.random() < 0.5:
            self._died("killed")
        self._end()
        self.declarations = replace(declarations)
        self._tell(f"restarts with {why}: {declarations}")

    def _tell(self, what: str) -> None:
        line = f"{(self.now - BASE) / SECOND:9.3f}  {what.replace(str(self._folder), '...')}"
        self.outcome.trace.append(line)
        self._digest.update(f"{line}\n".encode())
