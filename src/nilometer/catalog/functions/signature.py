"""The signature of a function: its kind, its arguments, the type of its result, and its purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nilometer.types import Kind, Type

Rule = Callable[[tuple[Type, ...]], Type]
Shape = Callable[[tuple[Type, ...], tuple[Any, ...]], Type]
"""A rule that reads the constants among the arguments, too; None stands for what is no constant."""


class FunctionKind(StrEnum):
    """How a function is evaluated: per row, per window, over a source's previous rows and the window itself, or as
    rows of its own."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    SPECIAL = "special"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function: the kinds that it accepts, and their name in messages; whether it must be a
    constant."""

    text: str
    plural: str
    kinds: frozenset[Kind]
    constant: bool = False


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function. `arguments` are required, then come `optional` ones; `repeats` lets the last one recur.

    `wants_float`: INT arguments are converted to FLOAT first. No other argument is ever changed. `shape` is the rule
    of a function whose type depends on its constants, as the length of a slice does.
    """

    name: str
    kind: FunctionKind
    arguments: tuple[Argument, ...]
    rule: Rule
    description: str
    example: str
    aliases: tuple[str, ...] = ()
    optional: tuple[Argument, ...] = ()
    repeats: bool = False
    wants_float: bool = False
    shape: Shape | None = None

    @property
    def spelled(self) -> str:
        """The name in messages: aggregates and special forms in capitals, as users write them."""
        return self.name if self.kind is FunctionKind.SCALAR else self.name.upper()

    @property
    def takes(self) -> str:
        """The arguments that it takes, in words."""
        places = self.arguments
        if not places:
            return " or ".join([*(argument.text for argument in self.optional), "no argument"])
        if len(set(places)) > 1:
            texts = [place.text for place in places]
            texts[-1] = f"one or more {places[-1].plural}" if self.repeats else texts[-1]
            text = f"{', '.join(texts[:-1])} and {texts[-1]}"
        elif self.repeats or len(places) > 1:
            count = ("one", "two", "three")[len(places) - 1]
            text = f"{count}{' or more' if self.repeats else ''} {places[0].plural}"
        else:
            text = places[0].text
        return ", and optionally ".join([text, *(argument.text for argument in self.optional)])

    @property
    def most(self) -> int:
        """The most arguments that it takes, unless the last one recurs."""
        return len(self.arguments) + len(self.optional)

    def result(self, argument_types: tuple[Type, ...], constants: tuple[Any, ...] = ()) -> Type:
        """The type of a call; raises a ValueError that says what the function takes if the arguments do not
        fit."""
        places = self.arguments + self.optional
        least, most = len(self.arguments), len(places)
        count = len(argument_types)
        if count < least or (count > most and not self.repeats):
            given = "one was" if count == 1 else f"{count or 'none'} were"
            raise ValueError(f"{self.spelled} takes {self.takes}; {given} given")
        for index, found_type in enumerate(argument_types):
            place = places[min(index, most - 1)]
            if found_type.kind not in place.kinds and found_type.kind is not Kind.NULL:
                where = f" as argument {index + 1}" if count > 1 else ""
                raise ValueError(f"{self.spelled} takes {self.takes}, not {found_type.plain}{where}")
        plain = tuple(found_type.plain for found_type in argument_types)
        try:
            return self.rule(plain) if self.shape is None else self.shape(plain, constants)
        except ValueError as error:
            raise ValueError(f"{self.spelled} takes {error}") from None
