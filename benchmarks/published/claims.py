"""Check published claims against committed records: `python -m kernels claims [--json]`.

The claims are data (kernels/claims/claims.toml). Verdicts follow from signed records, or, for
claims that one Solution is faster than another, from signed surveys:

- *holds*: for every record of the operator, over its whole interval;
- *holds under conditions*: for the named records or workloads only, for example where one of two
  Solutions does not support all workloads;
- *does not hold*: for none;
- *not measured*: there is no record or survey with a valid signature.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.published import reports, surveys
from benchmarks.published.committed import CATALOGUE
from benchmarks.published.reports import Report
from kernels.definition import NOT_AVAILABLE

FILE = CATALOGUE / "claims" / "claims.toml"

Verdict = Literal["holds", "holds under conditions", "does not hold", "not measured"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A quotation from a source and the figure that tests it; `operator` is "" without one.

    `faster` and `slower` are Solutions to compare; "" compares the candidate and the baseline of
    each record.
    """

    source: str
    author: str
    says: str
    about: str
    operator: str
    figure: Literal["program", "operator"]
    holds: Literal["at_least", "at_most"]
    ratio: float
    faster: str = ""
    slower: str = ""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim with its verdict, the measured ratios, and where it holds."""

    claim: Claim
    verdict: Verdict
    measured: list[str]
    where: list[str]


@dataclass(frozen=True, kw_only=True)
class _Point:
    """A measured ratio; without an interval, its bounds are the ratio itself.

    `everywhere`: it covers all workloads, not only those that both sides support. `source` is the
    name of the record or the digest of the survey.
    """

    name: str
    ratio: float
    low: float
    high: float
    everywhere: bool = True
    source: str = ""

    def words(self) -> str:
        spread = "" if self.low == self.high else f" ({self.low:.2f} to {self.high:.2f})"
        return f"{self.name}: {self.ratio:.2f}x{spread}"


def claims(file: Path = FILE) -> list[Claim]:
    """Every claim, in the file's order."""
    data = tomllib.loads(file.read_text())
    sources = data["sources"]
    return [
        Claim(
            **{
                **entry,
                "source": sources[entry["source"]]["title"],
                "author": sources[entry["source"]]["author"],
            }
        )
        for entry in data["claims"]
    ]


def judged(claim: Claim, found: Sequence[Report]) -> Judged:
    """Judge a claim by the records or surveys of its operator with a valid signature."""
    mine = [one for one in found if one.operator == claim.operator]
    if claim.faster:
        wholes, parts = _of_surveys(claim, mine)
    else:
        wholes, parts = _of_records(claim, mine)
    where = _conditions(claim, wholes, parts)
    verdict: Verdict = "does not hold"
    if not wholes:
        verdict = "not measured"
    elif all(point.everywhere and _stands(claim, point) for point in wholes):
        verdict = "holds"
    elif where:
        verdict = "holds under conditions"
    return Judged(
        claim=claim, verdict=verdict, measured=[point.words() for point in wholes], where=where
    )


def _conditions(claim: Claim, wholes: list[_Point], parts: list[_Point]) -> list[str]:
    """The records for which the claim holds, and the workloads of the others for which it does."""
    held = [point for point in wholes if _stands(claim, point)]
    sources = {point.source for point in held}
    held += [p for p in parts if p.source not in sources and _stands(claim, p)]
    return [point.name for point in held]


def _stands(claim: Claim, point: _Point) -> bool:
    if claim.holds == "at_least":
        return point.low >= claim.ratio
    return point.high <= claim.ratio


def _of_records(claim: Claim, found: Sequence[Report]) -> tuple[list[_Point], list[_Point]]:
    """The ratios of the records, and of their workloads."""
    records = [one for one in found if one.signature.valid and one.ratio]
    return (
        [point for one in records for point in _whole(claim, one)],
        [point for one in records for point in _by_workload(claim, one)],
    )


def _of_surveys(claim: Claim, found: Sequence[Report]) -> tuple[list[_Point], list[_Point]]:
    """One Solution over another in every survey: all workloads together, and each alone."""
    wholes: dict[str, _Point] = {}
    parts: dict[tuple[str, str], _Point] = {}
    for one in found:
        if one.survey is None or one.survey_signature is None or not one.survey_signature.valid:
            continue
        names = {solution["name"] for solution in one.survey["solutions"]}
        if not {claim.faster, claim.slower} <= names:
            continue
        times = _times(claim, one.survey)
        digest, over = one.survey["digest"], f"{claim.faster} over {claim.slower}"
        for name, pair in times.items():
            part = _over(f"{name}, {over}", [pair])
            parts[digest, name] = replace(part, source=digest)
        offered, all_of_them = _offered(claim, one.survey), len(one.survey["workloads"])
        if times and len(times) == offered:
            limited = "" if offered == all_of_them else f", {offered} of {all_of_them} workloads"
            whole = _over(f"{over}, {one.device}{limited}", list(times.values()))
            wholes[digest] = replace(whole, everywhere=not limited, source=digest)
    return list(wholes.values()), list(parts.values())


def _offered(claim: Claim, survey: Mapping[str, Any]) -> int:
    """The number of workloads that both Solutions support."""
    unfit = {
        load["name"]
        for name in (claim.faster, claim.slower)
        for load, result in surveys.results(survey, name, claim.figure)
        if result["note"].startswith(NOT_AVAILABLE)
    }
    return len(survey["workloads"]) - len(unfit)


_Times = tuple[float, Mapping[str, float], Mapping[str, float]]


def _times(claim: Claim, survey: Mapping[str, Any]) -> dict[str, _Times]:
    """Weight and both Solutions' times by workload, where both were measured."""
    quick, slow = (
        {load["name"]: (load["weight"], result) for load, result in of}
        for of in (
            surveys.results(survey, claim.faster, claim.figure),
            surveys.results(survey, claim.slower, claim.figure),
        )
    )
    return {
        name: (weight, result, slow[name][1])
        for name, (weight, result) in quick.items()
        if name in slow and result["median_us"] and slow[name][1]["median_us"]
    }


def _over(name: str, times: Sequence[_Times]) -> _Point:
    """The slower's time over the faster's, with worst-case bounds."""

    def total(side: int, bound: str) -> float:
        return sum(
            weight * (pair[side][bound] or pair[side]["median_us"]) for weight, *pair in times
        )

    return _Point(
        name=name,
        ratio=total(1, "median_us") / total(0, "median_us"),
        low=total(1, "low_us") / total(0, "high_us"),
        high=total(1, "high_us") / total(0, "low_us"),
    )


def _whole(claim: Claim, one: Report) -> Iterator[_Point]:
    """The record's ratio over all workloads."""
    name = f"{one.candidate} over {one.baseline}, {one.device}"
    if claim.figure == "operator" and one.operator_ratio is not None:
        ratio = one.operator_ratio
        yield _Point(name=name, ratio=ratio, low=ratio, high=ratio, source=one.name)
    if claim.figure == "program" and one.ratio and one.low and one.high:
        yield _Point(
            name=name,
            ratio=one.ratio,
            low=one.low,
            high=one.high,
            source=one.name,
        )


def _by_workload(claim: Claim, one: Report) -> Iterator[_Point]:
    alone = (one.record["operator"] or {"workloads": []})["workloads"]
    entries = alone if claim.figure == "operator" else one.record["summary"]["workloads"]
    for entry in entries:
        ratio = entry["ratio"]
        if ratio is not None:
            yield _Point(
                name=f"{entry['name']}, over {one.baseline}",
                ratio=ratio,
                low=entry.get("low") or ratio,
                high=entry.get("high") or ratio,
                source=one.name,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every claim with its verdict."""
    parser = argparse.ArgumentParser(prog="python -m kernels claims")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path, default=CATALOGUE)
    asked = parser.parse_args(arguments)
    found = reports.reports(asked.folder)
    answers = [judged(claim, found) for claim in claims()]
    if asked.json:
        print(json.dumps([asdict(one) for one in answers], indent=1))
        return 0
    for one in answers:
        print(f"{one.verdict}: {one.claim.about}: “{one.claim.says}”")
        for line in one.measured:
            print(f"    {line}")
        if one.verdict == "holds under conditions":
            print(f"    where: {'; '.join(one.where)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
