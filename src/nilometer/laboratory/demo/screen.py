"""The demo's screen: a map of the field, the monitors' states, the stream's books and the answers; plain
lines if there is no terminal.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from nilometer.ingest.adapters import ReadResult
from nilometer.live.station import Station
from nilometer.simulated import SimulatedField
from nilometer.types import MINUTE, format_time

if TYPE_CHECKING:
    from nilometer.ingest.manager import StreamStatus
    from nilometer.laboratory.demo.run import Shown

WIDE, HIGH = 46, 14
"""The size of the map where there is room."""
NARROW, LOW = 30, 6
"""Its size on a terminal of 80 by 24."""
BELOW = 15
"""The lines of the two panels below the map, and of all borders."""
LEVELS = ((12.0, "green"), (35.0, "yellow"), (55.0, "dark_orange"), (float("inf"), "red"))
LINES_EVERY = 24
OLD = 25 * MINUTE


class Screen:
    """A context manager. Call `draw` after every frame and `summary` at the end."""

    def __init__(self, field: SimulatedField) -> None:
        self.field = field
        self.console = Console(file=sys.stdout)
        self.live: Live | None = None
        self.values: dict[int, float] = {}
        self.heard: dict[int, int] = {}
        self.frames = 0
        self.said = ""
        self.columns = WIDE if self.console.width >= 100 else NARROW
        self.rows = max(LOW, min(HIGH, self.console.height - BELOW - 2))
        places = {s.id: s.location for s in field.sensors_of("air") if s.location is not None}
        width = max(x for x, _ in places.values()) + 1e-9
        height = max(y for _, y in places.values()) + 1e-9
        self.cells = {
            identifier: (
                min(self.columns - 1, int(x / width * self.columns)),
                min(self.rows - 1, int(y / height * self.rows)),
            )
            for identifier, (x, y) in places.items()
        }
        self.listening = False
        self.told: set[str] = set()

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live = Live(console=self.console, refresh_per_second=8, screen=False, transient=True)
            self.live.__enter__()
        else:
            print(
                f"{len(self.cells)} monitors behind a bad radio; smoke drifts in from the west; questions come and go,\n"
                "and the monitors sample, filter and sleep as they need",
                flush=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.__exit__(kind, error, trace)

    def listen(self, station: Station) -> None:
        """Watch the readings as they come in."""
        if not self.listening:
            station.manager.listeners.append(self._heard)
            self.listening = True

    def _heard(self, _: str, result: ReadResult) -> None:
        newest = result.rows.sort("time").unique("id", keep="last", maintain_order=True)
        for identifier, moment, value in newest.select("id", "time", "concentration").iter_rows():
            if moment is not None:
                self.heard[identifier] = moment
            if value is not None:
                self.values[identifier] = value

    def draw(
        self,
        station: Station,
        status: StreamStatus | None,
        shown: list[Shown],
        doing: Counter[str],
        elapsed: float,
        said: str = "",
    ) -> None:
        """Show the present state, and say something about it."""
        self.listen(station)
        self.frames += 1
        if self.live is None:
            self._lines(station, status, shown, doing, said)
            return
        layout = Layout()
        layout.split_row(
            Layout(self._left(station, status, doing, elapsed), size=self.columns + 4),
            Layout(self._right(shown, said)),
        )
        self.live.update(layout)

    def _lines(
        self,
        station: Station,
        status: StreamStatus | None,
        shown: list[Shown],
        doing: Counter[str],
        remark: str,
    ) -> None:
        """Print a line when the monitors' states have changed, and from time to time a line with the
        books."""
        now = format_time(station.clock())[11:16]
        running = ", ".join(each.question.name for each in shown if each.live is not None)
        if remark and remark not in self.told:
            self.told.add(remark)
            print(remark, flush=True)
        for each in shown:
            if each.on_spark and each.question.name not in self.told:
                self.told.add(each.question.name)
                print(f"{now}  Spark answers {each.question.name}", flush=True)
        said = f"asked: {running or 'nothing'}; monitors: " + _counted(doing)
        if said != self.said and "told" not in doing and "waiting" not in doing:
            self.said = said
            print(f"{now}  {said}", flush=True)
        if self.frames % LINES_EVERY == 0 and status is not None:
            books = ", ".join(f"{name} {n:,}" for name, n in status.ledger.as_dict().items() if n)
            answers = sum(each.rows for each in shown)
            print(f"{now}  {books}, missing {status.missing or 0:,}; answers {answers:,}", flush=True)

    def _left(
        self, station: Station, status: StreamStatus | None, doing: Counter[str], elapsed: float
    ) -> Group:
        now = station.clock()
        asleep = {
            row["sensor"] for row in station.fleet.rows().iter_rows(named=True) if row["state"] == "asleep"
        }
        grid = [[(" ", "")] * self.columns for _ in range(self.rows)]
        for identifier, (column, row) in self.cells.items():
            value = self.values.get(int(identifier))
            old = now - self.heard.get(int(identifier), 0) > OLD
            colour = "" if value is None else next(name for limit, name in LEVELS if value < limit)
            mark = ("z", "blue") if str(identifier) in asleep else ("·", "dim") if old else ("●", colour)
            grid[self.rows - 1 - row][column] = mark
        field = Text()
        for number, line in enumerate(grid):
            field.append("\n" if number else "")
            for mark_, colour in line:
                field.append(mark_, colour or None)
        energy = self.field.energy()
        work = Table.grid(padding=(0, 2))
        for name, count in doing.most_common(3):
            work.add_row(name, f"{count}")
        work.add_row("battery", f"{energy.watts * 1e3:.2f} mW, {energy.lifetime / 86_400:.0f} days")
        books = Text()
        if status is not None:
            counts = status.ledger.as_dict() | {"missing": status.missing or 0, "silent": len(status.silent)}
            books.append(", ".join(f"{name}\u00a0{value:,}" for name, value in counts.items()))
            books.append("; the books balance" if status.ledger.balanced else "; THE BOOKS DO NOT BALANCE")
        legend = (
            "green clear, red smoke, z asleep, · not heard"
            if self.columns == WIDE
            else "z asleep, · not heard"
        )
        return Group(
            Panel(field, title=legend),
            Panel(work, title="what the monitors do"),
            Panel(books, title=f"air at {format_time(now)[11:16]}, {elapsed:.0f} s"),
        )

    def _right(self, shown: list[Shown], said: str) -> Group:
        panels: list[Panel | Text] = [Text(said, "yellow", no_wrap=True, overflow="ellipsis")] if said else []
        # As many lines as there is room for, with a border above and below.
        room = max(1, (self.console.height - len(panels)) // len(shown) - 2)
        for each in shown:
            running = each.live is not None
            body = Text(
                "\n".join(list(each.latest)[-room:]) or ("nothing yet" if running else "not asked"),
                no_wrap=True,
                overflow="ellipsis",
            )
            mark = f"W {format_time(each.live.watermark)[11:16]}" if each.live and each.live.watermark else ""
            panels.append(
                Panel(
                    body,
                    title=each.question.title,
                    subtitle=f"{each.rows:,} rows from {each.host} {mark}",
                    title_align="left",
                    style="" if running else "dim",
                )
            )
        return Group(*panels)

    def interrupted(self) -> None:
        """Handle Ctrl-C: the summary follows."""
        if self.live is None:
            print("stopped", flush=True)

    def summary(self, figures: dict[str, Any]) -> None:
        """Print the figures of the demo."""
        if self.live is not None:
            self.live.stop()
        books = figures["ledger"]
        print(
            f"\n{books.get('received', 0):,} readings of {figures['field_hours']:.1f} hours of the field in "
            f"{figures['seconds']:.0f} seconds; a log of {figures['log_bytes']:,} bytes"
        )
        accounts = ", ".join(f"{name} {count:,}" for name, count in books.items() if name != "received")
        print(
            f"received {books.get('received', 0):,} = {accounts}; the books "
            f"{'balance' if figures['balanced'] else 'DO NOT BALANCE'}"
        )
        print(
            f"monitors, at most: {_counted(Counter(figures['paces']))}; the demand changed {figures['demand_changes']} times; "
            f"{figures['milliwatts']:.2f} mW a monitor"
        )
        for title, rows in figures["answers"].items():
            print(f"  {rows:6,} rows from {figures['hosts'][title]}  {title}")
        print(
            '\nask your own: ./nilo query --data DIRECTORY "SELECT ..."; the plans: ./nilo explain --help',
            flush=True,
        )


def _counted(doing: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in doing.most_common())
