"""A live query in a notebook: a table of the newest rows with a small chart, which is updated as rows come.

It needs IPython, which every notebook has, and no widgets.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib import import_module
from typing import Any, Protocol

from nilometer.errors import ConfigurationError
from nilometer.live.small_chart import chart_of, numbers_in

SHOWN = 10
CHARTED = 300
EVERY = 0.5
"""Seconds between two updates."""


class Handle(Protocol):
    """A display that can be changed: IPython's DisplayHandle."""

    def update(self, shown: Any) -> None:
        """Show this instead."""


class Page:
    """HTML that a notebook shows; elsewhere the text of it."""

    def __init__(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


Display = Callable[[Page], Handle | None]


def watch(rows: Iterable[Mapping[str, Any]], title: str, display: Display | None = None) -> int:
    """Show rows as they come, until they end or the cell is interrupted. Returns how many came."""
    show = _in_notebook() if display is None else display
    newest: deque[Mapping[str, Any]] = deque(maxlen=CHARTED)
    count, shown_at = 0, float("-inf")
    handle = show(page_of(title, newest, count))
    try:
        for row in rows:
            newest.append(row)
            count += 1
            if time.monotonic() - shown_at >= EVERY:
                shown_at = time.monotonic()
                if handle is not None:
                    handle.update(page_of(title, newest, count))
    except KeyboardInterrupt:
        pass
    if handle is not None:
        handle.update(page_of(title, newest, count))
    return count


def page_of(title: str, rows: Iterable[Mapping[str, Any]], count: int) -> Page:
    """The newest rows, the newest first, and a chart of more of them."""
    found = list(rows)
    head, body, chart = "", "", ""
    if found:
        head = "".join(f"<th>{escape(name)}</th>" for name in found[-1])
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row.values()) + "</tr>"
            for row in reversed(found[-SHOWN:])
        )
        chart = chart_of(found, numbers_in(found[-1]))
    told = f"{count} row{'' if count == 1 else 's'} so far"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return Page(f"<pre>{escape(title.strip())}</pre>{chart}{table}<p>{told}</p>", f"{title}: {told}")


def _text(value: Any) -> str:
    return "NULL" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


def _in_notebook() -> Display:
    try:
        shown = import_module("IPython.display")
    except ImportError:
        raise ConfigurationError(
            "this is no notebook: IPython is not installed", hint="iterate over live() instead"
        ) from None

    def show(page: Page) -> Handle | None:
        handle: Handle | None = shown.display(page, display_id=True)
        return handle

    return show
