"""What an audit of the demonstration is computed from: files, answers, and what it is about.

The profile is a real one: four layers of Llama-3-8B's shape decoding over a prompt of 32,768
tokens, on one H200. The log of requests and the answers are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from engagements.audit import Needs, Work
from engagements.evidence.answers import NextModel, Roadmap, Value, as_data
from engagements.models import Audit, Engagement, User
from engagements.services import answers, evidence, subjects

FILES = Path(__file__).with_name("evidence")


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """Files of the folder `evidence`, answers by question, and the operator's needs."""

    files: tuple[str, ...]
    answers: Mapping[str, Value]
    needs: Needs


def next_model(weeks: int) -> Roadmap:
    """A roadmap with one model, `weeks` from today, that leaves the operator's axes alone."""
    expected_on = timezone.localdate() + timedelta(weeks=weeks)
    return Roadmap(models=(NextModel(name="The next model", expected_on=expected_on),))


def hand_in(dossier: Dossier, *, engagement: Engagement, asked: User, by: User) -> None:
    """Add the files, to be read by a worker, and write down what the customer's `asked` said."""
    for name in dossier.files:
        with (FILES / name).open("rb") as content:
            evidence.add(engagement=engagement, name=name, content=content, by=by)
    for question, value in dossier.answers.items():
        answers.record(
            engagement=engagement,
            question=question,
            value=as_data(value),
            answered_by=asked.name,
            answered_on=timezone.localdate(),
            by=by,
        )


def set_subject(dossier: Dossier, *, audit: Audit, work: Work, by: User) -> None:
    """Say what is audited, which computes the findings."""
    subjects.set_needs(audit=audit, needs=dossier.needs, by=by)
    subjects.set_work(audit=audit, work=work, by=by)
