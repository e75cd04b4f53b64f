"""Errors as RFC 9457 problem details, `application/problem+json`.

    {"type": "urn:nilometer:problem:bind", "title": "Bind error", "status": 400, "detail": "no column 'depht'",
     "hint": "did you mean 'depth'?", "line": 1, "column": 8, "shown": "no column ...\\n    SELECT depht\\n    ^^^^^"}

The law: an error that a user can correct is 4xx. A 500 is a bug of ours, and says nothing about our insides.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from nilometer.errors import (
    BindError,
    CatalogError,
    ConfigurationError,
    DataError,
    InfeasibleError,
    InternalError,
    NilometerError,
    QuerySyntaxError,
    ResourceError,
    UnsupportedError,
)
from nilometer.ingest.adapters.push import FullError
from nilometer.live.owner.owner import OwnerGoneError
from nilometer.log.writer import BusyError
from nilometer.redaction import redacted_text

MEDIA_TYPE = "application/problem+json"


class NotFoundError(NilometerError):
    """There is no such thing."""


class ConflictError(NilometerError):
    """It is there already, or is not in the state for that."""


class GoneError(NilometerError):
    """It was there, and is not any more."""


class ForbiddenError(NilometerError):
    """The caller may not do that."""


class UnauthorizedError(NilometerError):
    """The caller has not said who it is."""


class TooLargeError(NilometerError):
    """The request is larger than it may be."""


class MediaTypeError(NilometerError):
    """A form of data that is not known here."""


class NotAcceptableError(NilometerError):
    """A form of answer that is not known here."""


class NotAllowedError(NilometerError):
    """It is there, and cannot be changed that way."""


class NotImplementedYetError(NilometerError):
    """A standard has it, and we do not."""


class LimitError(NilometerError):
    """The caller asks more often than the token allows."""

    def __init__(self, message: str, *, hint: str | None = None, seconds: int = 1) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds


class TooManyError(ResourceError):
    """As much is going on as may be: try again later."""


STATUS: dict[type[NilometerError], int] = {
    NotFoundError: 404,
    ConflictError: 409,
    GoneError: 410,
    ForbiddenError: 403,
    UnauthorizedError: 401,
    TooLargeError: 413,
    MediaTypeError: 415,
    NotAcceptableError: 406,
    NotAllowedError: 405,
    NotImplementedYetError: 501,
    FullError: 429,
    LimitError: 429,
    TooManyError: 503,
    BusyError: 503,
    OwnerGoneError: 503,
    QuerySyntaxError: 400,
    BindError: 400,
    ConfigurationError: 400,
    UnsupportedError: 422,
    InfeasibleError: 422,
    DataError: 422,
    CatalogError: 409,
    ResourceError: 503,
    InternalError: 500,
}

RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457).",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}

SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "RFC 9457 problem details, with our message, its place in the text, and a hint.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong."},
        "found": {"type": ["string", "null"], "description": "What was found instead."},
        "hint": {"type": ["string", "null"], "description": "What to do about it."},
        "line": {"type": ["integer", "null"], "description": "The 1-based line in the text that was sent."},
        "column": {"type": ["integer", "null"], "description": "The 1-based column."},
        "length": {"type": ["integer", "null"], "description": "How many characters are meant."},
        "shown": {"type": "string", "description": "The message with a caret below its place, for a person."},
    },
}


def status_of(error: NilometerError) -> int:
    """The status code of an error."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)


def problem_of(error: NilometerError) -> dict[str, Any]:
    """The problem details of an error."""
    status = status_of(error)
    words = re.sub(r"(?<!^)([A-Z])", r" \1", type(error).__name__.removesuffix("Error"))
    length = None if error.span is None else max(1, error.span.end - error.span.start)
    return {
        "type": f"urn:nilometer:problem:{words.lower().replace(' ', '-')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "found": error.detail and redacted_text(error.detail),
        "hint": error.hint and redacted_text(error.hint),
        "line": error.line,
        "column": error.column,
        "length": length,
        "shown": str(error),
    }


def response_of(error: NilometerError) -> JSONResponse:
    """The response to a request that failed."""
    status = status_of(error)
    headers = {}
    if status in (429, 503):
        headers["Retry-After"] = str(error.seconds if isinstance(error, LimitError) else 1)
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="nilometer"'
    if status == 405:
        headers["Allow"] = "GET"  # RFC 9110, 15.5.6: a 405 says what does work
    return JSONResponse(problem_of(error), status, headers, MEDIA_TYPE)


def internal(error: BaseException) -> InternalError:
    """What a caller learns of a bug of ours. The rest is on stderr."""
    return InternalError(
        f"a bug of ours: {type(error).__name__}", hint="the server's stderr has the traceback: report it"
    )


# ---- handlers of the application -------------------------------------------------------------------------------------


async def on_error(_: Request, error: Exception) -> Response:
    """One of our errors."""
    assert isinstance(error, NilometerError)
    return response_of(error)


def _methods(routes: Iterable[Any], path: str) -> set[str]:
    """All methods that a path has: the framework names only those of the route that it looked at last."""
    found: set[str] = set()
    for route in routes:
        inner = getattr(getattr(route, "original_router", None), "routes", None)
        if inner is not None:
            found |= _methods(inner, path)
        elif getattr(route, "methods", None) and route.path_regex.match(path):
            found |= set(route.methods)
    return found


async def on_http(request: Request, error: Exception) -> Response:
    """An error of the framework: no such path, no such method."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(sorted(_methods(request.app.routes, request.url.path)))
    body = {
        "type": "about:blank",
        "title": HTTPStatus(error.status_code).phrase,
        "status": error.status_code,
        "detail": str(error.detail),
        "hint": "GET /docs lists what there is" if error.status_code in (404, 405) else None,
        "shown": str(error.detail),
    }
    return JSONResponse(body, error.status_code, headers, MEDIA_TYPE)


async def on_invalid(_: Request, error: Exception) -> Response:
    """A parameter or a body that does not fit."""
    assert isinstance(error, RequestValidationError)
    found = [
        {"where": ".".join(map(str, one["loc"])), "what": str(one["msg"])} for one in error.errors()[:10]
    ]
    told = "; ".join(f"{one['where']}: {one['what']}" for one in found)
    body = {
        "type": "urn:nilometer:problem:request",
        "title": "Unprocessable Content",
        "status": 422,
        "detail": told or "the request does not fit",
        "hint": "GET /docs says what is expected",
        "errors": found,
        "shown": told,
    }
    return JSONResponse(body, 422, media_type=MEDIA_TYPE)


async def on_bug(_: Request, error: Exception) -> Response:
    """Anything else is a bug of ours."""
    if isinstance(error, RecursionError):
        return response_of(
            QuerySyntaxError("the query is nested too deeply", hint="take it apart with subqueries in FROM")
        )
    print(redacted_text("".join(traceback.format_exception(error))), file=sys.stderr)
    return response_of(internal(error))
