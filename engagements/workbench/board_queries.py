"""Queries of the board: engagements by stage, in progress or ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Q, QuerySet

from engagements import access
from engagements.engagement.models import Engagement, Stage
from engagements.people.models import User
from engagements.workbench.summary import EngagementSummary, with_summary

if TYPE_CHECKING:
    from engagements.workbench.summary import EngagementWithMoney

IN_PROGRESS = (
    Stage.SCOPING,
    Stage.AUDITING,
    Stage.AUDITED,
    Stage.OFFERED,
    Stage.ACTIVE,
    Stage.MET,
    Stage.MISSED,
    Stage.TERMINATED,
)
ENDED = (Stage.CLOSED, Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED)
SHOWN_A_STAGE = 20


@dataclass(frozen=True)
class Group:
    """The first of `count` engagements in a stage, longest in it first."""

    stage: Stage
    summaries: list[EngagementSummary]
    count: int

    @property
    def has_more(self) -> bool:
        """Whether the stage has more engagements."""
        return self.count > len(self.summaries)


def board(user: access.Person, *, text: str = "", lead: User | None = None) -> list[Group]:
    """Return the first engagements in progress of each stage that `user` may see.

    `text` searches reference, title and customer name; `lead` filters by lead. The number of
    queries is constant.
    """
    return _groups(user, IN_PROGRESS, text, lead)


def done(user: access.Person, *, text: str = "", lead: User | None = None) -> list[Group]:
    """Return the ended engagements in the same form as `board`."""
    return _groups(user, ENDED, text, lead)


def in_stage(
    user: access.Person, stage: Stage, *, text: str = "", lead: User | None = None
) -> QuerySet[EngagementWithMoney]:
    """Return all engagements of one stage in the board's order, with their summary."""
    return with_summary(_found(user, [stage], text, lead)).order_by("stage_since", "pk")


def _groups(
    user: access.Person, stages: Iterable[Stage], text: str, lead: User | None
) -> list[Group]:
    engagements = _found(user, stages, text, lead)
    counts = dict(engagements.order_by().values_list("stage").annotate(Count("pk")))
    # One walk of the index a stage, so the time does not grow with the rows of the stage.
    first = [
        engagements.filter(stage=stage).order_by("stage_since", "pk").values("pk")[:SHOWN_A_STAGE]
        for stage in counts
    ]
    keys = first[0].union(*first[1:], all=True).values_list("pk", flat=True) if first else []
    found: dict[str, list[EngagementSummary]] = {stage: [] for stage in stages}
    shown = Engagement.objects.filter(pk__in=list(keys))
    for engagement in with_summary(shown).order_by("stage_since", "pk"):
        found[engagement.stage].append(EngagementSummary(engagement))
    return [
        Group(Stage(stage), summaries, counts[stage])
        for stage, summaries in found.items()
        if summaries
    ]


def _found(
    user: access.Person, stages: Iterable[Stage], text: str, lead: User | None
) -> QuerySet[Engagement]:
    engagements = access.engagements_for(user).filter(stage__in=list(stages))
    if lead is not None:
        engagements = engagements.filter(lead=lead)
    if text:
        engagements = engagements.filter(
            Q(reference__icontains=text)
            | Q(title__icontains=text)
            | Q(customer__name__icontains=text)
        )
    return engagements
