"""Data of the catalogue pages: records, surveys, claims and library coverage.

All data are files in `kernels/`: signed records and surveys, READMEs. None belongs to a customer.
Files are reread when one changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.published import claims, committed, reports, surveys
from benchmarks.published.claims import Judged
from benchmarks.published.committed import Signature
from benchmarks.published.reports import Report
from benchmarks.published.surveys import Figures
from benchmarks.records import records, signatures
from benchmarks.records.signatures import KeyUnusable
from benchmarks.verdict import consistency
from kernels import catalogue, coverage
from kernels.coverage import Library
from kernels.definition import Definition, Preset

# Records are beside their operators; the keys of their signers are in keys/.
FOLDER = committed.CATALOGUE

_LARGEST_FIRST = ("ratio", "alone", "roofline")
_COLUMNS: Mapping[str, Callable[[Report], Any]] = {
    "verdict": lambda report: report.verdict,
    "ratio": lambda report: report.ratio,
    "alone": lambda report: report.operator_ratio,
    "roofline": lambda report: report.roofline_share,
    "baseline": lambda report: report.baseline,
}

_BROKEN = (records.RecordError, surveys.SurveyError, KeyUnusable)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A committed record; `problems` are its inconsistencies."""

    report: Report
    problems: tuple[str, ...]
    file: Path

    @property
    def holds(self) -> bool:
        """Whether a known key signed it, it is unchanged, and its verdict follows."""
        return self.report.signature.valid and not self.problems

    @property
    def measured_at(self) -> datetime:
        """When the run ended."""
        return datetime.fromisoformat(self.report.measured_at)

    @property
    def source(self) -> str:
        """The kernel's source as measured."""
        return str(self.report.record["candidate"]["source"])

    @property
    def workloads(self) -> list[Mapping[str, Any]]:
        """The end-to-end ratios by workload, as the record has them."""
        return list(self.report.record["summary"]["workloads"])


@dataclass(frozen=True, kw_only=True)
class Survey:
    """A committed survey: all Solutions of the operator on one device."""

    preset: str
    device: str
    figures: tuple[Figures, ...]
    signature: Signature

    def quickest(self, role: str) -> Figures | None:
        """Return the fastest baseline or candidate in the step, or alone; None when none was "
        "timed."""
        return next((one for one in self.timed if one.role == role), None)

    @property
    def timed(self) -> list[Figures]:
        """Solutions with a time, fastest first."""
        return [one for one in self.figures if _took(one)]

    @property
    def untimed(self) -> dict[str, list[str]]:
        """Names of the other Solutions by reason."""
        found: dict[str, list[str]] = {}
        for one in self.figures:
            if not _took(one):
                found.setdefault(one.why or "", []).append(one.name)
        return found

    @property
    def ours(self) -> Figures | None:
        """Our fastest kernel."""
        return self.quickest("candidate")

    @property
    def strongest(self) -> Figures | None:
        """The strongest baseline that ran."""
        return self.quickest("baseline")

    @property
    def operator_ratio(self) -> float | None:
        """Ratio of medians: the strongest baseline's time alone over our fastest kernel's."""
        if self.ours is None or self.strongest is None:
            return None
        ours_us, theirs_us = self.ours.operator_us, self.strongest.operator_us
        return theirs_us / ours_us if ours_us and theirs_us else None


@dataclass(frozen=True, kw_only=True)
class OperatorSummary:
    """An operator of the catalogue; `problem` is set when its records are unreadable."""

    operator: str
    definition: Definition
    measured: tuple[Measured, ...]
    surveys: tuple[Survey, ...]
    problem: str | None

    @property
    def first(self) -> Measured | None:
        """The record over the strongest baseline; None when not measured."""
        return self.measured[0] if self.measured else None

    @property
    def surveyed(self) -> Survey | None:
        """The first validly signed survey, if the operator has no record. It has no verdict."""
        valid = (survey for survey in self.surveys if survey.signature.valid and survey.ours)
        return None if self.measured else next(valid, None)


@dataclass(frozen=True, kw_only=True)
class Page:
    """Data of an operator's page."""

    entry: OperatorSummary
    readme: str
    presets: Mapping[str, Preset]
    candidates: tuple[str, ...]
    baselines: tuple[tuple[str, str, str], ...]
    libraries: tuple[Library, ...]


def entries() -> tuple[OperatorSummary, ...]:
    """Return every operator, by name."""
    return _entries(FOLDER, _stamp(FOLDER))


def judged() -> list[Judged]:
    """Return every claim with its verdict, computed from signed records."""
    found = [one.report for entry in entries() for one in entry.measured if one.holds]
    return [claims.judged(claim, found) for claim in claims.claims()]


def sound() -> list[Report]:
    """Return the valid records: signed by a known key, unchanged, consistent."""
    return [one.report for entry in entries() for one in entry.measured if one.holds]


def libraries() -> tuple[Library, ...]:
    """Return the documented coverage of off-the-shelf libraries."""
    return coverage.libraries()


def page(operator: str) -> Page | None:
    """Return the page of an operator; None without one of that name."""
    entry = next((one for one in entries() if one.operator == operator), None)
    if entry is None:
        return None
    return Page(
        entry=entry,
        readme=(committed.CATALOGUE / operator / "README.md").read_text(),
        presets=catalogue.presets(operator),
        candidates=tuple(path.name for path in catalogue.candidates(operator).values()),
        baselines=tuple(
            (one.name, one.package, one.title) for one in catalogue.baselines(operator).values()
        ),
        libraries=tuple(one for one in coverage.libraries() if operator in one.operators),
    )


def measured(operator: str, name: str) -> Measured | None:
    """Return a record by operator and name, or None."""
    found = page(operator)
    known = found.entry.measured if found else ()
    return next((one for one in known if one.report.name == name), None)


def content(one: Measured) -> bytes:
    """Return the record's JSON as signed."""
    return committed.content_of(one.file)


def public_key(key_id: str) -> bytes | None:
    """Return the public key of a signer of committed records, as PEM."""
    files = (FOLDER / "keys").glob("*.pub")
    pems = (file.read_bytes() for file in files)
    return next((pem for pem in pems if signatures.public_key(pem).id == key_id), None)


def stamp() -> str:
    """Return a stamp of all committed files, for ETags."""
    return hashlib.sha256(repr(_stamp(FOLDER)).encode()).hexdigest()


def _stamp(folder: Path) -> tuple[tuple[str, int], ...]:
    files = [*folder.glob("*/records/*.json*"), *folder.glob("keys/*.pub")]
    return tuple((str(file), file.stat().st_mtime_ns) for file in sorted(files))


@lru_cache(maxsize=4)
def _entries(folder: Path, stamp: tuple[tuple[str, int], ...]) -> tuple[OperatorSummary, ...]:
    return tuple(_entry(operator, folder) for operator in catalogue.operators())


def _entry(operator: str, folder: Path) -> OperatorSummary:
    problem: str | None = None
    found: tuple[Measured, ...] = ()
    surveyed: tuple[Survey, ...] = ()
    try:
        found, surveyed = _records(operator, folder), _surveys(operator, folder)
    except _BROKEN as error:
        problem = str(error)
    return OperatorSummary(
        operator=operator,
        definition=catalogue.definition(operator),
        measured=found,
        surveys=surveyed,
        problem=problem,
    )


def in_order(entries: Sequence[OperatorSummary], sort: str) -> list[OperatorSummary]:
    """Sort operators by a column: figures largest first, texts A to Z, unmeasured last.

    An unknown column leaves the order by name.
    """
    if sort not in _COLUMNS:
        return list(entries)
    column = _COLUMNS[sort]
    measured = [one for one in entries if one.first and column(one.first.report) is not None]
    others = [one for one in entries if one not in measured]
    measured.sort(
        key=lambda one: column(one.first.report) if one.first else 0,
        reverse=sort in _LARGEST_FIRST,
    )
    return measured + others


def _records(operator: str, folder: Path) -> tuple[Measured, ...]:
    """The records of an operator, that over the strongest baseline first."""
    files = dict(committed.record_files(operator, folder))
    found = (
        Measured(
            report=report,
            problems=tuple(consistency.problems(report.record)),
            file=files[report.name],
        )
        for report in reports.of(operator, folder)
    )
    return tuple(sorted(found, key=_smallest_ratio_first))


def _smallest_ratio_first(one: Measured) -> tuple[bool, float]:
    # The stronger the baseline, the smaller the ratio of one kernel over it.
    return one.report.ratio is None, one.report.ratio or 0.0


def _surveys(operator: str, folder: Path) -> tuple[Survey, ...]:
    keys = committed.known_keys(folder)
    found = []
    for file in sorted((folder / operator / "records").glob("*.survey.json")):
        data = committed.survey_in(file)
        found.append(
            Survey(
                preset=data["preset"],
                device=data["environment"]["device"]["name"],
                figures=tuple(sorted(surveys.figures(data), key=_quickest_first)),
                signature=committed.signature_of(file.read_bytes(), keys),
            )
        )
    return tuple(found)


def _quickest_first(one: Figures) -> tuple[bool, float]:
    took_us = _took(one)
    return took_us is None, took_us or 0.0


def _took(one: Figures) -> float | None:
    return one.program_us if one.program_us is not None else one.operator_us
