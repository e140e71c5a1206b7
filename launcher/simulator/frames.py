"""Messages between a simulator's processes: JSON behind a length of four bytes, over any stream socket."""

import asyncio
import json
from typing import Any

Message = dict[str, Any]


async def receive(reader: asyncio.StreamReader) -> Message | None:
    """The next message, or None when the other side has gone."""
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        message: Message = json.loads(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message


def send(writer: asyncio.StreamWriter, message: Message) -> None:
    """Queue a message; nothing happens when the other side has gone."""
    if not writer.is_closing():
        body = json.dumps(message, separators=(",", ":")).encode()
        writer.write(len(body).to_bytes(4, "big") + body)
