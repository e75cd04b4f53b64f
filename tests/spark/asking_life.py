"""Asks a question on the Spark that the environment names, in a process of its own: `python asking_life.py DIRECTORY SQL` prints its
rows twice without their ticks, as `run` gives them, and as the DataFrame does."""

from __future__ import annotations

import json
import sys

import nilometer


def main(directory: str, text: str) -> None:
    query = nilometer.connect(directory).sql(text)
    print(json.dumps([row[1:] for row in query.run("spark").rows]), flush=True)
    frame = query.dataframe(streaming=False)
    print(json.dumps([tuple(row)[1:] for row in frame.collect()]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
