"""Warn the lead on the way to the end of a time-box, once for each threshold.

After downtime every threshold passed is recorded, and only the last is mailed.
"""

from __future__ import annotations

from datetime import date

from django.db import transaction
from django.utils import timezone

from engagements.common import links, validation
from engagements.common.dates import in_words
from engagements.contracts import versions
from engagements.contracts.time_box import services as time_box
from engagements.contracts.time_box.models import Pause, TimeBox, TimeBoxWarning
from engagements.contracts.time_box.waiting import WaitingStop, stops
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.notifications import mails

Threshold = TimeBoxWarning.Threshold
# Days of the clock left, including today.
A_WEEK, A_DAY = 7, 1


def due() -> list[Engagement]:
    """The active engagements with a threshold passed and not recorded."""
    today, found = timezone.localdate(), []
    boxes = TimeBox.objects.filter(engagement__stage=Stage.ACTIVE, starts_on__lte=today)
    for box in boxes.select_related("engagement"):
        if _unrecorded(box, today):
            found.append(box.engagement)
    return found


@transaction.atomic
def warn(*, engagement: Engagement) -> TimeBoxWarning | None:
    """Record every threshold passed and mail the last; None when there is none."""
    row = stages.locked(engagement.pk)
    box = TimeBox.objects.filter(engagement=row).first()
    if row.stage != Stage.ACTIVE or box is None:
        return None
    passed = _unrecorded(box, timezone.localdate())
    warnings = [
        TimeBoxWarning(
            engagement=row,
            ends_on=box.ends_on,
            threshold=threshold,
            is_mailed=threshold == passed[-1],
        )
        for threshold in passed
    ]
    for warning in warnings:
        validation.save_validated(warning)
    if not warnings:
        return None
    _notify(row, warnings[-1])
    return warnings[-1]


def passed_by(*, total_days: int, used_days: int) -> list[TimeBoxWarning.Threshold]:
    """The thresholds that a time-box of `total_days` has passed after `used_days`, in order of
    time. Paused days are not counted."""
    starts = {
        Threshold.HALF: -(-total_days // 2),
        Threshold.MOST: -(-total_days * 4 // 5),
        Threshold.WEEK: total_days - A_WEEK,
        Threshold.DAY: total_days - A_DAY,
        Threshold.OVER: total_days,
    }
    order = list(Threshold)
    passed = [threshold for threshold, start in starts.items() if used_days >= start]
    return sorted(passed, key=lambda threshold: (starts[threshold], order.index(threshold)))


def _unrecorded(box: TimeBox, today: date) -> list[TimeBoxWarning.Threshold]:
    contract = versions.contract_in_force(box.engagement)
    pauses: list[Pause | WaitingStop] = list(contract.pauses.all()) if contract else []
    if contract is not None:
        pauses += stops(box.engagement, contract.pauses.all(), today=today)
    clock = time_box.clock(box, pauses)
    used = sum(day < today for day in clock)
    recorded = set(
        TimeBoxWarning.objects.filter(engagement=box.engagement, ends_on=box.ends_on).values_list(
            "threshold", flat=True
        )
    )
    passed = passed_by(total_days=len(clock), used_days=used)
    return [threshold for threshold in passed if threshold not in recorded]


def _notify(engagement: Engagement, warning: TimeBoxWarning) -> None:
    label = warning.get_threshold_display()
    events.record(
        engagement=engagement,
        verb="time_box.warned",
        summary=f"{label}: it ends on {in_words(warning.ends_on)}.",
        actor=None,
        changes={"threshold": warning.threshold, "ends_on": str(warning.ends_on)},
    )
    mails.write(
        key=f"time_box:{engagement.pk}:{warning.ends_on}:{warning.threshold}",
        engagement=engagement,
        recipient=engagement.lead.email,
        subject=f"{engagement.reference}: {label.lower()}",
        body=f"{label}.\n\n{engagement.reference}, {engagement.title}, for "
        f"{engagement.customer}: the last day is {in_words(warning.ends_on)}, and no acceptance "
        f"run has met the target yet.\n\n{_next(warning)}\n\n"
        f"Open the engagement: {links.to_page('engagement', engagement.reference)}\n",
    )


def _next(warning: TimeBoxWarning) -> str:
    if warning.threshold == Threshold.OVER:
        return (
            "After the dispute window of the contract, the settlement is proposed automatically. "
            "Until then an amendment may still add time."
        )
    return (
        "If the work waits for the customer, request the missing item on the page of the "
        "time-box: the clock stops on the third working day after the request."
    )
