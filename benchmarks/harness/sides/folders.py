"""Folders that sides write into, and that are gone afterwards whatever they left there.

Python's own removal calls itself once a level: folders nested deep enough end it, and with it
the run whose record was about to be written.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary(*, prefix: str = "twofold-", inside: Path | None = None) -> Iterator[Path]:
    """A new folder, of its maker's only; nothing that was put into it keeps it from going."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=inside))
    try:
        yield made
    finally:
        remove(made)


def remove(folder: Path) -> None:
    """Delete a folder at any depth, and no link's target. What cannot be deleted stays."""
    if _done("rm", "-rf", "--", str(folder)):
        return
    # An ordinary user's side may have locked folders of its own.
    _done("chmod", "-R", "u+rwX", "--", str(folder))
    _done("rm", "-rf", "--", str(folder))


def _done(*command: str) -> bool:
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ended.returncode == 0
