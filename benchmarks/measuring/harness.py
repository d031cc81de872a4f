"""The referee's process: start it under the watchdog, read its output, end it."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measuring import watchdog
from benchmarks.measuring.limits import Limits
from benchmarks.records.signatures import KEY_FILE_VARIABLE, KEY_VARIABLE

CHUNK_BYTES = 64 * 1024
STDERR_KEPT_BYTES = 16 * 1024
ROOT = Path(__file__).resolve().parent.parent.parent
# Paths, libraries, devices, and the signing key, which the referee removes from its environment
# before a side starts. No other secret and no database URL.
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

# -P: never import from the scratch folder, which is the working directory.
COMMAND = (sys.executable, "-P", "-m", "benchmarks.harness")


class Harness:
    """A measuring process with its descendants; the context ends them all."""

    def __init__(
        self,
        arguments: list[str],
        *,
        folder: Path,
        keep_open: Sequence[int],
        limits: Limits,
        command: Sequence[str] = COMMAND,
    ) -> None:
        watched = [sys.executable, "-I", watchdog.__file__, str(os.getpid()), str(folder)]
        self.limits = limits
        self.stderr = b""
        self.output_bytes = 0
        self.cut_lines = 0
        self._line = bytearray()
        self._skipping = False
        self._process = subprocess.Popen(
            [*watched, *command, *arguments],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=keep_open,
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
        """The watchdog's process id, which is also its session's."""
        return self._process.pid

    def status(self) -> int | None:
        """The exit status, 128+N for signal N; None while it runs."""
        status = self._process.poll()
        return status if status is None or status >= 0 else 128 - status

    def lines(self, wait_s: float) -> Iterator[bytes]:
        """Lines written to stdout within `wait_s` seconds.

        Lines over the limit are dropped and counted in `cut_lines`.
        """
        if not self._selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
            return
        for key, _ in self._selector.select(wait_s):
            chunk = os.read(key.fd, CHUNK_BYTES)
            if not chunk:
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._process.stdout:
                self.output_bytes += len(chunk)
                yield from self._split(chunk)
            else:
                self.output_bytes += len(chunk)
                self.stderr = (self.stderr + chunk)[-STDERR_KEPT_BYTES:]

    def end(self) -> None:
        """End the process and its descendants, and wait for them."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(watchdog.END_LIMIT_S + self.limits.grace_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _split(self, chunk: bytes) -> Iterator[bytes]:
        *whole, rest = chunk.split(b"\n")
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
