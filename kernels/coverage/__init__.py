"""Find off-the-shelf kernels that fit a customer's needs. No torch here.

    coverage.fits("shared_prefix_attention", Needs(dtype="bfloat16", architecture="sm90"))

The facts are in libraries.toml, each library with the pages they come from. An unknown does not
count as a yes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

FILE = Path(__file__).with_name("libraries.toml")
FEATURES = ("paging", "prefix_sharing", "window", "masks", "quantisation", "training")


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Abilities that a library has only separately: none of `these` with any of `those`.

    They are names of operators, dtypes, architectures and features.
    """

    these: tuple[str, ...]
    those: tuple[str, ...]

    def among(self, wanted: frozenset[str]) -> str | None:
        """The conflict between wanted names, such as "float8 with training", or None."""
        sides = [[name for name in side if name in wanted] for side in (self.these, self.those)]
        return " with ".join(" and ".join(side) for side in sides) if all(sides) else None

    def __str__(self) -> str:
        return f"{', '.join(self.these)} with {', '.join(self.those)}"


@dataclass(frozen=True, kw_only=True)
class Library:
    """One library's facts; None, or a feature in neither list, is unknown.

    The documentation of `version` was read on `read_on` (an ISO date); `documented` is its page,
    `elsewhere` are further ones.
    """

    name: str
    version: str
    read_on: str | None
    documented: str
    elsewhere: tuple[str, ...] = ()
    operators: tuple[str, ...]
    dtypes: tuple[str, ...] | None
    architectures: tuple[str, ...] | None
    features: tuple[str, ...]
    lacks: tuple[str, ...]
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Requirements besides the operator; None for any."""

    dtype: str | None = None
    architecture: str | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A library compared with the needs; "nearly" if one is missing or some are unknown."""

    library: Library
    verdict: Literal["fits", "nearly", "no"]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]


@cache
def libraries() -> tuple[Library, ...]:
    """Every library, in the file's order."""
    return tuple(_library(entry) for entry in tomllib.loads(FILE.read_text())["libraries"])


def _library(entry: Mapping[str, Any]) -> Library:
    return Library(
        name=entry["name"],
        version=entry["version"],
        read_on=entry["read_on"].isoformat() if "read_on" in entry else None,
        documented=entry["documented"],
        elsewhere=tuple(entry.get("elsewhere", ())),
        operators=tuple(entry["operators"]),
        dtypes=tuple(entry["dtypes"]) if "dtypes" in entry else None,
        architectures=tuple(entry["architectures"]) if "architectures" in entry else None,
        features=tuple(entry.get("features", ())),
        lacks=tuple(entry.get("lacks", ())),
        conflicts=tuple(
            Conflict(these=tuple(each["these"]), those=tuple(each["those"]))
            for each in entry.get("conflicts", ())
        ),
    )


def fits(operator: str, needs: Needs) -> list[Fit]:
    """Every library with the operator, those that fit first."""
    order = ("fits", "nearly", "no")
    found = [_fit(known, operator, needs) for known in libraries() if operator in known.operators]
    return sorted(found, key=lambda fit: order.index(fit.verdict))


def _fit(known: Library, operator: str, needs: Needs) -> Fit:
    missing, unknown = [], []
    for wanted, offered in (
        (needs.dtype, known.dtypes),
        (needs.architecture, known.architectures),
    ):
        if wanted is not None and offered is None:
            unknown.append(wanted)
        elif wanted is not None and offered is not None and wanted not in offered:
            missing.append(wanted)
    for feature in needs.features:
        if feature in known.lacks:
            missing.append(feature)
        elif feature not in known.features:
            unknown.append(feature)
    wanted_names = frozenset(
        filter(None, (operator, needs.dtype, needs.architecture, *needs.features))
    )
    missing += [
        found for each in known.conflicts if (found := each.among(wanted_names - {*missing}))
    ]
    verdict: Literal["fits", "nearly", "no"] = "fits"
    if missing or unknown:
        verdict = "nearly" if len(missing) <= 1 else "no"
    return Fit(library=known, verdict=verdict, missing=tuple(missing), unknown=tuple(unknown))
