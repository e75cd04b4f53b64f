"""`nilometer plan` and the stages of `explain` that need a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.engine import connect
from nilometer.errors import CatalogError, ConfigurationError, InfeasibleError, NilometerError
from placement.scenarios import Q3, SCHEMA

MOTES = Path(__file__).parents[1] / "catalog" / "data" / "snee.toml"


@pytest.fixture
def field(tmp_path: Path) -> Path:
    (tmp_path / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(application, [str(argument) for argument in arguments])
    if isinstance(result.exception, NilometerError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_plan_is_tree_fragments_agenda_and_costs(field: Path) -> None:
    text = run(
        "plan",
        "--data",
        field,
        "--network",
        MOTES,
        "--profile",
        "snee-2010",
        "--delivery-time",
        "24 HOURS",
        Q3,
    )
    assert "ROUTING [random, seed 4; 8 of 10 nodes" in text
    assert "beta 29; period 26100000 ms; delivery 25226372 ms" in text
    assert "25203602" in text
    assert "lifetime 145.3 days" in text


def test_what_is_reserved_for_retries(field: Path) -> None:
    plain = run("plan", "--data", field, "--network", MOTES, Q3)
    again = run("plan", "--data", field, "--network", MOTES, "--retries", "3", Q3)
    assert "reserved" not in plain
    assert "reserved sendings, retries 3]" in again
    assert "expected sendings" in again
    schema = f"{SCHEMA}\nCREATE NETWORK brook FROM '{MOTES}' RETRIES 3;"
    (field / "schema.sql").write_text(schema, encoding="utf-8")
    assert "retries 3]" in run("explain", "--data", field, "--stage", "agenda", Q3)
    assert connect(field).show("NETWORKS")[0]["retries"] == 3
    (field / "schema.sql").write_text(schema.replace("RETRIES 3", "RETRIES 8"), encoding="utf-8")
    with pytest.raises(NilometerError, match="impossible number of retries"):
        run("explain", "--data", field, "--stage", "agenda", Q3)


def test_a_plan_as_json(field: Path) -> None:
    text = run("plan", "--data", field, "--network", MOTES, "--json", "--costs", "mica2", Q3)
    found = json.loads(text)
    assert found["costs"] == "mica2"
    assert {edge[0] for edge in found["routing"]["edges"]} >= {4, 5, 6, 7, 9}
    assert found["agenda"]["beta"] * found["agenda"]["alpha"] == found["agenda"]["period"]
    assert sum(site["energy"]["total"] for site in found["sites"] if site["site"] != 0) == pytest.approx(
        found["estimate"]["energy"]
    )
    assert [option["chosen"] for option in found["alternatives"]].count(True) == 1


def test_expectations_from_the_command_line(field: Path) -> None:
    start = ("plan", "--data", field, "--network", MOTES, "--json")
    soon = json.loads(run(*start, "--goal", "minimize delivery time", Q3))
    late = json.loads(run(*start, "--goal", "maximize lifetime", Q3))
    assert soon["agenda"]["beta"] == 1 < late["agenda"]["beta"]
    fixed = json.loads(run(*start, "--buffering-factor", "7", "--acquisition-interval", "5 MINUTES", Q3))
    assert (fixed["agenda"]["beta"], fixed["agenda"]["alpha"]) == (7, 300_000)
    with pytest.raises(InfeasibleError, match="a lifetime of 900 DAYS cannot be reached"):
        run(*start, "--lifetime", "900 DAYS", Q3)
    with pytest.raises(ConfigurationError, match="is no goal"):
        run(*start, "--goal", "be quick", Q3)


def test_explain_in_a_declared_network(field: Path) -> None:
    (field / "schema.sql").write_text(f"{SCHEMA}\nCREATE NETWORK brook FROM '{MOTES}';", encoding="utf-8")
    assert "ROUTING" in run("explain", "--data", field, "--stage", "routing", Q3)
    assert "EXCHANGE" in run("explain", "--data", field, f"EXPLAIN FRAGMENTS {Q3}")
    assert "NL_JOIN" in run("explain", "--data", field, "--network", "brook", "--stage", "placed", Q3)
    whole = json.loads(run("explain", "--data", field, "--stage", "agenda", "--json", Q3))
    assert whole["text"].startswith("AGENDA")
    assert whole["plan"]["agenda"]["transfers"]
    with pytest.raises(ConfigurationError, match="no network 'creek'"):
        run("explain", "--data", field, "--network", "creek", "--stage", "agenda", Q3)


def test_explain_shows_what_is_planned_with_the_same_options(field: Path) -> None:
    options = [
        "--data",
        field,
        "--network",
        MOTES,
        "--delivery-time",
        "4h",
        "--retries",
        "2",
        "--costs",
        "mica2",
    ]
    planned = run("plan", *options, Q3)
    for stage in ("routing", "fragments", "placed", "agenda"):
        assert run("explain", *options, "--stage", stage, Q3).strip() in planned


def test_explain_takes_a_file_too(field: Path) -> None:
    assert "ROUTING" in run("explain", "--data", field, "--network", MOTES, "--stage", "routing", Q3)
    assert "AVG" in run("explain", "--data", field, "--network", MOTES, "SELECT AVG(depth) FROM River[NOW]")
    other = field / "motes.yaml"
    other.write_text("sink: 0", encoding="utf-8")
    with pytest.raises(CatalogError, match=r"cannot tell what 'motes\.yaml' is"):
        run("explain", "--data", field, "--network", other, "--stage", "routing", Q3)


@pytest.mark.parametrize("length", ["90m", "1h30m", "5400s", "1.5 hours", "90 MINUTES", " 1 hour 30 min "])
def test_lengths_of_time_as_people_write_them(field: Path, length: str) -> None:
    start = ("plan", "--data", field, "--network", MOTES, "--json", "--delivery-time")
    assert json.loads(run(*start, length, Q3))["agenda"]["beta"] == 6


def test_a_stream_that_nobody_declared_is_told(field: Path) -> None:
    topology = field / "t.toml"
    topology.write_text(
        'sink = 0\nnodes = [{id = 0}, {id = 5, streams = ["rivr"]}]\nlinks = [{source = 0, target = 5}]',
        encoding="utf-8",
    )
    arguments = ["plan", "--data", str(field), "--network", str(topology), "SELECT depth FROM River[NOW]"]
    done = CliRunner().invoke(application, arguments)
    assert done.exit_code == 0
    assert (
        "nodes of network 't' sense 'rivr', and there is no such stream: did you mean 'River'?" in done.stderr
    )


def test_directories_that_cannot_be_written(field: Path) -> None:
    for verb, option in (("plan", "--plot"), ("compile", "--to")):
        with pytest.raises(ConfigurationError, match=f"{option}: cannot write into"):
            run(verb, "--data", field, "--network", MOTES, option, "/dev/null/there", Q3)


def test_a_profile_that_is_not_there(field: Path) -> None:
    with pytest.raises(ConfigurationError, match="no placement profile 'snee'") as caught:
        run("plan", "--data", field, "--network", MOTES, "--profile", "snee", Q3)
    assert caught.value.hint == "there are default and snee-2010"


def test_without_a_network_there_is_nothing_to_place_in(field: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no network to place the query in"):
        run("explain", "--data", field, "--stage", "agenda", Q3)


def test_several_networks(field: Path) -> None:
    declared = f"CREATE NETWORK one FROM '{MOTES}'; CREATE NETWORK two FROM '{MOTES}';"
    (field / "schema.sql").write_text(SCHEMA + declared, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="there are several networks"):
        run("explain", "--data", field, "--stage", "agenda", Q3)
    assert "AGENDA" in run("explain", "--data", field, "--network", "two", "--stage", "agenda", Q3)


def test_sensors_are_at_the_nodes_of_their_ids(field: Path) -> None:
    links = field / "links.csv"
    links.write_text("source,target\n0,5\n5,6\n5,7\n7,9\n9,4\n", encoding="utf-8")
    (field / "schema.sql").write_text(
        f"{SCHEMA}\nCREATE NETWORK wires FROM '{links}' SINK 0;", encoding="utf-8"
    )
    found = json.loads(run("plan", "--data", field, "--json", "SELECT AVG(depth) FROM River[NOW]"))
    assert sorted(found["routing"]["sources"]) == [5, 6, 7, 9]


def test_what_a_stage_does_not_depend_on_is_not_taken(field: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not depend on a network"):
        run("explain", "--data", field, "--stage", "physical", "--delivery-time", "1h", Q3)
