"""What became of the readings: the lines after an answer, as text or JSON, and the exit code of --strict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import typer

from nilometer.cli.console import message, tell_of_data

if TYPE_CHECKING:
    from nilometer.engine import Answer, Query

_REASONS = {
    "late": "came after the watermark of their stream: declare a longer DELAY",
    "future": "are stamped later than they arrived: declare a longer FUTURE, or correct the clocks",
    "unanswered": "are in no answer yet: their ticks are not complete",
}


def tell_account(answer: Answer, shown: int, asked: Query, as_json: bool) -> None:
    """Print to stderr what was read, what became of it, and what the files are like: as lines, or as one JSON
    object."""
    if as_json:
        message(json.dumps(summary_json(answer, shown, asked), ensure_ascii=False))
        return
    message(summary(answer, shown))
    for line in (
        *answer.notes,
        *limit_notes(answer, asked),
        *_explained(answer, log_order=asked.database.data.log_order),
    ):
        message(line)
    tell_of_data(asked.database)


def summary(answer: Answer, shown: int) -> str:
    """One line that counts the rows returned and the readings read."""
    from nilometer.engine.accounts import spoken

    count = len(answer)
    text = f"{count} row{'' if count == 1 else 's'}" + (f", {shown} shown" if shown != count else "")
    return text + "".join(f"; {name}: {spoken(ledger)}" for name, ledger in answer.ledgers.items())


def limit_notes(answer: Answer, asked: Query) -> list[str]:
    """A note if LIMIT let more rows pass, because it is for each window of TUMBLE, HOP or SESSION. Brackets show
    their evaluations by `tick`."""
    from nilometer.language import ast

    match asked.tree:
        case ast.Ordered(limit=ast.Constant(value=int(most))) if (
            len(answer) > most and not asked.logical.tick
        ):
            return [
                f"LIMIT {most} is for each window: for the whole file, group by the time instead: GROUP BY"
                " date_bin(1 HOUR, time); of sessions, make a subquery with RSTREAM"
            ]
    return []


def summary_json(answer: Answer, shown: int, asked: Query) -> dict[str, object]:
    """The same as an object."""
    from nilometer.engine.accounts import lost_in

    database = asked.database
    found = {
        "rows": len(answer),
        "shown": shown,
        "streams": answer.ledgers,
        "lost": lost_in(answer),
        "garbled": {name: letters for name, letters in database.data.dead_letters.items() if letters},
        "notes": [*answer.notes, *limit_notes(answer, asked), *database.notes, *database.data.notes],
    }
    return {"summary": found}


def _explained(answer: Answer, *, log_order: bool) -> Iterable[str]:
    """A line for each stream and reason for which readings are in no answer."""
    from nilometer.engine.accounts import lost_in

    for name, counts in lost_in(answer).items():
        for kind, reason in _REASONS.items():
            if kind in counts:
                more = ", or leave out --log-order" if kind == "late" and log_order else ""
                yield f"{name}: {kind} readings ({counts[kind]}) {reason}{more}"


def refuse_losses(losses: Mapping[str, Mapping[str, int]]) -> None:
    """End with exit code 1 if readings were lost; the numbers are by stream and reason."""
    if not losses:
        return
    parts = (
        f"{name}: {', '.join(f'{count} {reason}' for reason, count in counts.items())}"
        for name, counts in losses.items()
    )
    message(f"--strict: readings were lost; {'; '.join(parts)}")
    raise typer.Exit(1)
