"""The registry of events: every verb of the event log, its name and whom it concerns.

Mails, notifications on the site and webhooks read this one list. An event that is missing here is
refused when it is recorded. Add a verb, its title and its topic; then say whether it waits for
the customer, for the lead or for finance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db import models


class Topic(models.TextChoices):
    """A group of events that a person receives or mutes together."""

    AUDIT = "audit", "Audit and evidence"
    CONTRACT = "contract", "Contract and time-box"
    RUNS = "runs", "Runs and their disputes"
    MONEY = "money", "Invoices, payments and refunds"
    DISCUSSION = "discussion", "Comments and mentions"
    ENGAGEMENT = "engagement", "Engagement"


@dataclass(frozen=True)
class EventType:
    """A kind of event.

    `title` heads mails and notifications, before a colon and the engagement. `portal_lead` is
    the line above the link in the mail to the customer, whose people are notified where it is
    not empty; `portal_page` is the page that the link opens. `is_notice` marks a notice under
    the contract, which is always mailed to signatories. `for_lead` notifies the engagement's
    lead, on `staff_page`. `finance_title` heads the mail to finance; without one, finance is
    not notified.
    """

    verb: str
    title: str
    topic: Topic
    portal_lead: str = ""
    portal_page: str = "portal-engagement"
    is_notice: bool = False
    for_lead: bool = False
    staff_page: str = "engagement"
    finance_title: str = ""


class UnknownEvent(LookupError):
    """A verb that the registry does not list."""


def event_type(verb: str) -> EventType:
    """Return the registered type of a verb. Raises UnknownEvent."""
    try:
        return EVENTS[verb]
    except KeyError:
        raise UnknownEvent(f"Add {verb} to the registry of events.") from None


_A, _C, _R, _M, _D, _E = (
    Topic.AUDIT,
    Topic.CONTRACT,
    Topic.RUNS,
    Topic.MONEY,
    Topic.DISCUSSION,
    Topic.ENGAGEMENT,
)
_SEE = "See the engagement in the portal:"
_DISPUTE = "Read the dispute on the run’s page:"
_INVOICES = ("See all invoices and payments:", "portal-invoices")

_TYPES: Final = (
    EventType(
        "engagement.opened", "Questions to answer", _E,
        "Answer the questions of the audit and add evidence in the portal:", "portal-evidence",
    ),
    EventType("engagement.edited", "Engagement changed", _E),
    EventType(
        "engagement.met", "Target met", _R, "Read the run and its report in the portal:",
        for_lead=True,
    ),
    EventType(
        "engagement.missed", "Target missed", _R,
        "We will mail you as soon as the settlement is approved. See the engagement in the portal:",
        is_notice=True, for_lead=True,
    ),
    EventType(
        "engagement.resumed", "Verdict replaced", _R, "See the engagement:",
        is_notice=True, for_lead=True,
    ),
    EventType(
        "engagement.cancelled", "Engagement cancelled", _E,
        "Issued documents remain available in the portal:", is_notice=True, for_lead=True,
    ),
    EventType(
        "engagement.ended_for_cause", "Contract ended for cause", _C, "See the engagement:",
        is_notice=True, for_lead=True,
    ),
    EventType(
        "engagement.terminated", "Contract terminated", _C, "See what is due:", is_notice=True,
        for_lead=True,
    ),
    EventType(
        "charge.proposed", "Charge proposed", _M, finance_title="Charge to approve",
    ),
    EventType(
        "charge.approved", "Charge beside the fee", _M, "See the charge in the portal:",
        for_lead=True,
    ),
    EventType("charge.voided", "Charge voided", _M),
    EventType("charge.cancelled", "Charge cancelled", _M, _SEE),
    EventType("engagement.closed", "Engagement closed", _E),
    EventType(
        "engagement.reopened", "Engagement reopened", _M, for_lead=True,
        finance_title="Engagement reopened",
    ),
    EventType(
        "audit_order.offered", "Audit order to accept", _A, "Read and accept it in the portal:",
        "portal-audit-order", is_notice=True,
    ),
    EventType(
        "audit_order.accepted", "Audit order accepted", _A,
        "Download the accepted order in the portal:", "portal-audit-order", is_notice=True,
        for_lead=True, staff_page="audit-order",
    ),
    EventType(
        "audit_order.declined", "Audit order declined", _A, for_lead=True,
        staff_page="audit-order",
    ),
    EventType("audit_order.withdrawn", "Audit order withdrawn", _A),
    EventType("evidence.added", "Evidence added", _A, for_lead=True,
              staff_page="engagement-evidence"),
    EventType("evidence.assigned", "Candidate of a profile named", _A),
    EventType("evidence.read_again", "Evidence read again", _A),
    EventType("evidence.withdrawn", "Evidence withdrawn", _A, for_lead=True,
              staff_page="engagement-evidence"),
    EventType("answer.recorded", "Question answered", _A, for_lead=True,
              staff_page="engagement-evidence"),
    EventType("audit.started", "Audit started", _A),
    EventType("audit.thresholds_set", "Audit thresholds set", _A),
    EventType("audit.subject_set", "Audit subject set", _A),
    EventType("audit.computed", "Findings computed", _A, for_lead=True,
              staff_page="engagement-audit"),
    EventType("audit.finding_recorded", "Finding recorded", _A),
    EventType("audit.finding_override_proposed", "Override proposed", _A, for_lead=True,
              staff_page="engagement-audit"),
    EventType("audit.finding_overridden", "Finding overridden", _A, for_lead=True,
              staff_page="engagement-audit"),
    EventType("audit.finding_override_withdrawn", "Override withdrawn", _A),
    EventType(
        "audit.delivered", "Audit delivered", _A,
        "Read the findings of each check in the portal:", "portal-audit", is_notice=True,
    ),
    EventType("audit.waived", "Audit waived", _A),
    EventType("contract.drafted", "Contract drafted", _C),
    EventType("contract.revised", "Draft revised", _C),
    EventType("contract.discarded", "Draft deleted", _C),
    EventType("amendment.drafted", "Amendment drafted", _C),
    EventType("contract.offered", "Contract offered", _C),
    EventType("contract.viewed", "Contract read", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.delegated", "Signature delegated", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.countersigned", "Signed copy uploaded", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.accepted", "Contract accepted", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.amended", "Contract amended", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.declined", "Contract declined", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.withdrawn", "Offer withdrawn", _C),
    EventType("contract.expired", "Offer expired", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType("contract.superseded", "Contract superseded", _C),
    EventType("time_box.started", "Time-box started", _C, for_lead=True,
              staff_page="engagement-time"),
    EventType("time_box.moved", "Time-box moved", _C),
    EventType("time_box.warned", "Time-box near its end", _C, for_lead=True,
              staff_page="engagement-time"),
    EventType("time.noted", "Hours recorded", _C),
    EventType("time.removed", "Hours removed", _C),
    EventType(
        "cooperation.asked", "Something is needed from you", _C,
        "Provide it, and confirm that in the portal:", is_notice=True,
    ),
    EventType("cooperation.provided", "Request fulfilled", _C, for_lead=True,
              staff_page="engagement-time"),
    EventType(
        "handover.delivered", "Handover to check", _C,
        "Accept it or state a defect in the portal:", "portal-handover", is_notice=True,
    ),
    EventType("handover.contested", "Handover contested", _C, for_lead=True,
              staff_page="engagement-contract"),
    EventType(
        "handover.accepted", "Handover accepted", _C, _SEE, is_notice=True, for_lead=True,
        staff_page="engagement-contract",
    ),
    EventType("milestone.released", "Milestone released", _M, for_lead=True,
              staff_page="engagement-contract"),
    EventType("benchmark.uploaded", "Benchmark uploaded", _R, for_lead=True,
              staff_page="engagement-benchmark"),
    EventType("benchmark.not_passed", "Benchmark needs changes", _R,
              "Read the log of its check:", "portal-benchmark", for_lead=True,
              staff_page="engagement-benchmark"),
    EventType("benchmark.to_approve", "Benchmark to approve", _R,
              "Read its sizes and files, and approve it:", "portal-benchmark", for_lead=True,
              staff_page="engagement-benchmark"),
    EventType("benchmark.check_cancelled", "Benchmark check cancelled", _R),
    EventType("benchmark.commented", "Comment on the benchmark", _D,
              "Read and answer it in the portal:", "portal-benchmark", for_lead=True,
              staff_page="engagement-benchmark"),
    EventType("benchmark.approved", "Benchmark approved", _R, for_lead=True,
              staff_page="engagement-benchmark"),
    EventType("benchmark.sealed", "Benchmark sealed", _R, "Read it in the portal:",
              "portal-benchmark", for_lead=True, staff_page="engagement-benchmark"),
    EventType(
        "run.announced", "Acceptance run announced", _R, "Follow the engagement in the portal:",
        is_notice=True,
    ),
    EventType("run.requested", "Run requested", _R),
    EventType("run.concluded", "Run concluded", _R, for_lead=True),
    EventType("run.cancelled", "Run cancelled", _R),
    EventType("run.failed", "Run failed", _R, for_lead=True),
    EventType(
        "run.disqualified", "Acceptance run disqualified", _R, "See what it means in the portal:",
        is_notice=True, for_lead=True,
    ),
    EventType(
        "run.declared_final", "Final attempt declared", _R, "Read the run in the portal:",
        is_notice=True,
    ),
    EventType("run.key_revoked", "Signing key of a run revoked", _R, for_lead=True),
    EventType(
        "measurement_dispute.raised", "Acceptance run disputed", _R, _DISPUTE, is_notice=True,
        for_lead=True, finance_title="Acceptance run disputed",
    ),
    EventType("measurement_dispute.message", "Message about a disputed run", _R, _DISPUTE,
              is_notice=True, for_lead=True),
    EventType("measurement_dispute.withdrawn", "Run dispute withdrawn", _R, _DISPUTE,
              is_notice=True),
    EventType("measurement_dispute.confirmed", "Disputed verdict confirmed", _R, _DISPUTE,
              is_notice=True),
    EventType(
        "measurement_dispute.replaced", "Disputed verdict replaced", _R, _DISPUTE, is_notice=True,
        finance_title="Settlement to review after a replaced verdict",
    ),
    EventType("measurement_dispute.source_released", "Kernel source released", _R, _DISPUTE,
              is_notice=True),
    EventType("measurement_dispute.decision_proposed", "Dispute decision proposed", _R,
              for_lead=True),
    EventType("measurement_dispute.reimbursed", "Cost of a repeat reimbursed", _R),
    EventType("measurement_dispute.booking_proposed", "Repeated run to book", _R,
              finance_title="Repeated run to book"),
    EventType("measurement_dispute.booked", "Repeated run booked", _R),
    EventType("document.issued", "Document issued", _E),
    EventType("invoice.issued", "Invoice issued", _M, *_INVOICES),
    EventType("credit_note.drafted", "Credit note drafted", _M,
              finance_title="Credit note to issue"),
    EventType("credit_note.discarded", "Draft credit note discarded", _M),
    EventType("credit_note.issued", "Credit note issued", _M, *_INVOICES),
    EventType("invoice.reminded", "Invoice overdue", _M),
    EventType("payment.recorded", "Payment received", _M, for_lead=True),
    EventType("payment.keyed", "Payment recorded by hand", _M, for_lead=True,
              finance_title="Payment to confirm"),
    EventType("payment.confirmed", "Payment confirmed", _M),
    EventType("payment.moved", "Payment moved to another invoice", _M),
    EventType("payment_reversal.proposed", "Payment reversal proposed", _M,
              finance_title="Payment reversal to approve"),
    EventType("payment_reversal.posted", "Payment reversed", _M, for_lead=True),
    EventType("payment_reversal.voided", "Payment reversal declined", _M),
    EventType("write_off.proposed", "Write-off proposed", _M,
              finance_title="Write-off to approve"),
    EventType("write_off.posted", "Amount written off", _M),
    EventType("write_off.voided", "Write-off declined", _M),
    EventType("write_off.reversed", "Write-off reversed", _M),
    EventType("settlement.proposed", "Settlement proposed", _M, for_lead=True,
              finance_title="Settlement to approve"),
    EventType(
        "settlement.approved", "Settlement approved", _M,
        "Review its figures and your refund account in the portal:", is_notice=True,
    ),
    EventType("settlement.paying", "Refund sent", _M, _SEE),
    EventType(
        "settlement.paid", "Settlement paid", _M,
        "Download the statement in the portal once it is issued:", is_notice=True, for_lead=True,
    ),
    EventType("settlement.failed", "Refund failed", _M, finance_title="Refund failed"),
    EventType("settlement.voided", "Settlement voided", _M),
    EventType("settlement.disputed", "Settlement disputed", _M, for_lead=True,
              finance_title="Settlement disputed"),
    EventType("settlement.dispute_resolved", "Dispute resolved", _M,
              "See the next step in the portal:", is_notice=True),
    EventType("overpayment_refund.proposed", "Overpayment refund proposed", _M,
              finance_title="Overpayment refund to send"),
    EventType("overpayment_refund.paying", "Overpayment refund sent", _M),
    EventType("overpayment_refund.paid", "Overpayment refunded", _M, *_INVOICES),
    EventType("overpayment_refund.failed", "Overpayment refund failed", _M,
              finance_title="Overpayment refund failed"),
    EventType("overpayment_refund.voided", "Overpayment refund voided", _M),
    EventType("refund_account.proposed", "Refund account proposed", _M),
    EventType("refund_account.confirmed", "Refund account confirmed", _M),
    EventType("comment.added", "Comment", _D, "Read and answer it in the portal:",
              for_lead=True),
    EventType("customer.edited", "Billing details changed", _E, for_lead=True),
    EventType("membership.invited", "Person invited", _E, for_lead=True),
    EventType("membership.changed", "Rights changed", _E, for_lead=True),
    EventType("membership.removed", "Access removed", _E, for_lead=True),
    # Finance's own log, which belongs to no engagement.
    *(
        EventType(f"period.{state}", f"Month {title}", _M)
        for state, title in (
            ("proposed", "proposed for closing"), ("closed", "closed"),
            ("reopened", "reopened"), ("voided", "left open"),
        )
    ),
    *(
        EventType(f"period_reopening.{state}", f"Reopening of a month {title}", _M)
        for state, title in (
            ("proposed", "proposed"), ("posted", "approved"), ("voided", "declined"),
        )
    ),
    *(
        EventType(f"staff.{step}", title, _E)
        for step, title in (
            ("invited", "Person invited"), ("role_given", "Role given"),
            ("closed", "Account closed"), ("reopened", "Account reopened"),
            ("second_factor_removed", "Second factor removed"),
            ("address_changed", "Address changed"),
        )
    ),
    *(
        EventType(f"finance_grant.{step}", f"Finance role {step}", _E)
        for step in ("proposed", "confirmed", "granted", "voided", "revoked")
    ),
)  # fmt: skip

EVENTS: Final[Mapping[str, EventType]] = {each.verb: each for each in _TYPES}
