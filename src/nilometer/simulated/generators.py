"""`generate://` URLs -> simulated fields whose sensors obey commands.

    generate://plume?sensors=64&seed=7&speed=60        smoke over a field: concentration
    generate://diurnal?sensors=10&every=60s            weather: temperature, humidity
    generate://traffic?sensors=8                       loops along a road: reading, t0 ... t3, speed, length, vehicles

All fields have these options: `sensors`, `seed`, `every` (a sensor's own interval; that of a road is fixed),
`jitter` (each sensor is off the grid by up to that share of the interval), `start` (ISO-8601; by default the
clock when first opened; `now`: the clock each time it is opened), `radio=1` (a sensor that does not listen misses commands), `listen` (how often a
sleeping sensor listens before it has a command), `battery` (the share of Table 1's battery that is left),
`width` and `height` in metres. `plumes=2` lets two puffs start at a time, which meet and part again. The adapter itself handles `speed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlencode

from nilometer.catalog.address import Address, scheme_of
from nilometer.catalog.extents import Stream
from nilometer.errors import ConfigurationError
from nilometer.live.proxies import Demand
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.fields.diurnal import Diurnal
from nilometer.simulated.fields.generator import START
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.simulated.fields.traffic_loop import TrafficLoop
from nilometer.simulated.grid import DiurnalGrid, PlumeGrid
from nilometer.simulated.physics import Physics
from nilometer.simulated.traffic import Road
from nilometer.types import HOUR, MINUTE, parse_time

OPTIONS = "sensors seed every jitter start radio listen battery width height plumes".split()
MOST = 1_000_000
"""The most sensors of a field: as many as a stream has room for."""


def _plume(address: Address, start: int) -> Physics:
    # Slow wide puffs that cross the whole field in some hours, one every two hours; of two, each crosses the other.
    two = address.count("plumes", 1, 1) > 1
    width, height = address.number("width", 4_000.0, 1.0), address.number("height", 2_000.0, 1.0)
    return PlumeGrid(
        MovingPlume(
            sensor_count=address.count("sensors", 64),
            start=start,
            interval=max(1, address.duration("every", MINUTE)),
            seed=address.count("seed", 0, 0),
            jitter=address.number("jitter", 0.0),
            width=width,
            height=height,
            wind=(0.35 * width / 4_000, (0.111 if two else 0.05) * height / 2_000),
            source=(-0.05, 0.15 if two else 0.35),
            mirrored=two,
            release=2 * HOUR,
            strength=180.0,
            sigma=0.075 * width,
            diffusion=6.0 * (width / 4_000) ** 2,
        )
    )


def _diurnal(address: Address, start: int) -> Physics:
    return DiurnalGrid(
        Diurnal(
            sensor_count=address.count("sensors", 10),
            start=start,
            interval=max(1, address.duration("every", MINUTE)),
            seed=address.count("seed", 0, 0),
            jitter=address.number("jitter", 0.0),
            width=address.number("width", 1_000.0, 1.0),
            height=address.number("height", 1_000.0, 1.0),
        )
    )


def _traffic(address: Address, start: int) -> Physics:
    return Road(
        TrafficLoop(
            sensor_count=address.count("sensors", 8),
            start=start,
            seed=address.count("seed", 0, 0),
            width=address.number("width", 10_000.0, 1.0),
            height=address.number("height", 20.0, 1.0),
        )
    )


KINDS: dict[str, Callable[[Address, int], Physics]] = {
    "plume": _plume,
    "diurnal": _diurnal,
    "traffic": _traffic,
}


def simulated_field(name: str, options: Mapping[str, str]) -> SimulatedField:
    """The field with the name and the options of its URL."""
    address = Address.parse(f"generate://{name}?{urlencode(options)}")
    address.check(OPTIONS)
    given = options.get("start")
    follows = given is not None and given.lower() == "now"
    try:
        start = None if given is None or follows else parse_time(given)
    except ValueError:
        raise ConfigurationError(
            f"start={given} in '{address}'", hint="write 2026-01-01T00:00:00Z, or now"
        ) from None
    if address.number("sensors", 1) > MOST:
        raise ConfigurationError(f"sensors in '{address}'", hint=f"a field has at most {MOST:,} of them")
    if address.number("jitter", 0.0) >= 1:
        raise ConfigurationError(f"jitter in '{address}'", hint="a part of the interval, below 1")
    field = SimulatedField(
        KINDS[name](address, START if start is None else start),
        start=START if start is None else start,
        mailbox=options.get("radio", "0").lower() not in ("1", "true", "yes"),
        battery=address.number("battery", 1.0),
        listen=address.duration("listen", 0),
    )
    field.fixed, field.follows = start is not None, follows
    return field


class Generators(Mapping[str, Callable[[Mapping[str, str]], SimulatedField]]):
    """The fields of one process. The same URL is the same field, so sensors do not start again because a
    source was reopened."""

    def __init__(self) -> None:
        self._fields: dict[tuple[str, tuple[tuple[str, str], ...]], SimulatedField] = {}

    def __getitem__(self, name: str) -> Callable[[Mapping[str, str]], SimulatedField]:
        if name not in KINDS:
            raise KeyError(name)
        return lambda options: self.field(name, options)

    def field(self, name: str, options: Mapping[str, str]) -> SimulatedField:
        """The field with that name and these options (`speed` and `batch` do not count)."""
        chosen = {key: value for key, value in options.items() if key not in ("speed", "batch")}
        key = name, tuple(sorted(chosen.items()))
        if key not in self._fields:
            self._fields[key] = simulated_field(name, chosen)
        return self._fields[key]

    def at(self, url: str) -> SimulatedField:
        """The field of a whole URL."""
        address = Address.parse(url)
        return self.field(address.host, address.options)

    def program_for(self, stream: Stream, demands: tuple[Demand, ...]) -> str | None:
        """The cheapest program of a simulated stream's sensors that answers the demands; None for any other
        stream."""
        if stream.url is None or scheme_of(stream.url) != "generate":
            return None
        return self.at(stream.url).program_for(demands)

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)
