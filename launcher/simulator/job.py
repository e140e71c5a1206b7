"""A request on its way from the server to the scheduler, and how it may end without an answer."""

from typing import Final, NamedTuple

FAKE_HOST: Final = "2.2.2.2"
"""The bootstrap host of a request that has no other half: sglang/srt/disaggregation/utils.py."""


class Job(NamedTuple):
    """One request; `limit` counts tokens, `natural` says that the answer ends by itself there.

    `number` counts the requests of a scheduler from 1; health checks have none.
    """

    rid: str
    prompt: list[int]
    limit: int
    natural: bool = False
    host: str = FAKE_HOST
    port: int = 0
    room: int = 0
    is_health: bool = False
    number: int = 0

    @property
    def alone(self) -> bool:
        """Whether no other half of this request exists."""
        return self.host == FAKE_HOST


class RefusedError(Exception):
    """A request that ends with an HTTP status instead of tokens."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
