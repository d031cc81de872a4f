"""The case of an audit: its evidence, answers and subject, as the six checks look at them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from engagements.audit import ratios
from engagements.audit.models import Audit
from engagements.audit.rules import thresholds as lines
from engagements.audit.rules.case import Case, Measured
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Known, Source
from engagements.audit.rules.off_the_shelf import coverage_digest
from engagements.audit.rules.subject import Subject
from engagements.audit.rules.subject import from_data as subject_from_data
from engagements.common.dates import in_words
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
from engagements.evidence.services import facts_of

# Raised when a check computes something else from the same evidence: findings are redone then.
VERSION = 3

T = TypeVar("T")
F = TypeVar("F", TraceFacts, TrafficFacts)


def subject_of(audit: Audit) -> Subject:
    """What the audit is about, as far as somebody said."""
    return subject_from_data(audit.subject)


def case_of(audit: Audit) -> Case:
    """Everything that is known now, with where it is known from."""
    subject = subject_of(audit)
    read = [(row, facts) for row in _read(audit) if (facts := facts_of(row)) is not None]
    said = questionnaire.newest(audit.engagement)
    operator = subject.needs.definition if subject.needs else ""
    runs = ratios.of_engagement(audit.engagement, operator)
    return Case(
        today=timezone.localdate(),
        thresholds=lines.from_data(audit.thresholds),
        operator=subject.operator,
        trace=_with_sum(_chosen(read, TraceFacts, subject.trace), subject),
        traffic=_chosen(read, TrafficFacts, subject.traffic),
        compute=tuple(
            Known(value=facts, source=_file(row))
            for row, facts in read
            if isinstance(facts, ComputeFacts)
        ),
        needs=_set(subject.needs),
        measured=(*runs, *ratios.of_catalogue(operator)),
        tried=tuple(Known(value=each, source=SET) for each in subject.tried),
        work=_set(subject.work),
        share=_set(subject.share),
        kernel_speedup=_set(subject.kernel_speedup),
        end_to_end=_measured(runs) or _set(subject.end_to_end),
        roadmap=_answer(said, "roadmap", Roadmap),
        maintainers=_answer(said, "maintainers", Maintainers),
        generations=_answer(said, "gpu_generations", Generations),
        tail_latency=_answer(said, "tail_latency", TailLatency),
        gpu_bill=_answer(said, "gpu_bill", GpuBill),
    )


def fingerprint_of(audit: Audit) -> str:
    """A digest of everything that the case is made of, besides the day."""
    rows = [[digest, str(at)] for digest, at in _read(audit).values_list("digest", "concluded_at")]
    said = sorted(answer.pk for answer in questionnaire.newest(audit.engagement).values())
    runs = ratios.digests_of(audit.engagement)
    parts = [VERSION, coverage_digest(), rows, said, runs, audit.subject, audit.thresholds]
    content = json.dumps(parts, sort_keys=True).encode()
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def has_something(audit: Audit) -> bool:
    """Whether there is anything that a check could be computed from."""
    return bool(
        audit.subject
        or Evidence.objects.filter(engagement=audit.engagement, state=Evidence.State.READ).exists()
        or Answer.objects.filter(engagement=audit.engagement).exists()
        or ratios.digests_of(audit.engagement)
    )


SET = Source(kind="stated", name="Set in the audit")


def _read(audit: Audit) -> QuerySet[Evidence]:
    """The evidence that was read, the newest first."""
    return Evidence.objects.filter(engagement=audit.engagement, state=Evidence.State.READ)


def _chosen(
    read: list[tuple[Evidence, Facts]], kind: type[F], digest: str | None
) -> Known[F] | None:
    """The evidence of this kind that was chosen, the newest where none was or it is gone.

    A profile without the GPU tells nothing of an operator, so one that has it goes first.
    """
    found = [(row, facts) for row, facts in read if isinstance(facts, kind)]
    chosen = [pair for pair in found if pair[0].digest == digest]
    telling = [pair for pair in found if not _is_blank(pair[1])]
    for row, facts in chosen or telling or found:
        return Known(value=facts, source=_file(row))
    return None


def _with_sum(trace: Known[TraceFacts] | None, subject: Subject) -> Known[TraceFacts] | None:
    """The profile with the operator's exact sum among its patterns, where there is one."""
    summed = subject.summed
    if trace is None or summed is None or summed.trace != trace.source.digest:
        return trace
    facts = replace(trace.value, patterns=(*trace.value.patterns, summed.group))
    return Known(value=facts, source=trace.source)


def _is_blank(facts: Facts) -> bool:
    return isinstance(facts, TraceFacts) and facts.gpu_busy_share is None


def _file(row: Evidence) -> Source:
    return Source(kind="file", name=row.name, digest=row.digest, detail=row.get_format_display())


def _set(value: T | None) -> Known[T] | None:
    return None if value is None else Known(value=value, source=SET)


def _measured(runs: tuple[Known[Measured], ...]) -> Known[Interval] | None:
    """What the newest run of the engagement measured, against whichever baseline it was."""
    return Known(value=runs[0].value.ratio, source=runs[0].source) if runs else None


def _answer(said: dict[str, Answer], question: str, kind: type[T]) -> Known[T] | None:
    answer = said.get(question)
    value: Any = questionnaire.value_of(answer)
    if answer is None or not isinstance(value, kind):
        return None
    source = Source(
        kind="answer",
        name=str(answer.get_question_display()),
        detail=f"{answer.answered_by}, {in_words(answer.answered_on)}",
    )
    return Known(value=value, source=source)
