"""The evidence behind a demonstration audit: files, questionnaire answers and requirements.

The profile is a real one: four layers of Llama-3-8B's shape decoding over a prompt of 32,768
tokens, on one H200. The request log and the answers are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from engagements.audit import subjects
from engagements.audit.models import Audit
from engagements.audit.rules import Needs, Work
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire
from engagements.evidence import services as evidence
from engagements.evidence.readers.questions import NextModel, Roadmap, Value, as_data
from engagements.people.models import User

FILES = Path(__file__).with_name("evidence_files")


@dataclass(frozen=True, kw_only=True)
class DemoEvidence:
    """Files in the folder `evidence_files`, answers by question, and the operator's needs."""

    files: tuple[str, ...]
    answers: Mapping[str, Value]
    needs: Needs


def next_model(weeks: int) -> Roadmap:
    """A roadmap with one model, `weeks` from today, that keeps the operator's axes."""
    expected_on = timezone.localdate() + timedelta(weeks=weeks)
    return Roadmap(models=(NextModel(name="The next model", expected_on=expected_on),))


def submit(given: DemoEvidence, *, engagement: Engagement, respondent: User, by: User) -> None:
    """Upload the files, which a worker parses, and record the answers of `respondent`."""
    for name in given.files:
        with (FILES / name).open("rb") as content:
            evidence.add(engagement=engagement, name=name, content=content, by=by)
    for question, value in given.answers.items():
        questionnaire.record(
            engagement=engagement,
            question=question,
            value=as_data(value),
            answered_by=respondent.name,
            answered_on=timezone.localdate(),
            by=by,
        )


def set_subject(given: DemoEvidence, *, audit: Audit, work: Work, by: User) -> None:
    """Set the audited operator, which computes the findings."""
    subjects.set_needs(audit=audit, needs=given.needs, by=by)
    subjects.set_work(audit=audit, work=work, by=by)
