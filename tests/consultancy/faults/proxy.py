"""A TCP proxy in front of one part of the site, which can refuse, delay or withhold its answers."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable

CHUNK_BYTES = 1 << 16
# A reset instead of an orderly end, as from a host that lost power.
RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Listens on a port of its own and forwards to `connect()`; the port never changes."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self.connect = connect
        self.delay_s = 0.0
        # Sent instead of forwarding, to each new connection once it has said something.
        self.refusal: bytes | None = None
        self.flowing = threading.Event()
        self.flowing.set()
        self.open: set[socket.socket] = set()
        self.listener: socket.socket | None = self._listen(0)
        self.port: int = self.listener.getsockname()[1]

    def away(self) -> None:
        """Refuse connections and reset those that exist."""
        listener, self.listener = self.listener, None
        if listener is not None:
            # `close` alone would leave the thread in `accept` with an open socket.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def cut(self) -> None:
        """Reset every connection that exists."""
        for each in list(self.open):
            _reset(each)

    def silent(self) -> None:
        """Accept everything and forward nothing."""
        self.flowing.clear()

    def back(self) -> None:
        """Forward everything at once again."""
        self.delay_s, self.refusal = 0.0, None
        self.flowing.set()
        if self.listener is None:
            self.listener = self._listen(self.port)

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=[listener], daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self.refusal is not None:
            with contextlib.suppress(OSError):
                client.recv(CHUNK_BYTES)
                client.sendall(self.refusal)
                # Read the rest, so that closing does not reset the connection before its answer.
                client.shutdown(socket.SHUT_WR)
                client.settimeout(1)
                while client.recv(CHUNK_BYTES):
                    pass
            client.close()
            return
        try:
            server = self.connect()
        except OSError:
            _reset(client)
            return
        self.open |= {client, server}
        threading.Thread(target=self._pump, args=[server, client], daemon=True).start()
        self._pump(client, server)

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while chunk := source.recv(CHUNK_BYTES):
                time.sleep(self.delay_s)
                self.flowing.wait()
                target.sendall(chunk)
        except OSError:
            pass
        for each in (source, target):
            self.open.discard(each)
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _reset(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        each.shutdown(socket.SHUT_RDWR)


def to_port(port: int) -> Callable[[], socket.socket]:
    """Connect to a port of this machine."""
    return lambda: socket.create_connection(("127.0.0.1", port))


def to_socket(path: str) -> Callable[[], socket.socket]:
    """Connect to a unix socket."""

    def connect() -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.connect(path)
        return server

    return connect
