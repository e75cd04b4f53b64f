"""The program of a worker process: requests on one pipe, replies on another. It needs numpy, and nothing of ours.

A message is the length of its head in 4 bytes, the head in JSON, and the bytes of its arrays, one after the other. A
request names a function `module:name` and has a column for each argument. The function is called with numpy arrays. If
it raises, the rows are halved until each row that fails stands alone, so one bad row costs the others nothing.

The process is started as a script, so that it imports no other file of this directory. It ends when its pipes do.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import os
import resource
import signal
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = {"FLOAT": "<f8", "INT": "<i8", "TIME": "<i8", "BOOLEAN": "?"}
REASONS = 10
"""So many different reasons are told; rows that fail for others get the last one."""
LONGEST = 300


class ContractError(Exception):
    """The function did not give what it has declared."""


def main(incoming: int, outgoing: int, paths: list[str], memory: int) -> None:
    """Answer requests until there are no more."""
    sys.path[:0] = paths
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with os.fdopen(incoming, "rb") as requests, os.fdopen(outgoing, "wb") as replies:
        while (message := receive(requests)) is not None:
            head, body = message
            send(replies, *answer(head, body))


def receive(pipe: Any) -> tuple[dict[str, Any], bytes] | None:
    """The next message; None at the end."""
    size = pipe.read(4)
    if len(size) < 4:
        return None
    head = json.loads(pipe.read(struct.unpack("<I", size)[0]))
    return head, pipe.read(head["bytes"])


def send(pipe: Any, head: dict[str, Any], body: bytes = b"") -> None:
    """Write a message."""
    text = json.dumps({**head, "bytes": len(body)}).encode()
    pipe.write(struct.pack("<I", len(text)) + text)
    pipe.write(body)
    pipe.flush()


def answer(head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The reply to a request; an error of the whole request is one, too."""
    try:
        function = load(head["function"])
        if head["do"] == "check":
            return {}, b""
        limit_time(head["seconds"])
        try:
            return compute(function, head, body)
        finally:
            limit_time(None)
    except MemoryError:
        return {"error": "memory"}, b""
    except ContractError as error:
        return {"error": "contract", "text": str(error)[:LONGEST]}, b""
    except BaseException as error:  # a module may raise anything, SystemExit included
        return {"error": "raised", "text": told(error)}, b""


def told(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}"[:LONGEST].replace("\n", " ").rstrip(": ")


def limit_time(seconds: float | None) -> None:
    """The system ends this process if it works for so many seconds from now on."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = hard if seconds is None else int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


_loaded: dict[str, Callable[..., Any]] = {}


def load(reference: str) -> Callable[..., Any]:
    """The function of `module:name`."""
    if reference not in _loaded:
        module, _, name = reference.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            if not hasattr(found, part):
                near = difflib.get_close_matches(part, dir(found), n=1)
                raise ContractError(
                    f"the module {module} has no '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
                )
            found = getattr(found, part)
        if not callable(found):
            raise ContractError(f"'{name}' of {module} is no function")
        _loaded[reference] = found
    return _loaded[reference]


def columns_of(arguments: list[dict[str, Any]], rows: int, body: bytes) -> list[Any]:
    """The columns of a request, as arrays."""
    columns, begin = [], 0
    for argument in arguments:
        if argument["kind"] == "STRING":
            columns.append(np.array(argument["values"], dtype=object))
            continue
        dtype = np.dtype(DTYPES[argument["kind"]])
        count = rows * (argument["size"] or 1)
        column = np.frombuffer(body, dtype, count, begin)
        begin += count * dtype.itemsize
        columns.append(column.reshape(rows, argument["size"]) if argument["size"] else column)
    return columns


def compute(function: Callable[..., Any], head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The values of all rows, which of them are NULL, and which rows fail for which reason."""
    rows, returns = head["rows"], head["returns"]
    columns = columns_of(head["arguments"], rows, body)
    check_arguments(function, len(columns))
    failed: dict[int, int] = {}
    reasons: list[str] = []
    pieces: dict[int, Any] = {}
    waiting = [(0, rows)] if rows else []
    while waiting:
        first, last = waiting.pop()
        try:
            with np.errstate(all="ignore"):
                given = function(*(column[first:last].copy() for column in columns))
            pieces[first] = taken(given, last - first, returns)
        except (MemoryError, ContractError):
            raise
        except Exception as error:
            if last - first > 1:
                middle = (first + last) // 2
                waiting += [(middle, last), (first, middle)]
                continue
            reason = told(error)
            if reason not in reasons and len(reasons) < REASONS:
                reasons.append(reason)
            failed[first] = reasons.index(reason) if reason in reasons else REASONS - 1
            pieces[first] = nothing(returns)
    ordered = [pieces[first] for first in sorted(pieces)]
    nulls = np.concatenate([null for _, null in ordered]) if ordered else np.zeros(0, dtype=bool)
    reply = {"failed": [list(failed), list(failed.values())], "reasons": reasons}
    if returns["kind"] == "STRING":
        texts = [text for values, _ in ordered for text in values]
        return {**reply, "values": texts}, nulls.tobytes()
    dtype = np.dtype(DTYPES[returns["kind"]])
    values = np.concatenate([value for value, _ in ordered]) if ordered else np.zeros(0, dtype=dtype)
    return reply, np.ascontiguousarray(values, dtype=dtype).tobytes() + nulls.tobytes()


def check_arguments(function: Callable[..., Any], given: int) -> None:
    """Refuse a function that cannot take so many arguments: it would fail for each row."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one of C has none
        return
    try:
        signature.bind(*range(given))
    except TypeError:
        declared = "1 argument" if given == 1 else f"{given} arguments"
        raise ContractError(f"it is declared with {declared}, and takes {_list(signature)}") from None


def _list(signature: inspect.Signature) -> str:
    """The parameters of a function, by name."""
    return (
        ", ".join(map(str, (one.replace(annotation=one.empty) for one in signature.parameters.values())))
        or "none"
    )


def nothing(returns: dict[str, Any]) -> tuple[Any, Any]:
    """One row without a value."""
    null = np.ones(1, dtype=bool)
    if returns["kind"] == "STRING":
        return [None], null
    shape = (1, returns["size"]) if returns["size"] else (1,)
    return np.zeros(shape, dtype=DTYPES[returns["kind"]]), null


def taken(given: Any, rows: int, returns: dict[str, Any]) -> tuple[Any, Any]:
    """What a function has given, as an array of the declared type, and which elements are NULL."""
    if hasattr(given, "to_pylist"):  # an array of Arrow
        given = given.to_pylist()
    kind, size = returns["kind"], returns["size"]
    if isinstance(given, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(given)
        values = np.asarray(given.filled(given.dtype.type() if given.dtype.kind != "O" else None))
    else:
        values = np.asarray(given, dtype=object) if isinstance(given, list) else np.asarray(given)
        hidden = np.zeros(values.shape, dtype=bool)
    shape = (rows, size) if size else (rows,)
    if isinstance(given, list) and size and values.shape == (rows,):
        values = np.array([[np.nan] * size if one is None else list(one) for one in given], dtype=float)
        hidden = np.zeros(values.shape, dtype=bool)
    if values.shape != shape:
        wanted = f"{rows} values" if not size else f"an array of {rows} x {size}"
        raise ContractError(f"it gave an array of the shape {values.shape}, not {wanted}")
    if values.dtype == object:
        missing = np.array([one is None for one in values.ravel()]).reshape(shape)
        hidden = hidden | missing
        if kind == "STRING":
            return _texts(values, hidden)
        values = np.array([0 if one is None else one for one in values.ravel()]).reshape(shape)
    if kind == "STRING":
        return _texts(values.astype(object) if values.dtype.kind == "U" else values, hidden)
    if kind == "FLOAT":
        if values.dtype.kind not in "fiub":
            raise ContractError(f"it gave {_named(values.dtype)} for FLOAT")
        values = values.astype(np.float64)
        hidden = hidden | ~np.isfinite(values)
        values = np.where(hidden, 0.0, values)
    elif kind == "BOOLEAN":
        if values.dtype.kind != "b":
            raise ContractError(f"it gave {_named(values.dtype)} for BOOLEAN")
    elif values.dtype.kind not in "iub":
        raise ContractError(f"it gave {_named(values.dtype)} for {kind}")
    return values.astype(DTYPES[kind]), hidden.any(axis=1) if size else hidden


def _named(dtype: Any) -> str:
    """The type of an array's elements, in words where numpy's name is odd."""
    return {"U": "text", "S": "bytes", "O": "objects"}.get(dtype.kind, str(dtype))


def _texts(values: Any, hidden: Any) -> tuple[list[Any], Any]:
    texts = [None if null else one for one, null in zip(values.tolist(), hidden.tolist(), strict=True)]
    strange = next((one for one in texts if one is not None and not isinstance(one, str)), None)
    if strange is not None:
        raise ContractError(f"it gave {type(strange).__name__} for STRING")
    return texts, hidden


def _end_with(life: int) -> None:
    """End this process when the one that started it has ended, also while a function runs."""
    while os.read(life, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the process that started this one, which ends it
    _incoming, _outgoing, _life, _memory = (int(text) for text in sys.argv[1:5])
    threading.Thread(target=_end_with, args=(_life,), daemon=True).start()
    os.dup2(2, 1)  # what a function prints is no answer of ours
    main(_incoming, _outgoing, json.loads(sys.argv[5]), _memory)
