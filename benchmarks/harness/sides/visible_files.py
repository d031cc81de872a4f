"""The files visible to a side: Python, its libraries, the harness and the kernels.

Homes, databases, sockets, keys, the rest of the checkout and the other side's folders are not.
"""

import glob
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import kernels

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/sys")
# CUDA's driver connects to it at start, where it exists.
_DRIVER = ("/run/nvidia-persistenced",)
_PATHS_FROM = ("PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_HOME")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_BENCHMARKS = Path(__file__).resolve().parents[2]
_CODE = [str(_BENCHMARKS / name) for name in ("harness", "records", "verdict")]
ROOT = _BENCHMARKS.parent


def code() -> list[str]:
    """Folders of code, which must be read-only for a side."""
    return [*_CODE, *_packages(), *_site_packages()]


def shown(more: Iterable[Path]) -> list[str]:
    """Paths to bind read-only, none inside another: system, Python, code and `more`."""
    parts = [*_SYSTEM, *_DRIVER, sys.prefix, sys.base_prefix, sys.exec_prefix]
    parts += [*_CODE, str(_BENCHMARKS / "__init__.py"), *_packages(), *_named()]
    parts += [str(path) for path in more]
    wanted = dict.fromkeys(path for part in parts for path in (part, os.path.realpath(part)))
    there = [path for path in wanted if os.path.lexists(path)]
    return [path for path in there if not any(_inside(path, other) for other in there)]


def devices(*, cuda: bool) -> list[str]:
    """Device files to bind."""
    found = [device for device in _DEVICES if os.path.exists(device)]
    return found + sorted(glob.glob("/dev/nvidia*")) if cuda else found


def _packages() -> list[str]:
    return [os.path.abspath(folder) for folder in kernels.__path__]


def _site_packages() -> list[str]:
    return [entry for entry in sys.path if entry.endswith("-packages") and os.path.isdir(entry)]


def _named() -> list[str]:
    """Folders on the environment's search paths, except the checkout."""
    entries = [
        entry for name in _PATHS_FROM for entry in os.environ.get(name, "").split(os.pathsep)
    ]
    entries += _site_packages()
    folders = [os.path.abspath(entry) for entry in entries if entry and os.path.isdir(entry)]
    # The checkout and the folders above it also hold the site's data.
    return [folder for folder in folders if not _inside_or_same(str(ROOT), folder)]


def _inside(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")


def _inside_or_same(path: str, other: str) -> bool:
    return path == other or _inside(path, other)
