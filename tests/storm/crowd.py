"""An owner and its clients as processes that a test kills: the libraries are loaded once, here, and everybody is a fork.

Reads lines of JSON, `[ROLE, ARGUMENT, ...]`. Says `born PID`, what the children say as `said PID ...`, and `died PID CODE`.

    serve DIRECTORY FAILPOINT            `nilometer serve`, which dies at the failpoint if it comes there
    change DIRECTORY SEED TURNS NAME...  a client that creates, replaces, pauses and drops standing queries of these names
    read DIRECTORY TEXT FILE             a client that asks a live query from the beginning, and writes its rows
    kill PID                             SIGKILL for a child that has not died yet
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import datetime

from nilometer.cli.main import application
from nilometer.engine import connect
from nilometer.errors import NilometerError
from nilometer.live.owner.owner import OwnerGoneError
from nilometer.log.failpoints import VARIABLE
from storm.nursery import prepare

REFUSALS = 3
"""What a client may be told instead of having its way: its name is taken, is not there, or has another state."""


def say(*words: str) -> None:
    """One line of a child, at once."""
    tell(f"said {os.getpid()} {json.dumps(words)}")


def tell(line: str) -> None:
    """A line in one piece: many write into one pipe."""
    os.write(1, f"{line}\n".encode())


def serve(folder: str, failpoint: str) -> None:
    """The owner."""
    if failpoint != "-":
        os.environ[VARIABLE] = failpoint
    application(["serve", "--data", folder], prog_name="nilometer", standalone_mode=False)


def change(folder: str, seed: str, turns: str, *names: str) -> None:
    """A client that changes things. Before and after each change it says so."""
    from live.owner.weather import FAMILIES, STATES

    dice = random.Random(int(seed))
    database = connect(folder)
    for _ in range(int(turns)):
        name = dice.choice(names)
        family = FAMILIES[sum(map(ord, name)) % len(FAMILIES)]
        statement = dice.choice(
            (
                f"CREATE QUERY {name} AS {dice.choice(family)}",
                f"CREATE QUERY {name} STARTING AT BEGINNING AS {dice.choice(family)}",
                f"REPLACE QUERY {name} {dice.choice(STATES)} AS {dice.choice(family)}",
                f"REPLACE QUERY {name} AS {dice.choice(family)}",
                f"PAUSE QUERY {name}",
                f"RESUME QUERY {name}",
                f"DROP QUERY {name}",
            )
        )
        say("asks", name, statement)
        try:
            database.execute(statement)
        except OwnerGoneError:
            say("unknown", name, statement)
        except NilometerError as error:
            say("refused", name, statement, error.message)
        else:
            say("told", name, statement, database.told[-1])


def read(folder: str, text: str, file: str) -> None:
    """A client that reads."""
    with open(file, "a", encoding="utf-8") as rows:
        for row in connect(folder).sql(text).live(start="beginning"):
            plain = [v.isoformat() if isinstance(v, datetime) else v for v in row.values()]
            rows.write(json.dumps(plain) + "\n")
            rows.flush()
            say("read")


ROLES: dict[str, Callable[..., None]] = {"serve": serve, "change": change, "read": read}


def play(role: str, *arguments: str) -> None:
    """The life of a child."""
    code = 1
    try:
        if role == "serve":
            # Its rows and messages are for people.
            os.dup2(
                os.open(os.path.join(arguments[0], "serve.out"), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1
            )
            os.dup2(1, 2)
        ROLES[role](*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Until stdin ends."""
    prepare()
    wake, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell)
    tell("ready")
    pending = b""
    alive: set[int] = set()
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            while True:
                try:
                    child, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    break
                if child == 0:
                    break
                alive.discard(child)
                tell(f"died {child} {os.waitstatus_to_exitcode(status)}")
        if 0 not in ready:
            continue
        data = os.read(0, 1 << 16)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        for role, *arguments in map(json.loads, lines):
            if role == "kill":
                if int(arguments[0]) in alive:  # nobody else has its number until it is waited for
                    os.kill(int(arguments[0]), signal.SIGKILL)
                continue
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.set_wakeup_fd(-1)
                play(role, *arguments)
            alive.add(child)
            tell(f"born {child}")


if __name__ == "__main__":
    main()
