"""Ledger postings of the audit, idempotent. The caller holds the engagement's lock."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.utils import timezone

from engagements.audit.models import Audit
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import post_effect


def audit_delivered(audit: Audit, *, dated_on: date) -> Entry | None:
    """Recognise the audit as revenue, billed or not."""
    position = positions_of(audit.engagement, audit.currency)
    effect = effects.audit_earned(position, audit.cost)
    key = f"{Entry.Kind.AUDIT_DELIVERED}:audit:{audit.pk}"
    return post_effect(audit.engagement, position, effect, key=key, dated_on=dated_on)


def audit_agreed(audit: Audit, *, cost: Decimal, dated_on: date) -> Entry | None:
    """Reduce the audit's revenue to its cost in the first contract (net), which bills no more."""
    position = positions_of(audit.engagement, audit.currency)
    effect = effects.audit_earned(position, cost)
    key = f"{Entry.Kind.AUDIT_AGREED}:audit:{audit.pk}"
    return post_effect(audit.engagement, position, effect, key=key, dated_on=dated_on)


def audit_waived(audit: Audit) -> Entry | None:
    """Write off the audit: its engagement was cancelled, or led to no contract."""
    position = positions_of(audit.engagement, audit.currency)
    effect = effects.audit_earned(position, Decimal(0))
    key = f"{Entry.Kind.AUDIT_WAIVED}:audit:{audit.pk}"
    return post_effect(audit.engagement, position, effect, key=key, dated_on=timezone.localdate())
