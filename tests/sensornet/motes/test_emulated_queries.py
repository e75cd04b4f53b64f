"""Queries compiled, built with avr-gcc and run by emulated motes: the answers at the sink equal the reference evaluator's. What was
measured lies beside the cost models' estimates in `test_estimates`."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.engine.mote_report import measurements
from nilometer.sensornet.motes.toolchain import RAM
from sensornet.motes.emulated import RUNNING_EXAMPLE, Trial, random_grid, tried

pytestmark = [pytest.mark.motes, pytest.mark.slow]

LARGEST_FLASH = 20_000


def check_answers(trial: Trial) -> None:
    assert trial.emulation.difference is None
    assert trial.emulation.answer.rows, "an empty answer shows nothing"
    assert trial.emulation.run.sound, [m for m in trial.emulation.run.measured.values() if not m.sound]


def check_sizes(trial: Trial) -> None:
    for row in measurements(trial.emulation):
        assert row["flash"] <= LARGEST_FLASH
        assert row["ram"] <= RAM
        assert row["stack"] > 0


def test_running_example(tmp_path: Path) -> None:
    trial = tried(RUNNING_EXAMPLE, tmp_path, beta=12, always={"hilltop": 20})
    check_answers(trial)
    check_sizes(trial)
    # Every River reading but those of the first evaluation, which has no earlier Hilltop reading, has a partner.
    assert len(trial.emulation.answer) == 4 * (12 * 3 - 1)


@pytest.mark.long
def test_running_example_with_conditions_that_differ(tmp_path: Path) -> None:
    trial = tried(RUNNING_EXAMPLE, tmp_path, beta=6)
    check_answers(trial)


def test_aggregation_query(tmp_path: Path) -> None:
    """SNEE's Q2: merged where readings meet, divided at the gateway."""
    trial = tried("RSTREAM SELECT AVG(River.depth) FROM River[NOW]", tmp_path, beta=16)
    check_answers(trial)
    check_sizes(trial)
    merging = [f for f in trial.compilation.placement.fragments if f.merges]
    assert len(trial.compilation.placement.placed.sites_of[merging[0].number]) > 1


NAMED = """
CREATE STREAM River (id STRING, rain INT, depth INT) SENSED EVERY 10 SECONDS;
CREATE SENSOR 'ford' OF River WITH kind = 'gauge', height = 9;
CREATE SENSOR 'mill' OF River WITH kind = 'radar', height = 12;
"""


def _named() -> Network:
    nodes = (
        NetworkNode("gateway"),
        NetworkNode("bridge"),
        NetworkNode("mill", 4096, streams=("River",)),
        NetworkNode("ford", 4096, streams=("River",)),
    )
    links = (Link("gateway", "bridge"), Link("bridge", "ford"), Link("ford", "mill"))
    return Network("valley", "gateway", nodes, links)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, kind, height, depth FROM River [NOW] WHERE depth > height",
        "SELECT id, depth FROM River [RANGE 3 ROWS SLIDE 2 ROWS]",  # which rows, is decided by the order of the names
        pytest.param(
            "SELECT id, AVG(depth) AS a FROM River [RANGE 30 SECONDS] GROUP BY id", marks=pytest.mark.long
        ),
        pytest.param(
            "SELECT a.depth, b.id FROM River [NOW] a, River [AT NOW - 10 SECONDS] b WHERE a.id = b.id",
            marks=pytest.mark.long,
        ),
    ],
)
def test_nodes_that_have_names(text: str, tmp_path: Path) -> None:
    """They are numbered, and the gateway knows their names and what was declared of them."""
    trial = tried(text, tmp_path, network=_named(), schema=NAMED)
    check_answers(trial)
    assert {row["site"]: row["number"] for row in measurements(trial.emulation)} == {
        "bridge": 0,
        "ford": 1,
        "gateway": 2,
        "mill": 3,
    }
    assert (tmp_path / "names.csv").read_text() == "number,id\n0,bridge\n1,ford\n2,gateway\n3,mill\n"
    index = trial.emulation.answer.columns.index("id")
    assert {row[index] for row in trial.emulation.answer.rows} == {"ford", "mill"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(rain) AS n, COUNT(temp) AS m FROM River [NOW] WHERE depth < 70000 OR depth <= depth + 2",
        "SELECT COUNT(rain) AS n FROM River [RANGE 4 ROWS SLIDE 2 ROWS]",
    ],
)
def test_what_the_compiler_of_c_would_warn_of(text: str, tmp_path: Path) -> None:
    """Values that nothing reads and conditions that always hold are what was asked for."""
    check_answers(tried(text, tmp_path, beta=2, periods=2))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT depth, COUNT(*) AS n FROM River [RANGE 9 ROWS SLIDE 7 ROWS] GROUP BY depth",
        "SELECT a.depth - b.rain AS d, COUNT(*) AS n FROM River [NOW] a, River [NOW] b GROUP BY a.depth - b.rain",
        # a key that takes a division is computed once for a row, and its time is planned
        "SELECT depth % 11 AS k, rain, AVG(temp) AS a FROM River [RANGE 6 ROWS] GROUP BY depth % 11, rain",
    ],
)
def test_more_groups_than_rows_that_come(text: str, tmp_path: Path) -> None:
    """A row window has rows of earlier evaluations, a join has pairs."""
    trial = tried(text, tmp_path, beta=2, periods=4)
    check_answers(trial)


def test_children_that_are_numbered_as_tasks_are(tmp_path: Path) -> None:
    """A child's number that was a task's too was once compared with what an addition had left in its register: avr-gcc's
    postreload pass, which is switched off."""
    ends = ((11, 18), (11, 12), (18, 26), (11, 35), (35, 32), (12, 1))
    nodes = tuple(NetworkNode(number, streams=("River",)) for number in (11, 18, 12, 26, 35, 32, 1))
    network = Network("star", 11, nodes, tuple(Link(*pair) for pair in ends))
    trial = tried(
        "SELECT p.depth, p.id FROM River [AT NOW - 20 SECONDS] p, River [RANGE 30 SECONDS SLIDE 10 SECONDS] q"
        " WHERE p.depth < q.rain",
        tmp_path,
        network=network,
        beta=3,
    )
    check_answers(trial)


def test_attributes_are_constants_of_a_program(tmp_path: Path) -> None:
    schema = NAMED.replace("STRING", "INT").replace("'ford'", "5").replace("'mill'", "7")
    trial = tried(
        "SELECT id, height, depth FROM River [NOW] WHERE id < 9 AND id <> 6 AND depth > height",
        tmp_path,
        schema=schema,
    )
    check_answers(trial)
    assert {row[1:3] for row in trial.emulation.answer.rows} == {(5, 9), (7, 12)}
    assert trial.compilation.placement.fragments[0].host == "mote"


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(depth) AS s FROM River [RANGE 30 SECONDS SLIDE 30 SECONDS]",
        "SELECT id, COUNT(*) AS n, MIN(rain) AS m FROM River [RANGE 40 SECONDS SLIDE 20 SECONDS] WHERE depth > 10 GROUP BY id HAVING COUNT(*) > 1",
        "SELECT rain / (depth - 12) AS q, rain * 2 + depth % 7 AS r, abs(rain - depth) AS a FROM River [NOW] WHERE NOT (rain = 3 OR depth / (rain - 5) > 2)",
        "SELECT CASE WHEN rain > depth THEN 1 ELSE rain END AS c, moisture * 1.5 AS m FROM River [NOW] WHERE moisture > 0.5 AND rain IN (1, 2, 3, 5, 8)",
        "SELECT R.id AS id, R.rain AS r, H.rain AS h FROM River [NOW] R, Hilltop [FROM NOW-30 SECONDS TO NOW-10 SECONDS] H WHERE R.rain = H.rain",
        "SELECT COUNT(*) AS n, SUM(R.depth) AS s FROM River [NOW] R, Hilltop [NOW] H WHERE R.rain < H.rain",
        "SELECT R.id, R.depth FROM River [RANGE 5 ROWS SLIDE 3 ROWS] R",
        "SELECT rain % 4 AS k, COUNT(*) AS n, SUM(moisture) AS s FROM River [NOW] GROUP BY rain % 4",
        "SELECT MIN(temp) AS a, MAX(temp) AS b FROM River [NOW] WHERE temp > 1.5",
        "SELECT STDEV(depth) AS d, VARIANCE(rain) AS v FROM River [NOW]",
        "SELECT time, depth FROM River WHERE depth > 10",
        "SELECT rain FROM Hilltop [RANGE 4 ROWS]",
        # 80 readings: sums of three bytes, counts of one; SUM of nothing is NULL
        "SELECT SUM(depth) AS s, SUM(rain - depth) AS t, AVG(depth) AS a FROM River [RANGE 200 SECONDS SLIDE 20 SECONDS] WHERE depth > 29",
        "SELECT rain, SUM(0 - depth) AS s FROM River [RANGE 200 SECONDS SLIDE 50 SECONDS] GROUP BY rain",
    ],
)
def test_other_operators(text: str, tmp_path: Path) -> None:
    check_answers(tried(text, tmp_path))


@pytest.mark.long
def test_running_example_at_its_own_pace(tmp_path: Path) -> None:
    """A reading every 15 minutes, and the buffering factor of the paper."""
    from sensornet.motes.emulated import SCHEMA

    quarters = RUNNING_EXAMPLE.replace("10 SECONDS", "15 MINUTES")
    trial = tried(
        quarters,
        tmp_path,
        beta=29,
        periods=2,
        schema=SCHEMA.replace("10 SECONDS", "15 MINUTES"),
        always={"hilltop": 20},
    )
    check_answers(trial)
    check_sizes(trial)
    asleep = min(row["power_save"] / (29 * 900_000) for row in measurements(trial.emulation))
    assert asleep > 0.998


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    """Sources anywhere, also at the sink, and streams that share a site."""
    random = Random(seed)
    network = random_grid(random)
    text = random.choice(
        (
            RUNNING_EXAMPLE,
            "SELECT id, time, depth FROM River [NOW] WHERE rain < 9",
            "SELECT SUM(depth) AS s, MIN(rain) AS m, COUNT(*) AS n FROM River [RANGE 20 SECONDS]",
            "SELECT rain, COUNT(*) AS n FROM River [NOW] GROUP BY rain",
            "SELECT id, depth FROM River [RANGE 3 ROWS SLIDE 2 ROWS]",
        )
    )
    beta, most = random.randint(1, 5), {"rain": 12, "depth": 1023}
    trial = tried(text, tmp_path, network=network, beta=beta, periods=4, most=most)
    assert trial.emulation.difference is None
    assert trial.emulation.run.sound, [m for m in trial.emulation.run.measured.values() if not m.sound]
