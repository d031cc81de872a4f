"""The channel between the referee and a side: length-prefixed JSON over a Unix socket.

A socket, because it also passes the file descriptors of shared memory.
"""

import json
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, Self

MAX_MESSAGE_BYTES = 1 << 20
_LENGTH = struct.Struct("!I")
_MAX_DESCRIPTORS = 8


class ChannelClosed(ConnectionError):
    """The other end is closed."""


class ChannelTimeout(TimeoutError):
    """No complete message arrived within the limit."""


class InvalidMessage(ValueError):
    """The bytes received are not a message."""


def encode(message: dict[str, Any]) -> bytes:
    """Encode a message: four bytes of length, then JSON."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


class Channel:
    """One end of the channel. Not thread-safe."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    @classmethod
    def pair(cls) -> tuple[Self, socket.socket]:
        """A connected channel and the raw socket for the side."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(ours), theirs

    def fileno(self) -> int:
        """The socket's descriptor, to wait for several channels."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end; the other end then raises ChannelClosed."""
        self._socket.close()

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message with file descriptors."""
        self.send_encoded(encode(message), descriptors)

    def send_encoded(self, content: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send an encoded message, so that JSON costs no time inside the clock."""
        # Messages are small, so a send blocks only when the other end hangs.
        self._socket.settimeout(10)
        try:
            sent = 0
            if descriptors:
                sent = socket.send_fds(self._socket, [content], list(descriptors))
            if sent < len(content):
                self._socket.sendall(content[sent:])
        except TimeoutError as error:
            raise ChannelTimeout("the other end does not read") from error
        except OSError as error:
            raise ChannelClosed("the other end is closed") from error

    def receive(self, limit_s: float | None = None, *, awake: bool = False) -> dict[str, Any]:
        """Receive a message; any file descriptors are discarded.

        `awake`: busy-wait on a processor of its own. A sleeping process wakes later the longer it
        slept: on an H200's host 120 us late after an empty round, 220 to 300 us after one of 45 ms.

        Raises ChannelTimeout after `limit_s` seconds, ChannelClosed at the end of the stream, and
        InvalidMessage for a length over the limit or a body that is not a JSON object.
        """
        return self._message(limit_s, None, awake=awake)

    def receive_with_descriptors(
        self, limit_s: float | None = None
    ) -> tuple[dict[str, Any], list[int]]:
        """Receive a message with its file descriptors; raises as `receive` does.

        For sides only: the sender decides how many descriptors arrive.
        """
        descriptors: list[int] = []
        return self._message(limit_s, descriptors), descriptors

    def _message(
        self, limit_s: float | None, descriptors: list[int] | None, *, awake: bool = False
    ) -> dict[str, Any]:
        deadline = None if limit_s is None else time.monotonic() + limit_s
        head = self._exactly(_LENGTH.size, deadline, descriptors, awake=awake)
        (length,) = _LENGTH.unpack(head)
        if length > MAX_MESSAGE_BYTES:
            raise InvalidMessage(f"not a message: {head!r}…")
        body = self._exactly(length, deadline, descriptors, awake=awake)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            # A number with too many digits raises a plain ValueError.
            raise InvalidMessage(f"not JSON: {body[:60]!r}") from error
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            raise InvalidMessage(f"not a message: {body[:60]!r}")
        return message

    def _exactly(
        self, size: int, deadline: float | None, descriptors: list[int] | None, *, awake: bool
    ) -> bytes:
        parts: list[bytes] = []
        missing = size
        while missing:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise ChannelTimeout("no answer within the limit")
            self._socket.settimeout(0 if awake else left)
            try:
                part = self._part(missing, descriptors)
            except BlockingIOError:
                continue
            except TimeoutError as error:
                raise ChannelTimeout("no answer within the limit") from error
            except OSError as error:
                raise ChannelClosed("the other end is closed") from error
            if not part:
                raise ChannelClosed("the other end is closed")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _part(self, size: int, descriptors: list[int] | None) -> bytes:
        if descriptors is None:
            return self._socket.recv(size)
        part, received, _, _ = socket.recv_fds(self._socket, size, _MAX_DESCRIPTORS)
        descriptors.extend(received)
        return part
