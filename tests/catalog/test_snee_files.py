"""The files of SNEE: topologies, schemas, resources, expectations; read as SNEE wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

import nilometer
from nilometer.catalog.network import Link
from nilometer.catalog.snee_files import read_schema
from nilometer.engine.expectations import expectations
from nilometer.errors import CatalogError, ConfigurationError
from nilometer.placement import Bounds, Direction, Goal, Measure
from nilometer.types import HOUR, MINUTE, SECOND

TOPOLOGY = """<?xml version="1.0"?>
<network-topology xmlns="http://snee.cs.manchester.ac.uk">
<units><energy>MILLIJOULES</energy><memory>BYTES</memory><time>MILLISECONDS</time></units>
<radio-links>
  <radio-link source="0" dest="1" bidirectional="true" energy="20" time="1" radio-loss="0"/>
  <radio-link source="1" dest="2" bidirectional="true" energy="10" time="3" radio-loss="0.25"/>
</radio-links>
</network-topology>
"""
THESIS_SCHEMA = """<?xml version="1.0" encoding="UTF-8"?>
<schema>
  <sinks>0</sinks>
  <stream name="river">
    <column name="rain"><type class ="integer"/></column>
    <column name="depth"><type class ="integer"/></column>
    <sites>1,2</sites>
  </stream>
  <stream name="hilltop"><column name="rain"><type class ="integer"/></column><sites>2</sites></stream>
</schema>
"""
PHYSICAL_SCHEMA = """<?xml version="1.0" encoding="UTF-8"?>
<source xmlns="http://snee.cs.man.ac.uk/namespace/physical-schema">
  <sensor_network name="wsn1">
    <topology>etc/topology.xml</topology>
    <site-resources>etc/telosb.xml</site-resources>
    <gateways>0</gateways>
    <extents><extent name="river"><sites>1-2</sites></extent></extents>
  </sensor_network>
</source>
"""
RESOURCES = """<?xml version="1.0"?>
<site-resources xmlns="http://snee.cs.manchester.ac.uk">
<units><energy>JOULES</energy><memory>KILOBYTES</memory></units>
<sites>
  <default><energy-stock>31320</energy-stock><ram>10</ram><flash-memory>48</flash-memory></default>
  <site id="2"><energy-stock>9999</energy-stock><ram>4</ram><flash-memory>48</flash-memory></site>
</sites>
</site-resources>
"""
QOS = """<?xml version="1.0"?>
<qos-specification xmlns="http://dias-mc.cs.manchester.ac.uk">
  <expectations>
    <optimization-goal><type>MAXIMIZE</type><variable>LIFETIME</variable></optimization-goal>
    <acquisition-interval><units>SECONDS</units>
      <constraint><range><min-val>5</min-val><max-val>10</max-val></range></constraint>
    </acquisition-interval>
    <delivery-time><units>MINUTES</units><constraint><less-equals>60</less-equals></constraint></delivery-time>
    <total-energy><units>KILOJOULES</units><constraint><less-equals>2</less-equals></constraint></total-energy>
    <lifetime><units>HOURS</units><constraint><greater-equals>10</greater-equals></constraint></lifetime>
  </expectations>
  <query-duration><units>SECONDS</units><equals>60</equals></query-duration>
</qos-specification>
"""


@pytest.fixture
def field(tmp_path: Path) -> Path:
    for name, text in (
        ("topology.xml", TOPOLOGY),
        ("schema.xml", THESIS_SCHEMA),
        ("physical.xml", PHYSICAL_SCHEMA),
        ("telosb.xml", RESOURCES),
        ("qos.xml", QOS),
        ("links.nss", "0:1:0.0\n1:0:0.0\n# the far one\n1:2:0.001\n2:1:0.001\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "schema.sql").write_text("")
    return tmp_path


def test_a_schema_declares_streams_and_a_topology_a_network(field: Path) -> None:
    db = nilometer.connect(field)
    db.execute("COPY STREAMS FROM 'schema.xml' SENSED EVERY 15 MINUTES")
    db.execute("CREATE NETWORK brook FROM 'links.nss' SCHEMA 'schema.xml'")
    assert [(row["name"], row["columns"], row["interval"]) for row in db.show("STREAMS")] == [
        ("river", "time TIME, id INT, rain INT(16), depth INT(16)", "15 MINUTES"),
        ("hilltop", "time TIME, id INT, rain INT(16)", "15 MINUTES"),
    ]
    network = db.catalog.network("brook")
    assert network is not None
    assert network.sink == 0
    assert {node.id: node.streams for node in network.nodes} == {
        0: (),
        1: ("river",),
        2: ("river", "hilltop"),
    }
    link = network.link(1, 2)
    assert link is not None
    assert link.quality == pytest.approx(0.999**288)
    plan = db.sql("SELECT AVG(depth) FROM river [NOW]").placement("brook")
    assert plan.network.sink == 0


def test_a_physical_schema_names_all_files(field: Path) -> None:
    db = nilometer.connect(field)
    db.execute("CREATE NETWORK wsn1 FROM 'physical.xml' RETRIES 2")
    network = db.catalog.network("wsn1")
    assert network is not None
    assert (network.sink, network.retries) == (0, 2)
    assert [(n.id, n.energy, n.ram, n.flash, n.streams) for n in network.nodes] == [
        (0, None, 10240, 49152, ()),
        (1, 31320.0, 10240, 49152, ("river",)),
        (2, 9999.0, 4096, 49152, ("river",)),
    ]
    assert network.link(1, 2) == Link(1, 2, 0.75, 10.0)
    assert network.link(2, 1) == Link(2, 1, 0.75, 10.0)


def test_expectations_of_a_file_and_of_options(field: Path) -> None:
    found = expectations(qos=str(field / "qos.xml"))
    assert found.acquisition_interval == Bounds(5 * SECOND, 10 * SECOND)
    assert found.delivery_time == Bounds(high=60 * MINUTE)
    assert found.lifetime == Bounds(low=10 * HOUR)
    assert found.total_energy == Bounds(high=2_000.0)
    assert found.duration == 60 * SECOND
    assert found.goal == Goal(Direction.MAXIMIZE, Measure.LIFETIME)
    other = expectations(qos=str(field / "qos.xml"), delivery_time="1 HOUR", goal="minimize total energy")
    assert other.goal == Goal(Direction.MINIMIZE, Measure.TOTAL_ENERGY)
    assert other.lifetime == Bounds(low=10 * HOUR)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.nss", "0:1\n", "line 1 is no link"),
        ("a.nss", "0:1:1.0\n", "no bit error rate"),
        ("a.xml", "<network-topology><radio-link source='0' dest='x'/></network-topology>", "is no number"),
        (
            "a.xml",
            "<network-topology><radio-link source='0' dest='1' radio-loss='1'/></network-topology>",
            "loses",
        ),
        ("a.xml", "<site-resources/>", "is a <site-resources>"),
        ("a.xml", "<source/>", "no sensor network"),
        ("a.xml", "not xml", "is not XML"),
        ("a.xml", "<network-topology><radio-link source='0' dest='1'/></network-topology>", "the sink"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "schema.sql").write_text("")
    with pytest.raises(CatalogError, match=said):
        nilometer.connect(tmp_path).execute(f"CREATE NETWORK n FROM '{name}'")


def test_a_schema_without_an_interval_asks_for_it(field: Path) -> None:
    with pytest.raises(CatalogError, match="does not say how often") as refused:
        nilometer.connect(field).execute("COPY STREAMS FROM 'schema.xml'")
    assert refused.value.hint == "COPY STREAMS FROM 'schema.xml' SENSED EVERY 15 MINUTES"


def test_an_unknown_type_and_an_unknown_unit_are_said(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(
        "<schema><stream name='a'><column name='x'><type class='intger'/></column></stream></schema>"
    )
    with pytest.raises(CatalogError, match=r"'a\.x' has no type 'intger'"):
        read_schema(tmp_path / "s.xml")
    (tmp_path / "q.xml").write_text(
        "<qos-specification><lifetime><units>EONS</units></lifetime></qos-specification>"
    )
    with pytest.raises(ConfigurationError, match="no unit 'EONS'"):
        expectations(qos=str(tmp_path / "q.xml"))
