"""A function in FROM, declared: what it takes and gives, and what planner and hosts must know of it. One of its calls, bound.

    NAME(source [, column]* [OPTION value]*) [window] [alias]

The parser reads its words here, the binder its options, the optimizer what it reads, hosts what divides it, and the operator the
columns it gives. So a new function is a declaration (`algebra/table_functions`), an operator and a naive twin; nothing between
them knows it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from nilometer.algebra import Collection
from nilometer.types import Column, OwnWindow, Schema, Type, qualified

# ---- options ---------------------------------------------------------------------------------------------------------


class OptionKind(StrEnum):
    """What stands behind an option's word: nothing, a number, a whole number, a length of time, a name, numbers in parentheses."""

    FLAG = "FLAG"
    NUMBER = "NUMBER"
    WHOLE = "WHOLE"
    DURATION = "DURATION"
    NAME = "NAME"
    LIST = "LIST"


_NUMERIC = (OptionKind.NUMBER, OptionKind.WHOLE, OptionKind.DURATION)


class _Required(Enum):
    REQUIRED = "REQUIRED"


REQUIRED: Final = _Required.REQUIRED
"""The default of an option that has none."""

OptionValue = bool | int | float | str | None | tuple["OptionValue", ...]
"""A bound value: lengths of time in microseconds; of several pieces one each."""


@dataclass(frozen=True)
class Intervals:
    """The default of a length of time: so many of the intervals at which the stream is expected. `question` is asked where none is
    known: "how long is silence?"."""

    count: int
    question: str


@dataclass(frozen=True)
class Option:
    """`WORD value`. The word may be several (UP TO); the value several pieces, with words between them: `(WHOLE, "TO", WHOLE)`.

    Attributes
    ----------
    default
        The value where it is not written; REQUIRED: it must be.
    least, most
        Bounds of its numbers, both included.
    positional
        It stands behind a comma, before all others, and its word is not written.
    emission_only
        It decides what is told, not what is kept: the state is the same whatever its value.
    needs, example, meaning
        For messages and documents: what must stand there, such as, and what it says.
    """

    word: str
    kind: OptionKind | tuple[OptionKind | str, ...] = OptionKind.FLAG
    default: OptionValue | Intervals | _Required = None
    least: float | None = None
    most: float | None = None
    positional: bool = False
    emission_only: bool = False
    needs: str = ""
    example: str = ""
    meaning: str = ""

    @property
    def pieces(self) -> tuple[OptionKind | str, ...]:
        """What stands behind the word: kinds of value, and the words between them. A flag has nothing."""
        if isinstance(self.kind, tuple):
            return self.kind
        return () if self.kind is OptionKind.FLAG else (self.kind,)

    @property
    def wanted(self) -> str:
        """What must stand behind the word, in words."""
        if self.needs:
            return self.needs
        number = "a whole number" if self.kind is OptionKind.WHOLE else "a number"
        if self.least is not None and self.most is not None:
            return f"{number} from {self.least:,} to {self.most:,}"
        if self.least is not None:
            return f"{number} that is not negative" if self.least == 0 else f"{number} from {self.least:,} on"
        return number if self.most is None else f"{number} up to {self.most:,}"

    @property
    def hint(self) -> str:
        """An example, and what it says."""
        between = self.kind in (OptionKind.NUMBER, OptionKind.WHOLE) and None not in (self.least, self.most)
        tail = f"; from {self.least:,} to {self.most:,}" if between else f": {self.meaning}"
        return f"such as {self.word} {self.example}{tail}"

    def allows(self, value: OptionValue) -> bool:
        """Whether a bound value is of the right kind, and within the bounds."""
        if value is None:
            return self.default is None
        kinds = [piece for piece in self.pieces if isinstance(piece, OptionKind)]
        parts = value if len(kinds) > 1 else (value,)
        if not kinds or not isinstance(parts, tuple) or len(parts) != len(kinds):
            return not kinds and isinstance(value, bool)
        return all(self._allows(kind, part) for kind, part in zip(kinds, parts, strict=True))

    def _allows(self, kind: OptionKind, value: OptionValue) -> bool:
        match value:
            case bool():
                return False
            case int() | float():
                whole = isinstance(value, int) or kind is OptionKind.NUMBER
                return whole and kind in _NUMERIC and self.in_bounds(value)
            case str():
                return kind is OptionKind.NAME
            case tuple():
                return kind is OptionKind.LIST and all(self._allows(OptionKind.NUMBER, v) for v in value)
            case _:
                return False

    def in_bounds(self, value: int | float) -> bool:
        """Whether it is neither too small nor too great."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class Choice:
    """One of several options, under a name that is not written: `PAIRS | FLATTEN | SAMPLE 3`. `default` is the word that stands for
    none of them; REQUIRED: one must be written. `outside`: flags among them may also stand behind the parenthesis."""

    name: str
    options: tuple[Option, ...]
    default: str | _Required
    outside: bool = False
    emission_only: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """All that its value can be."""
        written = tuple(option.word for option in self.options)
        return (self.default, *written) if isinstance(self.default, str) else written


# ---- windows, division -----------------------------------------------------------------------------------------------


class Windowing(StrEnum):
    """What a window behind the parenthesis is: a window over the function's rows, as behind any stream; a plain range of time that
    the function needs, or a column that has each tuple's own; the windows of its input at which it is evaluated."""

    ABOVE = "ABOVE"
    REACH = "REACH"
    FRAME = "FRAME"


@dataclass(frozen=True)
class Frame:
    """The windows at which a function is evaluated: as TIME_WINDOW's, and they always slide."""

    start: int | None
    end: int
    slide: int
    open_start: bool


class Output(StrEnum):
    """What a function gives: for tuples of its input rows with their tick, time, id and position (TUPLES); a stream of rows at times of
    their own, each of a source, without positions (EVENTS); rows at the ticks of its frame (WINDOWS)."""

    TUPLES = "TUPLES"
    EVENTS = "EVENTS"
    WINDOWS = "WINDOWS"


@dataclass(frozen=True)
class BySource:
    """Each source by itself."""


@dataclass(frozen=True)
class ByValue:
    """Tuples of one value of a column belong together; it is a column of the rows, too."""

    column: str
    given_as: str


@dataclass(frozen=True)
class ByNearness:
    """Tuples whose values of a column are no further apart than this belong together. The operator's Spec takes a `home`."""

    column: str
    distance: float


@dataclass(frozen=True)
class Undivided:
    """One place must see all tuples: why."""

    reason: str


Divides = BySource | ByValue | ByNearness | Undivided
BY_SOURCE: Final = BySource()


# ---- the function and its calls --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refusal:
    """Why a call makes no sense; `column` is the number of the column to blame, None the whole call."""

    message: str
    hint: str | None = None
    column: int | None = None


def _nothing_to_refuse(_call: FunctionCall, _input: Schema) -> Refusal | None:
    return None


def _all_needed(call: FunctionCall, _needed: frozenset[str]) -> FunctionCall:
    return call


@dataclass(frozen=True, repr=False)
class TableFunction:
    """A function in FROM.

    Attributes
    ----------
    name
        As it is written, in capitals; in small letters it is the alias where none is given.
    gives
        The columns of its rows, bare: of a call, over the schema of its input.
    least_columns, most_columns
        How many columns of the source stand behind it; None: any number.
    divides
        What must be together for it to be answered in parts; a function of call and input where that depends on them.
    ordered
        Its rows depend on the order of the tuples, which is that of their values where they have no positions.
    sensors
        It is told the declared sensors of its stream.
    algorithm
        The operator, where it has a name of its own.
    first
        Where it takes two operators: the lower one, of the same call, which gives a stream and may be divided otherwise. The upper one's
        input is then that stream, so what it gives must not depend on the columns below.
    refuses
        What is wrong with a call whose columns and options are right each by itself.
    narrowed
        A cheaper call that gives the same values in those of its columns that are needed.
    wants, window_hint
        What its columns are, for the hint where one is missing: "the column to compare"; and so a window, and what it says.
    """

    name: str
    description: str
    example: str
    gives: Callable[[FunctionCall, Schema], tuple[Column, ...]]
    output: Output
    divides: Divides | Callable[[FunctionCall, Schema], Divides]
    options: tuple[Option | Choice, ...] = ()
    least_columns: int = 1
    most_columns: int | None = 1
    windowing: Windowing = Windowing.ABOVE
    ordered: bool = True
    sensors: bool = False
    algorithm: str = ""
    first: TableFunction | None = None
    wants: str = "a column"
    window_hint: str = "[RANGE 1 HOUR]"
    refuses: Callable[[FunctionCall, Schema], Refusal | None] = _nothing_to_refuse
    narrowed: Callable[[FunctionCall, frozenset[str]], FunctionCall] = _all_needed

    def __repr__(self) -> str:
        return self.name

    @property
    def operator(self) -> str:
        """The name of its operator in plans."""
        return self.algorithm or self.name

    @property
    def collection(self) -> Collection:
        """STREAM or WINDOWS."""
        return Collection.WINDOWS if self.output is Output.WINDOWS else Collection.STREAM

    @property
    def needs_window(self) -> bool:
        """Whether there must be a window behind it."""
        return self.windowing is not Windowing.ABOVE

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Every option that can be written, those of choices too."""
        return tuple(
            option
            for each in self.options
            for option in (each.options if isinstance(each, Choice) else (each,))
        )

    def option(self, word: str) -> Option:
        """The option of that word."""
        return next(option for option in self.all_options if option.word == word)

    def settle(self, given: Mapping[str, OptionValue]) -> tuple[tuple[str, OptionValue], ...]:
        """All options in their order, with defaults for those that are not given: of a choice its word under its name, and then the
        chosen option's own value, if it has one. What is REQUIRED, and not given, is left out."""
        settled: list[tuple[str, OptionValue]] = []
        for each in self.options:
            if isinstance(each, Choice):
                chosen = next((option for option in each.options if option.word in given), None)
                if chosen is None:
                    settled += [(each.name, each.default)] if isinstance(each.default, str) else []
                    continue
                settled.append((each.name, chosen.word))
                if chosen.pieces:
                    settled.append((chosen.word, given[chosen.word]))
            elif each.word in given:
                settled.append((each.word, given[each.word]))
            elif not each.pieces:
                settled.append((each.word, False))
            elif not isinstance(each.default, _Required | Intervals):
                settled.append((each.word, each.default))
        return tuple(settled)


@dataclass(frozen=True)
class FunctionCall:
    """A function with all that it was given but its input: columns by their qualified names, options as `settle` has them."""

    function: TableFunction
    alias: str
    id_type: Type
    columns: tuple[str, ...] = ()
    options: tuple[tuple[str, OptionValue], ...] = ()
    window: int | OwnWindow | Frame | None = None
    sensors: frozenset[int | str] = field(default=frozenset())

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    def __getitem__(self, word: str) -> OptionValue:
        """The value of an option, or the word of a choice; None where there is no such value."""
        return next((value for name, value in self.options if name == word), None)

    @property
    def reads(self) -> frozenset[str]:
        """The columns of the input that it looks at."""
        own = (self.window.column,) if isinstance(self.window, OwnWindow) else ()
        return frozenset((*self.columns, *own))

    def schema(self, input: Schema) -> Schema:
        """The columns of its rows, under the alias."""
        return qualified(self.alias, self.function.gives(self, input))

    def source_type(self, input: Schema) -> Type | None:
        """The type of its rows' ids; None where they have no source."""
        own = self.schema(input)
        id_ = f"{self.alias}.id"
        return own[id_].type.plain if id_ in own else None

    def divides(self, input: Schema) -> Divides:
        """What must be together."""
        divides = self.function.divides
        return divides(self, input) if callable(divides) else divides

    @property
    def wrong(self) -> str | None:
        """What cannot be: a bug of whoever bound it."""
        function = self.function
        most = len(self.columns) if function.most_columns is None else function.most_columns
        if not function.least_columns <= len(self.columns) <= most:
            return f"{len(self.columns)} columns"
        given = {name: value for name, value in self.options if not isinstance(value, bool) or value}
        for each in function.options:
            if isinstance(each, Choice):
                if (word := given.pop(each.name, None)) not in each.words:
                    return f"{each.name} {word}"
                chosen = [option for option in each.options if option.word == word and option.pieces]
            else:
                chosen = [each] if each.pieces else []
                if not each.pieces:
                    given.pop(each.word, None)
            for option in chosen:
                if not option.allows(value := given.pop(option.word, None)):
                    return f"{option.word} {value}"
        if given:
            return ", ".join(given)
        return self._wrong_window

    @property
    def _wrong_window(self) -> str | None:
        match self.function.windowing, self.window:
            case (Windowing.ABOVE, None) | (Windowing.REACH, OwnWindow()) | (Windowing.FRAME, Frame()):
                return None
            case Windowing.REACH, int(window) if window >= 0:
                return None
            case _, window:
                return f"the window {window}"
