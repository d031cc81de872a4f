"""Recompute what a record claims: seal a draft, find contradictions in a record. No torch."""

import math
from collections.abc import Mapping
from typing import Any

from benchmarks.records.canonical import digest, digest_of_bytes
from benchmarks.records.records import digest_of
from benchmarks.verdict import operator_alone, verdicts

# Sums of doubles may differ in their last bits between processors; a verdict may not.
_RELATIVE_TOLERANCE = 1e-9
# Records are untrusted input of any size.
_MOST_DIFFERENCES, _MOST_LETTERS = 20, 500


def seal(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with its derived parts recomputed and its digest set."""
    with_summary = {**record, **_following(record)}
    return {**with_summary, "digest": digest_of(with_summary), "signature": None}


def problems(record: Mapping[str, Any]) -> list[str]:
    """The contradictions in a record; empty for a consistent one."""
    found = []
    if digest_of(record) != record["digest"]:
        found.append("digest: the record was changed after it was sealed")
    if digest(record["benchmark"]) != record["benchmark_digest"]:
        found.append("benchmark_digest: not the digest of the benchmark inside")
    candidate = record["candidate"]
    for part in ("source", "output"):
        text = candidate.get(part)
        if text is not None and digest_of_bytes(text.encode()) != candidate.get(f"{part}_digest"):
            found.append(f"candidate.{part}_digest: not the digest of the {part} inside")
    loaded, operator = record.get("provenance"), record["benchmark"]["operator"]
    if loaded is not None:
        found += [
            f"provenance.sources: {name} is not the sealed one"
            for name, sealed in record["benchmark"]["sources"].items()
            if loaded["sources"].get(f"{operator}/{name}") != sealed
        ]
    try:
        following = _following(record)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        return [*found, f"nothing follows from what the record holds: {error!r}"]
    found += [d for name, is_ in following.items() for d in _differences(name, record[name], is_)]
    return found[:_MOST_DIFFERENCES]


def _following(record: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a record that follow from its samples and observations."""
    summary = verdicts.recompute(record)
    believed = summary.ratio is not None
    return {
        "summary": summary.as_data(),
        "controls": verdicts.controls_of(record),
        "operator": operator_alone.summarize(record) if believed else None,
    }


def _differences(path: str, said: Any, is_: Any) -> list[str]:
    if isinstance(said, dict) and isinstance(is_, dict) and said.keys() == is_.keys():
        return [d for key in said for d in _differences(f"{path}.{key}", said[key], is_[key])]
    if isinstance(said, list) and isinstance(is_, list) and len(said) == len(is_):
        pairs = enumerate(zip(said, is_, strict=True))
        return [d for i, (a, b) in pairs for d in _differences(f"{path}[{i}]", a, b)]
    if isinstance(said, int | float) and isinstance(is_, int | float):
        same = math.isclose(said, is_, rel_tol=_RELATIVE_TOLERANCE)
    else:
        same = said == is_
    shown = [f"{value!r:.{_MOST_LETTERS}}" for value in (said, is_)]
    return [] if same else [f"{path}: says {shown[0]}, the samples give {shown[1]}"]
