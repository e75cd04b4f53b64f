"""There is one list of hosts: options, errors and documents name these and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from nilometer import connect
from nilometer.cli import demo, query, run
from nilometer.cli.main import application
from nilometer.engine.hosts import ALIASES, HOSTS, LIVE_HOSTS, host_name
from nilometer.errors import ConfigurationError
from nilometer.live import station

ROOT = Path(__file__).parents[2]


def in_words(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


@pytest.mark.parametrize(
    ("verb", "hosts"), [(query, tuple(HOSTS)), (run, LIVE_HOSTS), (demo, LIVE_HOSTS)], ids=lambda v: str(v)
)
def test_options_name_the_hosts(verb: object, hosts: tuple[str, ...]) -> None:
    name = verb.__name__.rpartition(".")[2]
    command = typer.main.get_command(application).commands[name]
    option = next(option for option in command.params if "--on" in option.opts)
    assert option.help.endswith(f": {in_words(hosts)}.")
    assert option.default in hosts


def test_stations_run_on_the_live_hosts() -> None:
    assert station.HOSTS == LIVE_HOSTS
    assert set(LIVE_HOSTS) <= HOSTS.keys()


def test_documents_name_hosts_that_there_are() -> None:
    named = set()
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"--on (\w+)", text)) | set(re.findall(r"""\bon=["'](\w+)["']""", text))
    assert named
    assert named <= HOSTS.keys()


def test_another_name_is_that_of_a_host_and_of_no_other() -> None:
    assert ALIASES.keys().isdisjoint(HOSTS)
    assert set(ALIASES.values()) <= HOSTS.keys()
    assert host_name("fjord") == "gateway"


def test_a_host_that_is_not_there_is_refused_where_it_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no host 'sprak'") as refused:
        connect(on="sprak")
    assert refused.value.hint == "did you mean 'spark'?"
