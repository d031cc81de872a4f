"""Temporary folders that sides write into.

shutil.rmtree is recursive, so deeply nested folders raise RecursionError and would end the run.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary(*, prefix: str = "twofold-", inside: Path | None = None) -> Iterator[Path]:
    """A new folder, private to its owner, deleted with all its contents at the end."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=inside))
    try:
        yield made
    finally:
        remove(made)


def remove(folder: Path) -> None:
    """Delete a folder of any depth without following links, as far as permissions allow."""
    if _done("rm", "-rf", "--", str(folder)):
        return
    # A side without its own user may have locked folders.
    _done("chmod", "-R", "u+rwX", "--", str(folder))
    _done("rm", "-rf", "--", str(folder))


def _done(*command: str) -> bool:
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ended.returncode == 0
