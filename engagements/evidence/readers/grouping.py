"""Device time by kernel, family, range, module and pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from engagements.common.errors import ApplicationError
from engagements.evidence.readers import attribution, families, limits, recording
from engagements.evidence.readers.arrays import Integers, rows_by
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.facts import GroupKind, GroupTime, KernelTime
from engagements.evidence.readers.patterns import found_in
from engagements.evidence.readers.profile import Profile

GROUPED_KERNELS = 20


def kernels_of(profile: Profile, by_name: Mapping[int, Integers]) -> list[KernelTime]:
    """Return device time by kernel name, the longest first."""
    texts = profile.recorded.names.texts
    kernels = []
    for number, rows in by_name.items():
        time = profile.time(rows)
        kernels.append(
            KernelTime(
                name=texts[number],
                family=families.family(texts[number]),
                mean_us=time["gpu_ms"] * 1e3 / len(rows),
                **time,
            )
        )
    return sorted(kernels, key=lambda kernel: (-kernel.gpu_ms, kernel.name))


def _group(
    profile: Profile, kind: GroupKind, name: str, rows: Integers, pattern: str | None = None
) -> GroupTime:
    texts = profile.recorded.names.texts
    lengths = np.bincount(profile.names[rows], profile.ends[rows] - profile.starts[rows])
    longest = [int(number) for number in np.argsort(-lengths)[:GROUPED_KERNELS] if lengths[number]]
    return GroupTime(
        kind=kind,
        name=name,
        pattern=pattern,
        kernels=tuple(texts[number] for number in longest),
        **profile.time(rows),
    )


def _sorted(groups: Iterable[GroupTime]) -> tuple[GroupTime, ...]:
    ordered = sorted(groups, key=lambda group: (-group.busy_ms, group.name))
    return tuple(ordered[: limits.LISTED_GROUPS])


def family_rows(profile: Profile, by_name: Mapping[int, Integers]) -> dict[str, Integers]:
    """Return rows by family; copies and memsets are separate families."""
    texts = profile.recorded.names.texts
    parts: dict[str, list[Integers]] = {}
    for number, rows in by_name.items():
        parts.setdefault(families.family(texts[number]), []).append(rows)
    for name, kind in ((families.COPY, recording.COPY), (families.MEMSET, recording.MEMSET)):
        rows = np.flatnonzero(profile.inside & (profile.kinds == kind))
        if len(rows):
            parts[name] = [rows]
    return {name: np.concatenate(each) for name, each in parts.items()}


def families_of(profile: Profile, by_name: Mapping[int, Integers]) -> tuple[GroupTime, ...]:
    """Return device time by kernel family."""
    return _sorted(
        _group(profile, "family", name, rows, families.PATTERNS.get(name))
        for name, rows in family_rows(profile, by_name).items()
    )


def patterns_of(
    profile: Profile, by_name: Mapping[int, Integers], patterns: Mapping[str, str]
) -> tuple[GroupTime, ...]:
    """Return device time of the kernels that match each of `patterns`."""
    texts = profile.recorded.names.texts
    groups = []
    for name, pattern in patterns.items():
        try:
            names = found_in((texts[number] for number in by_name), pattern)
        except ApplicationError as error:
            raise EvidenceError(error.message, code=error.code) from error
        found = [rows for number, rows in by_name.items() if texts[number] in names]
        rows = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        groups.append(_group(profile, "pattern", name, rows, pattern))
    return tuple(groups)


def ranges_of(profile: Profile) -> tuple[tuple[GroupTime, ...], tuple[GroupTime, ...]]:
    """Return device time by annotated ranges and modules around the launches."""
    recorded = profile.recorded
    attributed = attribution.attribute(recorded.calls, recorded.ranges)
    if not attributed.is_complete:
        recorded.warn("The profile has too many nestings of ranges; some are left out.")
    rows = np.flatnonzero(profile.inside & (profile.call >= 0))
    stacks = attributed.stack_of_call[profile.call[rows]]
    parts: dict[int, list[Integers]] = {}
    for stack, members in rows_by(stacks, np.arange(len(rows))).items():
        for name in attributed.stacks[stack]:
            parts.setdefault(name, []).append(rows[members])
    kinds = dict(zip(recorded.ranges.names, recorded.ranges.kinds, strict=True))
    groups: dict[int, list[GroupTime]] = {recording.ANNOTATION: [], recording.MODULE: []}
    for name, found in parts.items():
        kind: GroupKind = "module" if kinds[name] == recording.MODULE else "range"
        text = recorded.names.texts[name]
        groups[kinds[name]].append(_group(profile, kind, text, np.concatenate(found)))
    return _sorted(groups[recording.ANNOTATION]), _sorted(groups[recording.MODULE])
