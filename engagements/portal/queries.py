"""One engagement as the customer's people see it: what is delivered, sealed or measured."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet

from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.rules import CHECKS, Check
from engagements.billing.milestones import MilestoneLine, milestone_lines
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.signatories import who_signs
from engagements.contracts.time_box.burn_down import BurnDown, burn_down_of
from engagements.contracts.time_box.models import TimeBox
from engagements.contracts.versions import sealed_contracts
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.event_log.models import Event
from engagements.payouts.queries import overpaid_invoices
from engagements.people.models import BankAccount
from engagements.people.signatories import signatories_of
from engagements.runs.estimates import Estimate, estimate_of
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of
from engagements.settlements.models import Settlement
from engagements.settlements.queries import has_unsettled_payments, settlement_of

# How much of what happened a page shows before it folds the rest away.
RECENT = 6


class CheckLine(NamedTuple):
    """A check with the outcome that counts and its reason."""

    check: Check
    outcome: str
    value: str
    reason: str


@dataclass(frozen=True)
class PortalEngagement:
    """What a customer's person may see of one engagement."""

    engagement: Engagement
    audit: Audit | None
    checks: list[CheckLine]
    contract: ContractVersion | None
    offered: ContractVersion | None
    clock: BurnDown | None
    runs: list[EngagementRun]
    milestones: list[MilestoneLine]
    settlement: Settlement | None
    more_came_in: bool
    refund_to: BankAccount | None
    documents: list[Document]
    events: list[Event]
    signatories: list[str]

    @property
    def passed(self) -> int:
        """How many checks pass."""
        return sum(line.outcome == FindingOutcome.PASS for line in self.checks)

    @property
    def recent_events(self) -> list[Event]:
        """What happened last, newest first."""
        return self.events[:RECENT]

    @property
    def earlier_events(self) -> list[Event]:
        """What happened before that."""
        return self.events[RECENT:]

    @property
    def open_run(self) -> EngagementRun | None:
        """The run that is waiting or being measured now."""
        return next((run for run in self.runs if not run.run.is_concluded), None)

    @property
    def measured(self) -> Estimate | None:
        """The newest measured ratio."""
        runs = (run for run in self.runs if record_of(run) is not None)
        estimates = (estimate_of(run) for run in runs)
        return next((estimate for estimate in estimates if estimate is not None), None)

    @property
    def owes(self) -> bool:
        """Whether an invoice waits to be paid."""
        return any(line.open_amount > 0 for line in self.milestones)

    @property
    def handover_is_open(self) -> bool:
        """Whether the contract in force still waits for the customer to accept the handover."""
        return any(
            line.milestone.condition == ReleaseCondition.HANDOVER
            and line.milestone.state == Milestone.State.PENDING
            for line in self.milestones
        )


def portal_engagement(engagement: Engagement, *, today: datetime.date) -> PortalEngagement:
    """Read everything that the portal shows of `engagement`, in a constant number of queries."""
    contracts = list(sealed_contracts(engagement))
    contract = contract_in_force(contracts)
    audit = Audit.objects.filter(engagement=engagement, delivered_at__isnull=False).first()
    box = TimeBox.objects.filter(engagement=engagement).first()
    offered = next((c for c in contracts if c.state == ContractVersion.State.OFFERED), None)
    settlement = settlement_of(engagement)
    signatories = who_signs(offered) if offered else signatories_of(engagement.customer)
    return PortalEngagement(
        engagement=engagement,
        audit=audit,
        checks=check_lines(audit) if audit else [],
        contract=contract,
        offered=offered,
        clock=burn_down_of(box, contract, today=today) if box else None,
        runs=list(runs_of(engagement)),
        milestones=milestone_lines(engagement) if contract else [],
        settlement=settlement,
        more_came_in=has_unsettled_payments(engagement)
        if settlement
        else overpaid_invoices().filter(engagement=engagement).exists(),
        refund_to=engagement.customer.bank_accounts.first() if settlement else None,
        documents=list(documents_of(engagement)),
        events=list(events_of(engagement)),
        signatories=[str(user) for user in signatories],
    )


def contract_in_force(contracts: list[ContractVersion]) -> ContractVersion | None:
    """The accepted version of these (newest first), or None."""
    return next((c for c in contracts if c.state == ContractVersion.State.ACCEPTED), None)


def check_lines(audit: Audit) -> list[CheckLine]:
    """Return every check in order, with the outcome that counts and its reason."""
    findings: dict[str, Finding] = {f.check_name: f for f in audit.findings.all()}
    lines = []
    for check in CHECKS:
        finding = findings.get(check.name)
        if finding is None:
            lines.append(CheckLine(check, FindingOutcome.UNKNOWN, "", ""))
            continue
        value, reason = finding.value, finding.rationale
        computed = None if finding.is_by_hand else finding.computed_finding
        if computed is not None:
            # What an engineer wants to read stands in the report.
            value, reason = computed.shown, computed.sentence
        reason = finding.override_reason or reason
        lines.append(CheckLine(check, finding.effective_outcome, value, reason))
    return lines


def runs_of(engagement: Engagement) -> QuerySet[EngagementRun]:
    """The acceptance runs of an engagement, newest first; trials are work in progress."""
    return (
        engagement.runs.filter(purpose=EngagementRun.Purpose.ACCEPTANCE)
        .select_related("run__record", "run__benchmark", "contract_version", "engagement")
        .order_by("-pk")
    )


def documents_of(engagement: Engagement) -> QuerySet[Document]:
    """Documents that were issued for the customer, newest first, without their bytes."""
    return engagement.documents.filter(for_customer=True).defer("content")


def events_of(engagement: Engagement) -> QuerySet[Event]:
    """What happened, as far as it is for the customer, newest first."""
    return engagement.events.filter(for_customer=True).order_by("-position")
