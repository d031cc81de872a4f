"""The warranty: it starts with the acceptance of the handover."""

from __future__ import annotations

import calendar
from datetime import date
from typing import NamedTuple

from django.utils import timezone

from engagements.contracts.milestones.handovers import log_of
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage


class Warranty(NamedTuple):
    """The day of the acceptance, and the last day on which the warranty applies."""

    starts_on: date
    ends_on: date


def warranty_of(engagement: Engagement, contract: ContractVersion | None) -> Warranty | None:
    """The warranty of a met contract; None before its handover is accepted."""
    if contract is None or engagement.stage not in (Stage.MET, Stage.CLOSED):
        return None
    newest = log_of(engagement).first()
    if newest is None or newest.verb != "handover.accepted":
        return None
    accepted = timezone.localdate(newest.happened_at)
    return Warranty(accepted, months_after(accepted, contract.warranty_months))


def months_after(day: date, months: int) -> date:
    """The day of the same number `months` later, or the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))
