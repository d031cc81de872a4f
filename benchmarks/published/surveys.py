"""The survey (`twofold.survey/1`): every Solution of an operator on one machine, signed.

It shows the strongest baseline that runs, what does not run and why, and each Solution's share of
the machine's ceilings. The file holds medians; all other figures are computed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.records import observations, schemas, signatures
from benchmarks.records.canonical import canonical, digest, parse_strictly
from benchmarks.records.signatures import SigningKey
from benchmarks.verdict.controls import limits

SCHEMA_NAME = "twofold.survey/1"
MAX_BYTES = 1_000_000

Level = Literal["operator", "program"]

_VERSION = schemas.nullable(schemas.TEXT)
_MICROSECONDS = schemas.nullable(schemas.POSITIVE)
_RESULT = schemas.exactly(
    workload=schemas.TEXT,
    level={"enum": ["operator", "program"]},
    median_us=_MICROSECONDS,
    low_us=_MICROSECONDS,
    high_us=_MICROSECONDS,
    note={"type": "string"},
)
_SOLUTION = schemas.exactly(
    name=schemas.TEXT,
    role=schemas.SIDE,
    title={"type": "string"},
    package={"type": "string"},
    source_digest=schemas.nullable(schemas.DIGEST),
    results=schemas.listed(_RESULT),
)
_WORKLOAD = schemas.exactly(
    name=schemas.TEXT,
    axes=schemas.by_name(schemas.COUNT),
    weight=schemas.POSITIVE,
    operator_calls=schemas.POSITIVE_COUNT,
    flops=schemas.NOT_NEGATIVE,
    bytes=schemas.NOT_NEGATIVE,
)
_ENVIRONMENT = schemas.exactly(
    device=schemas.exactly(
        kind=schemas.DEVICE,
        name=schemas.TEXT,
        memory_bytes=schemas.POSITIVE_COUNT,
        cache_bytes=schemas.nullable(schemas.POSITIVE_COUNT),
    ),
    ceilings=observations.CEILINGS,
    python=schemas.TEXT,
    platform=schemas.TEXT,
    cpu=schemas.TEXT,
    cores=schemas.POSITIVE_COUNT,
    torch=schemas.TEXT,
    triton=_VERSION,
    cuda=_VERSION,
    driver=_VERSION,
    packages=schemas.by_name({"type": "string"}),
)
SCHEMA = schemas.exactly(
    schema={"const": SCHEMA_NAME},
    operator=schemas.TEXT,
    preset=schemas.TEXT,
    dtype=schemas.TEXT,
    launch={"enum": ["eager", "graph"]},
    sources=schemas.by_name(schemas.DIGEST),
    workloads=schemas.listed(_WORKLOAD, at_least=1),
    solutions=schemas.listed(_SOLUTION, at_least=1),
    environment=_ENVIRONMENT,
    command=schemas.TEXT,
    started_at=schemas.TEXT,
    finished_at=schemas.TEXT,
    elapsed_s=schemas.NOT_NEGATIVE,
    digest=schemas.DIGEST,
    signature=schemas.nullable(signatures.SCHEMA),
)


class SurveyError(ValueError):
    """A survey cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A Solution's figures, weighted over all workloads; None unless measured on each.

    `why` explains a missing time. `roofline_share` is the operator's least time by the measured
    ceilings, over its time alone.
    """

    name: str
    role: Literal["baseline", "candidate"]
    title: str
    package: str
    operator_us: float | None
    program_us: float | None
    roofline_share: float | None
    why: str | None


def load(content: bytes) -> dict[str, Any]:
    """Parse a survey and check its schema and digest. Raises SurveyError."""
    if len(content) > MAX_BYTES:
        raise SurveyError(f"the survey is larger than {MAX_BYTES:,} bytes")
    try:
        survey = parse_strictly(content)
    except (ValueError, RecursionError) as error:
        raise SurveyError(f"the survey is not valid JSON: {error}") from error
    broken = schemas.violation(survey, SCHEMA) or _contradiction(survey)
    if broken:
        raise SurveyError(f"survey {broken}")
    assert isinstance(survey, dict)
    try:
        unchanged = _digest(survey) == survey["digest"]
    except ValueError as error:
        raise SurveyError(f"survey: {error}") from error
    if not unchanged:
        raise SurveyError("survey digest: changed after it was sealed")
    return survey


def _contradiction(survey: Mapping[str, Any]) -> str | None:
    """A contradiction that prevents computing the figures; None without one."""
    workloads = [load["name"] for load in survey["workloads"]]
    solutions = [one["name"] for one in survey["solutions"]]
    for part, names in (("workloads", workloads), ("solutions", solutions)):
        if len(set(names)) != len(names):
            return f"$.{part}: a name is repeated"
    for index, one in enumerate(survey["solutions"]):
        tried = [(result["workload"], result["level"]) for result in one["results"]]
        strangers = {workload for workload, _ in tried} - set(workloads)
        if strangers or len(set(tried)) != len(tried):
            return f"$.solutions[{index}].results: a workload is unknown or repeated"
    if not survey["environment"]["ceilings"]["matmul_flops_per_s"]:
        return "$.environment.ceilings.matmul_flops_per_s: empty"
    return None


def serialize(draft: Mapping[str, Any], key: SigningKey | None) -> bytes:
    """The bytes of a survey's file: sealed by its digest, signed if there is a key."""
    sealed = {**draft, "digest": _digest(draft)}
    broken = schemas.violation({**sealed, "signature": None}, SCHEMA)
    if broken:
        raise SurveyError(f"survey {broken}")
    return signatures.sign(sealed, key)


def _digest(survey: Mapping[str, Any]) -> str:
    body = {name: value for name, value in survey.items() if name not in ("digest", "signature")}
    return digest(json.loads(canonical(body)))


def figures(survey: Mapping[str, Any]) -> list[Figures]:
    """Every Solution's figures, in the survey's order."""
    return [_figures(survey, solution) for solution in survey["solutions"]]


def strongest_baseline(survey: Mapping[str, Any]) -> Figures | None:
    """The fastest baseline in the Program, or alone if none ran in it; None if none ran."""
    ran = [one for one in figures(survey) if one.role == "baseline"]
    for level in ("program_us", "operator_us"):
        timed = [one for one in ran if getattr(one, level) is not None]
        if timed:
            return min(timed, key=lambda one: float(getattr(one, level)))
    return None


def floor_us(survey: Mapping[str, Any], workload: Mapping[str, Any]) -> float:
    """The least time of one operator call by the measured ceilings, in us."""
    ceilings = survey["environment"]["ceilings"]
    moving = workload["bytes"] / ceilings["copy_bytes_per_s"]
    counting = workload["flops"] / limits.floats_per_s(ceilings)
    return float(max(moving, counting) * 1e6)


def results(
    survey: Mapping[str, Any], name: str, level: Level
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Workload and result of a Solution at that level, where it was tried."""
    [solution] = [one for one in survey["solutions"] if one["name"] == name]
    by_name = {load["name"]: load for load in survey["workloads"]}
    for result in solution["results"]:
        if result["level"] == level:
            yield by_name[result["workload"]], result


def _figures(survey: Mapping[str, Any], solution: Mapping[str, Any]) -> Figures:
    alone = _weighted_us(survey, solution["name"], "operator")
    floor = sum(load["weight"] * floor_us(survey, load) for load in survey["workloads"])
    failed = [one["note"] for one in solution["results"] if one["median_us"] is None]
    return Figures(
        name=solution["name"],
        role=solution["role"],
        title=solution["title"],
        package=solution["package"],
        operator_us=alone,
        program_us=_weighted_us(survey, solution["name"], "program"),
        roofline_share=None if alone is None else floor / alone,
        why=failed[0] if failed else None,
    )


def _weighted_us(survey: Mapping[str, Any], name: str, level: Level) -> float | None:
    """The weighted total of the workloads' medians; None unless all were measured."""
    found = [(load["weight"], result["median_us"]) for load, result in results(survey, name, level)]
    if len(found) < len(survey["workloads"]) or any(us is None for _, us in found):
        return None
    return float(sum(weight * us for weight, us in found))
