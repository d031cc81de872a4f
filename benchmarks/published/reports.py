"""Read the committed measurements. Needs no torch and no GPU.

A record is the referee's run of a preset; the survey beside it covers every Solution of the
operator. All figures come from signed files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.published import committed, surveys
from benchmarks.published.committed import CATALOGUE, Signature
from benchmarks.published.surveys import Figures
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.signatures import PublicKey
from benchmarks.verdict.controls import limits
from kernels import catalogue


@dataclass(frozen=True, kw_only=True)
class Report:
    """The figures of a committed record and the survey beside it; None where not measured.

    `roofline_share` and `operator_ratio` are of the operator alone, weighted over the workloads.
    `considered` are the survey's baselines; `against_strongest` is the time of the strongest in the
    Program over the candidate's, by the survey's medians. `current`: the candidate and the
    operator's code are those that were measured.
    """

    operator: str
    name: str
    preset: str
    device: str
    dtype: str
    candidate: str
    baseline: str
    verdict: str
    reasons: list[str]
    target: float
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    operator_ratio: float | None
    roofline_share: float | None
    considered: list[Figures]
    strongest: str | None
    against_strongest: float | None
    signature: Signature
    survey_signature: Signature | None
    current: bool
    command: str
    measured_at: str
    record: Mapping[str, Any] = field(repr=False)
    survey: Mapping[str, Any] | None = field(repr=False)

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data: the figures without their files."""
        data = {
            name: value
            for name, value in vars(self).items()
            if name not in ("record", "survey", "considered", "signature", "survey_signature")
        }
        return {
            **data,
            "baselines_considered": [
                {
                    "name": one.name,
                    "package": one.package,
                    "operator_us": one.operator_us,
                    "program_us": one.program_us,
                    "why": one.why,
                }
                for one in self.considered
            ],
            "signature_valid": self.signature.valid,
            "signature": asdict(self.signature),
            "survey_signature": self.survey_signature and asdict(self.survey_signature),
        }


def reports(folder: Path = CATALOGUE, operators: Sequence[str] | None = None) -> list[Report]:
    """The committed records of these operators, by default of all.

    Raises RecordError or SurveyError.
    """
    chosen = catalogue.operators() if operators is None else operators
    return [report for operator in chosen for report in of(operator, folder)]


def of(operator: str, folder: Path = CATALOGUE) -> list[Report]:
    """The committed records of one operator, the preset's own first."""
    keys = committed.known_keys(folder)
    return [
        _report(operator, name, file, folder, keys)
        for name, file in committed.record_files(operator, folder)
    ]


def _report(
    operator: str, name: str, file: Path, folder: Path, keys: Mapping[str, PublicKey]
) -> Report:
    content = committed.content_of(file)
    record = committed.record_in(file)
    benchmark, summary = record["benchmark"], record["summary"]
    preset = benchmark["name"].partition("/")[2].partition(" against ")[0]
    found = committed.survey_file(operator, preset, folder)
    survey = None if found is None else committed.survey_in(found)
    figures = surveys.figures(survey) if survey else []
    strongest = surveys.strongest_baseline(survey) if survey else None
    candidate = record["candidate"]["name"].partition("/")[2] or record["candidate"]["name"]
    return Report(
        operator=operator,
        name=name,
        preset=preset,
        device=record["environment"]["device"]["name"],
        dtype=benchmark["dtype"],
        candidate=candidate,
        baseline=benchmark["baseline"]["name"],
        verdict=summary["verdict"],
        reasons=list(summary["reasons"]),
        target=summary["target"],
        ratio=summary["ratio"],
        low=summary["low"],
        high=summary["high"],
        confidence=summary["confidence"],
        operator_ratio=_operator_ratio(record),
        roofline_share=_roofline_share(record),
        considered=[one for one in figures if one.role == "baseline"],
        strongest=None if strongest is None else strongest.name,
        against_strongest=_against(strongest, figures, candidate),
        signature=committed.signature_of(content, keys),
        survey_signature=None
        if found is None
        else committed.signature_of(found.read_bytes(), keys),
        current=_is_current(operator, candidate, record),
        command=f"python -m kernels measure {operator} --preset {preset}",
        measured_at=record["finished_at"],
        record=record,
        survey=survey,
    )


def _weighted(record: Mapping[str, Any]) -> list[tuple[float, Mapping[str, Any]]]:
    """The operator alone by workload, with its weight; empty where not measured."""
    weights = {load["name"]: load["weight"] for load in record["benchmark"]["workloads"]}
    entries = (record["operator"] or {"workloads": []})["workloads"]
    return [(weights[entry["name"]], entry) for entry in entries]


def _operator_ratio(record: Mapping[str, Any]) -> float | None:
    baseline_us, candidate_us = (
        sum(weight * entry[side] for weight, entry in _weighted(record))
        for side in ("baseline_us", "candidate_us")
    )
    return baseline_us / candidate_us if candidate_us else None


def _roofline_share(record: Mapping[str, Any]) -> float | None:
    """The operator's least time by the measured ceilings, over the candidate's."""
    ceilings = record["environment"]["ceilings"]
    entries = _weighted(record)
    if ceilings is None or not entries or any(one["bytes"] is None for _, one in entries):
        return None
    least_s = sum(
        weight
        * max(
            entry["bytes"] / ceilings["copy_bytes_per_s"],
            entry["flops"] / limits.floats_per_s(ceilings),
        )
        for weight, entry in entries
    )
    took_us = sum(weight * entry["candidate_us"] for weight, entry in entries)
    return float(least_s * 1e6 / took_us)


def _against(strongest: Figures | None, figures: Sequence[Figures], candidate: str) -> float | None:
    ours = next((one for one in figures if one.name == candidate), None)
    if strongest is None or ours is None or not strongest.program_us or not ours.program_us:
        return None
    return strongest.program_us / ours.program_us


def _is_current(operator: str, candidate: str, record: Mapping[str, Any]) -> bool:
    file = catalogue.candidates(operator).get(candidate)
    if file is None or digest_of_bytes(file.read_bytes()) != record["candidate"]["source_digest"]:
        return False
    return catalogue.source_digests(operator) == dict(record["benchmark"]["sources"])
