"""`nilometer storm`: simulate the whole live path, with faults, from seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.options import JsonOption


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("storm")(storm)


def storm(
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="The number of seeds to run.")] = 100,
    first: Annotated[int, typer.Option("--first", min=0, help="The first seed.")] = 0,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="Run this seed alone: print its events, and shorten it if it fails."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="How many steps pass before the weather calms down.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Only this kind of fault, or with --promises this promise; may be repeated.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="How many processes run; by default one a core.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Begin no seed after so many minutes.")
    ] = None,
    soak: Annotated[
        int | None,
        typer.Option(
            "--soak", min=2, help="Instead: so many simulated hours in one go; say whether anything grows."
        ),
    ] = None,
    promises: Annotated[
        bool,
        typer.Option("--promises", help="Instead: run the tests of all promises, in a clone of the source."),
    ] = False,
    before: Annotated[
        Path | None,
        typer.Option(
            "--before", metavar="TREE", help="With --promises: an older tree, to be tried from outside, too."
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", help="Put the table into this document, between its two marks."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Simulate the whole live path in one process and in virtual time, with faults, and judge every answer.

    A seed decides everything: the readings, a faulty disk, a faulty broker, kills and power cuts,
    changes of queries. The judge is the reference evaluator over what was acknowledged.
    A failing seed is printed as the command that repeats it.

    Example: nilometer storm --seeds 1000

    Example: nilometer storm --seed 4711

    Example: nilometer storm --soak 24

    Example: nilometer storm --promises --write docs/reliability.md
    """
    import os
    import sys
    import time
    from datetime import date

    if promises:
        _promises(only or [], before, write)
        return
    if os.environ.get("PYTHONHASHSEED") != "0":
        # A seed decides everything, also in which order sets are walked. Frames are small: more threads of
        # Polars would only wait for each other.
        same = {"PYTHONHASHSEED": "0", "POLARS_MAX_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | same)
    from json import dumps

    from nilometer.catalog.near_misses import near_misses
    from nilometer.cli.console import message
    from nilometer.errors import ConfigurationError
    from nilometer.laboratory.marked_tables import write_table
    from nilometer.laboratory.storm.seeds import ALL, Case, Tally, run, run_all, shrink, table
    from nilometer.laboratory.storm.story import STEPS, Fault

    if soak is not None:
        _soak(soak, write)
        return
    unknown = next((name for name in only or () if name not in list(Fault)), None)
    if unknown is not None:
        raise ConfigurationError(f"no fault '{unknown}'", hint=near_misses(unknown, list(Fault)))
    faults = frozenset(Fault(name) for name in only) if only else ALL
    length = steps or STEPS
    if seed is not None:
        case = Case(seed, faults, length)
        outcome = run(case)
        for line in outcome.trace:
            print(line)
        for what, times in sorted(outcome.counts.items()):
            message(f"{times:8,} {what}")
        if outcome.wrong is None:
            message(f"seed {seed}: every promise was kept")
            return
        message(f"seed {seed}: {outcome.wrong}")
        message(f"the shortest story that fails: {shrink(case).command()}")
        raise typer.Exit(1)

    def progress(tally: Tally) -> None:
        if tally.wrong and tally.wrong[-1][0].seed == first + tally.stories - 1:
            case, wrong = tally.wrong[-1]
            message(f"{case.command()}\n    {wrong.splitlines()[0]}")
        if tally.stories % 25 == 0 or tally.stories == seeds:
            message(f"{tally.stories:,} of {seeds:,} seeds, {len(tally.wrong)} failed")

    cases = (Case(number, faults, length) for number in range(first, first + seeds))
    began = time.monotonic()
    limit = float("inf") if minutes is None else 60 * minutes
    tally = run_all(cases, progress, jobs or os.cpu_count() or 1, lambda: time.monotonic() - began < limit)
    took, ran = time.monotonic() - began, tally.stories
    message(f"{ran:,} of {seeds:,} seeds took {took:,.0f} s, {took / max(ran, 1):.2f} s each")
    if json:
        wrong = [{"command": case.command(), "wrong": text} for case, text in tally.wrong]
        print(dumps({"seeds": tally.stories, "counts": tally.counts, "failed": wrong}))
    else:
        print(table(tally))
    if write is not None:
        options = "".join(f" --only {fault}" for fault in sorted(faults)) if only else ""
        command = f"./nilo storm --seeds {ran}{f' --first {first}' if first else ''}{options}"
        write_table(
            write, "storm", f"`{command}`, on {date.today()}, {len(tally.wrong)} failed:\n\n{table(tally)}"
        )
    if tally.wrong:
        raise typer.Exit(1)


def _soak(hours: int, write: Path | None) -> None:
    import tempfile
    from datetime import date

    from nilometer.cli.console import message
    from nilometer.laboratory.marked_tables import write_table
    from nilometer.laboratory.storm.seeds import MEMORY
    from nilometer.laboratory.storm.soak import Measured, soak

    def tell(hour: Measured) -> None:
        message(f"hour {hour.hour} of {hours}: {hour.rss >> 20:,} MB, {1_000 * hour.turn:.1f} ms a turn")

    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="soak-", dir=place) as folder:
        soaked = soak(Path(folder), hours, tell=tell)
    print(soaked.table())
    if write is not None:
        write_table(write, "soak", f"`./nilo storm --soak {hours}`, on {date.today()}:\n\n{soaked.table()}")
    if soaked.trouble or soaked.grows:
        raise typer.Exit(1)


def _promises(only: list[str], before: Path | None, write: Path | None) -> None:
    from datetime import date

    from nilometer.catalog.near_misses import near_misses
    from nilometer.errors import ConfigurationError
    from nilometer.laboratory.marked_tables import write_table
    from nilometer.laboratory.storm import promises

    root = Path(__file__).parents[3]
    known = promises.promises(root)
    names = [promise.name for promise in known]
    if (unknown := next((name for name in only if name not in names), None)) is not None:
        raise ConfigurationError(f"no promise '{unknown}'", hint=near_misses(unknown, names))
    chosen = [promise for promise in known if not only or promise.name in only]
    if before is not None:
        promises.try_older(root, before, chosen)
    outcomes = promises.run_tests(root, [test for promise in chosen for test in promise.tests])
    promises.keep(root, "today", outcomes)
    today, older = promises.kept(root, "today"), promises.kept(root, "before")
    tables = {
        "promises": promises.promise_table(known, today, older),
        "outside": promises.outside_table(known, today, older),
    }
    for name, table in tables.items():
        print(f"{table}\n")
        if write is not None:
            write_table(write, name, f"`./nilo storm --promises`, last on {date.today()}:\n\n{table}")
    if any(one.kept < one.tried for one in outcomes.values()):
        raise typer.Exit(1)
