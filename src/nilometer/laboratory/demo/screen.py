"""The demo's screen: the field as a map, the stream's books and the queries' answers; plain lines where there is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from rich.console import Console, Group
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from nilometer.edge.ledger import Ledger
from nilometer.laboratory.generators.moving_plume import MovingPlume
from nilometer.types import format_time

if TYPE_CHECKING:
    from nilometer.laboratory.demo.run import Standing

COLUMNS, ROWS = 46, 16
LEVELS = ((12.0, "green"), (35.0, "yellow"), (55.0, "dark_orange"), (float("inf"), "red"))
LINES_EVERY = 40


class Screen:
    """A context manager; `draw` after every step, `summary` at the end."""

    def __init__(self, field: MovingPlume, seconds: float | None) -> None:
        self.field = field
        self.seconds = seconds
        self.console = Console(file=sys.stdout)
        self.live: Live | None = None
        self.values: dict[int, float] = {}
        self.heard: dict[int, int] = {}
        self.steps = 0
        places = field.locations()
        self.cells = {
            index + 1: (
                min(COLUMNS - 1, int(x / field.width * COLUMNS)),
                min(ROWS - 1, int(y / field.height * ROWS)),
            )
            for index, (x, y) in enumerate(places.tolist())
        }

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live = Live(console=self.console, refresh_per_second=8, screen=False, transient=True)
            self.live.__enter__()
        else:
            print(
                f"{self.field.sensor_count} monitors, one reading a minute each; smoke drifts in from the west",
                flush=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.__exit__(kind, error, trace)

    def draw(self, rows: pl.DataFrame, standing: list[Standing], ledger: Ledger, elapsed: float) -> None:
        """Show where things stand."""
        self.steps += 1
        newest = rows.sort("time").unique("id", keep="last", maintain_order=True)
        for identifier, moment, value in newest.select("id", "time", "concentration").iter_rows():
            self.heard[identifier] = moment
            if value is not None:
                self.values[identifier] = value
        watermark = standing[0].run.watermark
        if self.live is None:
            if self.steps % LINES_EVERY == 1:
                answers = sum(query.rows for query in standing)
                worst = max(self.values.values(), default=0.0)
                print(
                    f"{format_time(watermark)}  received {ledger.received:6}  late {ledger.late:3}  "
                    f"duplicate {ledger.duplicate:3}  answers {answers:5}  worst reading {worst:6.1f}",
                    flush=True,
                )
            return
        layout = Layout()
        layout.split_row(
            Layout(self._left(watermark, ledger, elapsed), size=COLUMNS + 4), Layout(self._right(standing))
        )
        self.live.update(layout)

    def _left(self, watermark: int, ledger: Ledger, elapsed: float) -> Group:
        newest = max(self.heard.values(), default=0)
        grid = [[(" ", "")] * COLUMNS for _ in range(ROWS)]
        for identifier, (column, row) in self.cells.items():
            value = self.values.get(identifier)
            silent = newest - self.heard.get(identifier, 0) > 8 * 60 * 1_000_000
            colour = "" if value is None else next(name for limit, name in LEVELS if value < limit)
            grid[ROWS - 1 - row][column] = ("x", "dim") if value is None or silent else ("●", colour)
        field = Text()
        for line in grid:
            for mark, colour in line:
                field.append(mark, colour or None)
            field.append("\n")
        books = Table.grid(padding=(0, 2))
        for name, value in ledger.as_dict().items():
            books.add_row(name, f"{value:,}")
        books.add_row("books", "balance" if ledger.balanced else "DO NOT BALANCE")
        left = "" if self.seconds is None else f" of {self.seconds:.0f}"
        return Group(
            Panel(field, title="the field (green clear, red smoke, x silent)"),
            Panel(books, title=f"air: watermark {format_time(watermark)[11:16]}, {elapsed:.0f}{left} s"),
        )

    def _right(self, standing: list[Standing]) -> Group:
        panels = []
        for query in standing:
            body = Text("\n".join(query.latest) or "nothing yet")
            panels.append(
                Panel(body, title=query.question.title, subtitle=f"{query.rows:,} rows", title_align="left")
            )
        return Group(*panels)

    def interrupted(self) -> None:
        """Ctrl-C: the summary follows."""
        if self.live is None:
            print("stopped", flush=True)

    def summary(self, figures: dict[str, Any]) -> None:
        """What was shown, in figures."""
        ledger = figures["ledger"]
        print(
            f"\n{figures['readings']:,} readings of {figures['field_hours']:.1f} hours of the field "
            f"in {figures['seconds']:.0f} seconds"
        )
        accounts = ", ".join(
            f"{name} {ledger[name]:,}" for name in ("accepted", "late", "duplicate", "garbled", "future")
        )
        print(
            f"received {ledger['received']:,} = {accounts}; the books {'balance' if figures['balanced'] else 'DO NOT BALANCE'}"
        )
        for title, rows in figures["answers"].items():
            print(f"  {rows:6,} rows  {title}")
        print(
            '\nask your own data: ./nilo query --data DIRECTORY "SELECT ..."; the plans: ./nilo explain --help',
            flush=True,
        )
