"""The kept answers of a standing query over SUMMARY -> what each sensor read at each summary, or at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer.errors import ConfigurationError
from nilometer.live.kept_answers import frame_of, kept_answers

if TYPE_CHECKING:
    import polars as pl

    from nilometer.live.declarations import Declarations

NEEDED = ("time", "id", "cell", "gained", "lost", "mean")


def reconstruct(declarations: Declarations, query: str, moment: int | None = None) -> pl.DataFrame:
    """`time` (microseconds), `id`, `value` and `member` of every sensor at every summary; with a moment, only at the last
    summary up to it."""
    import polars as pl

    from nilometer.phenomena.reconstruction import reconstructed

    kept = kept_answers(declarations, query)
    if missing := set(NEEDED) - set(kept.schema.names):
        raise ConfigurationError(
            f"'{query}' keeps no summary: it has no {', '.join(sorted(missing))}",
            hint="CREATE QUERY s AS SELECT * FROM SUMMARY(smoke)",
        )
    summary = frame_of(kept)
    if not summary.height:
        kinds = {"time": pl.Int64, "id": pl.Null, "value": pl.Float64, "member": pl.Boolean}
        return pl.DataFrame(schema=kinds)
    rows = reconstructed(summary)
    if moment is not None:
        rows = rows.filter(pl.col("time") <= moment)
        rows = rows.filter(pl.col("time") == pl.col("time").max())
    return rows
