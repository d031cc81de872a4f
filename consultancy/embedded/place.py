"""Folders, sockets and locks of one checkout's embedded servers."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import stat
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

# The path of a unix socket must fit in sockaddr_un: 108 bytes on Linux, 104 on macOS.
SOCKET_PATH_LIMIT = 103
LONGEST_SOCKET_NAME = len("/.s.PGSQL.5432")
# PostgreSQL parses its socket directories as a list: a comma, quote or space in the path would need
# quoting, in every client too.
PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+-]+")
LOCK_WAIT_S = 120.0
# A server notices that a client has exited a moment later.
DISCONNECT_WAIT_S = 3.0

_HELD: weakref.WeakSet[TextIO] = weakref.WeakSet()


def _close_locks() -> None:
    # A forked child inherits the locks and would hold them after its parent's death.
    for held in list(_HELD):
        held.close()


os.register_at_fork(after_in_child=_close_locks)


def becomes_zero(count: Callable[[], int]) -> bool:
    """Whether `count` returns 0 within DISCONNECT_WAIT_S seconds."""
    deadline = time.monotonic() + DISCONNECT_WAIT_S
    while count() > 0:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class EmbeddedError(RuntimeError):
    """An embedded server could not be started or stopped; the message says what to do."""


@dataclass(frozen=True)
class Place:
    """The home folder of one checkout's servers: `.twofold` or `TWOFOLD_HOME`."""

    home: Path

    @property
    def fallback(self) -> Path:
        """Used instead of `home` if a server's user cannot reach it or its path is too long.

        The name is derived from `home`: one per checkout, the same in every process.
        """
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        return Path(f"/var/tmp/twofold-{os.geteuid()}-{digest}")  # noqa: S108 - owner checked below

    def sockets(self, service: str, *, user: pwd.struct_passwd | None = None) -> Path:
        """The directory of a service's unix socket, with a path short enough for the system."""
        wanted = self.home / "sockets" / service
        fits = len(os.fsencode(wanted)) + LONGEST_SOCKET_NAME <= SOCKET_PATH_LIMIT
        if fits and PLAIN_PATH.fullmatch(str(wanted)) and reachable(self.home, user):
            return wanted
        return self.fallback / service

    def make(self, directory: Path, *, user: pwd.struct_passwd | None = None) -> Path:
        """Create a directory that only its owner (`user`, or this process's) can enter."""
        if directory.is_relative_to(self.fallback):
            self._claim_fallback()
        else:
            self.home.mkdir(parents=True, exist_ok=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        if user is not None:
            os.chown(directory, user.pw_uid, user.pw_gid)
        directory.chmod(0o700)
        return directory

    def _claim_fallback(self) -> None:
        # The name is predictable, so another user could have created it first.
        self.fallback.mkdir(mode=0o755, parents=True, exist_ok=True)
        found = self.fallback.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise EmbeddedError(
                f"{self.fallback} belongs to another user. Delete it, or set TWOFOLD_HOME to a "
                "short path that you own."
            )

    @contextlib.contextmanager
    def lock(self, service: str, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """Hold the lock under which one process at a time starts or stops a service.

        EmbeddedError when another process holds it for longer than `wait_s`. The kernel releases
        the lock of a killed process.
        """
        self.home.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + wait_s
        with open(self.home / f"{service}.lock", "a") as held:
            _HELD.add(held)
            while True:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise EmbeddedError(
                            f"Another process of this checkout uses '{service}' "
                            f"({held.name} is locked). Stop it, or wait for it to finish."
                        ) from None
                    time.sleep(0.05)
            try:
                yield
            finally:
                _HELD.discard(held)


def reachable(path: Path, user: pwd.struct_passwd | None) -> bool:
    """Whether `user` (None: the current one) may enter every folder on the way to `path`."""
    if user is None:
        return True
    existing = [parent for parent in (path, *path.parents) if parent.exists()]
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in existing)


def package_folder(package: str) -> Path:
    """The folder of an installed package, located without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise EmbeddedError(f"{package} is not installed. Run: make install")
    return Path(found.origin).parent
