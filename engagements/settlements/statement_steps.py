"""The steps of a settlement, as its statement lists them."""

from __future__ import annotations

from datetime import datetime

from engagements.documents import formatting
from engagements.people.models import User
from engagements.settlements.models import Settlement

Step = dict[str, str]


def steps_to(settlement: Settlement, paid_at: datetime) -> list[Step]:
    """Return proposals, disputes, approval and payment in order."""
    steps = [
        *(
            (earlier.proposed_at, _proposed(earlier, "voided and proposed again"))
            for earlier in settlement.earlier_proposals
        ),
        (settlement.proposed_at, _proposed(settlement, settlement.get_reason_display())),
        *_disputes(settlement, paid_at),
    ]
    if settlement.approved_at:
        note = "a second person" if settlement.proposed_by else ""
        approved = _step("Approved", settlement.approved_by, settlement.approved_at, note)
        steps.append((settlement.approved_at, approved))
    what = "Paid" if settlement.has_refund else "Concluded"
    paid = _step(what, settlement.paid_by, paid_at, f"reference {settlement.payment_reference}")
    return [*(step for _, step in sorted(steps, key=lambda each: each[0])), paid]


def _disputes(settlement: Settlement, paid_at: datetime) -> list[tuple[datetime, Step]]:
    steps = []
    for dispute in settlement.disputes.filter(raised_at__lte=paid_at).order_by("raised_at"):
        raised = _step("Disputed", dispute.raised_by, dispute.raised_at, dispute.reason)
        steps.append((dispute.raised_at, raised))
        if dispute.resolved_at and dispute.resolved_at <= paid_at:
            by, at = dispute.resolved_by, dispute.resolved_at
            steps.append((at, _step("Resolved", by, at, dispute.resolution)))
    return steps


def _proposed(settlement: Settlement, note: str) -> Step:
    who = settlement.proposed_by or "Twofold, automatically"
    return _step("Proposed", who, settlement.proposed_at, note)


def _step(what: str, who: User | str | None, at: datetime, note: str) -> Step:
    return {"what": what, "who": str(who), "when": formatting.moment(at), "note": note}
