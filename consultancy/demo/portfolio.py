"""A portfolio with an engagement in every stage, built by the services that the pages call.

Three of its verdicts are those of committed records, measured on an H200 and signed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks.records import records
from benchmarks.services import benchmarks as benchmark_services
from benchmarks.services import keys
from benchmarks.services import runs as measuring
from benchmarks.services import solutions as solution_services
from consultancy.demo import bank, evidence, lifecycle
from consultancy.demo import portfolio_scenarios as scenarios
from consultancy.demo.audits import record_findings
from consultancy.demo.clock import days_ago
from consultancy.demo.scenarios import Scenario
from consultancy.demo.users import DemoUsers, create_customer
from engagements import closing
from engagements.audit import services as audits
from engagements.billing.balances import open_invoices
from engagements.catalogue import queries as published
from engagements.contracts.milestones import services as milestones
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import hours
from engagements.engagement.models import Engagement
from engagements.people.models import User
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.workbench import opening
from kernels import catalogue

KERNELS = Path(settings.BASE_DIR) / "kernels"
# Days before today: the first contracts, the one that is under way, the newest engagements.
LONG_AGO, WEEKS_AGO, DAYS_AGO = 36, 17, 2


@dataclass(frozen=True)
class Opened:
    """An engagement of the portfolio with the customer's signatory."""

    scenario: Scenario
    engagement: Engagement
    signatory: User

    @property
    def fresh(self) -> Engagement:
        """The engagement as stored now."""
        return Engagement.objects.get(pk=self.engagement.pk)


@transaction.atomic
def build(users: DemoUsers) -> list[Engagement]:
    """Build all engagements of the portfolio; their tasks are sent when all are stored."""
    with days_ago(LONG_AGO):
        met, missed, closed = (
            _signed(scenario, users, document=_sealed_in(record))
            for scenario, record in (
                (scenarios.MET, "shared_prefix_attention/records/h200"),
                (scenarios.MISSED, "int8_linear/records/h200"),
                (scenarios.CLOSED, "moe_routing/records/h200_padded"),
            )
        )
        overdue = _signed(scenarios.OVERDUE, users, document=_of_this_machine("fused_ffn"))
        _bill(overdue, users)
    with days_ago(LONG_AGO - 2):
        for each in (met, missed, closed):
            _collect(each, users)
    with days_ago(WEEKS_AGO):
        active = _signed(scenarios.ACTIVE, users, document=_of_this_machine("rotary_embedding"))
        _collect(active, users)
    _work(active, users)
    with days_ago(DAYS_AGO):
        offered = _offered(
            scenarios.OFFERED, users, document=_sealed_in("paged_decode/records/h200")
        )
        redirected = _audited(scenarios.REDIRECTED, users)
        scoping = _scoping(users)
    _measured(met, "shared_prefix_attention/records/h200", users)
    _measured(missed, "int8_linear/records/h200", users)
    _measured(closed, "moe_routing/records/h200_padded", users)
    milestones.accept_handover(engagement=closed.fresh, by=closed.signatory)
    _collect(closed, users)
    closing.close(engagement=closed.fresh, by=users.consultant)
    _leave_lines(overdue, users)
    built = (scoping, redirected, offered, active, met, missed, overdue, closed)
    return [each.fresh for each in built]


def _opened(scenario: Scenario, users: DemoUsers) -> Opened:
    customer, signatory = create_customer(scenario.customer, users=users)
    engagement = opening.open_engagement(
        customer=customer,
        title=scenario.title,
        workload=scenario.workload,
        lead=users.consultant,
        by=users.consultant,
    )
    return Opened(scenario, engagement, signatory)


def _scoping(users: DemoUsers) -> Opened:
    opened = _opened(scenarios.SCOPING, users)
    given = opened.scenario.evidence
    assert given is not None
    evidence.submit(
        given, engagement=opened.engagement, respondent=opened.signatory, by=users.consultant
    )
    return opened


def _audited(scenario: Scenario, users: DemoUsers) -> Opened:
    opened = _opened(scenario, users)
    audit = audits.start(
        engagement=opened.engagement,
        cost=scenario.audit_cost,
        currency=scenario.customer.currency,
        by=users.consultant,
    )
    record_findings(scenario, audit=audit, by=users.consultant)
    audits.deliver(audit=audit, by=users.consultant)
    return opened


def _offered(scenario: Scenario, users: DemoUsers, *, document: dict[str, Any]) -> Opened:
    opened = _audited(scenario, users)
    benchmark = benchmark_services.seal(document=document)
    lifecycle.offer(scenario, engagement=opened.fresh, benchmark=benchmark, users=users)
    return opened


def _signed(scenario: Scenario, users: DemoUsers, *, document: dict[str, Any]) -> Opened:
    opened = _offered(scenario, users, document=document)
    contract = _contract(opened)
    lifecycle.sign(contract, signatory=opened.signatory, users=users)
    return opened


def _contract(opened: Opened) -> ContractVersion:
    return ContractVersion.objects.get(engagement=opened.engagement)


def _bill(opened: Opened, users: DemoUsers) -> None:
    lifecycle.bill_released(_contract(opened), users=users)


def _collect(opened: Opened, users: DemoUsers) -> None:
    lifecycle.collect(_contract(opened), users=users)


def _leave_lines(opened: Opened, users: DemoUsers) -> None:
    """Leave finance two lines of the bank: a part of an invoice to assign, rent to set aside."""
    invoice = open_invoices().get(engagement=opened.engagement)
    bank.import_statement(
        bank.Entry(
            Decimal(10_000),
            opened.engagement.customer.name,
            f"{invoice.reference}, first instalment",
        ),
        bank.Entry(Decimal(-1_850), "Muster Immobilien", "Office rent"),
        currency=invoice.currency,
        by=users.finance,
    )


def _work(opened: Opened, users: DemoUsers) -> None:
    for days, worked, note in (
        (12, "6", "Profiled the step, wrote the first kernel."),
        (9, "7.5", "Vectorised loads; the append is fused."),
        (3, "5", "Correctness over all shapes of the benchmark."),
    ):
        hours.add(
            engagement=opened.fresh,
            worked_on=timezone.localdate() - timedelta(days=days),
            hours=Decimal(worked),
            note=note,
            request_key=uuid4(),
            by=users.consultant,
        )


def _measured(opened: Opened, record: str, users: DemoUsers) -> None:
    """Conclude the acceptance run with a committed record, which the signer's key verifies."""
    content = (KERNELS / f"{record}.record.json").read_bytes()
    candidate = records.load(content)["candidate"]
    _register_signer(content)
    solution = solution_services.submit(
        name=candidate["filename"].rpartition(".")[0],
        operator=opened.scenario.operator,
        filename=candidate["filename"],
        source=candidate["source"],
    )
    # Claimed in the transaction of the request, so that no worker of this machine measures it.
    asked = lifecycle.request_run(opened.engagement, solution, users=users)
    run = measuring.claim(run_id=asked.run_id, worker="the referee of the catalogue's H200")
    assert run is not None
    measuring.finish(run_id=run.pk, attempt=run.attempt, record_bytes=content)
    runs.conclude(run=EngagementRun.objects.get(pk=asked.pk))


def _register_signer(content: bytes) -> None:
    key_id = records.load(content)["signature"]["key_id"]
    pem = published.public_key(key_id)
    assert pem is not None, key_id
    keys.add(public_key=pem.decode(), name="The catalogue's H200", by="the demonstration")


def _sealed_in(record: str) -> dict[str, Any]:
    """The benchmark of a committed record."""
    content = (KERNELS / f"{record}.record.json").read_bytes()
    document: dict[str, Any] = records.load(content)["benchmark"]
    return document


def _of_this_machine(operator: str) -> dict[str, Any]:
    """A benchmark of an operator that every machine can measure."""
    sizes = "cpu" if "cpu" in catalogue.presets(operator) else "tiny"
    return catalogue.benchmark_document(operator, sizes)
