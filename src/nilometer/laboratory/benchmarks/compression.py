"""`nilometer bench compression`: how many bytes a SUMMARY keeps of the readings, and how far off it reads them back.

Readings are fed SLIDE by SLIDE into a live directory in which one query stands: SELECT * FROM SUMMARY(p). Bytes are those on
disk: the segments of the stream's log against the log of the query's answers. Each reading is then compared with what
the summary says of its sensor: the mean of its phenomenon, or of its cell, at the latest summary up to the reading's time.
Errors are given as shares of the range of all readings; members of phenomena and others apart.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nilometer.algebra.places import Place
from nilometer.engine import connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.example_fields import example_field
from nilometer.live.kept_answers import frame_of, kept_answers
from nilometer.live.standing import private_files
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.log import LogDirectory
from nilometer.log.segment import segment_ids
from nilometer.phenomena.reconstruction import reconstructed
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.types import DAY, HOUR, MINUTE, SECOND

BYTES, ERROR = 20.0, 0.05
QUERY = "kept"
STRICT = "members without the background"
DAYS = 2
"""How much of the examples is summarised: every SLIDE is a commit."""


@dataclass(frozen=True)
class Field:
    """Readings (time, id, v), where the sensors are, and how the phenomenon `p` is defined on `air.v`."""

    name: str
    readings: pl.DataFrame
    places: dict[int | str, Place]
    every: int
    slide: int
    coordinates: str
    definition: str
    floor: float | None = None
    """Readings from here on are of the phenomenon that is looked for; the others are its background."""
    extra: str = ""
    pairs: pl.DataFrame | None = None


@dataclass(frozen=True)
class Found:
    """What became of a field: bytes on disk, rows of the summary, and the errors."""

    raw: int
    summary: int
    rows: int
    seconds: float
    errors: dict[str, tuple[int, float, float]]


def compression(_rows: int, _sensors: int) -> Result:
    """Summarise the plume at two rates, the smoke of the Camp Fire and the jams of Los Angeles."""
    targets, notes, tasks = [], [], []
    for interval in (SECOND, 10 * SECOND):
        field = _plume(interval)
        found = measure(field)
        tasks.append(_task(field, found))
        notes += _notes(field, found)
        if interval == SECOND:
            members = found.errors.get(STRICT, (0, 1.0, 1.0))
            targets = [
                Target(
                    f"{field.name}: {BYTES:g} times the summary's bytes over the log's",
                    BYTES * found.summary / found.raw,
                    1.0,
                ),
                Target(f"{field.name}: RMSE of {STRICT}, as a share of the range", members[1], ERROR),
            ]
    for name in ("campfire", "la_loop"):
        example = _example(name)
        if example is None:
            notes.append(f"{name} is part of the source, which is not here")
            continue
        found = measure(example)
        tasks.append(_task(example, found))
        notes += _notes(example, found)
    setting = "one standing SUMMARY, fed live, a commit at each SLIDE; seconds of the processor"
    return Result("compression", "nobody", setting, tuple(tasks), tuple(targets), tuple(notes))


def measure(field: Field) -> Found:
    """Feed a field into a directory with a standing summary, and compare."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write(field, folder)
        database = connect(folder)
        begin = time.process_time()
        with Station(database, folder) as station:
            station.install(database.query(QUERY), QUERY, durable=True, start=BEGINNING)
            station.run(lambda: False)
        took = time.process_time() - begin
        raw = sum(each.index.size for each in LogDirectory(folder).log("air").segments())
        summary = frame_of(kept_answers(database, QUERY))
        size = _answers_on_disk(folder)
    return Found(raw, size, summary.height, took, _errors(field, reconstructed(summary)))


def _write(field: Field, folder: Path) -> None:
    """The declarations, the sensors, and a file of readings for each SLIDE."""
    (folder / "in").mkdir()
    ids = "INT" if isinstance(next(iter(field.places)), int) else "STRING"
    most = 0
    ordered = field.readings.sort("time", "id").with_columns(
        (-(-pl.col("time") // field.slide)).alias("@slide")
    )
    for number, part in enumerate(ordered.partition_by("@slide", maintain_order=True)):
        part.drop("@slide").write_csv(folder / "in" / f"{number:06d}.csv")
        most = max(most, part.height)
    sensors = pl.DataFrame(
        [(sensor, *place) for sensor, place in field.places.items()], ["id", "x", "y"], orient="row"
    )
    sensors.write_csv(folder / "sensors.csv")
    if field.pairs is not None:
        field.pairs.write_csv(folder / "adjacency.csv")
    (folder / "schema.sql").write_text(
        f"CREATE STREAM air (id {ids}, v FLOAT) PUSHED FROM 'directory://{folder}/in?batch={most}' "
        f"EXPECT EVERY {field.every // SECOND} SECONDS {field.coordinates};\n"
        "COPY SENSORS OF air FROM 'sensors.csv' (id FROM id, location FROM (x, y));\n"
        f"{field.extra}\nCREATE PHENOMENON p ON air.v {field.definition};\n"
        f"CREATE QUERY {QUERY} STARTING AT BEGINNING AS SELECT * FROM SUMMARY(p);\n"
    )


def _answers_on_disk(folder: Path) -> int:
    """All bytes of the commit log, and of logs of the query's own. No other query stands."""
    shared = [each for each in (folder / ".nilometer").rglob("*.segment") if "log" not in each.parts[-3:-1]]
    own = [
        files.directory / segment.name
        for files in private_files(folder, QUERY)
        for segment in segment_ids(files)
    ]
    logs = {each for each in {*shared, *own} if (folder / ".nilometer" / "log") not in each.parents}
    return sum(each.stat().st_size for each in logs)


def _errors(field: Field, back: pl.DataFrame) -> dict[str, tuple[int, float, float]]:
    """For members and for others: how many readings, the root of the mean squared error, and the greatest error."""
    readings = field.readings.drop_nulls("v").sort("id", "time")
    wide = readings["v"].max() - readings["v"].min()  # type: ignore[operator]
    asked = readings.with_columns(pl.lit(1).alias("@order"))
    said = back.select("time", "id", "value", "member").with_columns(pl.lit(0).alias("@order"))
    # The latest summary up to each reading: a summary at the same time counts.
    both = pl.concat([said, asked], how="diagonal").sort("id", "time", "@order")
    both = both.with_columns(pl.col("value", "member").forward_fill().over("id")).filter(
        pl.col("@order") == 1
    )
    away = both.drop_nulls("value").with_columns(((pl.col("v") - pl.col("value")).abs() / wide).alias("away"))
    parts = {"members": away.filter("member"), "others": away.filter(~pl.col("member"))}
    if field.floor is not None:
        parts[STRICT] = parts["members"].filter(pl.col("v") >= field.floor)
    found = {}
    for name, part in parts.items():
        if part.height:
            root = part.select((pl.col("away") ** 2).mean().sqrt()).item()
            found[name] = (part.height, root, part["away"].max())
    return found  # type: ignore[return-value]


def _task(field: Field, found: Found) -> Measurement:
    return Measurement(field.name, found.seconds, None, field.readings.height, found.rows, None)


def _notes(field: Field, found: Found) -> list[str]:
    parts = [
        f"{field.name}: {found.raw / found.summary:.1f} times fewer bytes ({found.raw:,} of readings, {found.summary:,} of "
        f"the summary)"
    ]
    for who, (count, root, most) in found.errors.items():
        parts.append(
            f"{field.name}, {who}: RMSE {root:.1%}, greatest {most:.1%} of the range ({count:,} readings)"
        )
    return parts


def _plume(interval: int) -> Field:
    """Puffs over 400 sensors, for 20 minutes at the given interval."""
    plume = MovingPlume(
        sensor_count=400,
        duration=20 * MINUTE,
        interval=interval,
        name="plume",
        seed=3,
        wind=(0.3, 0.1),
        source=(0.2, 0.4),
        release=HOUR,
    )
    places: dict[int | str, Place] = {
        sensor.id: sensor.location for sensor in plume.sensors() if sensor.location is not None
    }
    return Field(
        f"plume, every {interval // SECOND} s",
        plume.frame().select("time", "id", pl.col("concentration").alias("v")),
        places,
        interval,
        30 * SECOND,
        "COORDINATES 'm'",
        "BUCKET 10 RANGE 30 SECONDS SLIDE 30 SECONDS STRENGTH 60 PERCENT NEIGHBOURS WITHIN 80 M MEMBERS 1",
        floor=10.0,
    )


EXAMPLES = {
    "campfire": (
        "air",
        "pm25",
        HOUR,
        "ABOVE 35 RANGE 3 HOURS SLIDE 1 HOUR STRENGTH 2 NEIGHBOURS WITHIN 60 KM MEMBERS 3",
    ),
    "la_loop": (
        "road",
        "speed",
        5 * MINUTE,
        "BELOW 30 RANGE 15 MINUTES SLIDE 5 MINUTES STRENGTH 2 NEIGHBOURS BY adjacency MEMBERS 3",
    ),
}
TABLE = "CREATE TABLE adjacency (from_id INT, to_id INT, weight FLOAT) STORED AT 'adjacency.csv';"


def _example(name: str) -> Field | None:
    stream, column, slide, definition = EXAMPLES[name]
    with example_field(name) as field:
        if field is None:
            return None
        database, origin = field
        answer = database.sql(f"SELECT time, id, {column} AS v FROM {stream}").run("gateway").given
        pairs = None
        if name == "la_loop":
            pairs = database.sql("SELECT from_id, to_id, weight FROM adjacency").run("gateway").given
        places = {
            sensor.id: sensor.location
            for sensor in database.catalog.sensors(stream)
            if sensor.location is not None
        }
    assert isinstance(answer, pl.DataFrame)
    return Field(
        f"{name} ({origin})",
        answer.select("time", "id", "v").filter(pl.col("time") < pl.col("time").min() + DAYS * DAY),
        places,
        slide,
        slide,
        "COORDINATES WGS84",
        definition,
        extra=TABLE if pairs is not None else "",
        pairs=pairs if isinstance(pairs, pl.DataFrame) else None,
    )
