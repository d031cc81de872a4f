"""The board: every engagement by stage."""

from __future__ import annotations

from dataclasses import dataclass

from engagements import access
from engagements.models import Engagement, Stage
from engagements.queries.standing import NextStep, next_step, with_standing
from engagements.queries.timeboxes import Progress, time_box_progress

# These columns are always there; the others only when something is in them.
OPEN_STAGES = (
    Stage.SCOPING,
    Stage.AUDITING,
    Stage.AUDITED,
    Stage.OFFERED,
    Stage.ACTIVE,
    Stage.MET,
    Stage.MISSED,
)


@dataclass(frozen=True)
class Card:
    """One engagement on the board. `time_box` is None until a contract is in force."""

    engagement: Engagement
    time_box: Progress | None
    next: NextStep


@dataclass(frozen=True)
class Column:
    """One stage of the board with its cards, the longest waiting first."""

    stage: Stage
    label: str
    cards: list[Card]


def board(user: access.Person) -> list[Column]:
    """The engagements that `user` may see, by stage, in a fixed number of queries."""
    cards: dict[str, list[Card]] = {stage: [] for stage in Stage}
    for engagement in with_standing(access.engagements_for(user)).order_by("stage_since", "pk"):
        cards[engagement.stage].append(_card(engagement))
    return [
        Column(stage=stage, label=str(stage.label), cards=cards[stage])
        for stage in Stage
        if stage in OPEN_STAGES or cards[stage]
    ]


def _card(engagement: Engagement) -> Card:
    box = getattr(engagement, "time_box", None)
    return Card(
        engagement=engagement,
        time_box=time_box_progress(box) if box else None,
        next=next_step(engagement),
    )
