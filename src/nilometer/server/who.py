"""Who asks: the name of the request's token, for everything that is recorded in somebody's name."""

from __future__ import annotations

from contextvars import ContextVar

WHO: ContextVar[str] = ContextVar("who", default="somebody on this machine")
"""Set by the guard for each request; threads that work for the request have it, too."""
