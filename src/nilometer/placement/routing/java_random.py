"""java.util.Random: the random numbers behind the figures of the SNEE paper (seed 4), which a Java program
drew.

Java's documentation of the class specifies the linear congruential generator and the rejection of `nextInt`.

>>> numbers = JavaRandom(4)
>>> [numbers.below(5) for _ in range(4)]
[2, 2, 3, 3]
"""

from __future__ import annotations

_MASK = (1 << 48) - 1
_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB


class JavaRandom:
    """A stream of numbers, the same as Java's for the same seed."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _bits(self) -> int:
        """31 random bits."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1 (`nextInt(bound)`)."""
        if bound & (bound - 1) == 0:
            return bound * self._bits() >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:
                return value


def hash_order(names: list[str]) -> list[str]:
    """The order in which a java.util.HashSet returns its strings: by bucket, and within a bucket in order of
    insertion.

    >>> hash_order(["10", "9", "0"])
    ['0', '9', '10']
    """
    capacity = 16
    while len(names) > capacity * 3 // 4:
        capacity *= 2
    return sorted(names, key=lambda name: _spread(name) & (capacity - 1))


def _spread(name: str) -> int:
    code = 0
    for character in name:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    return code ^ (code >> 16)
