"""Shared by `query` and `sql`: runs a live query and prints its rows. The directory's owner runs it; where there is
none, this process is the owner as long as it takes.

The query outlives its owner. When the owner ends, or is killed, the query goes on with the next one, at the row
where it was: no row is missing, and none comes twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.cli.account import refuse_losses
from nilometer.cli.console import RowPrinter, message
from nilometer.cli.live import counted, follow, open_owner, open_station, stopped_by_signal

if TYPE_CHECKING:
    from nilometer.engine import Query
    from nilometer.live.live_query import LiveQuery
    from nilometer.live.owner.client import Asking, Client
    from nilometer.live.station import Station


def run_live(
    asked: Query,
    on: str,
    start: str,
    json: bool,
    limit: int | None,
    seconds: float | None,
    when_full: list[str] | None,
    *,
    strict: bool = False,
    force: bool = False,
) -> None:
    """Print the rows of a live query as they come."""
    from nilometer.live.starts import start_of

    run = _FollowedQuery(asked, json, limit, seconds, when_full, strict, force)
    directory = asked.database.data.base
    if directory is None:
        with open_station(asked.database, when_full) as station:
            live = station.install(asked, start=start_of(start), on=on)
            message("live; Ctrl-C stops it")
            run.follow(station, live)
    else:
        run.to_the_end(directory, on, start_of(start))


@dataclass
class _FollowedQuery:
    asked: Query
    json: bool
    limit: int | None
    seconds: float | None
    when_full: list[str] | None
    strict: bool
    force: bool
    stopped: Callable[[], bool] = field(default_factory=stopped_by_signal)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.printer = RowPrinter(self.asked.schema.names, self.json, self.limit)

    @property
    def left(self) -> float | None:
        """Seconds until the end; None: until Ctrl-C."""
        return None if self.seconds is None else max(0.1, self.began + self.seconds - time.monotonic())

    def to_the_end(self, directory: Path, on: str, start: Any) -> None:
        """Run with one owner after the other."""
        from nilometer.language import print_statement
        from nilometer.live.owner.client import Asking, find_owner
        from nilometer.live.owner.lock import await_owner
        from nilometer.log.writer import BusyError

        asked = self.asked
        asking = Asking(print_statement(asked.tree), asked.parameters, asked.profile, on, start, self.force)
        while True:
            client = find_owner(directory)
            if client is not None:
                with client:
                    if self._as_client(client, asking):
                        return
                message(f"the owner has gone{_until_then(asking)}; the query goes on where it was")
                continue
            try:
                owner = open_owner(asked.database, self.when_full, embedded=True)
            except BusyError:
                continue  # another process was faster: be its client
            with owner:
                owner.admit(asked, force=self.force or bool(asking.rows))
                live = owner.station.install(asked, start=asking.offsets, on=on)
                live.skip = asking.rows
                message("live; Ctrl-C stops it")
                self.follow(owner.station, live, owner.attend, owner.giving_way.is_set)
                asking.leave(live.began, live.rows)
                if not owner.giving_way.is_set():
                    return
            await_owner(directory)

    def follow(
        self,
        station: Station,
        live: LiveQuery,
        besides: Callable[[], object] = lambda: None,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run the station in this process."""
        from nilometer.engine.accounts import lost

        follow(
            station,
            [live],
            json=self.json,
            seconds=self.left,
            stopped=lambda: self.stopped() or over(),
            besides=besides,
            printers={live.name: self.printer},
        )
        if self.strict:
            streams = station.manager.streams
            books = {name: station.manager.status(name).ledger.as_dict() for name in streams}
            account = live.ledger.as_dict() | {"trimmed": live.trimmed}
            losses = {name: lost(ledger) for name, ledger in (books | {"query": account}).items()}
            refuse_losses({name: found for name, found in losses.items() if found})

    def _as_client(self, client: Client, asking: Asking) -> bool:
        """Fetch the rows from the owner. Returns whether the query has ended, or else the owner."""
        from nilometer.live.answers import Answer
        from nilometer.live.owner.owner import OwnerGoneError

        said: set[str] = set()
        try:
            asking.install(client)
            message(f"live, run by {client.owner}; Ctrl-C stops it")
            if asking.note:
                message(asking.note)
            over = False
            while not over and not self.printer.full and not self.stopped():
                left = 1.0 if self.left is None else min(1.0, self.left)
                ending = self.seconds is not None and time.monotonic() >= self.began + self.seconds
                rows, over = asking.fetch(client, 0.0 if ending else left)
                if rows is not None:
                    self.printer.print(Answer(self.asked.schema, rows))
                over |= ending and rows is None
                for trouble in asking.facts["trouble"]:
                    if trouble not in said:
                        said.add(trouble)
                        message(trouble)
        except OwnerGoneError:
            return False
        except KeyboardInterrupt:
            message("stopped")
        self._account(asking)
        return True

    def _account(self, asking: Asking) -> None:
        from nilometer.engine.accounts import lost

        if not asking.facts:
            message("no owner has answered: it has gone, or is busy")
            return
        message(_counted(asking))
        if self.strict:
            losses = lost({**asking.facts.get("ledger", {}), "trimmed": asking.facts.get("trimmed", 0)})
            refuse_losses({"query": losses} if losses else {})


def _counted(asking: Asking) -> str:
    """The rows that have come from owners, and the present one's books."""
    ledger: dict[str, int] = asking.facts.get("ledger", {})
    books = ", ".join(f"{count} {name}" for name, count in ledger.items() if count)
    return counted(asking.rows, asking.dropped, asking.facts.get("trimmed", 0), books)


def _until_then(asking: Asking) -> str:
    return f" after {_counted(asking)}" if asking.facts else ""
