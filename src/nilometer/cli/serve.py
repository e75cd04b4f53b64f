"""`nilometer serve`: own a data directory. Its streams, standing queries and sinks run here, and all other commands
ask this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import message
from nilometer.cli.live import SecondsOption, WhenFullOption
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    ForceOption,
    JsonOption,
    LiveHostOption,
    MemoryOption,
)
from nilometer.cli.run import ToOption, own

if TYPE_CHECKING:
    from nilometer.live.peers.peering import PeerOptions
    from nilometer.server.settings import HttpSettings


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("serve")(serve)


def serve(
    data: DataOption = None,
    rows: Annotated[
        bool,
        typer.Option("--rows", help="Print the answers of the standing queries, as `nilometer run` does."),
    ] = False,
    json: JsonOption = False,
    seconds: SecondsOption = None,
    to: ToOption = None,
    on: LiveHostOption = "gateway",
    when_full: WhenFullOption = None,
    force: ForceOption = False,
    memory: MemoryOption = None,  # noqa: ARG001 the option takes effect when it is read
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="ADDRESS:PORT",
            help="Serve HTTP there, such as 127.0.0.1:7654, or a port of this machine alone. Other machines need "
            "a token: nilometer token create.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="FILE", help="Serve HTTPS, with this certificate (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="The key of the certificate (PEM).")
    ] = None,
    allow_root: Annotated[
        list[Path] | None,
        typer.Option(
            "--allow-root",
            metavar="DIR",
            help="Users of HTTP may declare files of this directory, too; may be repeated.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="HOST",
            help="Users of HTTP may declare sources and tables of this host; may be repeated.",
        ),
    ] = None,
    mqtt: Annotated[
        str | None,
        typer.Option(
            "--mqtt",
            metavar="URL",
            help="SensorThings by MQTT, too, through this broker, such as mqtt://localhost:1883.",
        ),
    ] = None,
    peer: Annotated[
        str | None,
        typer.Option(
            "--peer",
            metavar="HOST:PORT",
            help="Be a peer of other gateways, and listen to them there, such as 127.0.0.1:7001.",
        ),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option("--join", metavar="HOST:PORT", help="Join the ring of the peer that listens there."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="The key that all peers of the ring share."),
    ] = None,
    peer_name: Annotated[
        str | None,
        typer.Option("--peer-name", metavar="NAME", help="The peer's name; default: the directory's."),
    ] = None,
    replicas: Annotated[
        int,
        typer.Option("--replicas", min=0, max=7, help="How many other peers keep copies of join state."),
    ] = 1,
    peer_rows: Annotated[
        int,
        typer.Option(
            "--peer-rows",
            min=1,
            metavar="ROWS",
            help="The most rows that this peer keeps of each input of a join.",
        ),
    ] = 2_000_000,
    catalog: CatalogOption = None,
) -> None:
    """Own a data directory: run its streams, its standing queries and their sinks, until Ctrl-C.

    While it runs, `query`, `sql`, `answers` and all other commands ask this process, and so does
    nilometer.connect in Python. You may stop or kill it at any moment: the next one goes on where it was.

    Example: nilometer serve --data field/

    Example: nilometer serve --data field/ --http 7654

    Example: nilometer serve --data field/ --peer 127.0.0.1:7002 --join 127.0.0.1:7001 --key-file ring.key
    """
    settings = _settings(http, tls_cert, tls_key, tuple(allow_root or ()), tuple(allow_host or ()), mqtt)
    if settings is not None and data is not None:
        _begin_in_an_empty_directory(Path(data))
    own(
        data,
        catalog,
        json=json,
        seconds=seconds,
        to=to,
        on=on,
        when_full=when_full,
        only=None,
        serving=True,
        quiet=not rows,
        force=force,
        http=settings,
        peer=_peer(peer, join, key_file, peer_name or Path(data or ".").resolve().name, replicas, peer_rows),
    )


def _begin_in_an_empty_directory(folder: Path) -> None:
    """Those who reach the server declare what is to be there, so nothing has to be there before."""
    if folder.is_dir() and not any(folder.iterdir()):
        (folder / "schema.sql").touch()
        message(
            f"{folder} was empty, and has an empty schema.sql now: declare streams in the dashboard's editor"
        )


def _peer(
    address: str | None, join: str | None, key_file: Path | None, name: str, replicas: int, rows: int
) -> PeerOptions | None:
    from nilometer.errors import ConfigurationError
    from nilometer.live.peers.peering import PeerOptions

    if address is None:
        if join or key_file:
            raise ConfigurationError("--join and --key-file are for peers", hint="add --peer HOST:PORT")
        return None
    if key_file is None:
        raise ConfigurationError(
            "peers share a key",
            hint="make one and give it to all: (umask 077; head -c 32 /dev/urandom | base64 > ring.key), "
            "then --key-file ring.key",
        )
    return PeerOptions(address, join, key_file, name, replicas, rows)


def _settings(
    http: str | None,
    cert: Path | None,
    key: Path | None,
    roots: tuple[Path, ...],
    hosts: tuple[str, ...],
    broker: str | None,
) -> HttpSettings | None:
    from nilometer.errors import ConfigurationError
    from nilometer.server.settings import HttpSettings, parse_address

    if http is None:
        if cert or key or roots or hosts or broker:
            raise ConfigurationError(
                "--tls-cert, --tls-key, --allow-root, --allow-host and --mqtt are about HTTP",
                hint="add --http 7654",
            )
        return None
    return HttpSettings(*parse_address(http), cert, key, roots, hosts, broker)
