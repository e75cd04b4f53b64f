"""The declarations of a data directory: its owner has them; where none runs, schema.sql and the control log do.

A change goes to the owner, or is recorded for the next one. A database follows the changes of other clients.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nilometer.errors import NilometerError
from nilometer.language import ast, parse, print_statement

if TYPE_CHECKING:
    from nilometer.engine.database import Database

FOLDER = ".nilometer"
REPLACED = ("QUERY", "VIEW", "STREAM", "TABLE", "PHENOMENON", "FUNCTION")
"""The kinds of declarations that REPLACE takes."""


class Keeping:
    """Follows the owner's declarations. `_known` are those that this database has, by key; None: those of `_script`,
    which is parsed again only when something changes."""

    def __init__(self, database: Database, directory: Path) -> None:
        # A weak reference: in a cycle with the database, its frames would stay in memory until Python collects garbage.
        self._of = weakref.ref(database)
        self.directory = directory
        self._script = ""
        self._known: dict[tuple[str, str], str] | None = None
        self._revision: str | None = None

    @property
    def _database(self) -> Database:
        database = self._of()
        assert database is not None, "a database calls its own keeping"
        return database

    @property
    def revision(self) -> str | None:
        """The owner's revision that this database has; None: nobody has told it one."""
        return self._revision

    def execute(self, statement: ast.Statement, *, force: bool = False) -> str:
        """Carry out a change, in the owner or for the next one. Returns what was done. `force`: whatever the limits
        say."""
        told = str(self.request("execute", text=print_statement(statement), force=force)["told"])
        self.refresh()
        return told

    def request(self, do: str, **fields: Any) -> dict[str, Any]:
        """Ask the owner; where there is none, be it as long as it takes."""
        from nilometer.live.owner.changes import Changes
        from nilometer.live.owner.client import find_owner
        from nilometer.live.owner.lock import OwnerLock
        from nilometer.live.owner.owner import OwnerGoneError
        from nilometer.log.writer import BusyError

        while True:
            client = find_owner(self.directory)
            if client is not None:
                try:
                    with client:
                        return client.request(do, **fields).header
                except OwnerGoneError:
                    if do == "execute":
                        raise  # it may have taken effect: the user has to look
                    continue
            try:
                lock = OwnerLock(self.directory, embedded=True)
            except BusyError:
                continue
            try:
                self.refresh(owner=False)
                changes = Changes(self._database, self.directory)
                changes.begin()
                found = changes.request(do, fields)
                self._known = {key: record.text for key, record in changes.control.declared.items()}
                self._revision = None
                return found
            finally:
                lock.release()

    def refresh(self, *, owner: bool = True) -> None:
        """Take up what other clients have declared since the last look."""
        from nilometer.live.owner.owner import in_loop

        if not (self.directory / FOLDER).is_dir() or in_loop():
            return
        known = self._revision
        answered, statements = self._from_owner() if owner else (False, None)
        if not answered and (not owner or known is not None):
            # There is no owner, or not any more: what schema.sql and the control log say counts.
            statements = self._at_rest()
        if statements is not None:
            self._take(statements)

    def _from_owner(self) -> tuple[bool, list[str] | None]:
        """Whether there is an owner, and its statements; None if they have not changed."""
        from nilometer.live.owner.client import Client
        from nilometer.live.owner.owner import OwnerGoneError
        from nilometer.live.owner.wire import FILE

        if not (self.directory / FILE).exists():
            return False, None
        try:
            with Client(self.directory) as client:
                reply = client.request("declarations", known=self._revision).header
        except (OSError, OwnerGoneError):
            return False, None
        self._revision = reply["revision"]
        return True, reply.get("statements")

    def _at_rest(self) -> list[str]:
        from nilometer.live.owner.changes import declared_at_rest

        self._revision = None
        return declared_at_rest(self.directory, (self.directory / "schema.sql").read_text(encoding="utf-8"))

    def _take(self, texts: list[str]) -> None:
        """Bring the catalog to these statements, in whatever order they can be declared."""
        from nilometer.live.owner.statements import differences, named, statements_of

        if self._known is None:
            self._known = {key: text for key, (_, text) in statements_of(self._script).items()}
        # One change among 20,000 declarations costs one parse.
        keys = {text: key for key, text in self._known.items()}
        wanted: dict[tuple[str, str], tuple[str, str]] = {}
        statements: dict[tuple[str, str], ast.Statement] = {}
        for text in texts:
            key = keys.get(text)
            if key is None:
                statement = parse(text)
                called = named(statement) if isinstance(statement, ast.Statement) else None
                if called is None or not isinstance(statement, ast.Statement):
                    continue
                key, shown = (called[0], called[1].lower()), print_statement(statement)
                wanted[key] = called[1], shown
                statements[key] = statement if shown == text else cast(ast.Statement, parse(shown))
            else:
                wanted[key] = key[1], text
        steps = differences(self._known, wanted)
        for step in steps:
            # A sensor is not replaced, it is dropped and created again.
            gone = step.what == "DROP" or (step.what == "REPLACE" and step.kind not in REPLACED)
            if gone and step.kind not in ("SENSORS", "STREAMS"):
                name, _, stream = step.name.partition(" OF ")
                identifier: str | int = (
                    int(name) if step.kind == "SENSOR" and name.lstrip("-").isdecimal() else name
                )
                self._database.catalog.drop(step.kind, identifier, if_exists=True, stream=stream or None)
        pending = [step for step in steps if step.what != "DROP"]
        while pending:
            refused: list[tuple[Any, NilometerError]] = []
            for step in pending:
                statement = statements[step.kind, step.name.lower()]
                try:
                    if step.what == "REPLACE" and step.kind in REPLACED:
                        statement = ast.Replace(statement)  # type: ignore[arg-type]
                    self._database.declare(statement, step.text)
                except NilometerError as error:
                    refused.append((step, error))
            if len(refused) == len(pending):
                for step, why in refused:
                    self._database.notes.append(f"{step.kind.lower()} {step.name} is left out: {why.message}")
                break
            pending = [step for step, _ in refused]
        self._known = {key: text for key, (_, text) in wanted.items()}


def open_kept(database: Database, directory: Path, script: str) -> None:
    """Declare what the owner has; where none runs, what schema.sql says, and what clients have added."""
    keeping = Keeping(database, directory)
    statements = keeping._from_owner()[1] if (directory / FOLDER).is_dir() else None
    at_rest: list[str] = []
    if statements is None and (directory / FOLDER / "control").exists():
        at_rest = keeping._at_rest()
    from nilometer.engine.opening import FILE
    from nilometer.engine.remote_streams import declare_remote_streams

    if (directory / FILE).is_file():
        # Standing queries may name streams of other gateways. Our own streams come first.
        kept = [text for text in statements or at_rest if text.startswith("CREATE STREAM ")]
        declare_remote_streams(database, directory, but=_streams_in([*kept, script]))
    if statements is None:
        # The script itself first: its errors have a place.
        database.execute(script)
        keeping._script = script
        if at_rest:
            keeping._take(at_rest)
    else:
        keeping._take(statements)
    database.keeping = keeping


def _streams_in(scripts: Iterable[str]) -> set[str]:
    """The lower-case names of the streams that texts declare; a text with errors is reported where it is carried out."""
    from nilometer.live.owner.statements import statements_of

    found: set[str] = set()
    for script in scripts:
        with suppress(NilometerError):
            found |= {name.lower() for kind, name in statements_of(script) if kind == "STREAM"}
    return found
