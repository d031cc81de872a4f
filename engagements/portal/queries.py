"""Data of the portal: one engagement as its customer may see it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet, prefetch_related_objects

from benchmarks.models import Verdict
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.rules import CHECKS, Check
from engagements.billing.milestones import MilestoneLine, milestone_lines
from engagements.contracts.milestones import handovers
from engagements.contracts.models import ContractVersion
from engagements.contracts.signatories import who_signs
from engagements.contracts.time_box.burn_down import BurnDown, burn_down_of
from engagements.contracts.time_box.models import TimeBox
from engagements.contracts.versions import sealed_contracts
from engagements.documents.models import Document
from engagements.engagement.models import Engagement, Stage
from engagements.event_log.models import Event
from engagements.evidence.models import Answer
from engagements.payouts.queries import overpaid_invoices
from engagements.people import bank_accounts
from engagements.people.bank_accounts import BankAccount
from engagements.people.signatories import signatories_of
from engagements.portal.charges import ChargeRow, charges_of
from engagements.runs.estimates import Estimate, binding_estimate
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import DISQUALIFICATIONS_FOR_CAUSE
from engagements.runs.summary import record_of, verdict_of
from engagements.settlements.models import Settlement
from engagements.settlements.queries import contracts_with_unsettled_payments, settlements_of

# Events shown before the rest is collapsed.
RECENT = 6
OFFERED = ContractVersion.State.OFFERED


class CheckLine(NamedTuple):
    """A check with its effective outcome, and the finding that an override replaced.

    `found` is the outcome without the override, empty where none counts; `override_reason` is
    the override's.
    """

    check: Check
    outcome: str
    value: str
    reason: str
    found: str = ""
    override_reason: str = ""


@dataclass(frozen=True)
class PortalEngagement:
    """An engagement as its customer may see it.

    `handover` is the newest verb of the handover once the target is met, else empty.
    """

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
    unanswered: int
    handover: str
    charges: list[ChargeRow]

    @cached_property
    def documents(self) -> list[Document]:
        """Documents issued for the customer, newest first, without their bytes."""
        return list(documents_of(self.engagement))

    @cached_property
    def events(self) -> list[Event]:
        """The events for the customer, newest first."""
        return list(events_of(self.engagement))

    @cached_property
    def signatories(self) -> list[str]:
        """The names of the people who may sign the pending offer, else of all signatories."""
        offered = self.offered
        users = who_signs(offered) if offered else signatories_of(self.engagement.customer)
        return [str(user) for user in users]

    @property
    def passed(self) -> int:
        """How many checks pass."""
        return sum(line.outcome == FindingOutcome.PASS for line in self.checks)

    @property
    def overridden(self) -> int:
        """How many findings are overridden."""
        return sum(bool(line.found) for line in self.checks)

    @property
    def passed_found(self) -> int:
        """How many checks pass without overrides."""
        found = [line.found or line.outcome for line in self.checks]
        return found.count(FindingOutcome.PASS)

    @property
    def recent_events(self) -> list[Event]:
        """The latest events, newest first."""
        return self.events[:RECENT]

    @property
    def earlier_events(self) -> list[Event]:
        """Earlier events."""
        return self.events[RECENT:]

    @property
    def open_run(self) -> EngagementRun | None:
        """The run whose verdict is pending."""
        return next((run for run in self.runs if run.concluded_at is None), None)

    @property
    def measured(self) -> Estimate | None:
        """The newest measured ratio."""
        runs = (run for run in self.runs if record_of(run) is not None)
        estimates = (binding_estimate(run) for run in runs)
        return next((estimate for estimate in estimates if estimate is not None), None)

    @property
    def attempts_used(self) -> int:
        """How many attempts of the contract are used up."""
        return sum(run.attempt is not None for run in self.runs)

    @property
    def may_end_for_cause(self) -> bool:
        """Whether two attempts were disqualified, and the work continues."""
        disqualified = sum(
            verdict_of(run) == Verdict.DISQUALIFIED for run in self.runs if run.attempt is not None
        )
        is_active = self.engagement.stage == Stage.ACTIVE
        return is_active and disqualified >= DISQUALIFICATIONS_FOR_CAUSE

    @property
    def owes(self) -> bool:
        """Whether an invoice is unpaid."""
        owed = [row.open_amount for row in self.milestones]
        return any(amount > 0 for amount in (*owed, *(row.open_amount for row in self.charges)))

    @property
    def handover_is_open(self) -> bool:
        """Whether the customer still has to accept the handover of the contract in force."""
        is_met = self.engagement.stage == Stage.MET
        return is_met and self.handover not in ("", "handover.accepted")

    @property
    def is_handed_over(self) -> bool:
        """Whether the handover is accepted."""
        return self.handover == "handover.accepted"

    @property
    def is_delivered(self) -> bool:
        """Whether the deliverables are handed over, and neither accepted nor contested."""
        return self.handover == "handover.delivered"


def portal_engagement(engagement: Engagement, *, today: datetime.date) -> PortalEngagement:
    """Read the portal's data of one engagement."""
    return portal_engagements([engagement], today=today)[0]


def portal_engagements(
    engagements: Sequence[Engagement], *, today: datetime.date
) -> list[PortalEngagement]:
    """Read the portal's data of `engagements`, in as many queries as of one."""
    prefetch_related_objects(engagements, "cooperation_requests")
    audits = {audit.engagement_id: audit for audit in _delivered_audits(engagements)}
    boxes = {box.engagement_id: box for box in TimeBox.objects.filter(engagement__in=engagements)}
    contracts = _grouped(sealed_contracts(*engagements), "engagement_id")
    runs = _grouped(runs_of(*engagements), "engagement_id")
    settlements = settlements_of(engagements)
    lines: dict[int, list[MilestoneLine]] = defaultdict(list)
    for line in milestone_lines(*engagements):
        lines[line.milestone.contract_version.engagement_id].append(line)
    unsettled = _engagements_of(contracts_with_unsettled_payments(), engagements)
    overpaid = _engagements_of(overpaid_invoices(), engagements)
    customers = {row.customer for row in engagements if row.pk in settlements}
    accounts = {customer: bank_accounts.current(customer) for customer in customers}
    answered = _answered(engagements)
    handed_over = _handovers(engagements)
    charges = charges_of(engagements)
    found = []
    for engagement in engagements:
        key = engagement.pk
        contract = contract_in_force(contracts[key])
        audit, settlement = audits.get(key), settlements.get(key)
        found.append(
            PortalEngagement(
                engagement=engagement,
                audit=audit,
                checks=check_lines(audit) if audit else [],
                contract=contract,
                offered=next((row for row in contracts[key] if row.state == OFFERED), None),
                clock=_clock(engagement, boxes.get(key), contract, today),
                runs=runs[key],
                milestones=lines[key] if contract else [],
                settlement=settlement,
                more_came_in=key in (unsettled if settlement else overpaid),
                refund_to=accounts[engagement.customer] if settlement else None,
                unanswered=len(Answer.Question.values) - answered[key] if key in answered else 0,
                handover=handed_over.get(key) or "",
                charges=charges[key],
            )
        )
    return found


def _grouped(rows: Iterable[Any], attribute: str) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        groups[getattr(row, attribute)].append(row)
    return groups


def _engagements_of(rows: QuerySet[Any], engagements: Sequence[Engagement]) -> set[int]:
    return set(rows.filter(engagement__in=engagements).values_list("engagement", flat=True))


def _handovers(engagements: Sequence[Engagement]) -> dict[int, str]:
    met = [row.pk for row in engagements if row.stage in (Stage.MET, Stage.CLOSED)]
    return handovers.newest_verbs(met) if met else {}


def _delivered_audits(engagements: Sequence[Engagement]) -> QuerySet[Audit]:
    audits = Audit.objects.filter(engagement__in=engagements, delivered_at__isnull=False)
    return audits.prefetch_related("findings")


def _clock(
    engagement: Engagement,
    box: TimeBox | None,
    contract: ContractVersion | None,
    today: datetime.date,
) -> BurnDown | None:
    if box is None:
        return None
    box.engagement = engagement
    return burn_down_of(box, contract, today=today)


def _answered(engagements: Sequence[Engagement]) -> dict[int, int]:
    """How many questions of the audit are answered, for engagements that still ask them."""
    asking = [row.pk for row in engagements if row.stage in (Stage.SCOPING, Stage.AUDITING)]
    counts = Answer.objects.filter(engagement__in=asking).order_by().values_list("engagement")
    found = dict(counts.annotate(Count("question", distinct=True)))
    return {pk: found.get(pk, 0) for pk in asking}


def contract_in_force(contracts: list[ContractVersion]) -> ContractVersion | None:
    """Return the accepted version among these (newest first), or None."""
    return next((c for c in contracts if c.state == ContractVersion.State.ACCEPTED), None)


def check_lines(audit: Audit) -> list[CheckLine]:
    """Return every check in order, with its effective outcome and reason."""
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
            # Details for engineers are in the report.
            value, reason = computed.shown, computed.sentence
        override = (finding.outcome, finding.override_reason) if finding.is_overridden else ("", "")
        lines.append(CheckLine(check, finding.effective_outcome, value, reason, *override))
    return lines


def runs_of(*engagements: Engagement) -> QuerySet[EngagementRun]:
    """Return the acceptance runs of `engagements`, newest first. Trials are internal."""
    return (
        EngagementRun.objects.filter(
            engagement__in=engagements, purpose=EngagementRun.Purpose.ACCEPTANCE
        )
        .select_related(
            "run__record",
            "run__benchmark",
            "contract_version",
            "engagement",
            "counterpart__run__record",
        )
        .order_by("-pk")
    )


def documents_of(engagement: Engagement) -> QuerySet[Document]:
    """Return documents issued for the customer, newest first, without their bytes."""
    return engagement.documents.filter(for_customer=True).defer("content")


def events_of(engagement: Engagement) -> QuerySet[Event]:
    """Return the events for the customer, newest first."""
    return engagement.events.filter(for_customer=True).order_by("-position")
