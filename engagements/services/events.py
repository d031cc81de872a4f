"""The event log: the one place that writes to it."""

from __future__ import annotations

from typing import Any

from engagements.models import Engagement, Event, User
from engagements.origin import current_address

APPLICATION = "Twofold"
MAX_SUMMARY_CHARACTERS = 300


def record(
    *,
    engagement: Engagement,
    verb: str,
    summary: str,
    actor: User | None,
    address: str | None = None,
    changes: dict[str, Any] | None = None,
    for_customer: bool = False,
) -> Event:
    """Write down what happened, in the transaction in which it happens.

    `verb` is noun.participle, as in contract.accepted. `summary` is one sentence that a
    customer may read when `for_customer`. `changes` maps a field to [before, after], or names
    a plain fact. Without an `actor` the application did it. `address` is the IP address of the
    request being answered unless another is given.
    """
    return Event.objects.create(
        engagement=engagement,
        verb=verb,
        summary=_shortened(summary),
        actor=actor,
        actor_name=str(actor) if actor else APPLICATION,
        address=address or current_address(),
        changes=changes or {},
        for_customer=for_customer,
    )


def _shortened(summary: str) -> str:
    if len(summary) <= MAX_SUMMARY_CHARACTERS:
        return summary
    return summary[: MAX_SUMMARY_CHARACTERS - 1].rstrip() + "…"
