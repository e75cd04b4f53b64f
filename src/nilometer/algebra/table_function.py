"""The declaration of a table function (a function in FROM), and one bound call of it.

    NAME(source [, column]* [OPTION value]*) [window] [alias]

A declaration tells the parser the function's words, the binder its options, the optimizer which columns it
reads, the hosts how it can be divided, and the operator which columns it returns. So a new function is a
declaration (`algebra/table_functions`), an operator and a naive twin; no code between them knows it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Collection as Collection_
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Final

from nilometer.algebra import Collection
from nilometer.types import Column, OwnWindow, Schema, Type, qualified

# ---- options ---------------------------------------------------------------------------------------------------------


class OptionKind(StrEnum):
    """The value after an option's word: none, a number, a whole number, a length of time, a distance, a name,
    numbers in parentheses, or shapes: numbers in parentheses, or several such with a name each."""

    FLAG = "FLAG"
    NUMBER = "NUMBER"
    WHOLE = "WHOLE"
    DURATION = "DURATION"
    DISTANCE = "DISTANCE"
    NAME = "NAME"
    LIST = "LIST"
    SHAPES = "SHAPES"


_NUMERIC = (OptionKind.NUMBER, OptionKind.WHOLE, OptionKind.DURATION, OptionKind.DISTANCE)
_FRACTIONS = (OptionKind.NUMBER, OptionKind.DISTANCE)


class _Required(Enum):
    REQUIRED = "REQUIRED"


REQUIRED: Final = _Required.REQUIRED
"""The default of an option that must be written."""

OptionValue = bool | int | float | str | None | tuple["OptionValue", ...]
"""A bound value. Lengths of time are microseconds, distances have the unit of the stream's coordinates (metres for
WGS84); an option of several pieces has one value for each."""


def shape_names(value: OptionValue) -> tuple[str, ...]:
    """The names of shapes; none of a single one."""
    pairs = value if isinstance(value, tuple) else ()
    return tuple(str(pair[0]) for pair in pairs if isinstance(pair, tuple))


def shapes_of(value: OptionValue) -> tuple[tuple[float, ...], ...]:
    """The numbers of each shape.

    >>> shapes_of((1.0, 2.0)), shapes_of((("a", (1.0, 2.0)), ("b", (3.0, 4.0))))
    (((1.0, 2.0),), ((1.0, 2.0), (3.0, 4.0)))
    """
    assert isinstance(value, tuple)
    return tuple(pair[1] for pair in value) if shape_names(value) else (value,)  # type: ignore[index,misc,return-value]


@dataclass(frozen=True)
class Intervals:
    """The default of a length of time: a number of the intervals at which the stream is expected.

    `question` is the text of the error if no interval is known: "how long is silence?".
    """

    count: int
    question: str


@dataclass(frozen=True)
class Option:
    """`WORD value`. The word may be several (UP TO). The value may have several pieces, with words between
    them: `(WHOLE, "TO", WHOLE)`.

    Attributes
    ----------
    default
        The value if the option is not written; REQUIRED if it must be.
    least, most
        Bounds of its numbers, inclusive.
    positional
        The value stands after a comma, before all other options, and the word is not written.
    emission_only
        The option changes only what is emitted, not what is kept: the state is the same for every value.
    needs, example, meaning
        For messages and documents: the kind of value, an example, and its meaning.
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
    def name(self) -> str:
        """The word, under which its value stands in a call."""
        return self.word

    @property
    def pieces(self) -> tuple[OptionKind | str, ...]:
        """The parts after the word: kinds of value, and the words between them. A flag has none."""
        if isinstance(self.kind, tuple):
            return self.kind
        return () if self.kind is OptionKind.FLAG else (self.kind,)

    @property
    def wanted(self) -> str:
        """A description of the value that must follow the word."""
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
        """An example, and its meaning."""
        between = self.kind in (OptionKind.NUMBER, OptionKind.WHOLE) and None not in (self.least, self.most)
        tail = f"; from {self.least:,} to {self.most:,}" if between else f": {self.meaning}"
        return f"such as {self.word} {self.example}{tail}"

    def allows(self, value: OptionValue) -> bool:
        """Whether a bound value has the right kind and lies within the bounds."""
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
                whole = isinstance(value, int) or kind in _FRACTIONS
                return whole and kind in _NUMERIC and self.in_bounds(value)
            case str():
                return kind is OptionKind.NAME
            case tuple() if kind is OptionKind.SHAPES and not shape_names(value):
                return all(self._allows(OptionKind.NUMBER, v) for v in value)
            case tuple() if kind is OptionKind.SHAPES:
                return all(self._allows(OptionKind.LIST, shape) for shape in shapes_of(value))
            case tuple():
                return kind is OptionKind.LIST and all(self._allows(OptionKind.NUMBER, v) for v in value)
            case _:
                return False

    def in_bounds(self, value: int | float) -> bool:
        """Whether the number lies within the bounds."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class Choice:
    """One of several options, under a name that is not written: `PAIRS | FLATTEN | SAMPLE 3`.

    `default` is the word if none of them is written; REQUIRED if one must be. With `outside`, flags among
    them may also follow the parenthesis.
    """

    name: str
    options: tuple[Option, ...]
    default: str | _Required
    outside: bool = False
    emission_only: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """All possible values."""
        written = tuple(option.word for option in self.options)
        return (self.default, *written) if isinstance(self.default, str) else written


# ---- windows, division -----------------------------------------------------------------------------------------------


class Windowing(StrEnum):
    """The meaning of a window after the parenthesis.

    It is either a window over the function's rows, as for any stream; or a plain range of time that the
    function needs, or a column with each tuple's own range; or the windows of its input at which the function
    is evaluated. WITHIN: these windows are options inside the parenthesis, so that a window after it is one over
    the function's rows.
    """

    ABOVE = "ABOVE"
    REACH = "REACH"
    FRAME = "FRAME"
    WITHIN = "WITHIN"


@dataclass(frozen=True)
class Frame:
    """The windows at which a function is evaluated, as for TIME_WINDOW; they always have a slide."""

    start: int | None
    end: int
    slide: int
    open_start: bool


class Output(StrEnum):
    """The kind of rows that a function returns.

    TUPLES: rows for tuples of its input, with their tick, time, id and position. EVENTS: a stream of rows at
    their own times, each of a source, without positions. WINDOWS: rows at the ticks of its frame.
    """

    TUPLES = "TUPLES"
    EVENTS = "EVENTS"
    WINDOWS = "WINDOWS"


@dataclass(frozen=True)
class BySource:
    """Each source can be computed on its own."""


@dataclass(frozen=True)
class ByValue:
    """Tuples with the same value of a column belong together; it is a column of the rows, too."""

    column: str
    given_as: str


@dataclass(frozen=True)
class ByNearness:
    """Tuples whose values of a column differ by at most this belong together. The operator's Spec takes a
    `home`."""

    column: str
    distance: float


@dataclass(frozen=True)
class Undivided:
    """One place must see all tuples; `reason` says why."""

    reason: str


Divides = BySource | ByValue | ByNearness | Undivided
BY_SOURCE: Final = BySource()


# ---- the function and its calls --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refusal:
    """The reason why a call makes no sense; `column` is the number of the column to blame, None the whole
    call."""

    message: str
    hint: str | None = None
    column: int | None = None


@dataclass(frozen=True)
class Kept:
    """The most bytes that an operator keeps of each thing of a kind: 240 of a "source". `whole`: in all, however many
    things there are."""

    bytes: int
    of: str = ""

    @property
    def whole(self) -> bool:
        return not self.of

    def __str__(self) -> str:
        return f"{self.bytes:,} bytes {'in all' if self.whole else f'a {self.of}'}"


def _nothing_said(_call: FunctionCall, _input: Schema) -> tuple[Kept, ...]:
    return ()


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
        The name in capitals, as it is written; in lower case it is the default alias.
    gives
        The bare columns of its rows, for a call and the schema of its input.
    least_columns, most_columns
        How many columns of the source it takes; None: any number.
    divides
        Which tuples must be together to compute it in parts; a function of call and input if it depends
        on them.
    ordered
        Its rows depend on the order of the tuples. Tuples without positions are ordered by their values.
    sensors
        It receives the declared sensors of its stream.
    all_columns
        If the query names no column, it takes all but `time` and `id`.
    unbounded
        Without a window it sees all tuples so far, at every interval at which the stream is expected.
    algorithm
        The operator's name if it differs from the function's.
    first
        For a function of two operators: the lower one, of the same call, which returns a stream and may be
        divided differently. The upper one's input is then that stream, so its columns must not depend on the
        columns below.
    refuses
        Finds a mistake in a call whose columns and options are each right by themselves.
    narrowed
        A cheaper call that returns the same values in the columns that are needed.
    keeps
        The most that its operator keeps, which EXPLAIN prints.
    windowed
        Its rows come group by group, each group at the end of a window: they are read as windows, at these
        ticks. A row has all columns of its tuple, and `window_start`, `window_end` and `window_time`.
    defined
        It is a function of something defined rather than of a stream: of `ON stream.column` with the options
        of this declaration, or of the name that CREATE PHENOMENON gave them.
    behind
        Of such a function: the options that are written behind the definition or its name.
    windows_if, windows
        Of a function with two kinds of rows: with the option `windows_if` a call means `windows`, a function of the
        same name and options that returns windows.
    wants, window_hint
        For the hint if a column is missing: a description of its columns ("the column to compare"). For the
        hint if a window is missing: an example of a window and its meaning.
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
    all_columns: bool = False
    unbounded: bool = False
    windowed: bool = False
    algorithm: str = ""
    first: TableFunction | None = None
    defined: TableFunction | None = None
    behind: tuple[str, ...] = ()
    windows_if: str = ""
    windows: TableFunction | None = None
    wants: str = "a column"
    window_hint: str = "[RANGE 1 HOUR]"
    refuses: Callable[[FunctionCall, Schema], Refusal | None] = _nothing_to_refuse
    narrowed: Callable[[FunctionCall, frozenset[str]], FunctionCall] = _all_needed
    keeps: Callable[[FunctionCall, Schema], tuple[Kept, ...]] = _nothing_said

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
        """Whether it needs a window."""
        return self.windowing is not Windowing.ABOVE

    @property
    def framed(self) -> bool:
        """Whether its call has a frame."""
        return self.windowing in (Windowing.FRAME, Windowing.WITHIN)

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Every option that can be written, including those of choices."""
        return tuple(
            option
            for each in self.options
            for option in (each.options if isinstance(each, Choice) else (each,))
        )

    @property
    def own(self) -> TableFunction:
        """The function with the options that are written behind what it is a function of."""
        return replace(self, options=tuple(each for each in self.options if each.name in self.behind))

    def meant(self, words: Collection_[str]) -> TableFunction:
        """The function that a call with these options means."""
        return self.windows if self.windows is not None and self.windows_if in words else self

    def option(self, word: str) -> Option:
        """The option of that word."""
        return next(option for option in self.all_options if option.word == word)

    def settle(self, given: Mapping[str, OptionValue]) -> tuple[tuple[str, OptionValue], ...]:
        """All options in their order, with defaults for those that are not given.

        A choice contributes its word under its name, and then the chosen option's own value, if it has one. A
        REQUIRED option that is not given is left out.
        """
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
    """A function with everything but its input: columns by their qualified names, options as `settle` returns
    them."""

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
        """The value of an option, or the word of a choice; None if there is no such value."""
        return next((value for name, value in self.options if name == word), None)

    @property
    def lower(self) -> FunctionCall:
        """For a function of two operators: the call of the lower one, with the options that it has."""
        first = self.function.first
        assert first is not None
        known = {each.name for each in first.options} | {option.word for option in first.all_options}
        return replace(self, function=first, options=tuple(each for each in self.options if each[0] in known))

    @property
    def reads(self) -> frozenset[str]:
        """The columns of the input that it reads."""
        own = (self.window.column,) if isinstance(self.window, OwnWindow) else ()
        return frozenset((*self.columns, *own))

    def schema(self, input: Schema) -> Schema:
        """The columns of its rows, under the alias."""
        return qualified(self.alias, self.function.gives(self, input))

    def source_type(self, input: Schema) -> Type | None:
        """The type of its rows' ids; None if they have no source."""
        own = self.schema(input)
        id_ = f"{self.alias}.id"
        return own[id_].type.plain if id_ in own else None

    def keeps(self, input: Schema) -> tuple[Kept, ...]:
        """The most that its operator keeps; nothing if that is not said."""
        return self.function.keeps(self, input)

    def divides(self, input: Schema) -> Divides:
        """Which tuples must be together."""
        divides = self.function.divides
        return divides(self, input) if callable(divides) else divides

    @property
    def wrong(self) -> str | None:
        """A mistake in the call, or None. A mistake is a bug of the code that bound it."""
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
            case (Windowing.ABOVE, None) | (Windowing.REACH, OwnWindow()):
                return None
            case ((Windowing.FRAME | Windowing.WITHIN), Frame()):
                return None
            case Windowing.REACH, int(window) if window >= 0:
                return None
            case _, window:
                return f"the window {window}"
