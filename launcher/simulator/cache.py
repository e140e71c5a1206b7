"""The prefix cache: which part of a prompt was seen before, counted in whole pages as SGLang's radix cache does."""

from array import array
from collections import deque
from collections.abc import Sequence

_KEPT = 64  # sequences; enough for a test, bounded for a benchmark


class PrefixCache:
    """Remembers the last sequences of tokens; with `enabled=False` it remembers nothing."""

    def __init__(self, page_size: int, *, enabled: bool, capacity: int) -> None:
        self._page_size, self._enabled, self._capacity = page_size, enabled, capacity
        self._kept: deque[array[int]] = deque()
        self._tokens = 0

    def match(self, prompt: Sequence[int]) -> int:
        """How many leading tokens of a prompt are cached; never all of them, one must be computed."""
        wanted = array("I", prompt)
        longest = max((_common(wanted, kept) for kept in self._kept), default=0)
        return min(longest, max(len(prompt) - 1, 0)) // self._page_size * self._page_size

    def insert(self, sequence: Sequence[int]) -> None:
        """Remember a sequence of prompt and answer."""
        if self._enabled:
            self._kept.append(array("I", sequence))
            self._tokens += len(sequence)
            while self._tokens > self._capacity or len(self._kept) > _KEPT:
                self._tokens -= len(self._kept.popleft())

    def flush(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._tokens = 0


def _common(left: "array[int]", right: "array[int]") -> int:
    """Length of the common prefix, by halving: comparing slices is faster than a loop over tokens."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
