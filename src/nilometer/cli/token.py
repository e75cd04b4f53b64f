"""`nilometer token`: the tokens with which other machines may use `nilometer serve --http`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of

if TYPE_CHECKING:
    from nilometer.server.tokens import Tokens

commands = typer.Typer(
    help="Manage the tokens of the HTTP server: create, list, revoke.", no_args_is_help=True
)

NameOption = Annotated[str, typer.Option("--name", help="Whose it is, for the list.")]


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.add_typer(commands, name="token")


@commands.command("create")
def create(
    role: Annotated[
        str,
        typer.Option("--role", help="read, write (also adds readings) or admin (also declares and drops)."),
    ],
    name: NameOption = "default",
    requests: Annotated[
        float | None, typer.Option("--requests", min=0.01, help="At most so many requests a second.")
    ] = None,
    rows: Annotated[
        float | None, typer.Option("--rows", min=0.01, help="At most so many rows of readings a second.")
    ] = None,
    data: DataOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Create a token and print it, once. Only a hash of it is kept.

    Example: nilometer token create --data field/ --role read --name dashboard
    """
    from nilometer.errors import ConfigurationError
    from nilometer.server.tokens import Role

    if role not in list(Role):
        raise ConfigurationError(f"there is no role '{role}'", hint=f"there are: {', '.join(Role)}")
    print(_tokens(data, catalog).create(name, Role(role), requests, rows))
    message(f"the token '{name}' may {role}; it is not shown again")


@commands.command("list")
def list_tokens(data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None) -> None:
    """List the tokens: name, role, what each may do in a second, and when it was created.

    Example: nilometer token list --data field/
    """
    found = _tokens(data, catalog).all()
    print_records(
        [
            {
                "name": one.name,
                "role": one.role.value,
                "requests": one.requests,
                "rows": one.rows,
                "created": one.created,
            }
            for one in found
        ],
        json,
    )
    if not found:
        message("there are no tokens; only this machine may use the server")


@commands.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the token.")],
    data: DataOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Revoke a token: it is refused from the next request on.

    Example: nilometer token revoke dashboard --data field/
    """
    _tokens(data, catalog).revoke(name)
    message(f"the token '{name}' is revoked")


def _tokens(data: str | None, catalog: str | None) -> Tokens:
    from nilometer.errors import ConfigurationError
    from nilometer.server.tokens import Tokens

    base = database_of(data, catalog, tell=False).data.base
    if base is None:
        raise ConfigurationError("tokens are kept in a data directory", hint="give one: --data DIR")
    return Tokens(base)
