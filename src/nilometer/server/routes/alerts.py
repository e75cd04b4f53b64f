"""`/api/v1/alerts`: the alerts with their state; declare, drop, silence, acknowledge and test one; what was sent."""

from __future__ import annotations

import re
import time
from itertools import islice
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from nilometer.errors import ConfigurationError
from nilometer.language import ast
from nilometer.language.print_expressions import identifier
from nilometer.live.alerts import listing
from nilometer.live.alerts.trial import send_test
from nilometer.server.desk import Desk, page
from nilometer.server.problems import NotFoundError
from nilometer.server.roles import ADMIN, READ, WRITE
from nilometer.server.routes.declaring import declared
from nilometer.server.routes.queries import SQL_BODY
from nilometer.server.routes.streams import After, Limit, statement_text
from nilometer.server.who import WHO
from nilometer.types import DAY, HOUR, MINUTE, SECOND, parse_time

LONGEST = 366 * DAY
_LENGTH = re.compile(r"(\d{1,9})(s|m|h|d)")
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}


class Word(BaseModel):
    """A person's word about an alert. Without `group`, about all its groups."""

    model_config = ConfigDict(extra="forbid")
    group: dict[str, str | int | float | bool | None] | None = Field(None, examples=[{"id": "a1"}])
    lasting: str | None = Field(None, pattern=r"^\d{1,9}[smhd]$", examples=["2h"])
    until: str | None = Field(None, max_length=40, examples=["2026-11-19T06:00:00Z"])


EVERYTHING = Word(group=None, lasting=None, until=None)
"""What is said without a body: it holds for all groups."""


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/alerts", dependencies=[READ], tags=["alerts"])
    async def alerts(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The alerts, with their state: firing, pending or quiet, and the groups that are."""
        found = await desk.with_database(
            lambda database: [one.as_dict() for one in listing.alert_list(database)]
        )
        return page(found, "name", limit, after, request.url.path)

    @router.post("/alerts", dependencies=[ADMIN], tags=["alerts"], status_code=201, openapi_extra=SQL_BODY)
    async def create(request: Request) -> Response:
        """Declare an alert: `CREATE ALERT name WHEN (SELECT ...) THEN 'mailto:...'`, or `REPLACE ALERT ...`."""
        text = await statement_text(request)
        return await declared(
            desk,
            request,
            text,
            ast.CreateAlert,
            "an alert is declared with CREATE ALERT name WHEN (SELECT ...) THEN 'https://...'",
        )

    @router.get("/alerts/{name}", dependencies=[READ], tags=["alerts"])
    async def alert(name: str) -> dict[str, Any]:
        """One alert."""
        return await desk.with_database(
            lambda database: listing.alert_state(database.data.base, _known(database, name)).as_dict()
        )

    @router.delete("/alerts/{name}", dependencies=[ADMIN], tags=["alerts"])
    async def drop(name: str) -> dict[str, Any]:
        """Drop an alert, with its log."""
        known = (await desk.with_database(lambda database: _known(database, name))).name
        told = await desk.wait_for(lambda: desk.execute(f"DROP ALERT {identifier(known)}"))
        return {"name": known, "told": told}

    @router.get("/alerts/{name}/deliveries", dependencies=[READ], tags=["alerts"])
    async def deliveries(
        name: str, limit: Limit = 100, skip: Annotated[int, Query(ge=0, le=1_000_000)] = 0
    ) -> dict[str, Any]:
        """What became of the alert's messages, newest first."""
        definition = await desk.with_database(lambda database: _known(database, name))
        found = await desk.wait_for(
            lambda: list(islice(listing.deliveries(desk.directory, definition), skip, skip + limit + 1))
        )
        more = len(found) > limit
        following = f"/api/v1/alerts/{quote(definition.name)}/deliveries?limit={limit}&skip={skip + limit}"
        return {"items": found[:limit], "next": following if more else None}

    @router.post("/alerts/{name}/silence", dependencies=[WRITE], tags=["alerts"])
    async def silence(name: str, word: Word) -> dict[str, Any]:
        """Tell nobody of the alert, or of one group, for a while (`lasting`) or until a moment (`until`)."""
        return await _say(desk, name, word, "silence", until=_until(word))

    @router.post("/alerts/{name}/speak", dependencies=[WRITE], tags=["alerts"])
    async def speak(name: str, word: Word = EVERYTHING) -> dict[str, Any]:
        """End a silence."""
        return await _say(desk, name, word, "silence", until=None)

    @router.post("/alerts/{name}/acknowledge", dependencies=[WRITE], tags=["alerts"])
    async def acknowledge(name: str, word: Word = EVERYTHING) -> dict[str, Any]:
        """Say that somebody takes care of what fires: it is not said again."""
        return await _say(desk, name, word, "acknowledge")

    @router.post("/alerts/{name}/test", dependencies=[ADMIN], tags=["alerts"])
    async def test(name: str) -> dict[str, Any]:
        """Send a test message to the alert's address, now."""
        definition = await desk.with_database(lambda database: _known(database, name))
        sent = await desk.wait_for(lambda: send_test(desk.directory, definition))
        return {"name": definition.name, "sent": sent}


async def _say(desk: Desk, name: str, word: Word, what: str, until: int | None = None) -> dict[str, Any]:
    known = (await desk.with_database(lambda database: _known(database, name))).name
    fields = {"what": what, "name": known, "group": word.group, "until": until, "by": WHO.get()}
    told = await desk.wait_for(lambda: desk.owner.change("alert", fields))
    return {"name": known, **told}


def _known(database: Any, name: str) -> Any:
    try:
        return listing.definition_of(database, name)
    except ConfigurationError as error:
        raise NotFoundError(error.message, hint=error.hint) from None


def _until(word: Word) -> int:
    now = time.time_ns() // 1_000
    if (word.lasting is None) == (word.until is None):
        raise ConfigurationError("a silence needs an end", hint='{"lasting": "2h"}, or {"until": "2026-..."}')
    if word.lasting is not None:
        found = _LENGTH.fullmatch(word.lasting)
        assert found is not None, "the pattern of the field"
        return now + min(int(found[1]) * _UNITS[found[2]], LONGEST)
    try:
        return min(parse_time(str(word.until)), now + LONGEST)
    except ValueError:
        raise ConfigurationError(f"'{word.until}' is no moment", hint="write 2026-11-19T06:00:00Z") from None
