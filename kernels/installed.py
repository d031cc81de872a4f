"""Operators of other installed packages, by entry points of the group `twofold.operators`.

    [project.entry-points."twofold.operators"]
    acme = "acme_kernels.operators"

names a package whose folders are operators as they are here: `op.py`, `program.py`,
`reference.py`, `baselines.py` and candidates. They are imported as `kernels.<operator>`; of two of
one name, this package's own comes first.
"""

from __future__ import annotations

import functools
import importlib.util
from importlib.metadata import entry_points
from pathlib import Path

import kernels

GROUP = "twofold.operators"


@functools.cache
def folders() -> tuple[Path, ...]:
    """The folders of installed operators, which `kernels.<operator>` then finds."""
    found: list[Path] = []
    for each in entry_points(group=GROUP):
        spec = importlib.util.find_spec(each.value)
        found += map(Path, (spec and spec.submodule_search_locations) or ())
    for folder in found:
        if str(folder) not in kernels.__path__:
            kernels.__path__.append(str(folder))
    return tuple(found)
