r"""A shell over one database: reads lines, runs the statements that they complete, prints the results.

A statement ends with a semicolon. A line that begins with a backslash is a command of the shell. An error is
printed, and the shell goes on. Ctrl-C drops the statement being typed, or stops a live query. Ctrl-D ends the
shell.

>>> is_complete("SELECT 1"), is_complete("SELECT ';' -- ;"), is_complete("SELECT 'it''s';")
(False, False, True)
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.catalog import functions
from nilometer.catalog.near_misses import near_misses
from nilometer.cli.account import limit_notes, summary
from nilometer.cli.console import message, print_json, print_records, print_shown, print_table, tell_of_data
from nilometer.engine.hosts import HOSTS, LIVE_HOSTS, host_name
from nilometer.engine.query import Query
from nilometer.errors import ConfigurationError, NilometerError
from nilometer.language.vocabulary import NOT_AN_ALIAS, TIME_UNITS

if TYPE_CHECKING:
    from nilometer.engine import Database

PROMPT = "nilometer> "
CONTINUED = "     ...> "
SHOWN = 100
"""The number of rows that are printed, unless \\limit says otherwise."""
HISTORY_LINES = 5_000

COMMANDS = {
    r"\d [NAME]": "list the streams and tables, or describe one",
    r"\ds": "list the sensors",
    r"\dq": "list the standing queries",
    r"\on [HOST]": "the host that answers: gateway, spark or reference",
    r"\limit [ROWS]": f"how many rows are printed ({SHOWN} at first; 0: all)",
    r"\timing": "print how long each query takes, or stop that",
    r"\i FILE": "run the statements of a file",
    r"\?": "list these commands",
    r"\q": "leave",
}

_QUOTED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", re.DOTALL)


def is_complete(text: str) -> bool:
    """Whether the text ends with a semicolon that is neither quoted nor in a comment."""
    rest = _QUOTED.sub(" ", text)
    return rest.rstrip().endswith(";") and not re.search(r"'|\"|/\*", rest)


class Shell:
    """One session. `failed` says whether a statement has failed."""

    def __init__(self, database: Database, *, as_json: bool = False) -> None:
        self.database = database
        self.failed = False
        self._as_json = as_json
        self._limit = SHOWN
        self._timing = False

    # ---- reading -----------------------------------------------------------------------------------------------------

    def run(self, read: Callable[[str], str]) -> None:
        """Run until `read` raises EOFError or StopIteration, or \\q. `read` takes the prompt."""
        text = ""
        while True:
            try:
                line = read(CONTINUED if text else PROMPT)
            except KeyboardInterrupt:
                print()
                text = ""
                continue
            except (EOFError, StopIteration):
                break
            if not text and line.lstrip().startswith("\\"):
                if not self._guarded(lambda line=line: self._command(line.strip())):  # type: ignore[misc]
                    return
                continue
            text = f"{text}\n{line}" if text else line
            if not text.strip():
                text = ""
            elif is_complete(text):
                statement, text = text, ""
                self._guarded(lambda statement=statement: self._run(statement))  # type: ignore[misc]
        if text.strip():
            self.failed = True
            message("the last statement has no ';' at its end, and was not run")

    def run_at_terminal(self) -> None:
        """Run with a prompt, history and completion."""
        with _line_editing(self.words):
            message(r"Statements end with ';'. \? lists the commands, \q leaves.")
            self.run(input)
            print()

    def _guarded(self, work: Callable[[], bool | None]) -> bool:
        """Do the work and print its error. Returns whether the shell goes on."""
        try:
            return work() is not False
        except NilometerError as error:
            self.failed = True
            message(f"error: {error}")
        except KeyboardInterrupt:
            message("stopped")
        return True

    # ---- statements --------------------------------------------------------------------------------------------------

    def _run(self, text: str) -> None:
        """Run the statements of a text, in order."""
        results = self.database.execute(text)
        told = iter(self.database.told)
        for result in results:
            match result:
                case None:
                    message(next(told, "ok"))
                case str():
                    print(result)
                case Query():
                    self._answer(result)
                case _:
                    print_shown(result, self._as_json)

    def _answer(self, query: Query) -> None:
        from nilometer.cli.live import is_live
        from nilometer.cli.live_query import run_live

        began = time.perf_counter()
        if self.database.host in LIVE_HOSTS and is_live(query):
            run_live(query, self.database.host, "now", self._as_json, self._limit or None, None, None)
            return
        answer = query.run()
        shown = answer.head(self._limit) if self._limit else answer
        if self._as_json:
            for line in shown.json_rows():
                print_json(line)
        else:
            print_table(shown.columns, shown.text_rows())
        for line in (summary(answer, len(shown)), *answer.notes, *limit_notes(answer, query)):
            message(line)
        if self._timing:
            message(f"{time.perf_counter() - began:.3f} s")
        tell_of_data(self.database)

    # ---- commands ----------------------------------------------------------------------------------------------------

    def _command(self, line: str) -> bool:
        """Run a command. Returns whether the shell goes on."""
        word, *arguments = line.rstrip(";").split()
        argument = arguments[0] if arguments else None
        match word:
            case "\\q" | "\\quit":
                return False
            case "\\?" | "\\h" | "\\help":
                print_table(("command", "does"), COMMANDS.items())
            case "\\d" if argument is not None:
                self._describe(argument)
            case "\\d":
                self._list_extents()
            case "\\ds":
                print_records(self.database.show("SENSORS"), self._as_json)
            case "\\dq":
                print_records(self.database.show("QUERIES"), self._as_json)
            case "\\timing":
                self._timing = not self._timing
                message(f"timing is {'on' if self._timing else 'off'}")
            case "\\on":
                if argument is not None:
                    self.database.host = host_name(argument)
                message(f"queries run on {self.database.host}")
            case "\\limit":
                if argument is not None:
                    self._limit = _rows(argument)
                message(f"{self._limit or 'all'} rows are printed")
            case "\\i":
                if argument is None:
                    raise ConfigurationError(r"\i needs the name of a file")
                self._run(Path(argument).read_text(encoding="utf-8"))
            case _:
                raise ConfigurationError(f"no command {word}", hint=r"\? lists the commands")
        return True

    def _list_extents(self) -> None:
        records = [
            {"name": row["name"], "kind": row["kind"], "columns": row["columns"]}
            for row in self.database.show("STREAMS")
        ]
        records += [
            {"name": row["name"], "kind": "stored", "columns": row["columns"]}
            for row in self.database.show("TABLES")
        ]
        if not records:
            message("nothing is declared: CREATE STREAM ..., or start with --data")
        print_records(records, self._as_json)

    def _describe(self, name: str) -> None:
        catalog = self.database.catalog
        extent = catalog.extent(name)
        if extent is None:
            known = [each.name for each in catalog.extents()]
            raise ConfigurationError(f"no stream or table '{name}'", hint=near_misses(name, known))
        print_records(
            [{"column": c.name, "type": str(c.type), "unit": c.unit} for c in extent.columns], self._as_json
        )

    # ---- completion --------------------------------------------------------------------------------------------------

    def words(self) -> Iterator[str]:
        """The words that Tab completes: keywords, functions, extents and their columns."""
        yield from sorted(NOT_AN_ALIAS | set(TIME_UNITS))
        yield from functions.names()
        yield from (command.split()[0] for command in COMMANDS)
        catalog = self.database.catalog
        for extent in catalog.extents():
            yield extent.name
            yield from (column.name for column in extent.columns)
        yield from HOSTS


def _rows(text: str) -> int:
    if not text.isdecimal():
        raise ConfigurationError(f"'{text}' is no number of rows", hint=r"\limit 20, or \limit 0 for all")
    return int(text)


def history_file() -> Path:
    """Where the shell keeps what was typed: NILOMETER_HISTORY, or a file in the home directory."""
    return Path(os.environ.get("NILOMETER_HISTORY") or Path.home() / ".nilometer_history")


@contextlib.contextmanager
def _line_editing(words: Callable[[], Iterator[str]]) -> Iterator[None]:
    """History and completion by readline, where Python has it."""
    try:
        import readline
    except ImportError:
        yield
        return
    with contextlib.suppress(OSError):
        readline.read_history_file(history_file())
    readline.set_history_length(HISTORY_LINES)
    readline.set_completer(completer(words))
    readline.set_completer_delims(" \t\n,;()[]=<>+*/.")
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(history_file())


def completer(words: Callable[[], Iterator[str]]) -> Callable[[str, int], Any]:
    """A completer for readline: the words that begin as the text does, in the text's case."""

    def complete(text: str, number: int) -> str | None:
        found = dict.fromkeys(word for word in words() if word.lower().startswith(text.lower()))
        spelled = [word.lower() if text.islower() and word.isupper() else word for word in found]
        return spelled[number] if number < len(spelled) else None

    return complete
