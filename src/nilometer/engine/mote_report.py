"""An emulated run in tables and words: the size of the motes' programs, measurements beside the estimates,
and the comparison of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nilometer.errors import InternalError
from nilometer.sensornet.motes.busy import Milliseconds, expected_energy, expected_times
from nilometer.sensornet.motes.emulate import FREQUENCY
from nilometer.sensornet.motes.estimate import flash_estimate, ram_estimate
from nilometer.sensornet.motes.first_answer import first_answer

if TYPE_CHECKING:
    from nilometer.catalog.network import NodeId
    from nilometer.engine.motes import Emulation
    from nilometer.engine.recorded import Recorded
    from nilometer.sensornet.motes.compilation import Compilation


def notes(compilation: Compilation, recorded: Recorded | None = None, periods: int = 0) -> Iterator[str]:
    """Remarks on what was changed in the recorded readings of `periods` periods, and on what is left to the
    gateway."""
    if recorded is not None:
        yield from recorded.notes(periods * compilation.placement.beta)
    for operator, reason in compilation.placement.at_gateway:
        yield f"{operator} is the gateway's: {reason}"


def verdict(emulation: Emulation) -> str:
    """A sentence that compares the answer with the reference evaluator's. A difference that no loss explains
    is a bug, and is raised."""
    lost = what_was_lost(emulation) if emulation.run.lossy else None
    if lost is not None:
        return lost
    if emulation.difference is not None:
        raise InternalError(
            "the motes' answers differ from the reference's", detail=emulation.difference, hint="report it"
        )
    nothing = why_nothing(emulation)
    if nothing is not None:
        return f"no row was delivered, nor is any expected, so that NOTHING WAS COMPARED; {nothing}"
    return f"{len(emulation.answer)} rows, equal to the reference evaluator's on the same readings"


def check_sound(emulation: Emulation) -> None:
    """Raise an error if a mote met a fault."""
    if not emulation.run.sound:
        raise InternalError("a mote met a fault", detail="see the table", hint="report it")


def emulation_json(emulation: Emulation) -> dict[str, Any]:
    """Everything except the answer's rows, as JSON."""
    run = emulation.run
    head: dict[str, Any] = {
        "sites": measurements(emulation),
        "sound": run.sound,
        "compared": len(emulation.answer),
    }
    if run.lossy:
        head |= {"lost": run.lost, "expected": emulation.expected, "arrived": emulation.arrived}
    if emulation.compilation.motes.starting is not None:
        head |= {"untold": untold_motes(emulation)}
    return head


def why_nothing(emulation: Emulation) -> str | None:
    """Why a run delivered no row, so that there was nothing to compare; None if it delivered rows."""
    if emulation.answer.rows:
        return None
    compilation = emulation.compilation
    motes, beta = compilation.motes, compilation.placement.beta
    ran = emulation.run.periods * beta
    offset = compilation.start // motes.typing.interval
    needed = first_answer(compilation.placement.plan, motes.typing, offset)
    if ran < needed:
        return (
            f"the first window closes after {needed} evaluations, and {ran} were run:"
            f" run at least {-(-needed // beta)} periods (--periods)"
        )
    return "no reading met the query's conditions: try other readings (--seed, --recorded), or more periods"


def sizes(compilation: Compilation) -> list[dict[str, Any]]:
    """The size of each site's program, beside the estimate: bytes of flash, and of RAM without the stack (the
    estimate includes the stack)."""
    return [
        {
            **_called(compilation, site),
            "does": " ".join(compilation.programs[site].tasks.values()),
            "flash": built.flash,
            "flash_estimate": flash_estimate(compilation.motes, site),
            "static_ram": built.ram,
            "ram_estimate": ram_estimate(compilation.motes, site),
        }
        for site, built in compilation.built.items()
    ]


def untold_motes(emulation: Emulation) -> list[NodeId]:
    """The motes that were never told the start, by name."""
    return [_called(emulation.compilation, site)["site"] for site in emulation.run.untold]


def _called(compilation: Compilation, site: NodeId) -> dict[str, NodeId]:
    """A site by its number, and by its name if it has one."""
    if not compilation.names:
        return {"site": site}
    return {"site": compilation.names[_number(site)], "number": site}


def _number(site: NodeId) -> int:
    assert isinstance(site, int)
    return site


def measurements(emulation: Emulation) -> list[dict[str, Any]]:
    """The measurements of each mote per period, beside the estimate and the time that the agenda reserves.
    Times are milliseconds, energy (of processor and radio) millijoules. RAM includes the stack at its
    deepest."""
    expected = expected_times(emulation.compilation.motes)
    return [_measurement(emulation, site, expected[site]) for site in emulation.compilation.built]


def _measurement(emulation: Emulation, site: NodeId, times: Milliseconds) -> dict[str, Any]:
    measured, periods = emulation.run.measured[site], emulation.run.periods
    plan = emulation.compilation.placement.sites[site]

    def milliseconds(cycles: float) -> float:
        return round(cycles * 1000 / FREQUENCY / periods, 3)

    return {
        **_called(emulation.compilation, site),
        "busy": milliseconds(sum(task.total for task in measured.tasks.values())),
        "busy_estimate": round(sum(times.values()), 3),
        "reserved": round(plan.active_time * 1000, 3),
        "active": milliseconds(measured.active),
        "idle": milliseconds(measured.idle),
        "power_save": milliseconds(measured.power_save),
        "receiving": milliseconds(measured.receiving),
        "sending": milliseconds(measured.sending),
        "energy": round(1000 * _joules(emulation, site) / periods, 4),
        "energy_estimate": round(1000 * expected_energy(emulation.compilation.motes, times), 4),
        "bytes_sent": measured.bytes_sent // periods,
        "ram": measured.ram + measured.stack,
        "ram_estimate": ram_estimate(emulation.compilation.motes, site),
        "stack": measured.stack,
        "flash": measured.flash,
        "flash_estimate": flash_estimate(emulation.compilation.motes, site),
        **_hops(emulation, site),
        "collisions": measured.collisions,
        "faults": sum(measured.faults.values()) + measured.wrong_sleeps,
    }


def _hops(emulation: Emulation, site: NodeId) -> dict[str, int]:
    """The counts of the whole run, where packets are acknowledged or lost."""
    measured = emulation.run.measured[site]
    counted = asdict(measured.hops) if emulation.compilation.motes.retries else {}
    return counted | ({"missed": measured.missed} if emulation.run.lossy else {})


def what_was_lost(emulation: Emulation) -> str | None:
    """A sentence about packets that were lost for good and their effect on the answer; None if there are
    none. It also names motes that were never told the start because all packets with it were lost."""
    lost, expected, arrived = emulation.run.lost, emulation.expected, emulation.arrived
    untold = emulation.run.untold
    if not lost and not untold:
        return None
    others = len(emulation.answer) - arrived
    retries = emulation.compilation.motes.retries
    again = f"after {retries} retries" if retries else "as each is sent once (--retries)"
    found = [f"{lost} packets were lost for good, {again}"] if lost else []
    if untold:
        names = ", ".join(map(str, untold_motes(emulation)))
        found.append(f"the start was told in vain to {names}")
    text = f"{'; '.join(found)}: {arrived} of {expected} expected rows arrived"
    return text + (f", and {others} that were made of what was left" if others else "")


def _joules(emulation: Emulation, site: NodeId) -> float:
    """The energy of processor and radio in the whole run, by the currents of the cost profile."""
    measured, costs = emulation.run.measured[site], emulation.compilation.placement.costs
    charge = (
        costs.cpu_active * measured.active
        + costs.cpu_idle * measured.idle
        + costs.cpu_sleep * measured.power_save
        + costs.radio_receive * measured.receiving
        + costs.radio_transmit * measured.sending
    )
    return costs.voltage * charge / FREQUENCY
