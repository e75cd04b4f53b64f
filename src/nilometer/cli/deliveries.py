"""Shared by the verbs that deliver answers to sinks: parses the sinks, and reports failures, recoveries and
totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nilometer.cli.console import message
from nilometer.errors import ConfigurationError
from nilometer.redaction import redacted

if TYPE_CHECKING:
    from nilometer.live.delivery import Deliveries


def routes_of(settings: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Parse settings such as `smoky=parquet:out` into pairs of a running query and a sink's URL."""
    names = {name.lower(): name for name in known}
    routes = []
    for setting in settings:
        name, equals, url = setting.partition("=")
        if not equals or name.strip().lower() not in names:
            raise ConfigurationError(
                f"--to takes NAME=URL, not '{redacted(setting)}'",
                hint=f"the queries that run are {', '.join(known)}",
            )
        routes.append((names[name.strip().lower()], url.strip()))
    warn_of_passwords([url for _, url in routes])
    return routes


def warn_of_passwords(urls: Sequence[str]) -> None:
    """Tell of passwords that the list of processes shows to everyone on this machine."""
    for url in urls:
        if redacted(url) != url:
            message(
                f"the password of {redacted(url)} is on the command line, where every user of this machine can see it: "
                "write '${NAME}' or '${file:PATH}' instead"
            )


def report_deliveries(deliveries: Deliveries, states: dict[str, str]) -> None:
    """Print a line when a sink fails, and when it works again."""
    for way in deliveries.routes:
        key, trouble = f"{way.query} to {way.place}", way.progress.trouble
        before = states.get(key)
        if trouble is not None and trouble != before:
            states[key] = trouble
            message(f"{key}: {trouble}; {'given up' if way.delivery.ended else 'it is tried again'}")
        elif trouble is None and before is not None:
            del states[key]
            message(f"{key}: well again")


def summarize_deliveries(deliveries: Deliveries) -> bool:
    """Print a final line per sink. Returns whether all sinks have received everything."""
    for way in deliveries.routes:
        done = way.progress
        parts = [f"{done.rows} row{'' if done.rows == 1 else 's'} delivered"]
        parts += [f"{done.failures} failure{'' if done.failures == 1 else 's'}"] if done.failures else []
        if done.trimmed:
            parts.append(f"{done.trimmed} were trimmed from the result log before it got them")
        if done.trouble:
            parts.append(f"{done.trouble}; what is not delivered is kept, and goes out next time")
        message(f"{way.query} to {way.place}: {', '.join(parts)}")
    return all(way.progress.trouble is None for way in deliveries.routes)
