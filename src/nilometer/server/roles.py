"""Which role a route needs. Every route says so; a test looks at all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.types import Scope

from nilometer.server.problems import ForbiddenError, UnauthorizedError
from nilometer.server.tokens import Role


def requires(role: Role) -> Any:
    """A dependency that refuses callers without the role."""
    return Depends(_CHECKS[role])


def check(scope: Scope, role: Role) -> None:
    """Refuse a request whose caller does not have the role."""
    held: Role | None = scope.get("state", {}).get("role")
    if held is None:
        raise UnauthorizedError("this needs a token", hint="send it: Authorization: Bearer TOKEN")
    if not held.allows(role):
        raise ForbiddenError(
            f"this needs the role '{role}', and the token has the role '{held}'",
            hint=f"make another: nilometer token create --role {role}",
        )


def _check(role: Role) -> Callable[[HTTPConnection], Awaitable[None]]:
    # A function that does not wait would be called in a thread, which takes longer than it.
    async def checking(connection: HTTPConnection) -> None:
        check(connection.scope, role)

    return checking


def roles_of(routes: Iterable[Any]) -> Iterator[tuple[str, str, Role]]:
    """The role that each method of each path needs, if it needs one."""
    found = {check: role for role, check in _CHECKS.items()}
    for route in routes:
        inner = getattr(getattr(route, "original_router", None), "routes", None)
        if inner is not None:
            yield from roles_of(inner)
        for needed in getattr(route, "dependencies", None) or ():
            role = found.get(needed.dependency)
            if role is not None:
                yield from ((route.path, method, role) for method in getattr(route, "methods", None) or ())


_CHECKS = {role: _check(role) for role in Role}

READ, WRITE, ADMIN = (requires(role) for role in (Role.READ, Role.WRITE, Role.ADMIN))
