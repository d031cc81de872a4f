"""The harness as a process: started on a leash, read within limits, ended for sure."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from benchmarks.harness.records.signatures import KEY_FILE_VARIABLE, KEY_VARIABLE
from benchmarks.limits import limits
from benchmarks.measuring import watchdog

CHUNK_BYTES = 64 * 1024
STDERR_KEPT_BYTES = 16 * 1024
ROOT = Path(__file__).resolve().parent.parent.parent
# What finds programs, libraries and devices, and the referee's key, which the referee takes
# out of its environment before a side starts. No other secret, no address of a database.
PASSED_ON = (
    KEY_FILE_VARIABLE,
    KEY_VARIABLE,
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CC",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "TRITON_LIBCUDA_PATH",
    "TRITON_INTERPRET",
    "OMP_NUM_THREADS",
)


def harness_command() -> list[str]:
    """The referee's command line; `settings.TWOFOLD_HARNESS_COMMAND` names another."""
    # -P: the scratch folder that it starts in is no place to import from.
    own = [sys.executable, "-P", "-m", "benchmarks.harness"]
    return list(getattr(settings, "TWOFOLD_HARNESS_COMMAND", own))


class Harness:
    """One measuring process and everything below it. Gone when the context ends."""

    def __init__(self, arguments: list[str], *, folder: Path, keep_open: int) -> None:
        leashed = [sys.executable, "-I", watchdog.__file__, str(os.getpid()), str(folder)]
        self.limits = limits()
        self.stderr = b""
        self.said_bytes = 0
        self.cut_lines = 0
        self._line = bytearray()
        self._skipping = False
        self._process = subprocess.Popen(
            [*leashed, *harness_command(), *arguments],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(keep_open,),
        )
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def __enter__(self) -> "Harness":
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
        self._selector.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    @property
    def pid(self) -> int:
        """The leash's process id, which is also its session's."""
        return self._process.pid

    def status(self) -> int | None:
        """The exit status, 128+N for signal N; None while it runs."""
        status = self._process.poll()
        return status if status is None or status >= 0 else 128 - status

    def lines(self, wait_s: float) -> Iterator[bytes]:
        """What was said on stdout within `wait_s` seconds, line by line.

        A line over the limit is dropped and counted in `cut_lines`.
        """
        if not self._selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
            return
        for key, _ in self._selector.select(wait_s):
            said = os.read(key.fd, CHUNK_BYTES)
            if not said:
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._process.stdout:
                self.said_bytes += len(said)
                yield from self._split(said)
            else:
                self.said_bytes += len(said)
                self.stderr = (self.stderr + said)[-STDERR_KEPT_BYTES:]

    def end(self) -> None:
        """End the process and all below it; returns when they are gone."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(watchdog.END_LIMIT_S + self.limits.grace_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _split(self, said: bytes) -> Iterator[bytes]:
        *whole, rest = said.split(b"\n")
        for part in whole:
            self._add(part)
            if not self._skipping and self._line:
                yield bytes(self._line)
            self._line.clear()
            self._skipping = False
        self._add(rest)

    def _add(self, part: bytes) -> None:
        if self._skipping:
            return
        self._line += part
        if len(self._line) > self.limits.line_bytes:
            self._line.clear()
            self._skipping = True
            self.cut_lines += 1


def _environment(folder: Path) -> dict[str, str]:
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return environment | {
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "XDG_CACHE_HOME": str(folder),
    }
