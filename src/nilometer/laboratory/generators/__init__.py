"""Seeds and parameters -> realistic readings: one kind of field a file."""

from nilometer.laboratory.disorder import Disorder
from nilometer.laboratory.generators.diurnal import Diurnal
from nilometer.laboratory.generators.generator import Generator
from nilometer.laboratory.generators.moving_plume import MovingPlume
from nilometer.laboratory.generators.random_walk import RandomWalk
from nilometer.laboratory.generators.traffic_loop import TrafficLoop
from nilometer.laboratory.generators.zipf import Zipf

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
