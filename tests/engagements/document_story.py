"""An engagement created through the real services, with realistic names."""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager
from datetime import timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from benchmarks.services import benchmarks as sealing
from benchmarks.services import runs as measuring
from benchmarks.services import solutions
from engagements.audit import overrides
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.billing import invoices
from engagements.contracts import acceptances, drafting, offers
from engagements.contracts import services as contracts
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Engagement
from engagements.payouts import refunds
from engagements.people.models import Customer, Membership, Role, User
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.workbench import opening as engagements
from tests.engagements.cached_stories import cached_story
from tests.engagements.charts import measured
from tests.engagements.world import EXEMPT, person, received
from tests.referee_key import sign


def unrendered() -> AbstractContextManager[Any]:
    """Issue documents with a placeholder for content: rendering and signing take seconds."""
    return patch("engagements.documents.issuing._content_of", lambda source: b"%PDF-1.7")


WORKLOAD = (
    "A support assistant answers from one 4,096-token system prompt that every conversation "
    "shares. At peak 64 conversations decode at once, and three quarters of each step go into "
    "attention over the same keys and values, read again for every conversation.\n\n"
    "We want the decode step faster without changing the model, its precision or the serving "
    "framework, on the machines that we have already bought."
)
FINDINGS = {
    "hot": (
        "pass",
        "73%",
        "Profile of 200 decode steps with a 32K prefix on one H200: 73% of the GPU time lies in "
        "attention over the shared prompt, 19% in the linear layers, the rest in between.",
    ),
    "off_the_shelf": (
        "pass",
        "FlashAttention 2.8 and scaled_dot_product_attention: neither shares a prefix",
        "Both attend to each conversation's own cache, so the prompt is read once per "
        "conversation. Cascade variants exist, though not for the runtime in use here.",
    ),
    "stable": ("pass", "97% of traffic", "Two prompt lengths cover nearly everything."),
    "survives": (
        "unknown",
        "",
        "",
    ),
    "maintain": ("fail", "0 engineers", "Nobody on the team has written a GPU kernel so far."),
    "worth": ("pass", "2.4×", "A first torch version already gives this on the real step."),
}


class Story:
    """One customer, the people of the house, and their engagement. Moves are methods."""

    def __init__(self, *, currency: str = "EUR", tax: str = "19.00") -> None:
        self.currency, self.tax = currency, Decimal(tax)
        self.ada = _user("ada.lindqvist@kernels.test", "Ada Lindqvist", Role.CONSULTANT)
        self.finn = _user("finn@kernels.test", "Finnegan O’Sullivan-Brandt", Role.FINANCE)
        self.greta = _user("greta@kernels.test", "Greta Wójcik", Role.FINANCE)
        self.customer = Customer.objects.create(
            name="Nordwestdeutsche Sprachassistenz- und Dialogsysteme GmbH & Co. KG",
            address="Überseeallee 12, Haus C, 4. Obergeschoss\n20457 Hamburg",
            country="DE",
            vat_id="DE312456789",
            currency=currency,
        )
        self.sam = _user("s.ostermann@nsd.test", "Dr. Samira Ostermann-Kowalczyk", Role.NONE)
        Membership.objects.create(
            customer=self.customer, user=self.sam, rights=Membership.Rights.SIGNATORY
        )
        self.engagement: Engagement = engagements.open_engagement(
            customer=self.customer,
            title="Decoding many conversations over one shared system prompt on an H200 cluster",
            workload=WORKLOAD,
            lead=self.ada,
            by=self.ada,
        )

    def audited(self, **outcomes: str) -> Audit:
        """The audit delivered with FINDINGS; `outcomes` overrides findings by check."""
        audit = audits.start(
            engagement=self.engagement,
            cost=self.amount("6000"),
            currency=self.currency,
            by=self.ada,
        )
        for check, (outcome, value, rationale) in FINDINGS.items():
            finding = audit.findings.get(check_name=check)
            audits.record_finding(
                audit=audit,
                check=check,
                outcome=outcome,
                value=value,
                rationale=rationale,
                by=self.ada,
            )
            if check in outcomes:
                finding = overrides.propose(
                    finding=finding,
                    outcome=outcomes[check],
                    reason="Two engineers start next month and are trained during the handover.",
                    by=self.ada,
                )
                overrides.confirm(finding=finding, by=person("Grace", Role.CONSULTANT))
        return audits.deliver(audit=audit, by=self.ada)

    def offered(self, document: dict[str, Any] | None = None, **terms: Any) -> ContractVersion:
        """A contract sealed and offered on `document`, the CPU benchmark by default."""
        fee = self.amount("48000")
        first, second, third = fee / 4, fee / 2, fee / 4
        agreed: dict[str, Any] = {
            "benchmark": sealing.seal(document=document or measured.benchmark()),
            "fee": fee,
            "audit_cost": self.amount("6000"),
            "currency": self.currency,
            "tax_rate_percent": self.tax,
            "weeks": 6,
            "starts_on": timezone.localdate(),
            "target": Decimal("2.00"),
            "inconclusive": "missed",
            "dispute_days": 0,
            "acceptance_runs": 1,
            "milestones": [
                drafting.MilestoneDraft("Start of the work", first, "signed"),
                drafting.MilestoneDraft("Kernel that meets the target", second, "target_met"),
                drafting.MilestoneDraft(
                    "Handover with training, build recipe and maintenance notes", third, "handover"
                ),
            ],
            **(EXEMPT if not Decimal(self.tax) else {}),
            **terms,
        }
        draft = contracts.draft(engagement=self.engagement, by=self.ada, **agreed)
        return offers.offer(contract=draft, by=self.ada)

    def accepted(self, contract: ContractVersion) -> ContractVersion:
        """Accepted by both parties."""
        for party, user in ((Party.CONSULTANCY, self.ada), (Party.CUSTOMER, self.sam)):
            contract = acceptances.accept(
                contract=contract,
                party=party,
                typed_name=user.name,
                digest=contract.digest,
                by=user,
                address="203.0.113.7",
            )
        contract.refresh_from_db()
        return contract

    def paid_first_milestone(self, contract: ContractVersion) -> Milestone:
        """The milestone of the signature, billed and paid with its tax."""
        milestone = contract.milestones.get(position=1)
        drafted = invoices.draft(milestones=[milestone], by=self.finn)
        invoice = invoices.issue(invoice=drafted, by=self.finn)
        received(
            invoice=invoice,
            amount=invoice.gross,
            received_on=timezone.localdate(),
            reference=f"NSD {invoice.reference} SHARED PREFIX",
            by=self.finn,
            confirmed_by=self.greta,
        )
        return milestone

    def measured(self, record: dict[str, Any], purpose: str = "acceptance") -> EngagementRun:
        """A run asked for and finished with `record`; the verdict is concluded."""
        asked = runs.request(
            engagement=self.engagement,
            solution=solutions.submit(
                name=record["candidate"]["name"],
                operator=record["benchmark"]["operator"],
                filename="torch_cascade.py",
                source=record["candidate"]["source"],
            ),
            purpose=purpose,
            request_key=uuid.uuid4(),
            by=self.ada,
            benchmark=sealing.seal(document=record["benchmark"]) if purpose == "trial" else None,
        )
        claimed = measuring.claim(run_id=asked.run_id, worker="test")
        assert claimed is not None
        measuring.finish(run_id=asked.run_id, attempt=claimed.attempt, record_bytes=sign(record))
        return runs.conclude(run=EngagementRun.objects.get(pk=asked.pk))

    def settled(self, contract: ContractVersion) -> Settlement:
        """The proposed settlement approved by one and paid by another of finance."""
        settlement = contract.settlements.get()
        settlement = settlements.approve(settlement=settlement, by=self.finn)
        return refunds.mark_paid(
            settlement=settlement, reference="SEPA 2026-11-21 0000471", by=self.greta
        )

    def time_box_over(self, contract: ContractVersion) -> Settlement:
        """The time-box ended yesterday and nothing had met the target."""
        box = self.engagement.time_box
        shift = box.ends_on - timezone.localdate() + timedelta(days=1)
        box.starts_on, box.ends_on = box.starts_on - shift, box.ends_on - shift
        box.save()
        found = settlements.propose_after_time_box(engagement=self.engagement)
        assert found is not None
        return found

    def amount(self, euros: str) -> Decimal:
        """An amount that is whole in every currency."""
        return Decimal(euros)

    def gross(self, net: Decimal) -> Decimal:
        """With the contract's tax."""
        return net * (1 + self.tax / 100)


@cached_story()
def opened() -> Story:
    """An engagement in scoping."""
    return Story()


def _user(email: str, name: str, role: str) -> User:
    return User.objects.create_user(email, name=name, role=role)
