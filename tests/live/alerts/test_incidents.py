"""Which groups fire: against a naive twin that judges row by row, however the answers are cut into commits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from nilometer.live.alerts.book import key_of
from nilometer.live.alerts.incidents import Incident, Incidents, Transition, incident_id
from nilometer.live.alerts.settings import AlertSettings, Quiet

Row = tuple[int, str]
BASE = AlertSettings("hot", "https://h/x", "time", groups=("id",), resolve=10)


def frame_of(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"time": pl.Int64, "id": pl.String}, orient="row")


def judged(
    settings: AlertSettings, batches: list[list[Row]], watermark: int | None = None, muted: str | None = None
) -> list[Transition]:
    incidents = Incidents(settings, lambda row: row.row(0, named=True))
    found = []
    for rows in batches:
        parts = frame_of(rows).partition_by("id", maintain_order=True, as_dict=True)
        found += incidents.take({key_of(key): part for key, part in parts.items()}, lambda _: muted)
    return found + (incidents.pass_time(watermark) if watermark is not None else [])


def naive(settings: AlertSettings, rows: list[Row]) -> list[tuple[str, str, int, int, bool]]:
    """One row after the other, as the words of the manual say it."""
    found = []
    open_: dict[str, dict[str, Any]] = {}
    last_told: dict[str, int] = {}
    for time, name in rows:
        one = open_.get(name)
        if one is not None:
            time = max(time, one["last"])
            if time - one["last"] > settings.resolve:
                if one["fired"]:
                    found.append(
                        ("resolved", name, one["last"] + settings.resolve, one["since"], one["told"] is None)
                    )
                one = None
        if one is None:
            one = open_[name] = {"since": time, "fired": False, "told": None, "last": time}
        one["last"] = time
        if time - one["since"] < settings.debounce:
            continue
        first = not one["fired"]
        one["fired"] = True
        if one["told"] is not None and (settings.repeat is None or time - one["told"] < settings.repeat):
            continue
        quiet = settings.quiet is not None and settings.quiet.until(time) is not None
        resting = one["told"] is None and name in last_told and time - last_told[name] < settings.pause
        if not quiet and not resting:
            one["told"] = time
            if settings.pause:
                last_told[name] = time
            found.append(("firing", name, time, one["since"], False))
        elif first:
            found.append(("firing", name, time, one["since"], True))
    return found


def plain(found: list[Transition]) -> list[tuple[str, str, int, int, bool]]:
    return [
        (one.status, one.incident.key[2:-2], one.at, one.incident.since, one.silenced is not None)
        for one in found
    ]


settings_drawn = st.builds(
    lambda debounce, resolve, repeat, pause, quiet: replace(
        BASE, debounce=debounce, resolve=resolve, repeat=repeat, pause=pause, quiet=quiet
    ),
    st.integers(0, 12),
    st.integers(1, 12),
    st.none() | st.integers(1, 15),
    st.integers(0, 30),
    st.none() | st.builds(lambda a, b: Quiet(a, a + b, False), st.integers(0, 50), st.integers(1, 20)),
)
rows_drawn = st.lists(st.tuples(st.integers(0, 80), st.sampled_from("ab")), max_size=40)


@given(settings_drawn, rows_drawn, st.data())
def test_as_the_naive_twin_however_answers_are_cut(
    settings: AlertSettings, rows: list[Row], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True) if a < b]
    assert sorted(plain(judged(settings, batches))) == sorted(naive(settings, rows))


def test_the_watermark_resolves_and_a_late_resolution_says_the_same() -> None:
    rows: list[Row] = [(0, "a"), (5, "a")]
    by_time = judged(BASE, [rows], watermark=16)
    by_row = judged(BASE, [[*rows, (40, "a")]])
    assert plain(by_time) == [("firing", "a", 0, 0, False), ("resolved", "a", 15, 0, False)]
    assert plain(by_row)[:2] == plain(by_time)
    assert plain(judged(BASE, [rows], watermark=15))[1:] == [], "a row at 15 may still come"


def test_a_person_s_silence_holds_the_message_back_until_it_ends() -> None:
    incidents = Incidents(BASE, lambda row: row.row(0, named=True))

    def take(at: int, muted: str | None) -> list[Transition]:
        return incidents.take({key_of(("a",)): frame_of([(at, "a")])}, lambda _: muted)

    (held,) = take(0, "silenced by me")
    assert (held.silenced, held.at) == ("silenced by me", 0)
    assert take(5, "silenced by me") == []
    (told,) = take(9, None)
    assert (told.status, told.at, told.silenced, told.incident.since) == ("firing", 9, None, 0)


def test_an_acknowledged_incident_is_not_said_again() -> None:
    incidents = Incidents(replace(BASE, repeat=3), lambda row: row.row(0, named=True))
    key = key_of(("a",))
    incidents.take({key: frame_of([(0, "a")])}, lambda _: None)
    assert len(incidents.take({key: frame_of([(3, "a")])}, lambda _: None)) == 1
    incidents.open[key] = replace(incidents.open[key], acknowledged="me")
    assert incidents.take({key: frame_of([(8, "a")])}, lambda _: None) == []


def test_what_is_kept_restores_the_state() -> None:
    one, two = (Incidents(BASE, lambda row: row.row(0, named=True)) for _ in range(2))
    for at in (0, 5, 30, 31):
        one.take({key_of(("a",)): frame_of([(at, "a")])}, lambda _: None)
        two.restore(one.changes())
        assert (two.open, two.told) == (one.open, one.told)


def test_an_incident_has_one_id() -> None:
    assert incident_id("hot@x", Incident("[]", 5, 9, 3)) == incident_id("hot@x", Incident("[]", 5, 70, 9))
    assert incident_id("hot@x", Incident("[]", 5, 9)) != incident_id("hot@x", Incident("[]", 6, 9))
