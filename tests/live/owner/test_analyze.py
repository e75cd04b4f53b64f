"""`queries analyze`: what each operator of a running query has done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from live.owner.owners import field, owned, write
from nilometer.errors import ConfigurationError
from nilometer.live.owner.client import Asking, find_owner

MEANS = "SELECT id, AVG(x) AS mean FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id HAVING AVG(x) > {}"


def test_operators_of_running_queries_say_what_they_did(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 30)
    with owned(database):
        client = find_owner(tmp_path)
        assert client is not None
        with client:
            texts = [MEANS.format(0), MEANS.format(4), "SELECT x FROM air WHERE x > 7"]
            askings = [Asking(text, start="beginning") for text in texts]
            for asking in askings:
                asking.install(client)
            while any(asking.rows == 0 for asking in askings):
                for asking in askings:
                    asking.fetch(client)
            first, _, filtered = (
                client.request("analyze", name=asking.name).header["text"] for asking in askings
            )
            assert re.search(r"AGGR_EVAL  -- 60 -> \d+ rows .*held", first)
            assert re.search(r"SELECT \[avg_1 > 0.0\]  -- \d+ rows, [\d.]+ ms$", first, re.MULTILINE)
            assert re.search(r"-- one filter bank with 0 other queries: 60 read, \d+ delivered", filtered)
            with pytest.raises(ConfigurationError, match="no query 'nix' is running"):
                client.request("analyze", name="nix")
