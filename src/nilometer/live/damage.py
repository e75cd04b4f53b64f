"""Verifies and repairs what a data directory keeps beside the streams' logs: for each standing query its result
logs, the versions of its tables, and its checkpoint.

The laws: verifying changes nothing. Repairing moves files aside and deletes none. Lost answers stay lost until
the query is replayed: it goes on after its checkpoint, so no sink gets an answer twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nilometer.errors import ConfigurationError, DataError
from nilometer.live.checkpoints import Checkpoint, Checkpoints
from nilometer.live.control import FILE as REQUEST
from nilometer.live.control import PLACE, control_of, folder_of
from nilometer.live.owner.control_log import FILE as CONTROL
from nilometer.live.owner.control_log import ControlLog, readable
from nilometer.live.owner.lock import OwnerLock
from nilometer.live.standing import lock_of, private_files, private_logs
from nilometer.live.state_files import PLACE as STATES
from nilometer.live.state_files import StateFiles
from nilometer.live.stored_tables import FOLDER as TABLES
from nilometer.log import StreamLog
from nilometer.log.local_files import LocalFiles
from nilometer.log.repair import QUARANTINE, Repaired
from nilometer.log.resources import resources
from nilometer.log.results import ResultLog
from nilometer.log.results.shared_log import PLACE as COMMITS
from nilometer.log.results.shared_log import index_at
from nilometer.log.segment import Damage
from nilometer.log.verify import Verdict
from nilometer.operators.frames import empty

STATE = "state"


@dataclass(frozen=True)
class Checked:
    """A part of a standing query, and the verdict on it."""

    query: str
    part: str
    verdict: Verdict


def queries_of(directory: Path) -> list[str]:
    """The standing queries that have ever run, by the names of their folders."""
    place = directory / PLACE
    folders = {path.name for path in place.iterdir() if path.is_dir()} if place.is_dir() else set()
    with contextlib.suppress(DataError):  # a damaged commit log is reported where it is verified
        folders |= {*index_at(directory).places}
    return sorted(folders)


def known_query(directory: Path, name: str) -> str:
    """The folder's name of a query that has run."""
    known = queries_of(directory)
    if name.lower() not in known:
        raise ConfigurationError(
            f"no standing query '{name}' has run in {directory}",
            hint=f"there are: {', '.join(known) or 'none'}",
        )
    return name.lower()


def verify_query(directory: Path, name: str) -> Iterator[Checked]:
    """Check everything that is kept of a query."""
    for files in _logs(directory, name):
        yield Checked(name, files.directory.name, StreamLog(files).verify())
    yield Checked(name, STATE, _verify_state(directory, name))
    wrong = _wrong_request(directory, name)
    if wrong is not None:
        yield Checked(name, REQUEST, Verdict(0, 0, 0, 0, (Damage(REQUEST, 0, 0, wrong),)))


def verify_shared(directory: Path) -> Iterator[Checked]:
    """Check what all queries on the gateway share: the commit log with their answers, and their saved states."""
    if (directory / COMMITS).is_dir():
        yield Checked("", COMMITS.name, StreamLog(LocalFiles(directory / COMMITS)).verify())
    if (directory / STATES).is_dir():
        states = StateFiles(directory)
        damages = [*states.damages(), *_states_ahead(directory, states)]
        panes, size = states.kept
        yield Checked("", STATES.name, Verdict(0, panes, 0, size, tuple(damages)))
    if (directory / PLACE.parent / CONTROL).is_file():
        yield Checked("", CONTROL, _verify_control(directory))


def _verify_control(directory: Path) -> Verdict:
    """The control log: what clients have declared and changed."""
    size = (directory / PLACE.parent / CONTROL).stat().st_size
    try:
        log = ControlLog(directory)
    except DataError as error:
        return Verdict(0, 0, 0, size, (Damage(CONTROL, 0, 0, error.message),))
    return Verdict(0, log.records, 0, size, (), torn=(1, log.cut) if log.cut else (0, 0))


def _states_ahead(directory: Path, states: StateFiles) -> Iterator[Damage]:
    """States that were saved after commits that the commit log has lost."""
    try:
        index = index_at(directory)
    except DataError:
        return  # it is damaged, which is reported where it is verified
    for name, (version, number) in sorted(states.numbers().items()):
        place = index.place(name)
        if place is not None and place.version == version and number > place.number:
            yield Damage(
                STATES.name,
                0,
                0,
                f"the state of '{name}' is of commit {number}, and the commit log ends with commit {place.number}",
            )


def repair_query(directory: Path, name: str) -> Iterator[Repaired]:
    """Repair everything that is kept of a query that nobody runs."""
    lock = lock_of(directory, name)
    try:
        for files in _logs(directory, name):
            yield StreamLog(files).repair()
        yield _repair_state(directory, name)
        if (wrong := _wrong_request(directory, name)) is not None:
            yield _put_request_aside(directory, name, wrong)
    finally:
        lock.release()


def _wrong_request(directory: Path, name: str) -> str | None:
    try:
        control_of(directory, name)
    except DataError as error:
        return error.message
    return None


def _put_request_aside(directory: Path, name: str, wrong: str) -> Repaired:
    """Move a request that cannot be read aside: the query runs, as if nobody had paused it."""
    folder = folder_of(directory, name)
    done = Repaired(str(folder))
    done.moved.append(_move_aside(folder / REQUEST, folder))
    done.remarks.append(f"{wrong}; if '{name}' was paused, pause it again")
    return done


def _move_aside(path: Path, folder: Path) -> str:
    """Move a file or folder into the quarantine of `folder`. Returns where it is, from there."""
    aside = folder / QUARANTINE
    with resources(str(folder)):
        aside.mkdir(exist_ok=True)
        target = aside / f"{len(list(aside.iterdir())) + 1}-{path.name}"
        path.rename(target)
    return str(target.relative_to(folder))


def repair_shared(directory: Path) -> Iterator[Repaired]:
    """Repair what all queries on the gateway share. Nobody runs one meanwhile."""
    if (directory / COMMITS).is_dir():
        yield StreamLog(LocalFiles(directory / COMMITS)).repair()
    if (directory / STATES).is_dir():
        states = StateFiles(directory)
        wrong = [*states.damages(), *_states_ahead(directory, states)]
        if wrong:
            yield _put_states_aside(directory, wrong)
    control = directory / PLACE.parent / CONTROL
    if control.is_file() and _verify_control(directory).damages:
        lock = OwnerLock(directory)
        try:
            whole, lost = readable(directory)
            done = Repaired(str(control.parent))
            done.moved.append(_move_aside(control, control.parent))
            LocalFiles(control.parent).replace(CONTROL, whole)
        finally:
            lock.release()
        done.remarks.append(f"{lost} lines of the control log are lost: look at what nilometer queries lists")
        yield done


def _put_states_aside(directory: Path, wrong: list[Damage]) -> Repaired:
    """Move all saved states aside: the logs rebuild them. A query whose commits are lost answers after its last
    commit again."""
    place = directory / STATES
    done = Repaired(str(place.parent))
    done.moved.append(_move_aside(place, place.parent))
    done.remarks += [f"{damage.what}; the states are rebuilt from the logs" for damage in wrong[:1]]
    return done


def _logs(directory: Path, name: str) -> list[LocalFiles]:
    """The logs of a query's answers, and of its tables' versions."""
    tables = folder_of(directory, name) / TABLES
    folders = sorted(path for path in tables.iterdir() if path.is_dir()) if tables.is_dir() else []
    found = [*private_files(directory, name), *(LocalFiles(folder) for folder in folders)]
    return [files for files in found if files.names()]


def _checkpoints(directory: Path, name: str) -> Checkpoints:
    return Checkpoints(LocalFiles(folder_of(directory, name) / STATE))


def _verify_state(directory: Path, name: str) -> Verdict:
    checkpoints = _checkpoints(directory, name)
    wrong = checkpoints.damage()
    ahead = None if wrong is not None else _ahead(directory, name, checkpoints.load())
    if ahead is not None:
        last, saved = ahead
        number = None if last.last is None else last.last.number
        wrong = (
            f"the checkpoint is of commit {saved.commit.number}, and the result log ends with commit {number}"
        )
    damages = () if wrong is None else (Damage(STATE, 0, 0, wrong),)
    return Verdict(0, checkpoints.panes, 0, checkpoints.bytes, damages)


def _ahead(directory: Path, name: str, saved: Checkpoint | None) -> tuple[ResultLog, Checkpoint] | None:
    """The result log and the checkpoint, if the log has lost commits that the checkpoint has seen."""
    logs = private_logs(directory, name)
    log = next((one for one in reversed(logs) if one.last is not None), logs[0])
    last = log.last
    if saved is None or last is None or saved.commit.version != last.version:
        return None
    return (log, saved) if saved.commit.number > last.number else None


def _repair_state(directory: Path, name: str) -> Repaired:
    """Move a damaged checkpoint aside: the logs rebuild the state. Put lost commits on record by an empty commit
    that says how far the checkpoint was."""
    folder = folder_of(directory, name)
    done = Repaired(str(folder / STATE))
    checkpoints = _checkpoints(directory, name)
    wrong = checkpoints.damage()
    if wrong is not None:
        done.moved.append(_move_aside(folder / STATE, folder))
        done.remarks.append(f"{wrong}; the state of '{name}' is rebuilt from the logs")
        return done
    ahead = _ahead(directory, name, checkpoints.load())
    if ahead is not None:
        log, saved = ahead
        before = log.last
        assert before is not None
        log.commit(empty(log.columns), saved.commit)
        log.close()
        lost = f"commits {before.number + 1} to {saved.commit.number}"
        done.remarks.append(
            f"the answers of {lost} of '{name}' are lost; it goes on after them."
            f" nilometer queries replay {name} answers again from the logs"
        )
    return done
