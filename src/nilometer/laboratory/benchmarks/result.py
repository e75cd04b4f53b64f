"""The result of a benchmark: our time beside the peer's, on the same data, in the same run, with equal
answers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """One task: the seconds of both (None if the peer cannot do it), rows in and out, and whether the answers
    agree. A peer that got fewer rows got `peer_rows`. `processor` is our processor time, user and system, if other
    processes share in the seconds."""

    task: str
    ours: float
    peer: float | None
    rows_in: int
    rows_out: int
    equal: bool | None
    peer_rows: int | None = None
    processor: float | None = None

    @property
    def ratio(self) -> float | None:
        """Our time divided by the peer's, for the same number of rows: below 1 we are faster."""
        if self.peer is None:
            return None
        return self.ours / self.rows_in / (self.peer / (self.peer_rows or self.rows_in))


@dataclass(frozen=True)
class Target:
    """A claim, and whether this run supports it."""

    claim: str
    measured: float
    limit: float

    @property
    def met(self) -> bool:
        """Whether the measured figure is within the limit."""
        return self.measured <= self.limit


@dataclass(frozen=True)
class Result:
    """A whole benchmark."""

    name: str
    peer: str
    setting: str
    measurements: tuple[Measurement, ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...] = ()
    """Results other than times."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "peer": self.peer,
            "setting": self.setting,
            "measurements": [asdict(m) | {"ratio": m.ratio} for m in self.measurements],
            "targets": [asdict(t) | {"met": t.met} for t in self.targets],
            "notes": list(self.notes),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Result:
        """Read the output of `as_dict`."""
        return Result(
            data["name"],
            data["peer"],
            data["setting"],
            tuple(Measurement(**{k: v for k, v in m.items() if k != "ratio"}) for m in data["measurements"]),
            tuple(Target(**{k: v for k, v in t.items() if k != "met"}) for t in data["targets"]),
            tuple(data.get("notes", ())),
        )


def table(result: Result) -> str:
    """A benchmark for a person to read."""
    lines = [f"{result.name}: {result.setting}", ""]
    timed = any(m.processor is not None for m in result.measurements)
    own = f" {'cpu s':>8}" if timed else ""
    lines.append(
        f"{'task':40} {'ours s':>8}{own} {result.peer + ' s':>10} {'ratio':>6} {'rows/s':>12} {'rows out':>10}  answers"
    )
    for m in result.measurements:
        peer = "-" if m.peer is None else f"{m.peer:.3f}"
        ratio = "-" if m.ratio is None else f"{m.ratio:.2f}" if m.ratio >= 0.1 else f"{m.ratio:.2g}"
        equal = {True: "equal", False: "DIFFERENT", None: "-"}[m.equal]
        rate = f"{m.rows_in / m.ours:,.0f}"
        own = "" if not timed else f" {'-':>8}" if m.processor is None else f" {m.processor:8.3f}"
        lines.append(
            f"{m.task:40} {m.ours:8.3f}{own} {peer:>10} {ratio:>6} {rate:>12} {m.rows_out:>10,}  {equal}"
        )
    lines.append("")
    for t in result.targets:
        measured = f"{t.measured:.2f}" if t.limit >= 0.1 else f"{t.measured:.2g}"
        lines.append(f"{'met   ' if t.met else 'MISSED'} {t.claim}: {measured} (at most {t.limit:g})")
    return "\n".join([*lines, *([""] if result.notes else []), *result.notes])
