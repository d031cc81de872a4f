"""The board: engagements by stage, those in progress or those that ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from engagements import access
from engagements.models import Stage, User
from engagements.queries.overview import Standing, with_standing

IN_PROGRESS = (
    Stage.SCOPING,
    Stage.AUDITING,
    Stage.AUDITED,
    Stage.OFFERED,
    Stage.ACTIVE,
    Stage.MET,
    Stage.MISSED,
)
ENDED = (Stage.CLOSED, Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED)


@dataclass(frozen=True)
class Group:
    """The engagements in one stage, those that have been in it longest first."""

    stage: Stage
    standings: list[Standing]


def board(user: access.Person, *, text: str = "", lead: User | None = None) -> list[Group]:
    """The engagements in progress that `user` may see, by stage.

    `text` finds in reference, title and customer's name; `lead` keeps those led by one person.
    A fixed number of queries, however many engagements there are.
    """
    return _groups(user, IN_PROGRESS, text, lead)


def done(user: access.Person, *, text: str = "", lead: User | None = None) -> list[Group]:
    """The engagements that ended, as `board` has those in progress."""
    return _groups(user, ENDED, text, lead)


def _groups(
    user: access.Person, stages: Iterable[Stage], text: str, lead: User | None
) -> list[Group]:
    engagements = access.engagements_for(user).filter(stage__in=list(stages))
    if lead is not None:
        engagements = engagements.filter(lead=lead)
    if text:
        engagements = engagements.filter(
            Q(reference__icontains=text)
            | Q(title__icontains=text)
            | Q(customer__name__icontains=text)
        )
    found: dict[str, list[Standing]] = {stage: [] for stage in stages}
    for engagement in with_standing(engagements).order_by("stage_since", "pk"):
        found[engagement.stage].append(Standing(engagement))
    return [Group(Stage(stage), standings) for stage, standings in found.items() if standings]
