"""Simulated sensors that obey: worlds, sensors with batteries that do what they are told, in process or over MQTT.

`Generators()` is what `adapter_for(..., generators=...)` takes for `generate://` URLs.
"""

from nilometer.simulated.field import Energy, SimulatedField
from nilometer.simulated.generators import Generators, simulated_field

__all__ = ["Energy", "Generators", "SimulatedField", "simulated_field"]
