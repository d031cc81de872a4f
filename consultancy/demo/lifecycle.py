"""Take an engagement through audit, contract, measured verdict, invoices and settlement.

Calls the same services as the pages do; the verdicts are the ones the workers measure.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from decimal import Decimal

from django.utils import timezone

from benchmarks.models import Benchmark, Solution
from benchmarks.services import benchmarks as benchmark_services
from benchmarks.services import solutions as solution_services
from consultancy.demo import bank, first_attempt
from consultancy.demo.audits import run_audit
from consultancy.demo.scenarios import Scenario
from consultancy.demo.users import DemoUsers, create_customer
from consultancy.demo.waiting import Deadline, Report
from engagements.audit.contract_basis import fitting_libraries
from engagements.audit.models import Audit
from engagements.audit.rules.off_the_shelf import named
from engagements.billing import invoices, reconciliation
from engagements.billing.balances import open_invoices
from engagements.common.money import format_money
from engagements.contracts import acceptances, offers, vat
from engagements.contracts import services as contracts
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Engagement, Stage
from engagements.payouts import refunds
from engagements.people.models import User
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.workbench import opening as engagement_services
from kernels import catalogue


@dataclass(frozen=True)
class StartedEngagement:
    """An engagement whose acceptance run is queued; the catalogue's candidate may come next."""

    engagement: Engagement
    acceptance: EngagementRun
    scenario: Scenario
    preset: str


def start_engagement(
    scenario: Scenario, *, users: DemoUsers, preset: str, deadline: Deadline, report: Report
) -> StartedEngagement:
    """Open, audit and contract an engagement, and queue its acceptance run."""
    customer, signatory = create_customer(scenario.customer, users=users)
    engagement = engagement_services.open_engagement(
        customer=customer,
        title=scenario.title,
        workload=scenario.workload,
        lead=users.consultant,
        by=users.consultant,
    )
    report(f"{engagement.reference}  {customer.name}: {scenario.title}")
    passed = run_audit(
        scenario,
        engagement=engagement,
        respondent=signatory,
        by=users.consultant,
        second=users.admin,
        deadline=deadline,
    )
    report(f"{engagement.reference}  audit delivered: {passed} of 6 checks pass")
    benchmark = benchmark_services.seal(
        document=catalogue.benchmark_document(scenario.operator, preset)
    )
    report(f"{engagement.reference}  benchmark {benchmark.name} sealed, {benchmark.digest[:19]}…")
    offered = offer(scenario, engagement=engagement, benchmark=benchmark, users=users)
    contract = sign(offered, signatory=signatory, users=users)
    report(
        f"{engagement.reference}  contract signed: "
        f"{format_money(contract.fee, contract.currency)}, "
        f"{contract.weeks} weeks, {contract.target}× end to end"
    )
    collect(contract, users=users)
    first = _first_attempt(scenario) or _catalogued(scenario, preset)
    acceptance = request_run(engagement, first, users=users)
    return StartedEngagement(engagement, acceptance, scenario, preset)


def try_again(started: StartedEngagement, *, users: DemoUsers, report: Report) -> StartedEngagement:
    """Request the acceptance run of the catalogue's candidate where the first attempt missed."""
    engagement = Engagement.objects.get(pk=started.engagement.pk)
    if engagement.stage != Stage.ACTIVE or not started.scenario.first_attempt:
        return started
    report(f"{engagement.reference}  the first attempt decided nothing: the next one follows")
    second = _catalogued(started.scenario, started.preset)
    return replace(started, acceptance=request_run(engagement, second, users=users))


def _first_attempt(scenario: Scenario) -> Solution | None:
    if not scenario.first_attempt:
        return None
    return solution_services.submit(
        name=first_attempt.NAME,
        operator=scenario.operator,
        filename=f"{first_attempt.NAME}.py",
        source=scenario.first_attempt,
    )


def _catalogued(scenario: Scenario, preset: str) -> Solution:
    return solution_services.from_catalogue(
        operator=scenario.operator, name=catalogue.presets(scenario.operator)[preset].candidate
    )


def request_run(engagement: Engagement, solution: Solution, *, users: DemoUsers) -> EngagementRun:
    """Request an acceptance run."""
    return runs.request(
        engagement=Engagement.objects.get(pk=engagement.pk),
        solution=solution,
        purpose=EngagementRun.Purpose.ACCEPTANCE,
        request_key=uuid.uuid4(),
        by=users.consultant,
    )


def conclude_engagement(started: StartedEngagement, *, users: DemoUsers, report: Report) -> None:
    """Bill the milestones that the verdict released, or settle."""
    engagement = Engagement.objects.get(pk=started.engagement.pk)
    contract = ContractVersion.objects.get(
        engagement=engagement, state=ContractVersion.State.ACCEPTED
    )
    if engagement.stage == Stage.ACTIVE:
        report(f"{engagement.reference}  no verdict: another acceptance run can be requested")
    if engagement.stage == Stage.MET:
        billed = bill_released(contract, users=users)
        report(f"{engagement.reference}  target met: {billed} milestone billed, handover is next")
    for settlement in Settlement.objects.filter(contract_version=contract):
        settlements.approve(settlement=settlement, by=users.finance)
        refunds.start_payment(settlement=settlement, by=users.second_finance)
        refunds.mark_paid(
            settlement=settlement,
            reference=f"REFUND-{engagement.reference}",
            by=users.second_finance,
        )
        report(
            f"{engagement.reference}  settled: "
            f"{format_money(settlement.payments_received, settlement.currency)} received, "
            f"{format_money(settlement.refund, settlement.currency)} refunded"
        )


def offer(
    scenario: Scenario, *, engagement: Engagement, benchmark: Benchmark, users: DemoUsers
) -> ContractVersion:
    """Draft the contract of an audited engagement and offer it."""
    excluded = ", ".join(
        named(each) for each in fitting_libraries(Audit.objects.get(engagement=engagement))
    )
    tax = vat.default_for(engagement.customer)
    contract = contracts.draft(
        engagement=engagement,
        benchmark=benchmark,
        fee=scenario.fee,
        audit_cost=scenario.audit_cost,
        currency=scenario.customer.currency,
        tax_treatment=tax.treatment,
        tax_rate_percent=tax.rate,
        tax_note=tax.note,
        weeks=scenario.weeks,
        starts_on=timezone.localdate(),
        target=Decimal(str(benchmark.document["target"])),
        inconclusive=ContractVersion.Inconclusive.MISSED,
        acceptance_runs=scenario.acceptance_runs,
        # A busy machine delays the demonstration no further.
        noise_repeats=0,
        excluded_library=excluded,
        exclusion_reason=scenario.exclusion_reason if excluded else "",
        milestones=[
            MilestoneDraft(title=title, amount=amount, condition=condition)
            for title, amount, condition in scenario.milestones
        ],
        by=users.consultant,
    )
    return offers.offer(contract=contract, by=users.consultant)


def sign(contract: ContractVersion, *, signatory: User, users: DemoUsers) -> ContractVersion:
    """Sign an offered contract for both parties."""
    signers = [(Party.CUSTOMER, signatory), (Party.CONSULTANCY, users.consultant)]
    for party, person in signers:
        acceptances.accept(
            contract=contract,
            party=party,
            typed_name=person.name,
            digest=contract.digest,
            accepts_exclusion=bool(contract.excluded_library) and party == Party.CUSTOMER,
            by=person,
            address="127.0.0.1",
        )
    return ContractVersion.objects.get(pk=contract.pk)


def bill_released(contract: ContractVersion, *, users: DemoUsers) -> int:
    """Issue one invoice for all released milestones; return how many it bills."""
    released = list(contract.milestones.filter(state=Milestone.State.RELEASED))
    if released:
        drafted = invoices.draft(milestones=released, by=users.finance)
        invoices.issue(invoice=drafted, by=users.finance)
    return len(released)


def collect(contract: ContractVersion, *, users: DemoUsers) -> None:
    """Bill all released milestones, and record the payment from a statement of the bank."""
    bill_released(contract, users=users)
    for invoice in open_invoices().filter(engagement=contract.engagement):
        entry = bank.Entry(
            invoice.amount_due, invoice.customer.name, f"Invoice {invoice.reference}"
        )
        imported = bank.import_statement(entry, currency=invoice.currency, by=users.finance)
        reconciliation.assign(
            line=imported.lines.get(), parts=[(invoice, invoice.amount_due)], by=users.finance
        )
