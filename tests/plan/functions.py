"""Table functions over a plan, for tests that build plans by hand."""

from __future__ import annotations

from nilometer.algebra import SimilarForm
from nilometer.algebra.table_function import FunctionCall, OptionValue
from nilometer.algebra.table_functions import SILENT, SIMILAR
from nilometer.plan import logical
from nilometer.types import INT, OwnWindow, Type


def similar(
    stream: logical.Node,
    column: str,
    epsilon: float,
    window: int | OwnWindow,
    form: SimilarForm,
    alias: str = "q",
    id_type: Type = INT,
    sample: int = 0,
) -> logical.TableFunction:
    """SIMILAR over a stream."""
    given: dict[str, OptionValue] = {"WITHIN": epsilon}
    if form is not SimilarForm.LIST:
        given[form.value] = sample if form is SimilarForm.SAMPLE else True
    call = FunctionCall(SIMILAR, alias, id_type, (column,), SIMILAR.settle(given), window)
    return logical.TableFunction(stream, call)


def silent(
    stream: logical.Node,
    duration: int,
    alias: str = "q",
    id_type: Type = INT,
    sensors: frozenset[int | str] = frozenset(),
) -> logical.TableFunction:
    """SILENT over a stream."""
    options = SILENT.settle({"FOR": duration})
    return logical.TableFunction(
        stream, FunctionCall(SILENT, alias, id_type, options=options, sensors=sensors)
    )
