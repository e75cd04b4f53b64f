"""Three gateways on machines of their own (network namespaces): links are cut and healed, packets are lost, a gateway is
killed and comes back, and the answers stay those of the reference over the logs of all. What could not be kept is counted."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.live.owner.client import find_owner
from nilometer.log import StreamLog
from overlay.network_namespaces import Machines

COMMAND = (sys.executable, "-m", "nilometer.cli.main")
PATIENCE = 120.0
Pair = tuple[int, datetime, datetime]
NAMES = ["roof", "yard", "lake"]
JOIN = (
    "SELECT R.id AS id, R.time AS r, Y.time AS y FROM roof R, yard Y WINDOW(R) = 2 SECONDS AND WINDOW(Y) = 1 SECOND "
    "WHERE R.id = Y.id"
)
SCHEMA = "CREATE STREAM {} (concentration FLOAT) PUSHED FROM 'generate://plume?sensors=3&every=0.5&speed=1&seed={}';\n"


class Gateways:
    """`nilometer serve --peer` on each machine, with a directory each."""

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.machines, self.folder = machines, folder
        self.key = folder / "ring.key"
        self.key.write_text("a key that all three gateways share\n")
        self.key.chmod(0o600)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for seed, name in enumerate(NAMES):
            (folder / name).mkdir()
            (folder / name / "schema.sql").write_text(SCHEMA.format(name, seed))

    def start(self, name: str) -> None:
        """The same command each time, as its user would give it."""
        address = f"{self.machines.addresses[name]}:7001"
        others = [self.machines.addresses[other] for other in NAMES if other != name]
        via = [] if name == "roof" and name not in self.processes else ["--join", f"{others[0]}:7001"]
        command = [*self.machines.inside(name), *COMMAND, "serve", "--data", str(self.folder / name)]
        command += ["--peer", address, *via, "--key-file", str(self.key)]
        with (self.folder / f"{name}.err").open("ab") as said:
            self.processes[name] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def execute(self, name: str, statement: str) -> None:
        command = [*COMMAND, "execute", "--data", str(self.folder / name), statement]
        subprocess.run(command, check=True, capture_output=True)

    def peers(self, name: str) -> dict[str, Any]:
        """What `nilometer peers --json` prints; nothing while it starts."""
        client = find_owner(self.folder / name)
        if client is None:
            return {"ring": [], "streams": []}
        with client:
            return dict(client.request("peers").header)

    def reached(self, name: str) -> set[str]:
        """The other gateways that one sees."""
        ring = self.peers(name)["ring"]
        return {one["name"] for one in ring if not one["here"] and one["state"] != "not reached"}

    def whole(self) -> bool:
        return all(len(self.reached(name)) == 2 for name in NAMES)

    def answers(self) -> list[Pair]:
        rows = nilometer.connect(self.folder / "lake").answers("pairs")
        return [(row["id"], row["r"], row["y"]) for row in rows]

    def readings(self, name: str) -> pl.DataFrame:
        """The log of a stream."""
        log = StreamLog(self.folder / name / ".nilometer" / "log" / name)
        return pl.concat(
            frame.select("id", "time", "concentration") for frame in log.scan(0, list(log.columns))
        )

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def gateways(tmp_path: Path) -> Iterator[Gateways]:
    with Machines(NAMES) as machines:
        made = Gateways(machines, tmp_path)
        try:
            yield made
        finally:
            made.close()


def until(met: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < end, what
        time.sleep(0.5)


@pytest.mark.long
@pytest.mark.namespaces
def test_answers_survive_cut_links_lost_packets_and_a_killed_gateway(gateways: Gateways) -> None:
    machines = gateways.machines
    for name in NAMES:
        gateways.start(name)
    until(gateways.whole, "the ring does not form")
    known = lambda: {one["stream"] for one in gateways.peers("lake")["streams"]}  # noqa: E731
    until(lambda: known() >= {"roof", "yard"}, "the streams of the others are not heard of")
    gateways.execute("lake", f"CREATE QUERY pairs AS {JOIN}")
    until(lambda: len(gateways.answers()) > 20, "no pairs come")

    def goes_on(what: str) -> None:
        before = len(gateways.answers())
        until(lambda: len(gateways.answers()) > before + 20, f"no pairs come {what}")

    # The asker alone, then a home alone; each side notices.
    for name in ("lake", "yard"):
        machines.cut(name)
        until(lambda name=name: not gateways.reached(name), "the cut is not noticed")  # type: ignore[misc]
        machines.heal(name)
        until(gateways.whole, "the ring does not heal")
        goes_on(f"after the link of {name} is healed")
    for name in NAMES:
        machines.lose(name, 0.1)
    goes_on("while packets are lost")
    for name in NAMES:
        machines.lose(name, 0)
    gateways.kill("yard")
    until(lambda: "yard" not in gateways.reached("lake"), "the death is not noticed")
    gateways.start("yard")
    until(gateways.whole, "it does not join again")
    goes_on("after yard is back")

    # All pairs of the readings until now must come, and no others.
    last = min(gateways.readings(name).get_column("time").max() for name in ("roof", "yard"))  # type: ignore[type-var]
    began = min(json.loads((gateways.folder / "lake/.nilometer/peers.json").read_text())["starts"].values())
    expected = reference(gateways, began, last)  # type: ignore[arg-type]
    found: list[Pair] = []

    def complete() -> bool:
        found[:] = [one for one in gateways.answers() if max(one[1:]) <= moment(last)]  # type: ignore[arg-type]
        return len(found) >= len(expected)

    with suppress(AssertionError):
        until(complete, "pairs are missing")
    books = [one["load"] for name in NAMES for one in gateways.peers(name)["ring"] if one["here"]]
    print(f"{len(found)} pairs, {len(expected)} in the reference; books: {books}")
    assert expected
    assert len(set(found)) == len(found)
    assert set(found) <= set(expected)
    missed = sum(one["lost"] + one["overdue"] + one["shed"] for one in books)
    assert len(expected) - len(found) <= missed
    assert missed or sorted(found) == sorted(expected)


def reference(gateways: Gateways, began: int, last: int) -> list[Pair]:
    """The pairs of the readings in both logs, by the evaluator of one process."""
    alone = nilometer.connect()
    for name in ("roof", "yard"):
        alone.execute(f"CREATE STREAM {name} (concentration FLOAT) PUSHED")
        alone.append(name, gateways.readings(name).filter(pl.col("time") >= began).sort("time").to_dicts())
    pairs = [(row["id"], row["r"], row["y"]) for row in alone.sql(JOIN).run()]
    return [one for one in pairs if max(one[1:]) <= moment(last)]


def moment(time: int) -> datetime:
    return datetime.fromtimestamp(time / 1_000_000, UTC)
