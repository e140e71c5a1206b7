"""KV transfer without KV: a prefill hands a prompt's length and digest to the decode that asks for its room.

A prefill's scheduler listens on a port of its own and registers it at the bootstrap server, a decode's scheduler looks
it up there and connects once per request, as SGLang's NIXL and Mooncake backends do. Both halves must mean the same
prompt under the same room; what does not match fails and is named.
"""

import asyncio
import json
from typing import NamedTuple

from . import frames
from .bootstrap import QUERY_ALL, QUERY_FIRST
from .environ import Environment
from .web import ask

_INFO_ATTEMPTS = 15  # sglang/srt/disaggregation/decode.py, _max_ensure_retries, one second apart


class TransferError(Exception):
    """One half of a request failed; the message reads as SGLang's KVTransferError."""

    def __init__(self, room: int, reason: str) -> None:
        super().__init__(f"KVTransferError(bootstrap_room={room}): {reason}")


class LayoutMismatchError(RuntimeError):
    """Prefill and decode differ in what they must share; SGLang's decode scheduler dies of it."""


class Prompt(NamedTuple):
    """What stands for the KV of a prompt."""

    tokens: int
    digest: int
    cached_tokens: int = 0


_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Room:
    def __init__(self) -> None:
        self.connected: asyncio.Future[_Streams] = asyncio.get_running_loop().create_future()
        self.claimed = False

    @property
    def abandoned(self) -> bool:
        """Whether a decode has come and gone without a prefill."""
        return not self.claimed and self.connected.done() and self.connected.result()[0].at_eof()


class Sender:
    """The prefill's side: rooms in which decodes ask for the KV of one request each."""

    def __init__(self) -> None:
        self._rooms: dict[int, _Room] = {}
        self._server: asyncio.Server | None = None

    async def listen(self, host: str) -> int:
        """Listen on a free port of `host` and return it."""
        self._server = await asyncio.start_server(self._greet, host, 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = await frames.receive(reader)
        if hello is None:
            writer.close()
            return
        self._rooms = {number: room for number, room in self._rooms.items() if not room.abandoned}
        room = self._rooms.setdefault(int(hello["room"]), _Room())
        if room.connected.done():
            frames.send(writer, {"error": f"room {hello['room']} is already taken by another request"})
            writer.close()
        else:
            room.connected.set_result((reader, writer))

    async def wait_for_decode(self, room: int, timeout: float) -> "Handover":
        """The connection of the decode that asks for `room`; raises TransferError when none has come in time."""
        entry = self._rooms.setdefault(room, _Room())
        if entry.claimed:
            raise TransferError(room, f"room {room} is already taken by another request")
        entry.claimed = True
        try:
            reader, writer = await asyncio.wait_for(entry.connected, timeout)
        except TimeoutError:
            reason = f"Request {room} timed out after {timeout:.1f}s in KVPoll.Bootstrapping"
            raise TransferError(room, reason) from None
        finally:
            # From here on the connection is all that is needed; a room whose decode never came is empty.
            self._rooms.pop(room, None)
        return Handover(room, reader, writer)


class Handover:
    """One decode that waits for one prompt."""

    def __init__(self, room: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._room, self._reader, self._writer = room, reader, writer

    async def send(self, prompt: Prompt | None) -> None:
        """Hand the prompt over, or nothing, and wait for what decode says; raises TransferError unless it is well."""
        if prompt is not None:
            frames.send(self._writer, {"prompt": list(prompt)})
        answer = await frames.receive(self._reader)
        if answer is None:
            raise TransferError(self._room, "Aborted by AbortReq.")
        if "error" in answer:
            raise TransferError(self._room, answer["error"])

    def close(self) -> None:
        """Leave the decode alone."""
        self._writer.close()


class Receiver:
    """The decode's side; `page_size` and `kv_cache_dtype` are what the prefill must share."""

    def __init__(self, page_size: int, kv_cache_dtype: str, environment: Environment) -> None:
        self._page_size, self._kv_cache_dtype = page_size, kv_cache_dtype
        self._heartbeat_s, self._heartbeat_failures = environment.heartbeat_s, environment.heartbeat_failures
        self._known: dict[tuple[str, int], tuple[str, int]] = {}

    async def locate(self, room: int, host: str, port: int) -> tuple[str, int]:
        """Where the prefill behind a bootstrap server hands out KV.

        Raises TransferError when the server does not answer, LayoutMismatchError when the prefill does not fit.
        """
        if known := self._known.get((host, port)):
            return known
        for attempt in range(_INFO_ATTEMPTS):
            if attempt:
                await asyncio.sleep(1)
            try:
                status, body = await ask("GET", host, port, QUERY_ALL)
                if status == 200:
                    self._check(json.loads(body))
                    _, body = await ask("GET", host, port, QUERY_FIRST)
                    rank = json.loads(body)
                    self._known[host, port] = rank["rank_ip"], int(rank["rank_port"])
                    return self._known[host, port]
            except (OSError, ValueError):
                continue
        reason = f"Could not fetch prefill parallel info from {host}:{port} after {_INFO_ATTEMPTS} attempts"
        raise TransferError(room, reason)

    def _check(self, layout: dict[str, object]) -> None:
        for key, name, flag, mine in (
            ("page_size", "Page size", "--page-size", self._page_size),
            ("kv_cache_dtype", "KV cache dtype", "--kv-cache-dtype", self._kv_cache_dtype),
        ):
            if layout[key] != mine:
                raise LayoutMismatchError(
                    f"{name} mismatch: prefill server has {key}={layout[key]}, but decode server has {key}={mine}. "
                    f"Both servers must use the same {flag} value."
                )

    async def receive(
        self, room: int, bootstrap: tuple[str, int], source: tuple[str, int], mine: Prompt, *, frozen: bool
    ) -> Prompt:
        """Fetch the prompt of a room, or never if `frozen`.

        Raises TransferError when it is another prompt than `mine` or its prefill is lost.
        """
        streams = await self._connect(room, bootstrap, source)
        if streams is None:
            return await self._lost(room, bootstrap)
        reader, writer = streams
        try:
            frames.send(writer, {"room": room})
            answer = await frames.receive(reader)
            if answer is None:
                return await self._lost(room, bootstrap)
            if "error" in answer:
                raise TransferError(room, answer["error"])
            if frozen:
                await asyncio.Event().wait()
            theirs = Prompt(*answer["prompt"])
            wrong = _difference(theirs, mine)
            frames.send(writer, {"error": wrong} if wrong else {"done": True})
            await writer.drain()
        finally:
            writer.close()
        if wrong:
            raise TransferError(room, wrong)
        return theirs

    async def _connect(self, room: int, bootstrap: tuple[str, int], source: tuple[str, int]) -> _Streams | None:
        """A connection to where KV is, found anew if the prefill has started again since it was looked up."""
        try:
            return await asyncio.open_connection(*source)
        except OSError:
            self._known.pop(bootstrap, None)
        try:
            return await asyncio.open_connection(*await self.locate(room, *bootstrap))
        except OSError:
            return None

    async def _lost(self, room: int, bootstrap: tuple[str, int]) -> Prompt:
        """A prefill went away: its requests fail after some silent heartbeats, or wait on for one that came back."""
        self._known.pop(bootstrap, None)
        failures = 0
        while failures < self._heartbeat_failures:
            await asyncio.sleep(self._heartbeat_s)
            try:
                await ask("GET", *bootstrap, "/health")
                failures = 0
            except OSError:
                failures += 1
        address = f"{bootstrap[0]}:{bootstrap[1]}"
        raise TransferError(room, f"Lost connection with prefill instance (bootstrap_addr: {address})")


def _difference(prefill: Prompt, decode: Prompt) -> str:
    if prefill.tokens != decode.tokens:
        return f"prefill and decode got different prompts: {prefill.tokens} tokens and {decode.tokens} tokens"
    if prefill.digest != decode.digest:
        return f"prefill and decode got different prompts: digests {prefill.digest:08x} and {decode.digest:08x}"
    return ""
