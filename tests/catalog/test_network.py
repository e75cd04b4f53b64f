"""Networks: the running example of SNEE in three formats, what a network answers, what files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

import golden
from catalog import strategies
from nilometer.catalog import Link, Network, NetworkNode
from nilometer.catalog.network_files import import_network
from nilometer.catalog.profiles import PROFILES, cost_profile
from nilometer.errors import CatalogError

DATA = Path(__file__).with_name("data")
FORMATS = ("snee.toml", "snee-links.csv", "snee.geojson")
EDGES = "0:1, 0:2, 2:4, 1:4, 1:3, 3:6, 3:5, 4:5, 5:7, 4:8, 7:8, 7:9, 8:9"


@pytest.mark.parametrize("name", FORMATS)
def test_the_running_example(name: str) -> None:
    network = import_network(DATA / name, "brook")
    assert network.sink == 0
    assert [node.id for node in network.nodes] == list(range(10))
    assert ", ".join(f"{link.source}:{link.target}" for link in network.links) == EDGES
    assert network.hosts("River") == (5, 6, 7, 9)
    assert network.hosts("hilltop") == (4,)
    assert network.node(6) == NetworkNode(6, 4096, 131072, 31320.0, (32.0, 20.0), ("river",))
    assert network.node(0).ram == 9999 * 1024
    assert network.profile == PROFILES["snee-2010"]


def test_the_three_formats_say_the_same() -> None:
    toml, csv, geojson = (import_network(DATA / name, "brook") for name in FORMATS)
    assert toml == csv == geojson


def test_a_sink_of_ones_own() -> None:
    assert import_network(DATA / "snee.toml", "brook", sink=9).sink == 9
    assert import_network(DATA / "snee.toml", "brook", sink="9").sink == 9


def test_how_often_packets_are_sent_again(tmp_path: Path) -> None:
    """None, unless the file says so, at its top or in its head; what is declared wins."""
    assert import_network(DATA / "snee.toml", "brook").retries == 0
    assert import_network(DATA / "snee-links.csv", "brook", retries=2).retries == 2
    nodes = "nodes = [{ id = 0 }]"
    for name, text in (
        ("top.toml", f"sink = 0\nretries = 3\n{nodes}\n"),
        ("head.toml", f"{nodes}\n[network]\nsink = 0\nretries = 3\n"),
        (
            "points.geojson",
            '{"type": "FeatureCollection", "sink": 0, "retries": 3, "features": [{"type": "Feature",'
            ' "properties": {"id": 0}, "geometry": {"type": "Point", "coordinates": [0, 0]}}]}',
        ),
    ):
        (tmp_path / name).write_text(text)
        assert import_network(tmp_path / name, "brook").retries == 3
        assert import_network(tmp_path / name, "brook", retries=0).retries == 0


def test_links_alone_make_a_network(tmp_path: Path) -> None:
    path = tmp_path / "brook.csv"
    path.write_text("source;target;quality\ngate;weir;0.9\nweir;7;0.8\n")
    network = import_network(path, "brook", sink="gate")
    assert network.nodes == (NetworkNode("gate"), NetworkNode("weir"), NetworkNode("7"))
    assert network.links == (Link("gate", "weir", 0.9), Link("weir", "7", 0.8))


def test_a_link_holds_both_ways_unless_told_otherwise() -> None:
    nodes = (NetworkNode(0), NetworkNode(1), NetworkNode(2))
    network = Network("n", 0, nodes, (Link(0, 1, 0.9), Link(1, 2, 0.5), Link(2, 1, 0.25, 3.0)))
    assert network.link(1, 0) == Link(1, 0, 0.9)
    assert network.link(1, 2) == Link(1, 2, 0.5)
    assert network.link(2, 1) == Link(2, 1, 0.25, 3.0)
    assert network.link(0, 2) is None
    assert network.neighbours(1) == (0, 2)


@given(strategies.networks())
def test_every_node_reaches_the_sink(network: Network) -> None:
    for start in network.nodes:
        reached, waiting = {start.id}, [start.id]
        while waiting:
            for neighbour in network.neighbours(waiting.pop()):
                if neighbour not in reached:
                    reached.add(neighbour)
                    waiting.append(neighbour)
        assert network.sink in reached


def test_profiles_differ_in_what_they_say_they_do() -> None:
    assert cost_profile("SNEE-2010")["send_packet"] == 30
    assert cost_profile("snee-thesis")["send_packet"] == 15
    assert cost_profile("snee-2010", {"send_packet": 28.0})["send_packet"] == 28
    with pytest.raises(CatalogError, match="no cost profile 'snee'"):
        cost_profile("snee")


def test_files_that_are_refused(rewrite: bool, tmp_path: Path) -> None:
    """A block is a file's name and its text, and, after a line `+ name`, that of a file beside it."""

    def answer(text: str) -> str:
        for old in tmp_path.iterdir():
            old.unlink()
        first = ""
        for part in text.split("\n+ "):
            name, _, content = part.partition("\n")
            (tmp_path / name).write_text(content, encoding="utf-8")
            first = first or name
        try:
            network = import_network(tmp_path / first, "n")
        except CatalogError as error:
            return str(error).replace(str(tmp_path), "DIR")
        return f"{len(network.nodes)} nodes, {len(network.links)} links"

    golden.read(Path(__file__).with_name("network_errors.txt")).check(answer, rewrite=rewrite)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot read") as caught:
        import_network(tmp_path / "none.toml", "n")
    assert caught.value.detail == "no such file or directory"
