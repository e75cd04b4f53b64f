"""Seeds and parameters -> realistic readings: one kind of field per file."""

from nilometer.simulated.disorder import Disorder
from nilometer.simulated.fields.diurnal import Diurnal
from nilometer.simulated.fields.generator import Generator
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.simulated.fields.random_walk import RandomWalk
from nilometer.simulated.fields.traffic_loop import TrafficLoop
from nilometer.simulated.fields.zipf import Zipf

GENERATORS: dict[str, type[Generator]] = {
    "diurnal": Diurnal,
    "random_walk": RandomWalk,
    "moving_plume": MovingPlume,
    "traffic_loop": TrafficLoop,
    "zipf": Zipf,
}

__all__ = [
    "GENERATORS",
    "Disorder",
    "Diurnal",
    "Generator",
    "MovingPlume",
    "RandomWalk",
    "TrafficLoop",
    "Zipf",
]
