"""Carries out declarations and changes in a data directory: in the running owner, or where none runs.

    statement ─► catalog (refused if it makes no sense) ─► control log, durable ─► the running queries

`roster` has the running standing queries; without one, a change takes effect with the next `serve`, at the place of
the logs that its record names. A stream, table, view or query that others read is not dropped.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.check_drop import check_drop
from nilometer.errors import CatalogError, ConfigurationError, NilometerError, ResourceError
from nilometer.language import ast, parse, print_statement
from nilometer.live import upkeep
from nilometer.live.admission import Admission
from nilometer.live.alerts.alert_log import folder_of_alert
from nilometer.live.audit import note
from nilometer.live.control import folder_of
from nilometer.live.identity import identity_of
from nilometer.live.kept_examples import forget as forget_examples
from nilometer.live.owner.control_log import CLIENT, SCHEMA, ControlLog, Record
from nilometer.live.owner.statements import (
    Difference,
    Key,
    callers,
    differences,
    named,
    readers,
    statements_of,
)
from nilometer.live.replaced_state import Choice, check_keep
from nilometer.live.standing import reader_of, result_log, shared_logs
from nilometer.live.starts import BEGINNING, NOW, Start, offsets_at
from nilometer.live.verdicts import decide, decision_of, folder_of_decision
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.log.directory import PLACE
from nilometer.log.local_files import LocalFiles
from nilometer.log.readers import store_offset
from nilometer.log.writer import BusyError
from nilometer.plan import physical
from nilometer.types import format_time

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.live.declarations import CompiledQuery, Declarations
    from nilometer.live.roster import Roster

AUDITED = {
    "execute": ("text",),
    "apply": ("script", "drops"),
    "alert": ("what", "name", "group", "until"),
    "decide": ("name", "position", "instead", "note"),
}
"""The requests that change something, and the fields that say what."""
REPLACEABLE = (
    *(ast.CreateQuery, ast.CreateAlert, ast.CreateDecision),
    *(ast.CreateView, ast.CreateStream, ast.CreateTable, ast.CreatePhenomenon, ast.CreateFunction),
)


class Changes:
    """For use by the owner's loop, or by whoever holds the owner's lock."""

    def __init__(self, database: Declarations, directory: Path, roster: Roster | None = None) -> None:
        self.database = database
        self.directory = directory
        self.roster = roster
        self.control = ControlLog(directory)
        self._admission = Admission(database, directory)
        self._born = time.time_ns()

    @property
    def revision(self) -> str:
        """Another one after every change."""
        return f"{self._born}-{self.control.records}"

    # ---- requests ----------------------------------------------------------------------------------------------------

    def request(self, do: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a request of a client, and record who has changed something."""
        found = self._request(do, fields)
        what = AUDITED.get(do)
        if what is not None and not fields.get("dry_run"):
            said = {name: fields[name] for name in what if fields.get(name) is not None}
            text = str(said["text"]) if do == "execute" else json.dumps(said, default=str)
            note(self.directory, fields.get("by"), do, text, str(found.get("told", "")))
        return found

    def _request(self, do: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        match do:
            case "execute":
                statement = parse(str(fields["text"]))
                if not isinstance(statement, ast.Statement):
                    raise ConfigurationError("this is a query, not a declaration")
                return {"told": self.execute(statement, force=bool(fields.get("force")))}
            case "declarations":
                if fields.get("known") == self.revision:
                    return {"revision": self.revision}
                texts = [record.text for record in self.control.declared.values()]
                return {"revision": self.revision, "statements": texts}
            case "apply":
                return self.apply(
                    str(fields["script"]),
                    dry_run=bool(fields["dry_run"]),
                    drops=bool(fields["drops"]),
                    force=bool(fields.get("force")),
                )
            case "decide":
                definition = decision_of(self.database, str(fields["name"]))
                verdict = decide(self.database, definition, fields)
                return {"told": f"decision {verdict.id} of {definition.name} is {verdict.verdict}"}
            case "alert":
                return {"told": self._alert(fields)}
        raise ConfigurationError(f"no request '{do}'")

    def _alert(self, fields: Mapping[str, Any]) -> str:
        """Silence or acknowledge an alert, in the name of a person."""
        from nilometer.live.alerts.listing import definition_of
        from nilometer.live.alerts.watch import Watch, group_key

        name, by = str(fields["name"]), str(fields["by"])
        definition = definition_of(self.database, name)
        if self.roster is not None and self.roster.alerting is not None:
            self.roster.alerting.look(at_once=True)
            watch = self.roster.alerting.watch(name)
        else:
            watch = Watch(self.directory, definition, identity_of(self.directory))
        key = group_key(watch.settings, fields.get("group"))
        if fields["what"] == "acknowledge":
            count = watch.acknowledge(key, by)
            return f"{count} incident{'' if count == 1 else 's'} of {definition.name} acknowledged"
        until = fields.get("until")
        watch.silence(key, None if until is None else int(until), by)
        group = fields.get("group") or {}
        whom = "".join(f" for {column} = {value}" for column, value in group.items())
        if until is None:
            return f"{definition.name} speaks again{whom}"
        return f"{definition.name} is silent{whom} until {format_time(int(until))}"

    # ---- schema.sql --------------------------------------------------------------------------------------------------

    def begin(self, *, force: bool = True, say: Callable[[str], None] = lambda _: None) -> list[Difference]:
        """At the start of an owner: take up what schema.sql declares by now. Without `force`, a new query that asks for
        too much is left out, and `say` is told why."""
        try:
            script = (self.directory / "schema.sql").read_text(encoding="utf-8")
        except FileNotFoundError:
            script = ""
        return self.adopt(script, force=force, say=say)

    def adopt(
        self, script: str, *, force: bool = True, say: Callable[[str], None] = lambda _: None
    ) -> list[Difference]:
        """At the start: record what schema.sql declares by now, and what it no longer does. What clients have
        declared stays. Returns the steps, unless this is the first start."""
        first = not self.control.records
        self._finish_drops()
        steps = differences(self.control.adopted, statements_of(script))
        records: list[Record] = []
        logs: dict[str, StreamLog] = {}
        for step in steps:
            before = self.control.declared.get((step.kind, step.name.lower()))
            if (
                step.what == "CREATE"
                and step.kind == "QUERY"
                and not force
                and not self._admitted(step.name, say)
            ):
                continue
            if step.what == "DROP":
                records.append(_dated("FORGET", step.kind, step.name, origin=SCHEMA))
            else:
                offsets = {} if before is None else before.offsets
                if step.kind == "QUERY" and before is None:
                    offsets = self._offsets(step.name, logs)
                if step.kind == "QUERY" and before is not None and self.roster is not None:
                    self.roster.old_texts.setdefault(step.name.lower(), []).append(before.text)
                records.append(_dated(step.what, step.kind, step.name, step.text, SCHEMA, offsets))
        self.control.append_all(records)
        return [] if first else steps

    def _admitted(self, name: str, say: Callable[[str], None]) -> bool:
        """Whether a query that is new in schema.sql may run. The next owner asks again."""
        try:
            self._admit(name)
        except ResourceError as error:
            say(f"{name} is left out: {error}")
            self.database.catalog.drop("QUERY", name)
            if self.roster is not None:
                self.roster.drop(name)
            return False
        except NilometerError:
            pass  # it cannot run for another reason, which is told when it is installed
        return True

    def _admit(self, name: str, *, force: bool = False) -> None:
        """Refuse a query, which is in the catalog by now, if it asks for more than nilometer.toml allows."""
        definition = self.database.catalog.query(name)
        if definition is None or force:
            return
        others = sum(kind == "QUERY" and key != name.lower() for kind, key in self.control.declared)
        if self.roster is not None:
            others = len(self.roster.station.queries.keys() - {definition.name})
        self._admission.check(f"'{name}'", lambda: self.database.sql(definition.text), others)

    def apply(self, script: str, *, dry_run: bool, drops: bool, force: bool = False) -> dict[str, Any]:
        """Bring the database to what a script declares. `drops`: also drop what it does not declare."""
        steps = differences({k: r.text for k, r in self.control.declared.items()}, statements_of(script))
        told: list[str] = []
        for step in steps if not dry_run else ():
            if step.what == "DROP" and not drops:
                continue
            statement = self._drop_statement(step) if step.what == "DROP" else parse(step.text)
            if statement is None:
                told.append(
                    f"{step.kind} {step.name} cannot be taken back while it runs: it goes with the next serve"
                )
                continue
            if step.what == "REPLACE" and isinstance(statement, REPLACEABLE):
                statement = ast.Replace(statement)
            assert isinstance(statement, ast.Statement)
            told.append(self.execute(statement, SCHEMA, force=force))
        return {"steps": [[step.what, step.kind, step.name, step.text] for step in steps], "told": told}

    def _drop_statement(self, step: Difference) -> ast.Statement | None:
        if step.kind == "SENSOR":
            identifier, _, stream = step.name.partition(" OF ")
            return ast.Drop(
                "SENSOR", int(identifier) if identifier.lstrip("-").isdecimal() else identifier, stream=stream
            )
        query = self.database.catalog.query(step.name) if step.kind == "QUERY" else None
        kind = step.kind if query is None else query.duty or "QUERY"
        return None if step.kind in ("SENSORS", "STREAMS") else ast.Drop(kind, step.name)

    # ---- one statement -----------------------------------------------------------------------------------------------

    def execute(self, statement: ast.Statement, origin: str = CLIENT, *, force: bool = False) -> str:
        """Carry out a declaration or change. Returns what was done, for a person. `force`: whatever the limits say."""
        match statement:
            case ast.Pause(name=name) | ast.Resume(name=name):
                return self._steer(name, paused=isinstance(statement, ast.Pause))
            case ast.Drop():
                return self._drop(statement, origin)
            case ast.Replace(created=created, state=state):
                return self._replace(created, state, origin, force=force)
            case _ if (found := named(statement)) is not None:
                kind, name = found
                text = print_statement(statement)
                if (kind, name.lower()) in self.control.declared and kind not in ("SENSORS", "STREAMS"):
                    raise CatalogError(f"{kind.lower()} '{name}' already exists")
                self.database.declare(statement, text)
                try:
                    if kind == "QUERY":
                        self._admit(name, force=force)
                    offsets = self._offsets(name) if kind == "QUERY" else {}
                    self._record("CREATE", kind, name, text, origin, offsets)
                except NilometerError:
                    self._take_back(kind, name)
                    raise
                return self._begin(name, offsets) if kind == "QUERY" else f"{kind.lower()} {name} is there"
        raise ConfigurationError(f"cannot execute {type(statement).__name__}")

    def _begin(self, name: str, offsets: Mapping[str, Offset]) -> str:
        if self.roster is None:
            return f"{name} is declared; nilometer serve runs it, from here on"
        definition = self.database.catalog.query(name)
        assert definition is not None, "a query that is not declared"
        return self.roster.add(definition, offsets)

    def _take_back(self, kind: str, name: str) -> None:
        if kind in ("STREAM", "TABLE", "NETWORK", "QUERY", "VIEW", "PHENOMENON", "MODEL", "FUNCTION"):
            self.database.catalog.drop(kind, name)

    def _drop(self, statement: ast.Drop, origin: str) -> str:
        kind, name = statement.kind, str(statement.name)
        catalog = self.database.catalog
        check_drop(catalog, kind, name)
        called = kind.lower()
        if kind in ("ALERT", "DECISION"):
            if not any(query.name.lower() == name.lower() for query in catalog.reactions(kind)):
                catalog.drop(kind, name, statement.if_exists)  # says that there is none
                return f"there is no {called} {name}"
            kind = "QUERY"
        if kind == "MODEL" and ("MODEL", name.lower()) not in self.control.declared:
            if not statement.if_exists:
                raise CatalogError(f"no model '{name}'", hint="SHOW MODELS lists them")
            return f"there is no model {name}"
        if kind in ("QUERY", "STREAM", "TABLE", "VIEW", "PHENOMENON", "MODEL", "FUNCTION"):
            found = (callers if kind == "FUNCTION" else readers)(catalog, name)
            if called == "decision":
                found += [one for one in readers(catalog, f"{name}_audit") if one not in found]
            if found:
                raise CatalogError(
                    f"'{name}' is {'called' if kind == 'FUNCTION' else 'read'} by {', '.join(found)}",
                    detail=f"a {kind.lower()} that others {'call' if kind == 'FUNCTION' else 'read'} is not dropped",
                    hint=f"drop {'that one' if len(found) == 1 else 'those'} first",
                )
        if kind == "QUERY" and catalog.query(name) is not None:
            self._refuse_busy_sinks(name)
        self._release(kind, name)
        if not catalog.drop(kind, statement.name, statement.if_exists, statement.stream):
            return f"there is no {called} {name}"
        shown = f"{name} OF {statement.stream}" if kind == "SENSOR" else name
        self._record("DROP", kind, shown, origin=origin)
        if kind == "QUERY":
            if self.roster is not None:
                self.roster.drop(name)
            self._delete(name)
        if kind in ("QUERY", "VIEW"):
            forget_examples(self.directory, name)
        if kind == "MODEL":
            # After the record: a drop that was refused leaves the model as it is.
            (self.directory / "models" / f"{name.lower()}.jsonl").unlink(missing_ok=True)
        note = f"{called} {shown} is dropped"
        if (kind, shown.lower()) in self.control.adopted:
            note += "; schema.sql still declares it, and `nilometer apply` would create it again"
        return note

    def _release(self, kind: str, name: str) -> None:
        if kind == "STREAM" and self.roster is not None:
            self.roster.station.pushes.forget(name)

    def _refuse_busy_sinks(self, name: str) -> None:
        for sink in sorted((folder_of(self.directory, name) / "sinks").glob("*")):
            courier = LocalFiles(sink).holder()
            if courier is not None:
                raise BusyError(
                    f"'{name}' cannot be dropped while its answers are delivered: {courier} does that",
                    hint="stop that process first: a serve, run or answers with --to",
                )

    def _delete(self, name: str) -> None:
        if folder_of(self.directory, name).is_dir() or shared_logs(self.directory, name):
            upkeep.drop(self.database, name)
        if self.database.catalog.extent(name) is None:
            # Its answers as a stream; nobody reads them any more.
            shutil.rmtree(self.directory / PLACE / quote(name.lower(), safe=""), ignore_errors=True)
        shutil.rmtree(folder_of_alert(self.directory, name), ignore_errors=True)
        shutil.rmtree(folder_of_decision(self.directory, name), ignore_errors=True)
        self.control.forget_dropped(("QUERY", name.lower()))

    def _finish_drops(self) -> None:
        """A crash may have come between the record of a drop and the drop."""
        for kind, name in list(self.control.dropped):
            if kind == "QUERY":
                self._delete(name)

    def _replace(self, created: ast.Statement, state: str | None, origin: str, *, force: bool) -> str:
        found = named(created)
        assert found is not None, "a thing without a name"
        kind, name = found
        before = self.control.declared.get((kind, name.lower()))
        text = print_statement(created)
        catalog = self.database.catalog
        if before is None and not any((catalog.query(name), catalog.extent(name), catalog.view(name))):
            return self.execute(created, origin, force=force)
        if before is not None and before.text == text and kind not in ("MODEL", "FUNCTION"):
            # The examples of a model may be others, and so may the code of a function.
            return f"{name} is unchanged"
        old = self.database.catalog.query(name)
        if isinstance(created, ast.CreateQuery) and old is not None and state == "KEEP STATE":
            # Refused before anything has changed.
            wanted = self.database.sql(print_statement(created.query))
            check_keep(self.database, self.directory, name, [*self._texts(name), old.text], wanted)
        self._release(kind, name)
        self.database.declare(ast.Replace(created), text)  # type: ignore[arg-type]
        if kind == "QUERY" and not force:
            try:
                self._admit(name)
            except NilometerError:
                self._keep_old("", name, before)
                raise
        # The old text answers up to here, and all of it is durable, before the record says so.
        effect = self._stop(name, before, old) if kind == "QUERY" else {}
        offsets = {} if before is None else before.offsets
        try:
            self._record("REPLACE", kind, name, text, origin, offsets, effect, state or "")
        except NilometerError:
            self._keep_old(kind, name, before)
            raise
        if self.roster is None:
            return f"{name} is replaced; nilometer serve goes on with it"
        if kind == "QUERY":
            definition = self.database.catalog.query(name)
            assert definition is not None, "a query that was just declared"
            self.roster.starts[name.lower()] = {**offsets, **effect}
            told_of_it = self.roster.replace(definition, None if old is None else old.text, state)
            if definition.name not in self.roster.station.queries:
                self._hold(definition, effect)
            return told_of_it
        told = [f"{kind.lower()} {name} is replaced"]
        reading = self._standing_readers(name, kind)
        if kind == "STREAM":
            # All leave before any comes back, so that the stream's source and entrance begin anew: one that went on
            # would append under the old KEY and FUTURE.
            self.roster.leave(reading)
            self.roster.station.end_readers(name)
        for query in reading:
            definition = self.database.catalog.query(query)
            if definition is not None:
                told.append(self.roster.replace(definition, None, None))
        return "; ".join(told)

    def _texts(self, name: str) -> list[str]:
        """The texts of a query before its present one; one of them may be the one that ran."""
        replaced = self.control.replaced.get(("QUERY", name.lower()))
        found = [] if replaced is None else [replaced]
        return found if self.roster is None else [*found, *self.roster.old_texts.get(name.lower(), ())]

    def _stop(self, name: str, before: Record | None, old: QueryDefinition | None) -> Mapping[str, Offset]:
        """Stop a query that is about to change. Returns where the new text begins in its streams' logs: where the old
        one stands, or was to begin, and at the end of a stream that the old one did not read."""
        stands = None if self.roster is None else self.roster.stop(name)
        if stands is None:
            last = result_log(self.directory, name).last
            stands = {**self._to_begin(before, old), **({} if last is None else last.offsets)}
        definition = self.database.catalog.query(name)
        assert definition is not None, "a query that was just declared"
        logs = self._logs(self.database.sql(definition.text))
        return {**{key: log.end for key, log in logs.items()}, **stands}

    def _hold(self, definition: QueryDefinition, effect: Mapping[str, Offset]) -> None:
        """A query that is paused reads nothing, but retention must keep what its new text will read. When it goes on, the
        reader of all queries does that."""
        if result_log(self.directory, definition.name).last is None:
            return
        needed = self._logs(self.database.sql(definition.text))
        logs, reader = LogDirectory(self.directory), reader_of(definition.name)
        for stream, log in needed.items():
            store_offset(log.files, reader, effect[stream])
        for stream in set(logs.streams()) - needed.keys():
            logs.log(stream).forget_reader(reader)

    def _to_begin(self, before: Record | None, old: QueryDefinition | None) -> dict[str, Offset]:
        """Where the record lets a query begin in the streams of its old text, which may never have run."""
        found = {} if before is None else {**before.offsets, **before.effect}
        if old is not None:
            with contextlib.suppress(NilometerError):  # the text may read something that has changed or gone
                read = physical.streams_of(self.database.sql(old.text).physical)
                found = {key: at for key, at in found.items() if key in read}
        return found

    def _keep_old(self, kind: str, name: str, before: Record | None) -> None:
        """A change could not be recorded: the thing stays as it was."""
        old = None if before is None else parse(before.text)
        if not isinstance(old, REPLACEABLE):
            return
        self.database.declare(ast.Replace(old), before.text if before is not None else "")
        definition = self.database.catalog.query(name)
        if kind == "QUERY" and self.roster is not None and definition is not None:
            self.roster.replace(definition, None, None)

    def _standing_readers(self, name: str, kind: str = "") -> list[str]:
        """The queries that read it, or call it, also through views and phenomena."""
        found: dict[str, None] = {}
        for reader in (callers if kind == "FUNCTION" else readers)(self.database.catalog, name):
            if self.database.catalog.query(reader) is not None:
                found[reader] = None
            catalog = self.database.catalog
            if catalog.view(reader) is not None or catalog.phenomenon(reader) is not None:
                found |= dict.fromkeys(self._standing_readers(reader))
        return list(found)

    def _steer(self, name: str, *, paused: bool) -> str:
        _, name = upkeep.known(self.database, name)
        (upkeep.pause if paused else upkeep.resume)(self.database, name)
        self._record("PAUSE" if paused else "RESUME", "QUERY", name)
        if self.roster is not None:
            self.roster.look_now()
        return f"{name} {'is paused' if paused else 'goes on'}"

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _offsets(self, name: str, known: dict[str, StreamLog] | None = None) -> dict[str, Offset]:
        """Where a new query begins: as it says, or now. A file is read from its beginning, also by the second query.
        `known` logs are not opened again."""
        definition = self.database.catalog.query(name)
        if definition is None:
            return {}
        starting = definition.starting
        start: Start = BEGINNING if isinstance(starting, str) else NOW if starting is None else starting
        query = self.database.sql(definition.text)
        with contextlib.suppress(NilometerError):  # the roster refuses it
            query = query.standing()
        if self.roster is not None:
            self.roster.compiled[name.lower()] = query
        logs, streams = self._logs(query, known), physical.streams_of(query.physical)
        files = {
            key: log for key, log in logs.items() if streams[key].name.lower() in self.database.data.files
        }
        return offsets_at(logs, start) | (offsets_at(files, BEGINNING) if start == NOW else {})

    def _logs(self, query: CompiledQuery, known: dict[str, StreamLog] | None = None) -> dict[str, StreamLog]:
        """The logs that a query reads. Those of answers have all answers so far; where nobody runs the queries, they
        are left out, and the next owner begins after what was answered before."""
        streams = physical.streams_of(query.physical)
        if self.roster is not None:
            self.roster.station.catch_up(streams)
        else:
            streams = {key: stream for key, stream in streams.items() if not is_answers(stream)}
        known = {} if known is None else known
        new = {key: stream for key, stream in streams.items() if key not in known}
        if new:
            logs = LogDirectory(self.directory)
            known.update((key, logs.log(stream)) for key, stream in new.items())
        return {key: known[key] for key in streams}

    def _record(
        self,
        what: str,
        kind: str,
        name: str,
        text: str = "",
        origin: str = CLIENT,
        offsets: Mapping[str, Offset] | None = None,
        effect: Mapping[str, Offset] | None = None,
        state: str = "",
    ) -> None:
        self.control.append(_dated(what, kind, name, text, origin, offsets, effect, state))


def _dated(
    what: str,
    kind: str,
    name: str,
    text: str = "",
    origin: str = CLIENT,
    offsets: Mapping[str, Offset] | None = None,
    effect: Mapping[str, Offset] | None = None,
    state: str = "",
) -> Record:
    """A record of now."""
    now = time.time_ns() // 1_000
    return Record(what, kind, name, text, origin, offsets or {}, now, effect or {}, state)


def take_up(
    database: Declarations, roster: Roster, say: Callable[[str], None], *, force: bool = False
) -> Changes:
    """Begin as the owner: what schema.sql and clients have declared, each query at its place in the logs. `force`:
    whatever the limits say."""
    directory = database.data.base
    assert directory is not None, "an owner without a directory"
    changes = Changes(database, directory, roster)
    if changes.control.cut:
        say(
            f"the control log ended with an unfinished line of {changes.control.cut} bytes, which never took effect"
        )
    for step in changes.begin(force=force, say=say):
        say(f"schema.sql has changed: {step}")
    for (kind, name), record in changes.control.declared.items():
        if kind == "QUERY" and (record.offsets or record.effect):
            roster.starts[name] = {**record.offsets, **record.effect}
        if kind == "QUERY" and record.what == "REPLACE":
            # If a crash came before the change took effect, it takes effect now, as it was asked for.
            if (kind, name) in changes.control.replaced:
                roster.old_texts.setdefault(name, []).append(changes.control.replaced[kind, name])
            if record.state:
                roster.choices[name] = cast(Choice, record.state)
        if record.origin == CLIENT and kind == "QUERY":
            say(f"{record.name} is not in schema.sql: a client has created it")
    return changes


def declared_at_rest(directory: Path, script: str) -> list[str]:
    """The declarations where no owner runs, as the next owner will find them."""
    control = ControlLog(directory)
    texts: dict[Key, str] = {key: record.text for key, record in control.declared.items()}
    for step in differences(control.adopted, statements_of(script)):
        if step.what == "DROP":
            texts.pop((step.kind, step.name.lower()), None)
        else:
            texts[step.kind, step.name.lower()] = step.text
    return list(texts.values())
