"""What the field claims, held against committed records: `python -m kernels claims [--json]`.

The claims are data (kernels/claims/claims.toml). A verdict follows from signed records alone:

- *holds*: every record of the operator does, over its whole interval;
- *holds under conditions*: some records or workloads do, which are named;
- *does not hold*: none does;
- *not measured*: there is no record whose signature holds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from benchmarks.harness import reports
from benchmarks.harness.committed import CATALOGUE
from benchmarks.harness.reports import Report

FILE = CATALOGUE / "claims" / "claims.toml"

Verdict = Literal["holds", "holds under conditions", "does not hold", "not measured"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of a source, and the figure that tests it; `operator` is "" where none does."""

    source: str
    author: str
    says: str
    about: str
    operator: str
    figure: Literal["program", "operator"]
    holds: Literal["at_least", "at_most"]
    ratio: float


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim with its verdict; `measured` says on what and how much, `where` where it holds."""

    claim: Claim
    verdict: Verdict
    measured: list[str]
    where: list[str]


@dataclass(frozen=True, kw_only=True)
class _Point:
    """One measured ratio; without an interval its bounds are itself."""

    name: str
    ratio: float
    low: float
    high: float

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
    """The claim against the records of its operator whose signature holds."""
    records = [
        one for one in found if one.operator == claim.operator and one.signature.valid and one.ratio
    ]
    wholes = [point for one in records for point in _whole(claim, one)]
    points = wholes + [point for one in records for point in _by_workload(claim, one)]
    where = [point.name for point in points if _stands(claim, point)]
    verdict: Verdict = "does not hold"
    if not wholes:
        verdict = "not measured"
    elif all(_stands(claim, point) for point in wholes):
        verdict = "holds"
    elif where:
        verdict = "holds under conditions"
    return Judged(
        claim=claim, verdict=verdict, measured=[point.words() for point in wholes], where=where
    )


def _stands(claim: Claim, point: _Point) -> bool:
    if claim.holds == "at_least":
        return point.low >= claim.ratio
    return point.high <= claim.ratio


def _whole(claim: Claim, one: Report) -> Iterator[_Point]:
    """The record's own ratio, all workloads together."""
    name = f"{one.candidate} over {one.baseline}, {one.device}"
    if claim.figure == "operator" and one.operator_ratio is not None:
        ratio = one.operator_ratio
        yield _Point(name=name, ratio=ratio, low=ratio, high=ratio)
    if claim.figure == "program" and one.ratio and one.low and one.high:
        yield _Point(name=name, ratio=one.ratio, low=one.low, high=one.high)


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
