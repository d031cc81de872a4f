"""The summary of an engagement that the board and the engagement's page show.

`with_summary` fetches a list of engagements with all that `EngagementSummary` reads, in a
constant number of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery

from engagements.audit.queries import AuditSummary, unbilled_audits
from engagements.billing.balances import open_invoices
from engagements.billing.charge_invoices import charges_to_bill
from engagements.billing.milestones import WITH_INVOICES
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.summary import versions_for_summary
from engagements.documents.models import Document, DocumentFailure
from engagements.engagement.models import Engagement
from engagements.event_log.models import Event
from engagements.payouts.queries import open_overpayment_refunds, overpaid_invoices
from engagements.runs.summary import RunSummary, runs_for_summary
from engagements.settlements.models import Settlement
from engagements.settlements.queries import contracts_with_unsettled_payments

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    EngagementWithMoney = WithAnnotations[Engagement, "Annotations"]

EVENTS_SHOWN = 14


class Annotations(TypedDict):
    """Annotations of `with_summary`.

    Whether more was received than the engagement keeps, whether an invoice is open, whether an
    approved charge is not billed, and whether an audit that ended without a contract is still
    unpaid. `handover` is the newest verb of the handover.
    """

    has_too_much: bool
    owes: bool
    has_charge_to_bill: bool
    is_audit_owed: bool
    handover: str | None


def with_summary(engagements: QuerySet[Engagement]) -> QuerySet[EngagementWithMoney]:
    """Fetch these engagements with everything that `EngagementSummary` reads."""
    contracts = versions_for_summary().prefetch_related(
        Prefetch("milestones", queryset=Milestone.objects.prefetch_related(*WITH_INVOICES)),
        "settlements__disputes",
    )
    this = OuterRef("pk")
    too_much = (
        Q(Exists(contracts_with_unsettled_payments().filter(engagement=this)))
        | Q(Exists(overpaid_invoices().filter(engagement=this)))
        | Q(Exists(open_overpayment_refunds().filter(invoice__engagement=this)))
    )
    rows = engagements.select_related("customer", "lead", "audit", "time_box").prefetch_related(
        "audit__findings",
        "measurement_disputes",
        "cooperation_requests",
        "charges",
        Prefetch("contracts", queryset=contracts),
        Prefetch("runs", queryset=runs_for_summary()),
    )
    audit_owed = Exists(unbilled_audits().filter(engagement=this))
    owes = Exists(open_invoices().filter(engagement=this))
    to_bill = Exists(charges_to_bill().filter(engagement=this))
    return rows.annotate(
        has_too_much=too_much,
        owes=owes,
        has_charge_to_bill=to_bill,
        is_audit_owed=audit_owed,
        handover=Subquery(handovers.log_of(this).values("verb")[:1]),
    )


@dataclass(frozen=True)
class EngagementSummary(AuditSummary, RunSummary):
    """One engagement, from `with_summary`: audit, contract, runs and settlements."""

    engagement: EngagementWithMoney

    @property
    def settlements(self) -> list[Settlement]:
        """Every proposed settlement, newest first."""
        return [row for version in self.versions for row in version.settlements.all()]

    @property
    def is_terminated(self) -> bool:
        """Whether the contract was terminated, and no repeat undid it."""
        rows = self.engagement.charges.all()
        return any(row.is_termination and row.state == "approved" for row in rows)

    @property
    def settlement(self) -> Settlement | None:
        """The live settlement: at most one a contract."""
        live = (row for row in self.settlements if row.state != Settlement.State.VOIDED)
        return next(live, None)


def summary_of(engagement: Engagement) -> EngagementSummary:
    """Read one engagement's summary afresh."""
    return EngagementSummary(with_summary(Engagement.objects.filter(pk=engagement.pk)).get())


def documents_of(engagement: Engagement) -> list[Document]:
    """The documents issued, newest first, without their bytes."""
    return list(engagement.documents.defer("content"))


def document_failures_of(engagement: Engagement) -> QuerySet[DocumentFailure]:
    """Documents that are due and could not be made."""
    issued = Document.objects.filter(kind=OuterRef("kind"), subject=OuterRef("subject"))
    return DocumentFailure.objects.filter(~Exists(issued), engagement=engagement)


def events_of(engagement: Engagement, *, limit: int | None = EVENTS_SHOWN) -> list[Event]:
    """The events of an engagement, newest first; all of them when `limit` is None."""
    return list(engagement.events.order_by("-position")[:limit])
