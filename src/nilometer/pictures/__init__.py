"""Drawings of what happens in the network: routing tree and fragments, agenda, energy, lifetime against
expectations.

Each drawing is an SVG file made with matplotlib. `draw_placement` and `draw_simulation` make all drawings of
a placement or a simulation.
"""

from nilometer.pictures.all_pictures import draw_placement, draw_simulation
from nilometer.pictures.curves import Curve, draw_curves
from nilometer.pictures.gantt import draw_agenda
from nilometer.pictures.network_map import draw_network
from nilometer.pictures.stacks import draw_energy
from nilometer.pictures.trade_offs import draw_trade_offs

__all__ = [
    "Curve",
    "draw_agenda",
    "draw_curves",
    "draw_energy",
    "draw_network",
    "draw_placement",
    "draw_simulation",
    "draw_trade_offs",
]
