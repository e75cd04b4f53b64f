"""What to write for the functions and constants of other databases that this language spells otherwise."""

from __future__ import annotations

FOREIGN_FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(
        ("datediff", "date_diff", "timestampdiff", "age"), "subtract the times: (b - a) / 1 MINUTE"
    ),
    **dict.fromkeys(("dateadd", "date_add", "date_sub", "timestampadd"), "add a length of time: t + 1 HOUR"),
    "to_date": "write to_timestamp(text, 'YYYY-MM-DD')",
    **dict.fromkeys(
        ("to_number", "safe_cast", "int", "float", "string"), "write CAST(x AS INT) or TRY_CAST(x AS INT)"
    ),
    **dict.fromkeys(("from_unixtime", "str_to_date", "parse_datetime"), "write to_timestamp(x)"),
    **dict.fromkeys(
        ("dayofweek", "weekday"),
        "systems begin at another day: date_part('isodow', t) is 1 for Monday, date_part('dow', t) 0 for Sunday",
    ),
    "time_bucket": "write time_bucket('15 minutes', t); of months it takes 1, 3 or 12",
    "unix_timestamp": "write epoch(t)",
    "bucket": "write date_bin(15 MINUTES, t)",
    "split_index": "write split_part(text, '/', 1); it counts from 1",
    **dict.fromkeys(("date_format", "format_timestamp", "format_datetime"), "write to_char(t, 'YYYY-MM-DD')"),
    "convert_timezone": "write t AT TIME ZONE 'Europe/Zurich'",
    **dict.fromkeys(("getdate", "current_timestamp", "sysdate", "localtimestamp"), "write now"),
    "isnan": "write x IS NULL; NaN is NULL; coalesce(x, 0) gives another value",
    **dict.fromkeys(("charindex", "locate"), "write strpos(text, sought)"),
    **dict.fromkeys(("regexp_substr", "regexp_match"), "write regexp_extract(text, pattern)"),
    "printf": "write format('{} {:.2f}', a, b)",
    "concat_ws": "write a || ', ' || b",
    **dict.fromkeys(("rollup", "cube"), "it stands in GROUP BY: GROUP BY ROLLUP(site, id)"),
    **dict.fromkeys(("grouping", "grouping_id"), "it needs GROUP BY ROLLUP, CUBE or GROUPING SETS"),
    **dict.fromkeys(("percent_rank", "cume_dist"), "it needs OVER (ORDER BY x)"),
    **dict.fromkeys(("time_weight", "time_weighted_average"), "write TWA(x), the time-weighted average"),
    **dict.fromkeys(
        ("time_bucket_gapfill", "locf", "interpolate"),
        "write FROM TUMBLE(s, 1 HOUR) GROUP BY id, window_start FILL(PREVIOUS), or RESAMPLE in FROM",
    ),
    **dict.fromkeys(
        ("window", "tumblingwindow", "hoppingwindow", "slidingwindow", "tumbling_window", "hopping_window"),
        "write FROM TUMBLE(s, 10 MINUTES) or HOP(s, 5 MINUTES, 10 MINUTES), and GROUP BY id, window_start",
    ),
    **dict.fromkeys(
        ("sessionwindow", "session_window"),
        "write FROM SESSION(s, 10 MINUTES), and GROUP BY id, window_start",
    ),
    **dict.fromkeys(("countwindow", "count_window"), "write FROM s [RANGE 10 ROWS SLIDE 10 ROWS]"),
    "columns": "name the columns that you want, or all but some: * EXCLUDE (depth)",
    **dict.fromkeys(("random", "rand", "uuid"), "every answer can be repeated, so nothing is left to chance"),
    **dict.fromkeys(("string_split", "str_split", "unnest_string"), "write split_part(text, ',', 1)"),
    **dict.fromkeys(("md5", "sha1", "sha256", "hash"), "there is no hash of a value"),
    "repeat": "write repeat(text, 3); the number is constant, and at most 100",
    **dict.fromkeys(("chr", "ascii", "reverse", "initcap"), "text has the functions of docs/language.md"),
    "make_timestamp": "write TIMESTAMP '2026-01-31 12:00', or to_timestamp(text, 'YYYY-MM-DD')",
    **dict.fromkeys(("list_value", "array"), "lists come from ARRAY_AGG"),
    "histogram": "write GROUP BY floor(x / width)",
    "decode": "write CASE x WHEN 1 THEN 'a' END",
}
"""By the name in small letters."""

FOREIGN_CONSTANTS: dict[str, str] = dict.fromkeys(
    ("current_timestamp", "localtimestamp", "sysdate", "current_time"), "write now"
) | {"current_date": "write date_trunc('day', now)"}
"""By the name in small letters."""
