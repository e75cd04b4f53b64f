"""An answer as an HTML table, as notebooks show it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from nilometer.live.small_chart import chart_of
from nilometer.types import Kind

if TYPE_CHECKING:
    from nilometer.live.answers import Answer

SHOWN = 20
"""The number of rows that a notebook shows."""
CHARTED = 2_000
"""The number of rows that its small chart is made of."""


def html_of(answer: Answer, text: str = "") -> str:
    """The first rows of an answer, and how many there are."""
    head = "".join(
        f"<th>{escape(column.name)}<br><small>{escape(str(column.type))}{_unit(column.unit)}</small></th>"
        for column in answer.schema
    )
    right = [column.type.kind in (Kind.INT, Kind.FLOAT) for column in answer.schema]
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: {"right" if number else "left"}">{escape(value)}</td>'
            for value, number in zip(row, right, strict=True)
        )
        + "</tr>"
        for row in answer.head(SHOWN).text_rows()
    )
    numbers = [
        c.name for c in answer.schema if c.type.kind in (Kind.INT, Kind.FLOAT) and c.name.lower() != "id"
    ]
    timed = any(column.type.kind is Kind.TIME for column in answer.schema)
    chart = chart_of(list(answer.head(CHARTED)), numbers) if timed else ""
    count = len(answer)
    told = f"{count} row{'' if count == 1 else 's'}" + (f", the first {SHOWN} shown" if count > SHOWN else "")
    return f"{query_html(text)}{chart}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{told}</p>"


def query_html(text: str) -> str:
    """The text of a query."""
    return f"<pre>{escape(text.strip())}</pre>" if text else ""


def _unit(unit: str | None) -> str:
    return f" {escape(unit)}" if unit else ""
