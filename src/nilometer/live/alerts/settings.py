"""What CREATE ALERT says, with its durations in microseconds and its address checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.language import ast, parse
from nilometer.plan.bind.parameters import length_of
from nilometer.types import DAY, MINUTE, Column, parse_time

SCHEMES = ("https", "http", "mqtts", "mqtt", "mailto")
FORMS = "'https://host/path', 'mqtt://host/topic' or 'mailto:someone@example.org'"
RESOLVE = 5 * MINUTE
"""A group without rows for this long is well again, as in Alertmanager."""
RETRIES = 20
"""How often a message is sent again. With the waits between, it takes about an hour."""
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Quiet:
    """A time in which nobody is told: every day between two times of day (UTC), or once between two moments."""

    begin: int
    end: int
    daily: bool

    def until(self, at: int) -> int | None:
        """The end of the quiet time that the moment is in; None if it is in none.

        >>> Quiet(22 * 60 * MINUTE, 6 * 60 * MINUTE, True).until(23 * 60 * MINUTE) == DAY + 6 * 60 * MINUTE
        True
        """
        if not self.daily:
            return self.end if self.begin <= at < self.end else None
        of_day = at % DAY
        length = (self.end - self.begin) % DAY or DAY
        into = (of_day - self.begin) % DAY
        return at + length - into if into < length else None


@dataclass(frozen=True)
class AlertSettings:
    """`debounce`: how long rows must come before the group fires. `resolve`: how long none come before it is well.
    `repeat`: how often it is said again while it fires. `pause`: how long a group is quiet after a message."""

    name: str
    address: str
    time: str
    debounce: int = 0
    groups: tuple[str, ...] = ()
    resolve: int = RESOLVE
    repeat: int | None = None
    pause: int = 0
    quiet: Quiet | None = None
    retries: int = RETRIES
    template: str | None = None
    named: bool = False


def settings_of(made_by: str, columns: Sequence[Column]) -> AlertSettings:
    """The settings of an alert, from its statement and the columns of its answers."""
    statement = parse(made_by)
    assert isinstance(statement, ast.CreateAlert), "no alert"
    return alert_of(statement, columns, made_by)


def alert_of(statement: ast.CreateAlert, columns: Sequence[Column], text: str | None) -> AlertSettings:
    """The settings of an alert; refuses what makes no sense."""
    known = {column.name.lower(): column.name for column in columns}
    groups = []
    for name in statement.groups:
        if name.lower() not in known:
            _refuse(
                text,
                statement,
                f"the query answers without a column '{name}' to group by",
                near_misses(name, list(known.values())) or f"it answers with {', '.join(known.values())}",
            )
        groups.append(known[name.lower()])
    when = known.get("tick") or known.get("time")
    if when is None:
        _refuse(
            text, statement, "the query answers without a time", "let it select its time: SELECT time, ..."
        )
    quiet = None
    if statement.silence is not None and statement.silence.lasting is None:
        quiet = _quiet(statement.silence, text)
    template = statement.template
    if template is not None and not template.named:
        from nilometer.live.alerts.messages import OWN, check_template

        unknown = check_template(template.text, known)
        if unknown is not None:
            names = [*known.values(), *OWN]
            hint = near_misses(unknown, names) or f"there are: {', '.join(names)}"
            _refuse(text, template, f"the template names '{unknown}', which the alert does not have", hint)
    return AlertSettings(
        statement.name,
        _address(statement, text),
        when,
        _length(statement.debounce, text, 0),
        tuple(groups),
        _length(statement.resolve, text, RESOLVE),
        None if statement.repeat is None else max(1, _length(statement.repeat, text, 0)),
        0 if statement.silence is None else _length(statement.silence.lasting, text, 0),
        quiet,
        RETRIES if statement.retries is None else statement.retries,
        None if template is None else template.text,
        template is not None and template.named,
    )


def _address(statement: ast.CreateAlert, text: str | None) -> str:
    address = statement.address
    scheme, colon, rest = address.partition(":")
    if not colon or scheme.lower() not in SCHEMES:
        _refuse(
            text, statement, "an alert cannot be sent there", near_misses(scheme, SCHEMES) or f"write {FORMS}"
        )
    whole = re.fullmatch(r"[^@\s]+@[^@\s?]+(\?.*)?", rest) if scheme.lower() == "mailto" else rest[:2] == "//"
    if not whole:
        _refuse(text, statement, "an alert's address is incomplete", f"write {FORMS}")
    return address


def _length(amount: ast.Amount | None, text: str | None, default: int) -> int:
    if amount is None:
        return default
    if isinstance(amount.count, str) or amount.unit is None:
        _refuse(text, amount, "an alert needs a length of time here, not a parameter", "such as 5 MINUTES")
    try:
        return length_of(amount.count, amount.unit).value
    except ValueError as error:
        _refuse(text, amount, str(error))


def _quiet(silence: ast.Silence, text: str | None) -> Quiet:
    said = (silence.begin or "", silence.end or "")
    days = [_TIME_OF_DAY.fullmatch(one) for one in said]
    if days[0] is not None and days[1] is not None:
        begin, end = ((int(day[1]) * 60 + int(day[2])) * MINUTE for day in days if day is not None)
        return Quiet(begin, end, daily=True)
    try:
        begin, end = (parse_time(one) for one in said)
    except ValueError:
        _refuse(
            text,
            silence,
            "SILENCE FROM takes two times of day, or two moments",
            "such as '22:00' TO '06:00' (UTC), or '2026-11-18T22:00:00Z' TO '2026-11-19T06:00:00Z'",
        )
    if begin >= end:
        _refuse(text, silence, "the silence ends before it begins", "put the earlier moment first")
    return Quiet(begin, end, daily=False)


def _refuse(text: str | None, node: ast.Node, message: str, hint: str | None = None) -> NoReturn:
    raise ConfigurationError(message, hint=hint).at(text, node.span)
