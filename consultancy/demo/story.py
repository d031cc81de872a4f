"""The demonstration's path: audit, contract, measured verdict, money, documents.

Everything goes through the services that the pages call; nothing is written past them, and
the verdicts are whatever the workers measure.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from django.utils import timezone

from benchmarks.models import Benchmark
from benchmarks.services import benchmarks as benchmark_services
from benchmarks.services import solutions as solution_services
from consultancy.demo.auditing import examine
from consultancy.demo.cast import Cast, welcome
from consultancy.demo.chapters import Chapter
from consultancy.demo.waiting import Patience
from engagements.models import (
    ContractVersion,
    Engagement,
    EngagementRun,
    Milestone,
    Party,
    Settlement,
    Stage,
    User,
)
from engagements.money import format_money
from engagements.queries.balances import open_invoices
from engagements.services import contracts, invoices, payments, runs, settlements
from engagements.services import engagements as engagement_services
from engagements.services.contracts import MilestoneDraft
from kernels import catalogue

Say = Callable[[str], None]


@dataclass(frozen=True)
class Scene:
    """One engagement of the demonstration, as far as it has been played."""

    chapter: Chapter
    engagement: Engagement
    signatory: User
    acceptance: EngagementRun


def open_scene(chapter: Chapter, *, cast: Cast, preset: str, patience: Patience, say: Say) -> Scene:
    """Play a chapter up to the moment at which its acceptance run waits for a worker."""
    customer, signatory = welcome(chapter.client, password=cast.password)
    engagement = engagement_services.open_engagement(
        customer=customer,
        title=chapter.title,
        workload=chapter.workload,
        lead=cast.consultant,
        by=cast.consultant,
    )
    say(f"{engagement.reference}  {customer.name}: {chapter.title}")
    passed = examine(
        chapter, engagement=engagement, asked=signatory, by=cast.consultant, patience=patience
    )
    say(f"{engagement.reference}  audit delivered: {passed} of six checks pass")
    benchmark = benchmark_services.seal(
        document=catalogue.benchmark_document(chapter.operator, preset)
    )
    say(f"{engagement.reference}  benchmark {benchmark.name} sealed, {benchmark.digest[:19]}…")
    contract = _sign(
        chapter, engagement=engagement, benchmark=benchmark, cast=cast, signatory=signatory
    )
    say(
        f"{engagement.reference}  contract signed by both: "
        f"{format_money(contract.fee, contract.currency)}, "
        f"{contract.weeks} weeks, {contract.target}x end-to-end"
    )
    _collect(contract, cast=cast)
    acceptance = runs.request(
        engagement=Engagement.objects.get(pk=engagement.pk),
        solution=solution_services.from_catalogue(
            operator=chapter.operator,
            name=catalogue.presets(chapter.operator)[preset].candidate,
        ),
        purpose=EngagementRun.Purpose.ACCEPTANCE,
        request_key=uuid.uuid4(),
        by=cast.consultant,
    )
    return Scene(chapter=chapter, engagement=engagement, signatory=signatory, acceptance=acceptance)


def close_scene(scene: Scene, *, cast: Cast, say: Say) -> None:
    """Let finance do what the verdict asks for: bill what was released, or settle."""
    engagement = Engagement.objects.get(pk=scene.engagement.pk)
    contract = ContractVersion.objects.get(
        engagement=engagement, state=ContractVersion.State.ACCEPTED
    )
    if engagement.stage == Stage.ACTIVE:
        say(f"{engagement.reference}  nothing is decided: the run may be asked for again")
    if engagement.stage == Stage.MET:
        billed = _bill_released(contract, cast=cast)
        say(f"{engagement.reference}  target met: {billed} milestone billed, handover is next")
    for settlement in Settlement.objects.filter(contract_version=contract):
        settlements.approve(settlement=settlement, by=cast.finance)
        settlements.start_payment(settlement=settlement, by=cast.finance)
        settlements.mark_paid(
            settlement=settlement,
            reference=f"REFUND-{engagement.reference}",
            by=cast.second_finance,
        )
        say(
            f"{engagement.reference}  settled: "
            f"{format_money(settlement.payments_received, settlement.currency)} received, "
            f"{format_money(settlement.refund, settlement.currency)} goes back"
        )


def _sign(
    chapter: Chapter,
    *,
    engagement: Engagement,
    benchmark: Benchmark,
    cast: Cast,
    signatory: User,
) -> ContractVersion:
    contract = contracts.draft(
        engagement=engagement,
        benchmark=benchmark,
        fee=chapter.fee,
        audit_cost=chapter.audit_cost,
        currency=chapter.client.currency,
        tax_rate_percent=chapter.tax_rate_percent,
        weeks=chapter.weeks,
        starts_on=timezone.localdate(),
        target=Decimal(str(benchmark.document["target"])),
        inconclusive=ContractVersion.Inconclusive.MISSED,
        milestones=[
            MilestoneDraft(title=title, amount=amount, condition=condition)
            for title, amount, condition in chapter.milestones
        ],
        by=cast.consultant,
    )
    contract = contracts.offer(contract=contract, by=cast.consultant)
    signers = [(Party.CUSTOMER, signatory), (Party.CONSULTANCY, cast.consultant)]
    for party, person in signers:
        contracts.accept(
            contract=contract,
            party=party,
            typed_name=person.name,
            digest=contract.digest,
            by=person,
            address="127.0.0.1",
        )
    return ContractVersion.objects.get(pk=contract.pk)


def _bill_released(contract: ContractVersion, *, cast: Cast) -> int:
    """One invoice for everything that was released; returns how many milestones stand on it."""
    released = list(contract.milestones.filter(state=Milestone.State.RELEASED))
    if released:
        drafted = invoices.draft(milestones=released, by=cast.finance)
        invoices.issue(invoice=drafted, by=cast.finance)
    return len(released)


def _collect(contract: ContractVersion, *, cast: Cast) -> None:
    """Bill what the signature released, and let the customer pay it at once."""
    _bill_released(contract, cast=cast)
    for invoice in open_invoices().filter(engagement=contract.engagement):
        payments.record(
            invoice=invoice,
            amount=invoice.asked,
            received_on=timezone.localdate(),
            reference=f"Transfer {invoice.reference}",
            by=cast.finance,
        )
