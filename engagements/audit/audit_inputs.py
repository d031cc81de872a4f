"""Collect the inputs of an audit's checks: evidence, answers, subject, measured ratios."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import Record
from engagements.audit.models import Audit
from engagements.audit.rules import thresholds as lines
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Source, Sourced
from engagements.audit.rules.inputs import AuditInputs, Measured
from engagements.audit.rules.off_the_shelf import coverage_digest
from engagements.audit.rules.subject import Subject
from engagements.audit.rules.subject import from_data as subject_from_data
from engagements.catalogue import queries as catalogue
from engagements.common.dates import in_words
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire
from engagements.evidence.models import Answer, Evidence
from engagements.evidence.readers import ComputeFacts, Facts, TraceFacts, TrafficFacts
from engagements.evidence.readers.questions import (
    Generations,
    GpuBill,
    Maintainers,
    Roadmap,
    TailLatency,
)
from engagements.evidence.services import facts_of, of_workload

# Raise when a check computes something else from the same evidence: findings are then recomputed.
VERSION = 3

T = TypeVar("T")
F = TypeVar("F", TraceFacts, TrafficFacts)


def subject_of(audit: Audit) -> Subject:
    """Return the subject of the audit."""
    return subject_from_data(audit.subject)


def inputs_of(audit: Audit) -> AuditInputs:
    """Collect the inputs, each with its source."""
    subject = subject_of(audit)
    read = [(row, facts) for row in _read(audit) if (facts := facts_of(row)) is not None]
    answers = questionnaire.newest(audit.engagement)
    operator = subject.needs.definition if subject.needs else ""
    runs = ratios_of_engagement(audit.engagement, operator)
    return AuditInputs(
        today=timezone.localdate(),
        thresholds=lines.from_data(audit.thresholds),
        operator=subject.operator,
        trace=_with_sum(_chosen(read, TraceFacts, subject.trace), subject),
        traffic=_chosen(read, TrafficFacts, subject.traffic),
        compute=tuple(
            Sourced(value=facts, source=_file(row))
            for row, facts in read
            if isinstance(facts, ComputeFacts)
        ),
        needs=_set(subject.needs),
        measured=(*runs, *ratios_of_catalogue(operator)),
        tried=tuple(Sourced(value=each, source=SET) for each in subject.tried),
        work=_set(subject.work),
        share=_set(subject.share),
        kernel_speedup=_set(subject.kernel_speedup),
        end_to_end=_measured(runs) or _set(subject.end_to_end),
        roadmap=_answer(answers, "roadmap", Roadmap),
        maintainers=_answer(answers, "maintainers", Maintainers),
        generations=_answer(answers, "gpu_generations", Generations),
        tail_latency=_answer(answers, "tail_latency", TailLatency),
        gpu_bill=_answer(answers, "gpu_bill", GpuBill),
    )


def fingerprint_of(audit: Audit) -> str:
    """Return a digest of all inputs, except the day."""
    rows = [[digest, str(at)] for digest, at in _read(audit).values_list("digest", "concluded_at")]
    answers = sorted(answer.pk for answer in questionnaire.newest(audit.engagement).values())
    runs = digests_of(audit.engagement)
    parts = [VERSION, coverage_digest(), rows, answers, runs, audit.subject, audit.thresholds]
    content = json.dumps(parts, sort_keys=True).encode()
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def has_something(audit: Audit) -> bool:
    """Whether a check has any input."""
    return bool(
        audit.subject
        or _read(audit).exists()
        or Answer.objects.filter(engagement=audit.engagement).exists()
        or digests_of(audit.engagement)
    )


SET = Source(kind="stated", name="Set in the audit")


def _read(audit: Audit) -> QuerySet[Evidence]:
    """Return the evidence about the workload that was read, newest first."""
    return of_workload(audit.engagement).filter(state=Evidence.State.READ)


def _chosen(
    read: list[tuple[Evidence, Facts]], kind: type[F], digest: str | None
) -> Sourced[F] | None:
    """Return the chosen evidence of this kind, else the newest, profiles with a GPU first."""
    found = [(row, facts) for row, facts in read if isinstance(facts, kind)]
    chosen = [pair for pair in found if pair[0].digest == digest]
    telling = [pair for pair in found if not _is_blank(pair[1])]
    for row, facts in chosen or telling or found:
        return Sourced(value=facts, source=_file(row))
    return None


def _with_sum(trace: Sourced[TraceFacts] | None, subject: Subject) -> Sourced[TraceFacts] | None:
    """Add the operator's exact sum to the patterns of the profile."""
    summed = subject.summed
    if trace is None or summed is None or summed.trace != trace.source.digest:
        return trace
    facts = replace(trace.value, patterns=(*trace.value.patterns, summed.group))
    return Sourced(value=facts, source=trace.source)


def _is_blank(facts: Facts) -> bool:
    return isinstance(facts, TraceFacts) and facts.gpu_busy_share is None


def _file(row: Evidence) -> Source:
    return Source(kind="file", name=row.name, digest=row.digest, detail=row.get_format_display())


def _set(value: T | None) -> Sourced[T] | None:
    return None if value is None else Sourced(value=value, source=SET)


def _measured(runs: tuple[Sourced[Measured], ...]) -> Sourced[Interval] | None:
    """Return the ratio of the engagement's newest run."""
    return Sourced(value=runs[0].value.ratio, source=runs[0].source) if runs else None


def _answer(answers: dict[str, Answer], question: str, kind: type[T]) -> Sourced[T] | None:
    answer = answers.get(question)
    value: Any = questionnaire.value_of(answer)
    if answer is None or not isinstance(value, kind):
        return None
    source = Source(
        kind="answer",
        name=str(answer.get_question_display()),
        detail=f"{answer.answered_by}, {in_words(answer.answered_on)}",
    )
    return Sourced(value=value, source=source)


def ratios_of_engagement(engagement: Engagement, operator: str) -> tuple[Sourced[Measured], ...]:
    """Return the end-to-end ratios of this engagement's runs of an operator, newest first.

    Invalid and disqualified runs are left out.
    """
    return tuple(
        _known(
            baseline=record.run.benchmark.document["baseline"],
            low=record.low,
            high=record.high,
            name=f"Run of {record.run.solution.name}",
            digest=record.digest,
        )
        for record in _records(engagement)
        if record.run.benchmark.operator == operator
    )


def ratios_of_catalogue(operator: str) -> tuple[Sourced[Measured], ...]:
    """Return the ratios of the catalogue's signed records of an operator."""
    return tuple(
        _known(
            baseline=report.record["benchmark"]["baseline"],
            low=report.low,
            high=report.high,
            name=f"Record {report.operator}/{report.name}",
            digest=report.record.get("digest"),
        )
        for report in catalogue.sound()
        if report.operator == operator and report.verdict not in SILENT
    )


def digests_of(engagement: Engagement) -> list[str]:
    """Return the digests of the engagement's records."""
    return [record.digest for record in _records(engagement)]


SILENT = ("invalid", "disqualified")


def _records(engagement: Engagement) -> Iterable[Record]:
    return (
        Record.objects.filter(
            run__in=engagement.runs.values("run_id"), low__isnull=False, high__isnull=False
        )
        .exclude(verdict__in=SILENT)
        .select_related("run__benchmark", "run__solution")
    )


def _known(
    *, baseline: dict[str, Any], low: Any, high: Any, name: str, digest: str | None
) -> Sourced[Measured]:
    words = f"{baseline['name']} {baseline['package']} {baseline['title']}"
    return Sourced(
        value=Measured(baseline=words, ratio=Interval(low=low, high=high)),
        source=Source(kind="run", name=name, digest=digest, detail=baseline["title"]),
    )
