"""The stage `agenda`: the matrix of sites and times (SNEE Fig. 22); for a wide network, a list by time."""

from __future__ import annotations

from nilometer.placement.acknowledgements import hop_of
from nilometer.placement.agenda import Agenda, FragmentTask, Transfer
from nilometer.placement.placement import Placement
from nilometer.placement.text.tables import table
from nilometer.types import SECOND, format_duration

WIDEST = 24
"""An agenda with more sites than this is printed as a list."""

MOST_HOPS = 24
"""For a large network, the reservations for retries are listed only for this many slots, the longest ones."""


def agenda_text(placement: Placement) -> str:
    """The agenda of a period."""
    agenda = placement.agenda
    head = (
        f"AGENDA [alpha {_duration(agenda, agenda.alpha)}; beta {agenda.beta};"
        f" period {agenda.milliseconds(agenda.period)} ms; delivery {agenda.milliseconds(agenda.delivery)} ms;"
        f" {sum(transfer.packets for transfer in agenda.transfers)} packets{_again(placement)}]"
    )
    body = _matrix(agenda) if len(agenda.sites) <= WIDEST else _list(agenda)
    return "\n".join([head, *body, *_reservations(placement)])


def _again(placement: Placement) -> str:
    retries = placement.network.retries
    if not retries:
        return ""
    reserved = sum(transfer.sendings for transfer in placement.agenda.transfers)
    return f" in {reserved} reserved sendings, retries {retries}"


def _reservations(placement: Placement) -> list[str]:
    """The link qualities of each acknowledged hop, and the transmissions that its slot has time for."""
    rows = []
    for transfer in placement.agenda.transfers:
        if transfer.reserved is not None:
            hop = hop_of(placement.network, transfer.source, transfer.target)
            expected = hop.expected(transfer.packets, transfer.reserved)
            quality = f"{hop.forward:g}, {hop.backward:g} back"
            rows.append(
                (
                    f"{transfer.source} to {transfer.target}",
                    quality,
                    transfer.packets,
                    f"{expected:.2f}",
                    transfer.reserved,
                )
            )
    if not rows:
        return []
    cut = len(rows) > MOST_HOPS
    if cut:
        rows = sorted(rows, key=lambda row: -row[-1])[:MOST_HOPS]
    columns = ("hop", "quality", "packets", "expected sendings", "reserved")
    lines = ["", *table(columns, rows, left=(0, 1))]
    return [*lines, f"the {MOST_HOPS} hops with the longest slots"] if cut else lines


def _matrix(agenda: Agenda) -> list[str]:
    cells: dict[int, dict[object, str]] = {}

    def put(time: int, site: object, text: str) -> None:
        cells.setdefault(time, {})[site] = text

    shown = [0, 1, agenda.beta - 1] if agenda.beta > 3 else range(agenda.beta)
    for number in shown:
        for task in agenda.acquisitions:
            put(number * agenda.alpha + task.start, task.site, f"F{task.fragment}.{number + 1}")
    for task in agenda.tasks:
        put(task.start, task.site, f"F{task.fragment}")
    for transfer in agenda.transfers:
        put(transfer.start, transfer.source, f"tx {transfer.target}")
        put(transfer.start, transfer.target, f"rx {transfer.source}")
    sleeping: set[int] = set()
    if not agenda.sleeps_alone:
        for sleep in agenda.sleeps:
            number = sleep.start // agenda.alpha
            if number in shown or sleep.start >= agenda.last_evaluation:
                cells.setdefault(sleep.start, {})
                sleeping.add(sleep.start)
    rows: list[list[str]] = []
    gap = agenda.beta > 3
    for time in sorted(cells):
        if gap and time >= agenda.last_evaluation:
            rows.append(["...", *("" for _ in agenda.sites)])
            gap = False
        row = [str(agenda.milliseconds(time))]
        row += [cells[time].get(site, "zzz" if time in sleeping else "") for site in agenda.sites]
        rows.append(row)
    rows.append([str(agenda.milliseconds(agenda.period)), *("" for _ in agenda.sites)])
    rows[-1][1] = "again"
    return table(("time (ms)", *map(str, agenda.sites)), rows, left=())


def _list(agenda: Agenda) -> list[str]:
    """The tasks of a period by start time; the tasks of every evaluation are listed once."""
    first = [
        (
            agenda.milliseconds(task.start),
            agenda.milliseconds(task.end),
            task.site,
            f"F{task.fragment}",
            "every",
        )
        for task in agenda.acquisitions
    ]
    once: list[FragmentTask | Transfer] = sorted(
        [*agenda.tasks, *agenda.transfers], key=lambda task: (task.start, task.end)
    )
    rows: list[tuple[object, ...]] = [*first]
    for task in once:
        start, end = agenda.milliseconds(task.start), agenda.milliseconds(task.end)
        if isinstance(task, Transfer):
            rows.append((start, end, task.source, f"tx {task.target}", f"{task.packets} packets"))
        else:
            rows.append((start, end, task.site, f"F{task.fragment}", ""))
    return table(("from (ms)", "to (ms)", "site", "task", ""), rows, left=())


def _duration(agenda: Agenda, ticks: int) -> str:
    return format_duration(agenda.milliseconds(ticks) * SECOND // 1000)
