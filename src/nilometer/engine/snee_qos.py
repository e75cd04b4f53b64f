"""Reads SNEE's expectations: `qos-specification` (the thesis) and `query-parameters` (the release) -> QualityOfService.

Weightings are not read: a plan has one goal here. A month has 30 days, a year 365, as in SNEE's units.xml.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree as Xml

from nilometer.catalog.near_misses import near_misses
from nilometer.catalog.snee_files import ENERGY
from nilometer.catalog.text_files import read_text
from nilometer.errors import ConfigurationError
from nilometer.placement import Bounds, Direction, Goal, Measure, QualityOfService
from nilometer.placement.quality import SIX_MONTHS
from nilometer.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND

TIMES: dict[str, float] = {
    "MILLISECONDS": MILLISECOND,
    "SECONDS": SECOND,
    "MINUTES": MINUTE,
    "HOURS": HOUR,
    "DAYS": DAY,
    "WEEKS": 7 * DAY,
    "MONTHS": 30 * DAY,
    "YEARS": 365 * DAY,
}
ROOTS = ("qos-specification", "query-parameters", "qos-expectations")


def read_qos(path: Path) -> QualityOfService:
    """The expectations in a file of SNEE's."""
    try:
        root = Xml.fromstring(read_text(path))
    except Xml.ParseError as error:
        raise ConfigurationError(f"{path.name} is not XML", detail=str(error)) from None
    if _local(root) not in ROOTS:
        raise ConfigurationError(
            f"{path.name} is a <{_local(root)}>",
            hint=f"expectations of SNEE's are a <{ROOTS[0]}> or <{ROOTS[1]}>",
        )
    duration = _bounds(path, root, "query-duration", TIMES)
    buffering = _bounds(path, root, "buffering-factor", {})
    return QualityOfService(
        acquisition_interval=_bounds(path, root, "acquisition-interval", TIMES),
        delivery_time=_bounds(path, root, "delivery-time", TIMES),
        lifetime=_bounds(path, root, "lifetime", TIMES),
        total_energy=_bounds(path, root, "total-energy", ENERGY),
        # SNEE bounds the factor; where the bounds leave a choice, the planner chooses.
        buffering_factor=int(buffering.low) if buffering and buffering.low == buffering.high else None,  # type: ignore[arg-type]
        duration=SIX_MONTHS if duration.high is None else int(duration.high),
        goal=_goal(path, root),
    )


def _goal(path: Path, root: Xml.Element) -> Goal | None:
    element = _find(root, "optimization-goal")
    said = None if element is None else _text(element, "type")
    measure = None if element is None else _text(element, "variable")
    if said in (None, "NONE") or measure in (None, "NONE"):
        return None
    words = str(measure).lower().replace("_", " ")
    if str(said).lower() not in list(Direction) or words not in list(Measure):
        _fail(
            path, f"'{said} {measure}' is no goal", f"MINIMIZE or MAXIMIZE, and one of {', '.join(Measure)}"
        )
    return Goal(Direction(str(said).lower()), Measure(words))


def _bounds(path: Path, root: Xml.Element, name: str, units: dict[str, float]) -> Bounds:
    """The bounds of an expectation: <less-equals>, <greater-equals>, <equals>, or <range>."""
    element = _find(root, name)
    if element is None:
        return Bounds()
    unit = _text(element, "units")
    if units and (unit is None or unit.upper() not in units):
        hint = near_misses(unit or "", units)
        _fail(path, f"<{name}> has no unit '{unit}'" if unit else f"<{name}> has no <units>", hint)
    scale = units[unit.upper()] if units and unit is not None else 1.0

    def value(tag: str) -> float | None:
        text = _text(element, tag)
        if text is None:
            return None
        try:
            return float(text) * scale
        except ValueError:
            _fail(path, f"<{tag}> of <{name}> is no number", f"found '{text}'")

    exactly = value("equals")
    if exactly is not None:
        return Bounds(exactly, exactly)
    low = value("greater-equals") if value("greater-equals") is not None else value("min-val")
    return Bounds(low, value("less-equals") if value("less-equals") is not None else value("max-val"))


def _local(element: Xml.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _find(element: Xml.Element, name: str) -> Xml.Element | None:
    return next((child for child in element.iter() if _local(child) == name), None)


def _text(element: Xml.Element, name: str) -> str | None:
    found = _find(element, name)
    return None if found is None or found.text is None else found.text.strip()


def _fail(path: Path, message: str, hint: str | None) -> NoReturn:
    raise ConfigurationError(f"{path.name}: {message}", hint=hint)
