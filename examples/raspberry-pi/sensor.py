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


class Sensor:
    """The command in force, and when to do what. It has no clock and no network of its own."""

    def __init__(self, interval: float) -> None:
        self.own_interval = interval
        self.obey({})

    def obey(self, command: dict[str, Any]) -> None:
        """Take a command. After a new one the first reading is sent whatever the filter says."""
        self.number: int = command.get("number", 0)
        self.asleep: bool = command.get("sleep", False)
        one = command.get("interval") or self.own_interval
        self.intervals: list[float] = command.get("intervals") or [one]
        self.filter = read_filter(command.get("filter", "TRUE"))
        self.heartbeat: float = command.get("heartbeat", math.inf)
        self.first = not self.asleep

    def next_tick(self, now: float) -> float:
        """When to take the next reading: at the next multiple of one of the intervals."""
        return min(math.floor(now / interval + 1e-9) * interval + interval for interval in self.intervals)

    def wants(self, reading: dict[str, Any]) -> bool:
        """Whether the reading is to be sent."""
        sent = self.first or self.filter is None or passes(self.filter, reading)
        self.first = False
        return sent


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
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, f"sensor-{topic.replace('/', '-')}")
    if address.username:
        client.username_pw_set(address.username, address.password)

    def say(moment: float) -> None:
        said = {"state": "online", "time": iso(moment), "command": sensor.number}
        client.publish(f"{topic}/status", json.dumps(said), qos=1, retain=True)

    def connected(*_: Any) -> None:
        client.subscribe(f"{topic}/command", qos=1)
        say(time.time())

    def commanded(_client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        command = json.loads(message.payload) if message.payload else {}
        if command.get("number") != sensor.number:
            sensor.obey(command)
            print(f"told: {command}", flush=True)
            say(time.time())

    client.on_connect, client.on_message = connected, commanded
    client.will_set(f"{topic}/status", "offline", qos=1, retain=True)
    client.connect(address.hostname or "localhost", address.port or 1883)
    client.loop_start()
    spoken = time.time()
    while True:
        tick = sensor.next_tick(time.time())
        time.sleep(max(0.0, tick - time.time()))
        if sensor.asleep:
            continue
        value = 40 + 20 * math.sin(tick) if given.fast else _processor_temperature()
        if sensor.wants({given.column: value}):
            client.publish(topic, json.dumps({"time": iso(tick), given.column: value}), qos=1)
            spoken = tick
        elif tick - spoken >= sensor.heartbeat / 2:
            say(tick)
            spoken = tick


def _processor_temperature() -> float:
    return int(Path("/sys/class/thermal/thermal_zone0/temp").read_text()) / 1000


if __name__ == "__main__":
    main()
