"""Reduce facts of a file to the inputs of the checks, small enough for a link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from engagements.evidence.readers import (
    ComputeFacts,
    Facts,
    TraceFacts,
    TrafficFacts,
    as_data,
    families,
    from_data,
)
from engagements.evidence.readers.facts import Curve, GroupTime, KernelTime
from engagements.evidence.readers.window import RECORDED, STEPS

# Numbers of entries to keep, largest first.
SIZES = (12, 8, 5, 3, 1)
LONGEST_NAME = 60
# Points of a curve: all of the first, which the checks use, and some of the rest.
FIRST_POINTS = 16
DIGITS = 6

G = TypeVar("G", bound=GroupTime)


@dataclass(frozen=True, kw_only=True)
class Read:
    """The facts of a file with its name and digest ("sha256:…")."""

    name: str
    digest: str
    facts: Facts

    def as_data(self) -> dict[str, Any]:
        """Serialise as JSON data."""
        return {
            "name": self.name,
            "digest": self.digest,
            "facts": _rounded(_spared(as_data(self.facts))),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Read:
        """Restore from `as_data`. KeyError or ValueError for other data."""
        facts = from_data(_completed(data["facts"]))
        return cls(name=str(data["name"]), digest=str(data["digest"]), facts=facts)


def reduced(read: Read, most: int) -> Read:
    """Return the facts with at most `most` kernels, groups of each kind, and shapes.

    Values equal those after a round trip, so that an answer and the answer of its link are equal.
    """
    small = replace(read, name=_short(read.name), facts=_facts(read.facts, most))
    return Read.from_data(small.as_data())


def _facts(facts: Facts, most: int) -> Facts:
    if isinstance(facts, TraceFacts):
        return _trace(facts, most)
    if isinstance(facts, ComputeFacts):
        return _compute(facts, most)
    return _traffic(facts, most)


def _trace(facts: TraceFacts, most: int) -> TraceFacts:
    kernels = tuple(_kernel(kernel) for kernel in facts.kernels[:most])
    return replace(
        facts,
        kernels=kernels,
        kernels_left_out=facts.kernels_left_out + len(facts.kernels) - len(kernels),
        families=_groups(facts.families, most),
        ranges=_groups(facts.ranges, most // 3),
        modules=_groups(facts.modules, most // 3),
        patterns=(),
        steps=(),
        timeline=None,
        devices=facts.devices[:2],
        warnings=tuple(text[:200] for text in facts.warnings[:3]),
    )


def _kernel(kernel: KernelTime) -> KernelTime:
    return replace(kernel, name=_short(kernel.name))


def _groups(groups: tuple[G, ...], most: int) -> tuple[G, ...]:
    """Return the largest groups, each with its longest kernels under their shortened names."""
    return tuple(
        replace(
            group,
            name=_short(group.name),
            kernels=tuple(dict.fromkeys(_short(name) for name in group.kernels[: max(1, most)])),
        )
        for group in groups[:most]
    )


def _compute(facts: ComputeFacts, most: int) -> ComputeFacts:
    longest = sorted(facts.kernels, key=lambda kernel: -(kernel.duration_us or 0.0))[:most]
    spared: dict[str, Any] = {"advice": (), "stalls": (), "units": (), "limit": None}
    kernels = tuple(replace(kernel, name=_short(kernel.name), **spared) for kernel in longest)
    left_out = facts.kernels_left_out + len(facts.kernels) - len(kernels)
    warnings = tuple(text[:200] for text in facts.warnings[:3])
    return replace(facts, kernels=kernels, kernels_left_out=left_out, warnings=warnings)


def _traffic(facts: TrafficFacts, most: int) -> TrafficFacts:
    time = facts.curve_of_time
    return replace(
        facts,
        curve_of_calls=_curve(facts.curve_of_calls, most),
        curve_of_time=None if time is None else _curve(time, most),
        models=dict(list(facts.models.items())[:3]),
        shapes=facts.shapes[: most // 3],
        warnings=tuple(text[:200] for text in facts.warnings[:3]),
    )


def _curve(curve: Curve, most: int) -> Curve:
    count = len(curve.shapes)
    first = sum(shapes <= FIRST_POINTS for shapes in curve.shapes)
    # The one at the threshold, some before it, some after it, and the last.
    kept = set(range(0, first, max(1, first // most))) | {first - 1, count - 1}
    kept |= set(range(first, count, max(1, (count - first) // most)))
    points = sorted(point for point in kept if 0 <= point < count)
    return Curve(
        shapes=tuple(curve.shapes[point] for point in points),
        shares=tuple(curve.shares[point] for point in points),
    )


def _short(name: str) -> str:
    """Return the start of a name, without template arguments at its end."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def _spared(data: dict[str, Any]) -> dict[str, Any]:
    """Remove texts that can be restored from a name."""
    spared = dict(data)
    if "families" in spared:
        spared["families"] = [group | {"pattern": None} for group in spared["families"]]
        spared["window"] = spared["window"] | {"definition": ""}
    return spared


def _completed(data: dict[str, Any]) -> dict[str, Any]:
    complete = dict(data)
    if "families" in complete:
        complete["families"] = [
            group | {"pattern": families.PATTERNS.get(group["name"])}
            for group in complete["families"]
        ]
        window = complete["window"]
        definition = STEPS if window["kind"] == "steps" else RECORDED
        complete["window"] = window | {"definition": definition}
    return complete
