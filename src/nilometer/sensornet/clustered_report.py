"""The outcome of a query over clusters, as text and as JSON: clusters, answers, messages, energy, delays, losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.clusters import NO_HEAD, Clusters, Happening
from nilometer.sensornet.mote_field import MoteField
from nilometer.sensornet.phenomena.work import PhenomenaLosses
from nilometer.sensornet.radio_network import EnergyMeter, Network, Traffic
from nilometer.sensornet.snjoin import JoinLosses
from nilometer.sensornet.ways import Ways
from nilometer.types import HOUR, SECOND, format_bytes

_KINDS = {
    "cluster": "HEED: costs and choices",
    "reading": "readings to heads",
    "probe": "probes between heads",
    "change": "changes of candidates to the sink",
    "hand-over": "old heads to new ones",
    "result": "answers to the sink",
    "note": "feedback notes from the sink",
}

_LOST = {
    "readings": "readings did not reach a head",
    "unheard": "readings were of sensors that reach nobody",
    "rows": "readings were at a head that died, or on their way to a new one",
    "probes": "tuples' probes were lost on the radio",
    "skipped": "probes found a dead head and went on",
    "results": "tuples' answers did not reach the sink",
    "changes": "changes of candidates did not reach the sink",
}


@dataclass(frozen=True)
class Compared:
    """The answer beside that of a host which has all readings: its rows, those missing here, and those only here."""

    host: str
    rows: int
    missing: int
    surplus: int

    @property
    def equal(self) -> bool:
        """Whether both are the same rows."""
        return not self.missing and not self.surplus

    def __str__(self) -> str:
        if self.equal:
            return f"the same as the {self.host}'s"
        return f"of {self.rows:,} of the {self.host}'s {self.missing:,} are missing, and {self.surplus:,} are others"


@dataclass(frozen=True)
class Probed:
    """The probes of a join: those made, those that probing every head would make, the matches found, and those there
    are; the most readings that a head held; and the readings and probes that came too late."""

    made: int
    offered: int
    found: int
    expected: int
    held: int
    late: int

    @property
    def recall(self) -> float:
        """The share of the matches that were found; 1 if there are none."""
        return self.found / self.expected if self.expected else 1.0


@dataclass(frozen=True)
class Straight:
    """What it would take to send every reading straight to the sink: bytes on the air, joules without the sink, and the
    most joules of a node."""

    bytes: int
    joules: float
    most: float

    @classmethod
    def of(cls, network: Network, field: MoteField, streams: Integers, size: int) -> Straight:
        """For one reading of each of these streams, of that size."""
        head_of = np.where(field.sensing, field.sink, NO_HEAD)
        head_of[field.sink] = field.sink
        ways = Ways.of(network, Clusters(np.array([field.sink]), head_of))
        energy = EnergyMeter(field.radio, field.power, len(field.ids))
        ways.charge(energy, streams, size)
        energy.joules[field.sink] = 0.0
        return cls(
            ways.traffic(streams, size, 0).bytes, float(energy.joules.sum()), float(energy.joules.max())
        )


@dataclass(frozen=True, eq=False)
class ClusteredResult:
    """A run. Times are microseconds; `delays` are from a tuple's time, or an evaluation, until the sink had its row."""

    field: MoteField
    cluster_range: float
    begin: int
    readings: int
    rows: int
    compared: Compared
    happenings: Sequence[Happening]
    traffic: Mapping[str, Traffic]
    joules: Floats
    delays: Integers
    losses: JoinLosses | PhenomenaLosses
    straight: Straight
    probed: Probed | None = None
    kept: int | None = None

    @property
    def formations(self) -> list[Clusters]:
        """The clusters, one after the other."""
        return [each.clusters for each in self.happenings if each.clusters is not None]


def clustered_text(result: ClusteredResult) -> str:
    """The report for a person."""
    formed = [clusters.count for clusters in result.formations]
    sensors = int(np.count_nonzero(result.field.sensing))
    again = "" if len(formed) < 2 else f"; formed {len(formed)} times, {_span(formed)} heads"
    lines = [
        result.field.described,
        f"{sensors:,} sensors in {_clusters(formed)} of range {figure(result.cluster_range)}{again}",
        f"{result.readings:,} readings, {result.rows:,} rows: {result.compared}",
    ]
    if result.probed is not None:
        each = result.probed
        share = f", {each.made / each.offered:.1%} of all" if each.offered else ""
        lines.append(f"{each.made:,} probes of other clusters{share}; {each.recall:.1%} of the matches found")
        lines.append(f"a head held up to {each.held:,} readings")
        if each.late:
            lines.append(f"{each.late:,} readings or probes came too late: radios are overloaded")
    if result.kept:
        lines.append(
            f"candidates that heads kept to themselves, because they are in no phenomenon: {result.kept:,}"
        )
    lines += _messages(result.traffic)
    lines.append(_energy(result))
    plain = result.straight
    lines.append(
        f"every reading sent straight to the sink would take {format_bytes(plain.bytes)} and {plain.joules:.4g} J,"
        f" {plain.most:.4g} J at the busiest node"
    )
    if len(result.delays):
        mean, most = float(result.delays.mean()) / SECOND, float(result.delays.max()) / SECOND
        lines.append(
            f"a row is at the sink {figure(mean)} s after its time on the average, {figure(most)} s at most"
        )
    for happening in result.happenings:
        if happening.kind == "died" and happening.node is not None:
            after = (happening.time - result.begin) / HOUR
            lines.append(f"node {result.field.ids[happening.node]} died after {figure(after)} h")
    lost = [f"{count:,} {_LOST[name]}" for name, count in vars(result.losses).items() if count]
    if lost:
        lines.append("lost: " + "; ".join(lost))
    return "\n".join(lines)


def figure(number: float) -> str:
    """A number for a person: whole if it is large, otherwise with three digits.

    >>> figure(143_600.2), figure(45.5512), figure(0.43217)
    ('143,600', '45.6', '0.432')
    """
    return f"{number:,.0f}" if abs(number) >= 1_000 else f"{number:.3g}"


def _clusters(formed: Sequence[int]) -> str:
    count = formed[0] if formed else 0
    return "1 cluster" if count == 1 else f"{count} clusters"


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _messages(traffic: Mapping[str, Traffic]) -> list[str]:
    width = max(len(name) for name in _KINDS.values())
    lines = [f"{'':{width}}  messages     hops     bytes    lost"]
    shown = [kind for kind in _KINDS if kind in traffic and traffic[kind].messages]
    for kind in shown:
        each = traffic[kind]
        lines.append(
            f"{_KINDS[kind]:{width}}  {each.messages:8,} {each.hops:8,} {format_bytes(each.bytes):>9} {each.lost:7,}"
        )
    return lines


def _energy(result: ClusteredResult) -> str:
    joules = result.joules.copy()
    joules[result.field.sink] = 0.0
    busiest = int(np.argmax(joules))
    return (
        f"radio energy of these messages: {joules.sum():.4g} J without the sink,"
        f" most at node {result.field.ids[busiest]}: {joules[busiest]:.4g} J"
    )


def clustered_json(result: ClusteredResult) -> dict[str, Any]:
    """The report for a program."""
    ids = result.field.ids
    return {
        "network": result.field.described,
        "sensors": int(np.count_nonzero(result.field.sensing)),
        "cluster_range": result.cluster_range,
        "readings": result.readings,
        "rows": result.rows,
        "compared": asdict(result.compared) | {"equal": result.compared.equal},
        "probes": None if result.probed is None else asdict(result.probed) | {"recall": result.probed.recall},
        "kept": result.kept,
        "traffic": {kind: asdict(each) for kind, each in result.traffic.items()},
        "joules": {str(node): float(spent) for node, spent in zip(ids, result.joules, strict=True)},
        "straight_to_sink": asdict(result.straight),
        "delay_seconds": {
            "mean": float(result.delays.mean()) / SECOND if len(result.delays) else None,
            "most": float(result.delays.max()) / SECOND if len(result.delays) else None,
        },
        "formations": [
            {
                "after_seconds": (each.time - result.begin) / SECOND,
                "heads": [ids[head] for head in each.clusters.heads.tolist()],
            }
            for each in result.happenings
            if each.clusters is not None
        ],
        "deaths": [
            {"node": ids[each.node], "after_seconds": (each.time - result.begin) / SECOND}
            for each in result.happenings
            if each.kind == "died" and each.node is not None
        ],
        "lost": dict(vars(result.losses)),
    }
