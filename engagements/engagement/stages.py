"""The stages of an engagement and the moves between them.

Every service locks the engagement's row first and checks its preconditions under that lock, so
writes in one engagement are serialised. A trigger refuses the same moves in the database.
"""

from __future__ import annotations

from django.utils import timezone

from engagements.common.errors import ApplicationError
from engagements.engagement.models import MOVES, Engagement, Stage


def locked(engagement_id: int) -> Engagement:
    """Lock an engagement's row until the transaction ends, and return it."""
    return (
        Engagement.objects.select_for_update(of=("self",))
        .select_related("customer", "lead")
        .get(pk=engagement_id)
    )


def require_stage(engagement: Engagement, *stages: Stage, to: str) -> None:
    """Require the locked engagement to be in one of `stages`; `to` is the purpose."""
    if engagement.stage not in stages:
        wanted = " or ".join(f"“{stage.label}”" for stage in stages)
        now = Stage(engagement.stage).label
        raise ApplicationError(
            f"{engagement.reference} is in “{now}”; {to} it must be in {wanted}.",
            code="engagement.wrong_stage",
        )


def move(engagement: Engagement, to: Stage) -> dict[str, list[str]]:
    """Move a locked engagement to the stage `to`. Returns the change for the event log."""
    before = Stage(engagement.stage)
    if to not in MOVES[before]:
        raise ApplicationError(
            f"{engagement.reference} cannot move from “{before.label}” to “{to.label}”.",
            code="engagement.invalid_move",
        )
    engagement.stage = to
    engagement.stage_since = timezone.now()
    engagement.save(update_fields=["stage", "stage_since"])
    return {"stage": [before.value, to.value]}
