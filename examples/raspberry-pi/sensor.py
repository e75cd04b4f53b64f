"""A sensor for Nilometer: reads a value, sends it over MQTT, and obeys the commands of the queries.

    python sensor.py mqtt://gateway/air/kitchen            on a Raspberry Pi: the temperature of its processor
    python sensor.py mqtt://gateway/air/kitchen --fast     a simulated value, ten times a second, to try it out

It needs paho-mqtt 2 and nothing of Nilometer. The gateway keeps the newest command in `<topic>/command`, retained, so
that a sensor that was away or asleep finds it. Whatever a command asks that this program does not understand, it
sends more than was asked, which is never wrong: queries filter again.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import operator
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt

COMPARISONS: dict[type[ast.cmpop], Any] = {
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq,
}  # fmt: skip


def read_filter(text: str) -> ast.expr | None:
    """The filter of a command: comparisons of columns with numbers, joined by AND and OR; None: send everything."""
    if text == "TRUE":
        return None
    try:
        words = (
            " and " if w == "AND" else " or " if w == "OR" else "==" if w == "=" else w for w in text.split()
        )
        tree = ast.parse(" ".join(words), mode="eval").body
        passes(tree, dict.fromkeys({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}, 0.0))
    except (SyntaxError, ValueError, TypeError):
        return None
    return tree


def passes(tree: ast.expr, reading: dict[str, Any]) -> bool:
    """Whether a reading satisfies the filter. Nothing but comparisons is ever computed."""
    match tree:
        case ast.BoolOp(op=ast.And()):
            return all(passes(part, reading) for part in tree.values)
        case ast.BoolOp():
            return any(passes(part, reading) for part in tree.values)
        case ast.Compare(left=ast.Name(id=name), ops=[way], comparators=[bound]) if type(way) in COMPARISONS:
            return reading.get(name) is not None and COMPARISONS[type(way)](
                reading[name], ast.literal_eval(bound)
            )
    raise ValueError("a filter that this sensor does not understand")


class Summary:
    """The readings of one pane that are not sent by themselves. Moments are whole microseconds."""

    def __init__(self, asked: dict[str, Any], begin: int, end: int) -> None:
        self.of, self.begin, self.end, self.count = asked["of"], begin, end, 0
        self.columns = {name: {"count": 0, "sum": 0, "low": 0} for name in asked["columns"]}

    def add(self, reading: dict[str, Any]) -> None:
        """Add a reading. The sum is kept in two numbers (TwoSum), so that it is rounded once, as on the gateway."""
        self.count += 1
        for name, parts in self.columns.items():
            if (value := reading.get(name)) is not None:
                parts["count"] += 1
                total = parts["sum"] + value
                back = total - parts["sum"]
                parts["low"] += (parts["sum"] - (total - back)) + (value - back)
                parts["sum"] = total
                parts["min"] = min(parts.get("min", value), value)
                parts["max"] = max(parts.get("max", value), value)

    def message(self, time: int) -> dict[str, Any]:
        """The message for `<topic>/summary`."""
        span = {"from": self.begin, "time": min(time, self.end)}
        return span | {"of": self.of, "count": self.count, "columns": self.columns}


class Sensor:
    """The command in force, and when to do what. It has no clock and no network of its own."""

    def __init__(self, interval: float) -> None:
        self.own_interval = interval
        self.summary: Summary | None = None
        self.obey({})

    def obey(self, command: dict[str, Any], now: float = 0.0) -> dict[str, Any] | None:
        """Take a command. After a new one the first reading is sent whatever the filter says. Returns the summary
        that was begun under the old one: each reading is in exactly one message."""
        begun = None if self.summary is None else self.summary.message(round(now * 1e6))
        self.summary = None
        self.number: int = command.get("number", 0)
        self.asleep: bool = command.get("sleep", False)
        one = command.get("interval") or self.own_interval
        self.intervals: list[float] = command.get("intervals") or [one]
        text = command.get("filter", "TRUE")
        self.filter = read_filter(text)
        # With a filter that it does not understand, it sends readings: a summary of others would be wrong.
        understood = self.filter is not None or text == "TRUE"
        self.aggregate: dict[str, Any] | None = command.get("aggregate") if understood else None
        self.since = 0
        self.changes: dict[str, Any] | None = command.get("changes")
        self.last: tuple[Any, ...] | None = None
        self.heartbeat: float = command.get("heartbeat", math.inf)
        self.first = not self.asleep
        return begun

    def next_tick(self, now: float) -> float:
        """When to do something next: at the next multiple of one of the intervals."""
        return min(math.floor(now / interval + 1e-9) * interval + interval for interval in self.intervals)

    def next_end(self) -> float:
        """When the summary that was begun is due."""
        return math.inf if self.summary is None else self.summary.end / 1e6

    def wants(self, reading: dict[str, Any]) -> bool:
        """Whether the reading is to be sent, by itself or in a summary."""
        sent = self.first or self.filter is None or passes(self.filter, reading)
        self.first = False
        return sent

    def take(
        self, reading: dict[str, Any], tick: float
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """What is to be sent of a reading at a tick: a summary that is over, and the reading itself."""
        first, moment = self.first, round(tick * 1e6)
        over = self.close(moment - 1)
        if not self.wants(reading):
            return over, None
        if self.aggregate is None or first:
            self.since = moment
            return over, None if self.repeats(reading, moment) and not first else reading
        every, grid = (round(self.aggregate.get(name, 0) * 1e6) for name in ("every", "grid"))
        moment = moment // grid * grid if grid else moment
        if self.summary is None:
            end = -(-moment // every) * every
            self.summary = Summary(self.aggregate, max(self.since, end - every), end)
        self.summary.add(reading)
        return over, None

    def repeats(self, reading: dict[str, Any], moment: int) -> bool:
        """Whether the reading has the values of the one sent before in this pane, and repetitions are not wanted."""
        if self.changes is None:
            return False
        every, grid = (round(self.changes.get(name, 0) * 1e6) for name in ("every", "grid"))
        pane = -(-(moment // grid * grid if grid else moment) // every)
        now = {"time": moment, **reading}
        before, self.last = self.last, (pane, *(now.get(name) for name in self.changes["columns"]))
        return before == self.last

    def close(self, moment: int) -> dict[str, Any] | None:
        """The summary that was begun, if its pane ends at that moment or before."""
        if self.summary is None or self.summary.end > moment:
            return None
        message, self.summary = self.summary.message(moment), None
        return message


def iso(moment: float) -> str:
    """A time as Nilometer reads it."""
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")


def main() -> None:
    """Sense until Ctrl-C."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("address")
    options.add_argument("--column", default="temperature")
    options.add_argument("--interval", type=float, default=10.0)
    options.add_argument("--fast", action="store_true")
    given = options.parse_args()
    address, topic = urlsplit(given.address), urlsplit(given.address).path.strip("/")
    sensor = Sensor(0.1 if given.fast else given.interval)
    turn = threading.Lock()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, f"sensor-{topic.replace('/', '-')}")
    if address.username:
        client.username_pw_set(address.username, address.password)

    def say(moment: float) -> None:
        said = {"state": "online", "time": iso(moment), "command": sensor.number}
        client.publish(f"{topic}/status", json.dumps(said), qos=1, retain=True)

    def connected(*_: Any) -> None:
        client.subscribe(f"{topic}/command", qos=1)
        say(time.time())

    def send(kind: str, message: dict[str, Any] | None) -> bool:
        if message is not None:
            client.publish(topic + kind, json.dumps(message), qos=1)
        return message is not None

    def commanded(_client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        command = json.loads(message.payload) if message.payload else {}
        with turn:
            if command.get("number") != sensor.number:
                send("/summary", sensor.obey(command, time.time()))
                print(f"told: {command}", flush=True)
                say(time.time())

    client.on_connect, client.on_message = connected, commanded
    client.will_set(f"{topic}/status", "offline", qos=1, retain=True)
    client.connect(address.hostname or "localhost", address.port or 1883)
    client.loop_start()
    spoken = time.time()
    while True:
        tick = sensor.next_tick(time.time())
        end = min(tick, sensor.next_end())
        time.sleep(max(0.0, end - time.time()))
        with turn:
            if end < tick:
                send("/summary", sensor.close(round(end * 1e6)))
                continue
            if sensor.asleep:
                continue
            value = 40 + 20 * math.sin(tick) if given.fast else _processor_temperature()
            over, reading = sensor.take({given.column: value}, tick)
            sent = send("/summary", over)
            sent |= send("", reading and {"time": iso(tick)} | reading)
            sent |= send("/summary", sensor.close(round(tick * 1e6)))
            if sent:
                spoken = tick
            elif tick - spoken >= sensor.heartbeat * (1 if sensor.aggregate else 0.5):
                say(tick)
                spoken = tick


def _processor_temperature() -> float:
    return int(Path("/sys/class/thermal/thermal_zone0/temp").read_text()) / 1000


if __name__ == "__main__":
    main()
