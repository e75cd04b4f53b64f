"""DHTJoin: q1 in the spellings of sections 1 and 3.3.1, q2 of section 3.3.2, and the Q of section 5.

Only the typesetting of names ($S_1$) is undone. The paper's X, Y, Z and S_1, S_2, S_3 have all columns that any query reads.
"""

from __future__ import annotations

from random import Random

import pytest

import nilometer
from nilometer.engine import Database
from papers.running import Printed, check

STREAMS = ("S_1", "S_2", "S_3", "X", "Y", "Z")
SCHEMA = "".join(
    f"CREATE STREAM {name} (dest INT, size INT, x INT, B INT, C INT) PUSHED DELAY 1 MINUTE;\n"
    for name in STREAMS
)

PRINTED = (
    Printed(
        "q1, section 1",
        """Select sum ( S_1 .size)
      From  S_1 [range 10 min],  S_2 [range 10 min],  S_3 [range 10 min]
      Where  S_1 .dest= S_2 .dest and  S_2 .dest= S_3 .dest""",
    ),
    Printed(
        "q1, section 3.3.1",
        """Select sum (X.size)
 From X[range 10 min], Y[range 10 min], Z[range 10 min]
 Where X.dest = Y.dest = Z.dest""",
    ),
    Printed(
        "q2, section 3.3.2",
        """Select Y.B, Z.C
      From X[range 5 min], Y[range 5 min], Z[range 5 min]
      Where X.B=Y.B and Y.C=Z.C""",
    ),
    Printed(
        "Q, section 5",
        """Select *
 from S_1 [range 5 min], S_2 [range 5 min]
 where S_1.x = S_2.x""",
    ),
)


@pytest.fixture(scope="module")
def database() -> Database:
    """Half an hour of packets at three routers, at moments of their own."""
    random = Random(2009)
    db = nilometer.connect()
    db.execute(SCHEMA)
    for name in STREAMS:
        moments = sorted(random.sample(range(1800), 16))
        for i in range(0, len(moments) - 1, 5):  # some out of order, some of these late
            moments[i], moments[i + 1] = moments[i + 1], moments[i]
        db.append(
            name,
            [
                {
                    "time": f"2026-01-01T00:{at // 60:02d}:{at % 60:02d}Z",
                    "id": 1,
                    "dest": random.choice((1, 1, 2, None)),
                    "size": random.randrange(40, 1500),
                    "x": random.randrange(3),
                    "B": random.randrange(2),
                    "C": random.randrange(2),
                }
                for at in moments
            ],
        )
    return db


@pytest.mark.parametrize("printed", PRINTED, ids=str)
def test_printed(printed: Printed, database: Database) -> None:
    check(printed, database)
