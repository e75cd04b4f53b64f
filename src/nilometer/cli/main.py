"""The command line: one verb a file, listed in `VERBS`.

Rows go to stdout, messages to stderr. Exit codes: 0 success, 1 an error that the user can correct,
2 wrong usage, 70 a bug in Nilometer.
"""

from __future__ import annotations

import os
import sys

import typer

from nilometer.cli import (
    alerts,
    answers,
    apply,
    audit,
    backup,
    bench,
    compile,
    decisions,
    demo,
    doctor,
    execute,
    explain,
    field,
    fuzz,
    inspect,
    listen,
    log,
    peers,
    plan,
    queries,
    query,
    reproduce,
    run,
    sensors,
    serve,
    simulate,
    size,
    sql,
    storm,
    streams,
    token,
    top,
)
from nilometer.cli.console import fail
from nilometer.cli.typed_name import command_name
from nilometer.errors import InternalError, NilometerError, ResourceError

VERBS = (
    demo,
    inspect,
    query,
    sql,
    serve,
    run,
    execute,
    field,
    apply,
    queries,
    top,
    answers,
    alerts,
    decisions,
    explain,
    plan,
    size,
    simulate,
    compile,
    listen,
    streams,
    sensors,
    log,
    peers,
    token,
    audit,
    backup,
    doctor,
    bench,
    reproduce,
    storm,
    fuzz,
)

NILO_VERBS = "./nilo also knows: python, test, lint, types, contract, format, wheel, lock."


def _say_the_name(group: typer.Typer, name: str) -> None:
    """Let the examples in the help of all verbs begin with the name that was typed."""
    for command in group.registered_commands:
        if command.callback is not None and command.callback.__doc__:
            command.callback.__doc__ = command.callback.__doc__.replace("nilometer ", f"{name} ")
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            _say_the_name(inner.typer_instance, name)


application = typer.Typer(
    name="nilometer",
    help="A database for sensor streams: declare sensors and run continuous queries over them in SQL.",
    epilog=NILO_VERBS if command_name() != "nilometer" else None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in VERBS:
    verb.register(application)
_say_the_name(application, command_name())


def _show_version(wanted: bool) -> None:
    if wanted:
        from nilometer import __version__

        typer.echo(f"nilometer {__version__}")
        raise typer.Exit


@application.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    """Options before the verb."""


def main() -> None:
    """The console script."""
    as_json = "--json" in sys.argv[1:]
    try:
        application(prog_name=command_name())
    except NilometerError as error:
        fail(error, as_json)
    except BrokenPipeError:
        # The reader of our rows has closed the pipe (`| head`), which is no error. Keep Python from reporting
        # it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except RecursionError:
        fail(
            NilometerError("the query is nested too deeply", hint="take it apart with subqueries in FROM"),
            as_json,
        )
    except BaseException as error:  # a panic of a library in Rust is no Exception
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        if os.environ.get("NILOMETER_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            reason = (error.strerror or str(error)).lower()
            hint = "check the path, its permissions and the space that is left"
            fail(ResourceError(f"cannot use '{error.filename}'", detail=reason, hint=hint), as_json)
        hint = "run again with NILOMETER_DEBUG=1 for the traceback, and report it"
        fail(InternalError(f"a bug of ours: {type(error).__name__}: {error}", hint=hint), as_json)


if __name__ == "__main__":
    main()
