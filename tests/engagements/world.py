"""A consultancy with its people, one customer and one stranger, and engagements in any stage.

Everything is made through the services, so whatever a test starts from could have happened.
Runs are concluded by a stored record, without measuring.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import count
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from benchmarks.models import Benchmark, Record, Run, SigningKey, Solution
from benchmarks.services import benchmarks
from engagements.audit import overrides
from engagements.audit import services as audits
from engagements.audit.models import Audit, Finding
from engagements.billing import invoices, payments
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.contracts import acceptances, offers
from engagements.contracts import services as contracts
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones import services as milestones
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Engagement
from engagements.ledger.period_models import Period
from engagements.people.models import Customer, Membership, Role, User
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement
from engagements.workbench import opening
from kernels import catalogue

VALUES = {
    "hot": "38%",
    "off_the_shelf": "FlashAttention 2.8: no sharing of a prefix",
    "stable": "97% of traffic",
    "survives": "18 months",
    "maintain": "2 engineers",
    "worth": "2.6x",
}
MILESTONES = (
    ("Signature", Decimal("12000"), "signed"),
    ("Audit", Decimal("6000"), "audit_delivered"),
    ("Target", Decimal("22000"), "target_met"),
    ("Handover", Decimal("8000"), "handover"),
)
# What a contract without tax states.
EXEMPT = {"tax_treatment": "exempt", "tax_note": "VAT exempt."}
_numbers = count(1)


@lru_cache
def _benchmark_document() -> dict[str, Any]:
    return catalogue.benchmark_document("shared_prefix_attention", "cpu")


def person(name: str, role: Role = Role.NONE, **fields: Any) -> User:
    """A user who cannot sign in: no test here hashes a password."""
    email = f"{name.lower()}{next(_numbers)}@example.com"
    return User.objects.create(email=email, name=name, role=role, password="!", **fields)


class World:
    """The people, and one method for each stage that an engagement can be brought to."""

    def __init__(self) -> None:
        self.consultant = person("Connie", Role.CONSULTANT)
        self.finance = person("Finn", Role.FINANCE)
        self.controller = person("Fiona", Role.FINANCE)
        self.admin = person("Ada", Role.ADMIN, is_staff=True, is_superuser=True)
        self.customer, self.signatory = self.company("Longprompt AG", "Sigrid")
        self.viewer = person("Vic")
        Membership.objects.create(customer=self.customer, user=self.viewer)
        self.other_customer, self.stranger = self.company("Elsewhere Ltd", "Stan")
        self.nobody = person("Norma")
        self.benchmark: Benchmark = benchmarks.seal(document=_benchmark_document())
        self.solution = Solution.objects.create(
            name="torch_cascade",
            operator=self.benchmark.operator,
            filename="torch_cascade.py",
            source="def run(): ...",
            digest="sha256:" + "0" * 64,
        )

    def company(self, name: str, signatory: str) -> tuple[Customer, User]:
        """A customer with one signatory."""
        customer = Customer.objects.create(name=name, address="Weg 1\n10115 Berlin", country="DE")
        user = person(signatory)
        rights = Membership.Rights.SIGNATORY
        Membership.objects.create(customer=customer, user=user, rights=rights)
        return customer, user

    def also_signs(self, name: str) -> User:
        """One more signatory of the customer."""
        user = person(name)
        rights = Membership.Rights.SIGNATORY
        Membership.objects.create(customer=self.customer, user=user, rights=rights)
        return user

    def scoping(self, *, customer: Customer | None = None) -> Engagement:
        return opening.open_engagement(
            customer=customer or self.customer,
            title="Shared prompt",
            workload="A long shared prompt, short questions.",
            lead=self.consultant,
            by=self.consultant,
        )

    def auditing(self, **fields: Any) -> Audit:
        return audits.start(
            engagement=fields.pop("engagement", None) or self.scoping(),
            cost=Decimal("6000"),
            currency=fields.pop("currency", "EUR"),
            by=self.consultant,
        )

    def answer(self, audit: Audit, *outcomes: str) -> Audit:
        """Record six findings, in the order of the checks."""
        for (check, value), outcome in zip(VALUES.items(), outcomes, strict=True):
            if outcome == "fail":
                value = {"hot": "3%", "worth": "1.2x"}.get(check, value)
            audits.record_finding(
                audit=audit,
                check=check,
                outcome=outcome,
                value="" if outcome == "unknown" else value,
                rationale="As measured." if outcome != "unknown" else "",
                by=self.consultant,
            )
        return audit

    def override(self, audit: Audit, check: str, outcome: str) -> Finding:
        """Override a finding by two consultants."""
        finding = overrides.propose(
            finding=audit.findings.get(check_name=check),
            outcome=outcome,
            reason="As agreed.",
            by=self.consultant,
        )
        return overrides.confirm(finding=finding, by=self.admin)

    def audited(self, **fields: Any) -> Engagement:
        audit = self.auditing(**fields)
        # Most tests begin after this; six findings by the service would be half their time.
        audit.findings.update(
            outcome="pass", value="As wanted", rationale="Seen.", found_at=timezone.now()
        )
        audits.deliver(audit=audit, by=self.consultant)
        return fresh(audit.engagement)

    def terms(self, **changes: Any) -> dict[str, Any]:
        """What a contract is drafted with."""
        return {
            "benchmark": self.benchmark,
            "fee": Decimal("48000"),
            "audit_cost": Decimal("6000"),
            "currency": "EUR",
            "tax_rate_percent": Decimal("19"),
            "weeks": 6,
            "starts_on": timezone.localdate(),
            "target": Decimal("2.0"),
            "inconclusive": "missed",
            "dispute_days": 0,
            # One attempt, so that a single run decides.
            "acceptance_runs": 1,
            "milestones": [MilestoneDraft(*milestone) for milestone in MILESTONES],
            "by": self.consultant,
        } | changes

    def drafted(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        currency = changes.get("currency", "EUR")
        engagement = engagement or self.audited(currency=currency)
        return contracts.draft(engagement=engagement, **self.terms(**changes))

    def offered(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        return offers.offer(contract=self.drafted(engagement, **changes), by=self.consultant)

    def accept(self, contract: ContractVersion, side: Party, **changes: Any) -> ContractVersion:
        by = changes.get("by") or (self.signatory if side == Party.CUSTOMER else self.consultant)
        given: dict[str, Any] = {
            "contract": contract,
            "party": side,
            "typed_name": by.name,
            "digest": contract.digest,
            "by": by,
            "address": "192.0.2.7",
        }
        return acceptances.accept(**given | changes)

    def active(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        contract = self.offered(engagement, **changes)
        self.accept(contract, Party.CUSTOMER)
        return self.accept(contract, Party.CONSULTANCY)

    def request(self, contract: ContractVersion, purpose: str = "acceptance") -> EngagementRun:
        return runs.request(
            engagement=contract.engagement,
            solution=self.solution,
            purpose=purpose,
            request_key=uuid4(),
            by=self.consultant,
        )

    def conclude(self, asked: EngagementRun, verdict: str) -> EngagementRun:
        return runs.conclude(run=measured(asked, verdict))

    def met(self, **changes: Any) -> ContractVersion:
        return self.decided("met", **changes)

    def missed(self, **changes: Any) -> ContractVersion:
        """A contract whose only attempt missed the target."""
        return self.decided("missed", **changes)

    def decided(self, verdict: str, *, paid: int = 2, **changes: Any) -> ContractVersion:
        """A contract whose first `paid` milestones were paid before the verdict."""
        contract = self.active(**changes)
        for milestone in list(contract.milestones.order_by("position"))[:paid]:
            self.pay(milestone)
        self.conclude(self.request(contract), verdict)
        return ContractVersion.objects.get(pk=contract.pk)

    def bill(self, *parts: Milestone) -> Milestone:
        """Issue an invoice of these milestones; the first of them is returned as it is then."""
        self.invoice(*parts)
        return Milestone.objects.get(pk=parts[0].pk)

    def invoice(self, *parts: Milestone) -> Invoice:
        """The issued invoice of these milestones."""
        drafted = invoices.draft(milestones=parts, by=self.finance)
        return invoices.issue(invoice=drafted, by=self.finance)

    def pay(self, milestone: Milestone, amount: Decimal | None = None) -> None:
        """Bill a milestone and have it paid in full, unless `amount` says otherwise."""
        invoice = self.invoice(milestone)
        received(
            invoice=invoice,
            amount=invoice.gross if amount is None else amount,
            received_on=timezone.localdate(),
            reference=f"P-{milestone.pk}",
            by=self.finance,
            confirmed_by=self.controller,
        )

    def overpaid(self, too_much: Decimal) -> Invoice:
        """The first invoice of a contract in force, paid with this much more than it asks."""
        invoice = self.invoice(self.active().milestones.get(position=1))
        self.paid_beyond(invoice, invoice.gross + too_much, "P-1")
        return invoice

    def paid_beyond(self, invoice: Invoice, amount: Decimal, reference: str) -> None:
        """Have this much come in for an invoice, whatever is still open on it."""
        received(
            invoice=invoice,
            amount=amount,
            received_on=timezone.localdate(),
            reference=reference,
            by=self.finance,
            confirmed_by=self.controller,
            may_exceed=True,
        )

    def met_paid_and_overpaid(self, too_much: Decimal) -> Invoice:
        """The last invoice of a met contract that is handed over and paid, paid beyond by this."""
        contract = self.active()
        self.conclude(self.request(contract), "met")
        milestones.accept_handover(engagement=contract.engagement, by=self.signatory)
        for milestone in contract.milestones.order_by("position"):
            self.pay(milestone)
        last = contract.engagement.invoices.latest("pk")
        self.paid_beyond(last, too_much, "twice")
        return last

    def settlement(self, **changes: Any) -> Settlement:
        """What a missed target led to: proposed by the application."""
        return Settlement.objects.get(contract_version=self.missed(**changes))


def received(*, confirmed_by: User, **figures: Any) -> Payment:
    """A payment keyed by one person of finance and confirmed by another."""
    return payments.confirm(payment=payments.record(**figures), by=confirmed_by)


def measured(
    asked: EngagementRun,
    verdict: str,
    ratio: float | None = None,
    signed_by: SigningKey | None = None,
) -> EngagementRun:
    """Conclude the run itself, with a stored record of this verdict.

    "failed" and "crashed" have no record; "noisy" is inconclusive above the target.
    """
    code = {"failed": "interrupted", "crashed": "candidate_crashed"}.get(verdict, "")
    failed = code != ""
    Run.objects.filter(pk=asked.run_id).update(
        state=Run.State.FAILED if failed else Run.State.FINISHED,
        failure_code=code,
        failure_reason="The candidate raised: out of memory." if failed else "",
        attempt=1,
        finished_at=timezone.now(),
    )
    if not failed:
        usual = {"met": 2.4, "missed": 1.1, "inconclusive": 2.0, "noisy": 2.4}
        ratio = ratio or usual.get(verdict)
        verdict = "inconclusive" if verdict == "noisy" else verdict
        Record.objects.create(
            run_id=asked.run_id,
            attempt=1,
            file=f"records/{asked.pk}.json",
            digest="sha256:" + hashlib.sha256(f"{asked.pk}".encode()).hexdigest(),
            verdict=verdict,
            ratio=ratio,
            low=ratio and ratio - 0.1,
            high=ratio and ratio + 0.1,
            summary={
                "verdict": verdict,
                "reasons": ["the figures", "2 rounds left out as interrupted"],
                "target": 2.0,
                "confidence": 0.95,
                "low": ratio and ratio - 0.1,
                "high": ratio and ratio + 0.1,
            },
            device_name="CPU",
            signed_by=signed_by,
        )
    return EngagementRun.objects.get(pk=asked.pk)


def closed_month(world: World, month: date) -> Period:
    """A month, given by its first day, that two people closed."""
    row = Period.objects.create(month=month, proposed_by=world.finance)
    row.state, row.approved_by, row.decided_at = "closed", world.controller, timezone.now()
    row.save()
    return row


@contextmanager
def undone() -> Iterator[None]:
    """Whatever is written inside is rolled back, so that one start serves several tries."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def contract_of(invoice: Invoice) -> ContractVersion:
    """The contract that the invoice bills."""
    assert invoice.contract_version is not None
    return invoice.contract_version


def fresh(engagement: Engagement) -> Engagement:
    """The engagement as the database has it now."""
    return Engagement.objects.get(pk=engagement.pk)


def days(number: int) -> timedelta:
    return timedelta(days=number)


def today() -> date:
    return timezone.localdate()
