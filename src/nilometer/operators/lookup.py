"""Lookup: rows with a tick, and a table -> each row joined with the table, its system columns kept.

This is the Logic of stream ⋈ table and windows ⋈ table. Its only state is the table.
"""

from __future__ import annotations

from nilometer.operators import frames
from nilometer.operators.beside_table import BesideTable
from nilometer.operators.limits import operator
from nilometer.operators.logic import Output, Progress, no_evaluations
from nilometer.operators.matching import Matching
from nilometer.operators.validation import require


class Lookup(BesideTable):
    """`columns` are the columns of the answer, `system` the names of its system columns, `table` the table's
    port.
    """

    def __init__(
        self, matching: Matching, columns: frames.Dtypes, system: tuple[str, ...], table: int = 1
    ) -> None:
        require(table in (0, 1), f"a table at port {table}")
        if table == 0:
            matching = matching.mirrored()
        rows = {name: columns[name] for name in system} | frames.dtypes(matching.left)
        super().__init__(matching.right, rows, table)
        self._matcher = matching.build()
        self._answer = columns

    @operator("a join with a table")
    def advance(self, progress: Progress) -> Output:
        rows = self.settle(progress)
        joined = [self._matcher(some, table) for some, table in self.tables.met(rows) if some.height]
        self.tables.forget(progress.watermark)
        listed = progress.evaluations[1 - self.port] if progress.evaluations else no_evaluations()
        found = frames.concatenate([part.select(*self._answer) for part in joined], self._answer)
        return Output(found, listed)
