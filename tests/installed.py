"""Tries an installed `nilometer` as a newcomer would: every verb, a query, and Spark where there is none.

`./nilo wheel` runs it after it has installed the wheel into a bare environment:
python tests/installed.py PATH_OF_THE_COMMAND
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

READINGS = "time,id,depth\n2026-03-01T06:00:00Z,5,112\n2026-03-01T06:15:00Z,5,131\n"


def main(command: str) -> None:
    """Run the command in many ways. The first that goes wrong ends the program."""
    Path("readings.csv").write_text(READINGS)
    said = run(command, "--help").stdout
    verbs = re.findall(r"^│ (\w+) ", said, re.MULTILINE)
    assert {"query", "sql", "run", "demo", "explain"} <= set(verbs), f"the verbs are {verbs}"
    for verb in verbs:
        assert f"nilometer {verb}" in run(command, verb, "--help").stdout, (
            f"{verb} --help names another command"
        )
    query = "SELECT id, MAX(depth) AS top FROM readings [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id"
    assert "131" in run(command, "query", "--data", "readings.csv", query).stdout
    assert "DELIVER" in run(command, "explain", "--data", "readings.csv", query).stdout
    refused = run(command, "query", "--data", "readings.csv", "--on", "spark", query, expected=1).stderr
    assert "nilometer[spark]" in refused, refused
    assert "Traceback" not in refused, refused
    Path("field").mkdir()
    Path("field/schema.sql").write_text("CREATE STREAM air (x FLOAT) PUSHED;")
    refused = run(command, "serve", "--data", "field", "--http", "7654", expected=1).stderr
    assert "nilometer[server]" in refused, refused
    assert "Traceback" not in refused, refused
    print(
        f"nilometer, installed from the wheel: {len(verbs)} verbs, a query, and plain words about Spark and HTTP"
    )


def run(*command: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command and check its exit code."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == expected, f"{command} gave {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


if __name__ == "__main__":
    main(sys.argv[1])
