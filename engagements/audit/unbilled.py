"""Audits that ended without a contract: earned, and to be billed by no milestone."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from engagements.audit.models import Audit
from engagements.engagement.models import Stage
from engagements.ledger.models import Entry

WITHOUT_A_CONTRACT = (Stage.REDIRECTED, Stage.DECLINED)


def unbilled_audits() -> QuerySet[Audit]:
    """Those that are owed still, the longest delivered first; what they cost is net."""
    waived = Entry.objects.filter(engagement=OuterRef("engagement"), kind=Entry.Kind.AUDIT_WAIVED)
    return (
        Audit.objects.filter(~Exists(waived), engagement__stage__in=WITHOUT_A_CONTRACT, cost__gt=0)
        .select_related("engagement__customer")
        .order_by("delivered_at", "pk")
    )
