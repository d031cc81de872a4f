"""The hours put into an engagement, by whom, and what the fixed fee comes to an hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db.models import Sum

from engagements.common.money import quantize
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeEntry
from engagements.engagement.models import Engagement
from engagements.people.models import User


@dataclass(frozen=True)
class Worked:
    """One consultant's hours."""

    consultant: User
    hours: Decimal


@dataclass(frozen=True)
class Hours:
    """All hours of an engagement. `rate` is the net fee by hour, None before the first hour."""

    entries: list[TimeEntry]
    by_consultant: list[Worked]
    by_day: dict[date, Decimal]
    total: Decimal
    rate: Decimal | None
    currency: str


def hours_of(engagement: Engagement, contract: ContractVersion) -> Hours:
    """The hours of `engagement` against the fee of `contract`, the version in force."""
    entries = list(engagement.time_entries.select_related("consultant"))
    sums = engagement.time_entries.order_by().values("consultant").annotate(hours=Sum("hours"))
    people = {entry.consultant_id: entry.consultant for entry in entries}
    worked = [Worked(people[row["consultant"]], row["hours"]) for row in sums]
    by_day: dict[date, Decimal] = {}
    for entry in entries:
        by_day[entry.worked_on] = by_day.get(entry.worked_on, Decimal(0)) + entry.hours
    total = sum((each.hours for each in worked), Decimal(0))
    return Hours(
        entries=entries,
        by_consultant=sorted(worked, key=lambda each: -each.hours),
        by_day=by_day,
        total=total,
        rate=quantize(contract.fee / total, contract.currency) if total else None,
        currency=contract.currency,
    )
