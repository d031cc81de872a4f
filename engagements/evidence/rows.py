"""Files and questions of an engagement, as its pages of evidence list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engagements.evidence.answer_text import answer_lines
from engagements.evidence.forms import AnswerForm
from engagements.evidence.models import Answer, Evidence
from engagements.evidence.readers import ComputeFacts, Facts, TraceFacts

LISTED = 8


@dataclass(frozen=True)
class EvidenceRow:
    """One file on the page, with its facts."""

    file: Evidence
    facts: Facts | None

    @property
    def percent(self) -> str:
        """The progress of reading, for a bar."""
        return f"{self.file.read_share * 100:.0f}"

    @property
    def kernels(self) -> list[Any]:
        """The first kernels of a profile."""
        return list(getattr(self.facts, "kernels", ()))[:LISTED]

    @property
    def kind(self) -> str:
        """The template of the facts."""
        if isinstance(self.facts, TraceFacts):
            return "trace"
        return "compute" if isinstance(self.facts, ComputeFacts) else "traffic"


@dataclass(frozen=True)
class QuestionRow:
    """One question of the questionnaire, with its answer and form."""

    question: str
    label: str
    answer: Answer | None
    form: AnswerForm

    @property
    def lines(self) -> list[str]:
        """The answer as lines of text."""
        return list(answer_lines(self.answer.value)) if self.answer else []
