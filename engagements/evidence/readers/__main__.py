"""Read a file in its own process: `python -m engagements.evidence.readers FILE`.

Prints `progress SHARE` regularly and ends with `facts JSON` or `error CODE LINE`. The process has
limits of memory, disk and time (`confined`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import sys
import time
from pathlib import Path

from engagements.evidence.readers import EvidenceError, as_data, read
from engagements.evidence.readers.confined import ERROR, FACTS, PROGRESS

EVERY_S = 0.5
_OUT_OF_MEMORY = "Reading this file exceeded the memory limit; profile fewer steps"


def main() -> int:
    """Read the file of the command line; return 2 when it cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m engagements.evidence.readers")
    parser.add_argument("file", type=Path)
    parser.add_argument("--name", default="")
    parser.add_argument("--patterns", default="{}", help="JSON: name to expression")
    parser.add_argument("--memory-bytes", type=int, default=0)
    parser.add_argument("--disk-bytes", type=int, default=0)
    parser.add_argument("--cpu-seconds", type=int, default=0)
    asked = parser.parse_args()
    _limit(resource.RLIMIT_AS, asked.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, asked.disk_bytes)
    _limit(resource.RLIMIT_CPU, asked.cpu_seconds)
    try:
        facts = read(
            asked.file, asked.name, patterns=json.loads(asked.patterns), progress=_Progress().say
        )
    except EvidenceError as error:
        print(ERROR, error.code, error, flush=True)
        return 2
    except MemoryError:
        print(ERROR, "evidence.memory_limit", _OUT_OF_MEMORY, flush=True)
        return 2
    print(FACTS, json.dumps(as_data(facts)), flush=True)
    return 0


def _limit(what: int, most: int) -> None:
    if most:
        # A lower limit of the machine remains.
        with contextlib.suppress(ValueError):
            resource.setrlimit(what, (most, most))


class _Progress:
    """Print the progress at intervals."""

    def __init__(self) -> None:
        self._next = time.monotonic() + EVERY_S

    def say(self, share: float) -> None:
        """Report the share read so far."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_S
            print(PROGRESS, f"{share:.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
