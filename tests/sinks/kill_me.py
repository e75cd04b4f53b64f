"""Deliverers that are killed, each forked: to load the libraries costs a hundred times what they are wanted for.

Reads lines `FOLDER URL FAILPOINT` (`-`: none), lets a child deliver all that there is, and says how it ended.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import adbc_driver_postgresql.dbapi

import nilometer.sinks.json_lines
import nilometer.sinks.mqtt
import nilometer.sinks.parquet
import nilometer.sinks.postgresql  # noqa: F401
from nilometer.log.checksum import checksum_of, next_record, walk, words_of
from nilometer.log.failpoints import VARIABLE
from sinks.results import Results


def main() -> None:
    """Until stdin ends. Nothing may be done with Polars here, whose threads a fork does not take along."""
    assert adbc_driver_postgresql.dbapi
    checksum_of(b"compiled before they are born")
    next_record(words_of(bytes(64)), 0)
    walk(words_of(bytes(64)), 0)
    for line in sys.stdin:
        folder, url, failpoint = line.split()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if failpoint != "-":
                    os.environ[VARIABLE] = failpoint
                Results(Path(folder)).deliver(url)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
