"""Simulated sensors that obey commands: worlds, and sensors with batteries, in process or over MQTT.

Pass `Generators()` to `adapter_for(..., generators=...)` for `generate://` URLs.
"""

from nilometer.simulated.field import Energy, SimulatedField
from nilometer.simulated.generators import Generators, simulated_field

__all__ = ["Energy", "Generators", "SimulatedField", "simulated_field"]
