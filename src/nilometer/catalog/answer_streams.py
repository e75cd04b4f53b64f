"""A standing query as a stream of its answers, which other queries can read in FROM.

Its columns are those of the answers. `time` is the tick of the evaluation, or the query's own `time` if its answer has
no ticks; `id` is the query's own, or unknown. Answers of windows come in the order of their ticks; those of a query
without windows may be as late as the readings that they are made of.
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import CatalogError
from nilometer.types import DAY, INT, STRING, TIME, Column, Kind

SCHEME = "answers:"
FUTURE = 1_000_000 * DAY
"""Answers are never refused for being ahead of the clock: their readings were let in."""
TICK = "tick"
AUDIT = "answers:verdicts of "
SUFFIX = "_audit"
VERDICT = ("verdict", "action", "instead", "person", "note")
"""The columns of a verdict, besides `time` and `id`, the position of the decision."""


def answer_stream(name: str, columns: tuple[Column, ...], delay: int) -> Stream:
    """The stream of a query's answers; refuses answers that have no time."""
    names = {column.name.lower() for column in columns}
    if TICK in names and "time" in names:
        raise CatalogError(
            f"'{name}' answers with a 'tick' and a 'time', so it cannot be read as a stream",
            hint="give its time another name: SELECT time AS measured, ...",
        )
    if not names & {TICK, "time"}:
        raise CatalogError(
            f"'{name}' answers without a 'time', so it cannot be read as a stream",
            hint=f"let it select its time: REPLACE QUERY {name} AS SELECT time, ...",
        )
    renamed = tuple(replace(c, name="time") if c.name.lower() == TICK else c for c in columns)
    for column in renamed:
        wanted = {"time": (Kind.TIME,), "id": (Kind.INT, Kind.STRING)}.get(column.name.lower())
        if wanted is not None and column.type.kind not in wanted:
            raise CatalogError(
                f"'{name}' answers with a '{column.name}' that is {column.type}, so it cannot be read as a stream",
                hint="give that column another name",
            )
    plain = tuple(Column(c.name, TIME if c.name.lower() == "time" else c.type.plain, c.unit) for c in renamed)
    late = 0 if TICK in names else delay
    return Stream(
        name, stream_columns(plain, INT), url=f"{SCHEME}{name}", delay=late, future=FUTURE, id_declared=True
    )


def is_answers(stream: Stream) -> bool:
    """Whether the stream is a standing query's answers."""
    return stream.url is not None and stream.url.startswith(SCHEME)


def audit_stream(decision: str) -> Stream:
    """The stream of what people say about a decision (live/verdicts.py)."""
    columns = stream_columns(tuple(Column(name, STRING) for name in VERDICT), INT)
    return Stream(f"{decision}{SUFFIX}", columns, url=f"{AUDIT}{decision}", future=FUTURE, id_declared=True)


def audited(stream: Stream) -> str | None:
    """The decision whose verdicts the stream has; None if it is no such stream."""
    return stream.url.removeprefix(AUDIT) if stream.url is not None and stream.url.startswith(AUDIT) else None
