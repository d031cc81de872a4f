"""Check 2: is there no off-the-shelf kernel that fits?

Compares the operator's needs with the catalogue's coverage data and with manual trials. A library
that fits fails the check.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from msgspec import Struct

from engagements.audit.rules.check import Check, Meanings
from engagements.audit.rules.figures import Figures, Interval, Table, table
from engagements.audit.rules.finding import Finding, Missing, Source, Sourced
from engagements.audit.rules.inputs import AuditInputs, Measured, Needs, Tried, names
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.phrases import listed, times, times_each
from kernels import catalogue, coverage

NAME = "off_the_shelf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A library compared with the needs. `ratio` is the custom kernel's over it, if measured."""

    name: str
    version: str
    verdict: Literal["fits", "nearly", "no"]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    documented: str = ""
    ratio: Interval | None = None


class CoverageFigures(Figures, Struct, frozen=True, kw_only=True, tag=NAME, tag_field="check"):
    """Candidate libraries, the closest first; `needs` in words."""

    needs: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    def tables(self) -> tuple[Table, ...]:
        """A row per library."""
        rows = [
            (
                f"{each.name} {each.version}".strip(),
                {"fits": "Fits", "nearly": "Nearly fits", "no": "Does not fit"}[each.verdict],
                "; ".join(each.missing) or "nothing",
                "; ".join(each.unknown) or "nothing",
                times_each(each.ratio) if each.ratio else "not measured",
            )
            for each in self.candidates
        ]
        columns = ("Library", "Verdict", "Lacks", "Not documented", "Ratio to custom kernel")
        return (table("Off-the-shelf libraries, the closest first", columns, rows),)


def find(inputs: AuditInputs) -> Finding:
    """Compare libraries with the needs. A library that fits fails the check."""
    if inputs.needs is None and not inputs.tried:
        return _unknown()
    needs = inputs.needs.value if inputs.needs else None
    candidates = _candidates(inputs, needs)
    enough = _good_enough(candidates, inputs.thresholds.notable_ratio)
    outcome = Outcome.FAIL if enough else _outcome(candidates)
    closest = enough or next(iter(candidates), None)
    return Finding(
        check=NAME,
        outcome=outcome,
        value=float(sum(candidate.verdict == "fits" for candidate in candidates)),
        threshold=0.0,
        unit="kernels that fit",
        shown=_shown(closest),
        wanted="no off-the-shelf kernel that fits",
        sentence=_sentence(outcome, closest),
        paragraph=_paragraph(inputs, needs, candidates),
        evidence=_evidence(inputs, candidates),
        to_collect=_to_collect(candidates, needs) if outcome == Outcome.UNKNOWN else (),
        questions=_questions(candidates),
        figures=CoverageFigures(needs=_words(needs), candidates=candidates),
    )


def _unknown() -> Finding:
    return Finding(
        check=NAME,
        outcome=Outcome.UNKNOWN,
        wanted="no off-the-shelf kernel that fits",
        sentence="We have not compared off-the-shelf kernels with your case yet.",
        paragraph=(
            "The operator's requirements (dtype, GPU, features) are not set, so libraries cannot "
            "be compared."
        ),
        to_collect=(
            Missing(
                what="The operator with its dtype, GPU and required features.",
                command="python -m kernels list",
            ),
        ),
        questions=("Which off-the-shelf kernels did you measure, and what does each lack?",),
    )


def _candidates(inputs: AuditInputs, needs: Needs | None) -> tuple[Candidate, ...]:
    """Return every library with the operator, and those tried, the closest first."""
    tried = {known.value.library: known.value for known in inputs.tried}
    found: list[Candidate] = []
    if needs is not None:
        wanted = coverage.Needs(
            dtype=needs.dtype, architecture=needs.architecture, features=needs.features
        )
        for fit in coverage.fits(needs.definition, wanted):
            if fit.library.name not in tried:
                ratio = _ratio(inputs, fit.library.name)
                found.append(replace(_from_catalogue(fit), ratio=ratio))
    for trial in tried.values():
        measured = trial.ratio or (None if trial.lacks else _ratio(inputs, trial.library))
        found.append(replace(_from_trial(trial), ratio=measured))
    order = ("fits", "nearly", "no")
    return tuple(
        sorted(
            found, key=lambda c: (order.index(c.verdict), len(c.missing), len(c.unknown), c.name)
        )
    )


def _measured(inputs: AuditInputs, library: str) -> Sourced[Measured] | None:
    """Return the newest measurement against a baseline of the library."""
    found = (each for each in inputs.measured if names(each.value.baseline, library))
    return next(found, None)


def _ratio(inputs: AuditInputs, library: str) -> Interval | None:
    found = _measured(inputs, library)
    return found.value.ratio if found else None


def _from_catalogue(fit: coverage.Fit) -> Candidate:
    return Candidate(
        name=fit.library.name,
        version=fit.library.version,
        verdict=fit.verdict,
        missing=fit.missing,
        unknown=fit.unknown,
        documented=fit.library.documented,
    )


def _from_trial(trial: Tried) -> Candidate:
    verdict: Literal["fits", "nearly", "no"] = "fits"
    if trial.lacks:
        verdict = "nearly" if len(trial.lacks) == 1 else "no"
    return Candidate(
        name=trial.library,
        version="",
        verdict=verdict,
        missing=trial.lacks,
        unknown=(),
        ratio=trial.ratio,
    )


def _good_enough(candidates: tuple[Candidate, ...], notable: float) -> Candidate | None:
    """Return a library that is measured to be about as fast despite missing features."""
    return next(
        (each for each in candidates if each.ratio is not None and each.ratio.high < notable), None
    )


def _outcome(candidates: tuple[Candidate, ...]) -> Outcome:
    """Fail on a fit; unknown while a library that may fit is untested."""
    if any(candidate.verdict == "fits" for candidate in candidates):
        return Outcome.FAIL
    if not candidates or any(not candidate.missing for candidate in candidates):
        return Outcome.UNKNOWN
    return Outcome.PASS


def _shown(closest: Candidate | None) -> str:
    if closest is None:
        return "none known"
    if closest.verdict == "fits":
        return f"{named(closest)} fits"
    short = listed((*closest.missing, *(f"{word}?" for word in closest.unknown)))
    return f"{named(closest)}: {short}"[:200]


def fitting(inputs: AuditInputs) -> tuple[Candidate, ...]:
    """Return the libraries that cover the case."""
    found = _candidates(inputs, inputs.needs.value if inputs.needs else None)
    return tuple(candidate for candidate in found if candidate.verdict == "fits")


def named(candidate: Candidate) -> str:
    """Return the library's name with its version, unless the name contains it."""
    name, version = candidate.name, candidate.version
    return name if version == "unknown" or name.endswith(version) else f"{name} {version}"


def _sentence(outcome: Outcome, closest: Candidate | None) -> str:
    if closest is None:
        return "Off-the-shelf kernels for this operator have not been reviewed yet."
    if outcome == Outcome.FAIL and closest.verdict != "fits" and closest.ratio is not None:
        return (
            f"{named(closest)} is enough: a custom kernel measured at most "
            f"{times(closest.ratio.high)} end to end over it."
        )
    if outcome == Outcome.FAIL:
        return f"{named(closest)} covers your case: use it before writing a kernel."
    if outcome == Outcome.UNKNOWN:
        return f"{named(closest)} may cover your case, but has not been tried yet."
    missing = listed([word.replace("_", " ") for word in closest.missing])
    return f"No ready-made kernel covers your case; the closest, {closest.name}, lacks {missing}."


def _paragraph(inputs: AuditInputs, needs: Needs | None, candidates: tuple[Candidate, ...]) -> str:
    lines = [f"Needed: {listed(_words(needs))}."] if needs else []
    for verdict, lead in (("fits", "Fits"), ("nearly", "Nearly fits"), ("no", "Does not fit")):
        said = [_described(each) for each in candidates if each.verdict == verdict]
        if said:
            lines.append(f"{lead}: {'; '.join(said)}.")
    if not candidates:
        lines.append("No library in the coverage data has this operator, and none was tried.")
    if any(candidate.documented for candidate in candidates):
        lines.append("Source: the libraries' documentation; undocumented features do not count.")
    if any(candidate.ratio for candidate in candidates):
        lines.append("Ratios are end to end, custom kernel over library.")
    if inputs.tried:
        lines.append(f"Tried: {listed([known.value.library for known in inputs.tried])}.")
    return " ".join(lines)


def _described(candidate: Candidate) -> str:
    notes = [f"lacks {listed(candidate.missing)}"] if candidate.missing else []
    if candidate.unknown:
        notes.append(f"{listed(candidate.unknown)} not documented")
    if candidate.ratio:
        notes.append(f"measured {times_each(candidate.ratio)}")
    return named(candidate) + (f" ({', '.join(notes)})" if notes else "")


def _words(needs: Needs | None) -> tuple[str, ...]:
    if needs is None:
        return ()
    named = (needs.definition.replace("_", " "), needs.dtype, needs.architecture)
    features = (feature.replace("_", " ") for feature in needs.features)
    return tuple(word for word in (*named, *features) if word)


def _evidence(inputs: AuditInputs, candidates: tuple[Candidate, ...]) -> tuple[Source, ...]:
    sources = [inputs.needs.source] if inputs.needs else []
    sources += [known.source for known in inputs.tried]
    found = [_measured(inputs, candidate.name) for candidate in candidates if candidate.ratio]
    sources += [known.source for known in found if known is not None]
    if any(candidate.documented for candidate in candidates):
        sources.append(
            Source(kind="catalogue", name="Coverage of libraries", digest=coverage_digest())
        )
    return tuple(dict.fromkeys(sources))


@cache
def coverage_digest() -> str:
    """Return the SHA-256 of the coverage data."""
    return f"sha256:{hashlib.sha256(coverage.FILE.read_bytes()).hexdigest()}"


def _to_collect(candidates: tuple[Candidate, ...], needs: Needs | None) -> tuple[Missing, ...]:
    if not candidates:
        return (Missing(what="The libraries that have this operator, with a trial of each."),)
    return tuple(
        Missing(what=_trial(candidate), command=_command(candidate, needs))
        for candidate in candidates
        if not candidate.missing
    )


def _trial(candidate: Candidate) -> str:
    unknown = listed([word.replace("_", " ") for word in candidate.unknown])
    return f"A trial of {named(candidate)} to find out whether it supports {unknown}."


def _command(candidate: Candidate, needs: Needs | None) -> str | None:
    """Return the command that measures the library, if it is a baseline of the catalogue."""
    if needs is None or needs.definition not in catalogue.operators():
        return None
    known = catalogue.baselines(needs.definition).values()
    if not any(names(f"{each.package} {each.title}", candidate.name) for each in known):
        return None
    return f"python -m kernels measure {needs.definition}"


def _questions(candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    return tuple(
        f"Why not {named(candidate)}? It seems to support all of this."
        for candidate in candidates
        if candidate.verdict == "fits" or not candidate.missing
    )[:3]


CHECK = Check(
    name=NAME,
    question="Is there no off-the-shelf kernel that fits?",
    why=(
        "FlashAttention, paged attention, vendors' fused kernels: open libraries cover more than "
        "most people expect. Custom work is for what they lack."
    ),
    reason=("Libraries cover more than most people expect. Custom work is for what they lack."),
    vendor_question=(
        "Against which library, version and settings was it measured, and was the newest version "
        "tried?"
    ),
    value_label="The closest off-the-shelf kernel, and what it lacks",
    value_hint="its name and version, and what it lacks.",
    consultant=Meanings(
        passed="No library kernel covers this case.",
        failed="A library kernel covers this case: use it.",
        unknown="The off-the-shelf candidates have not been tried yet.",
    ),
    customer=Meanings(
        passed="No ready-made kernel covers your case.",
        failed="A ready-made kernel covers your case and costs you nothing to adopt.",
        unknown="We have not yet tried every ready-made kernel that might fit.",
    ),
    find=find,
)
