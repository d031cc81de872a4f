"""One engagement created up to a stage through the real services, for tests of pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.utils import timezone

from benchmarks.models import Run
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import benchmarks, solutions
from benchmarks.services import runs as measuring
from consultancy.demo.scenarios import Scenario
from engagements.audit import services as audits
from engagements.billing import invoices
from engagements.billing.models import Invoice
from engagements.contracts import acceptances, drafting, offers
from engagements.contracts import services as contracts
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Engagement
from engagements.people.models import Customer, Membership, Role, User
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.workbench import opening as engagements
from tests.engagements.cached_stories import cached_story
from tests.engagements.charts.measured import SOURCE, benchmark, record
from tests.engagements.scenario import SCENARIO
from tests.engagements.world import received
from tests.referee_key import sign


@dataclass
class Story:
    """The people and how far they got. `stranger` belongs to another customer."""

    consultant: User
    finance: User
    second: User
    admin: User
    customer: Customer
    signatory: User
    viewer: User
    stranger: User
    engagement: Engagement
    scenario: Scenario = SCENARIO

    @property
    def reference(self) -> str:
        return self.engagement.reference

    @property
    def contract(self) -> ContractVersion:
        """The newest version."""
        return self.engagement.contracts.order_by("-number")[0]

    def milestone(self, position: int) -> Milestone:
        return self.contract.milestones.get(position=position)

    @property
    def invoice(self) -> Invoice:
        """The first one that was issued."""
        return Invoice.objects.filter(engagement=self.engagement).order_by("pk")[0]

    @property
    def settlement(self) -> Settlement:
        return Settlement.objects.get(contract_version__engagement=self.engagement)


def user(name: str, role: str = Role.NONE) -> User:
    """Somebody with an address made of their name; nobody needs a password here."""
    found = User.objects.filter(name=name).first()
    address = f"{name.lower().replace(' ', '.')}@people.example"
    return found or User.objects.create(email=address, name=name, role=role, password="!")


def company(name: str, *, currency: str = "EUR") -> Customer:
    return Customer.objects.create(
        name=name, address="1 Example Street\nExampletown", country="DE", currency=currency
    )


def member(customer: Customer, name: str, rights: str) -> User:
    person = user(name)
    Membership.objects.create(customer=customer, user=person, rights=rights)
    return person


@cached_story(SCENARIO)
def opened(*, currency: str = "EUR") -> Story:
    """An engagement in scoping, and everybody around it."""
    consultant = user("Carla Consultant", Role.CONSULTANT)
    customer, other = company("Longprompt GmbH", currency=currency), company("Elsewhere Ltd")
    stranger = member(other, "Stella Stranger", Membership.Rights.SIGNATORY)
    story = Story(
        consultant=consultant,
        finance=user("Fritz Finance", Role.FINANCE),
        second=user("Selma Second", Role.FINANCE),
        admin=user("Ada Admin", Role.ADMIN),
        customer=customer,
        signatory=member(customer, "Petra Signatory", Membership.Rights.SIGNATORY),
        viewer=member(customer, "Nils Viewer", Membership.Rights.VIEWER),
        stranger=stranger,
        engagement=_engagement(customer, consultant),
    )
    _engagement(other, consultant, title="Somebody else's secret work")
    return story


def start_another(story: Story, title: str) -> Engagement:
    """One more engagement of the same customer."""
    return _engagement(story.customer, story.consultant, title)


def _engagement(customer: Customer, lead: User, title: str = SCENARIO.title) -> Engagement:
    return engagements.open_engagement(
        customer=customer, title=title, workload=SCENARIO.workload, lead=lead, by=lead
    )


def audited(story: Story) -> Story:
    """The audit is delivered: five checks pass, one is unknown."""
    audit = audits.start(
        engagement=story.engagement,
        cost=story.scenario.audit_cost,
        currency=story.customer.currency,
        by=story.consultant,
    )
    for check, (outcome, value, rationale) in story.scenario.findings.items():
        audits.record_finding(
            audit=audit,
            check=check,
            outcome=outcome,
            value=value,
            rationale=rationale,
            by=story.consultant,
        )
    audits.deliver(audit=audit, by=story.consultant)
    story.engagement.refresh_from_db()
    return story


def offered(
    story: Story,
    *,
    signatory: User | None = None,
    attempts: int = 1,
    inconclusive: str = "missed",
) -> Story:
    """A contract is sealed and on the customer's table; `signatory` alone signs it, if named."""
    scenario = story.scenario
    contract = contracts.draft(
        engagement=story.engagement,
        benchmark=benchmarks.seal(document=benchmark()),
        fee=scenario.fee,
        audit_cost=scenario.audit_cost,
        currency=story.customer.currency,
        tax_rate_percent=Decimal(19),
        weeks=scenario.weeks,
        starts_on=timezone.localdate(),
        target=Decimal(2),
        inconclusive=inconclusive,
        dispute_days=0,
        acceptance_runs=attempts,
        signatory=signatory,
        milestones=[drafting.MilestoneDraft(*part) for part in scenario.milestones],
        by=story.consultant,
    )
    offers.offer(contract=contract, by=story.consultant)
    story.engagement.refresh_from_db()
    return story


def accept(story: Story, party: Party) -> None:
    by = story.signatory if party == Party.CUSTOMER else story.consultant
    contract = story.contract
    acceptances.accept(
        contract=contract, party=party, typed_name=by.name, digest=contract.digest, by=by
    )
    story.engagement.refresh_from_db()


def active(story: Story) -> Story:
    """Both have signed; the signature's and the audit's milestones are released."""
    accept(story, Party.CUSTOMER)
    accept(story, Party.CONSULTANCY)
    return story


def billed(story: Story, position: int = 1) -> Milestone:
    """A milestone on an issued invoice of its own."""
    invoiced(story, position)
    return story.milestone(position)


def invoiced(story: Story, *positions: int) -> Invoice:
    """The issued invoice of these milestones."""
    parts = [story.milestone(position) for position in positions]
    draft = invoices.draft(milestones=parts, by=story.finance)
    return invoices.issue(invoice=draft, by=story.finance)


def drafted(story: Story) -> Invoice:
    """A draft of another engagement of the same customer, both signed today."""
    other = replace(story, engagement=start_another(story, "Another kernel"))
    active(offered(audited(other)))
    return invoices.draft(milestones=[other.milestone(1)], by=story.finance)


def paid(story: Story, position: int = 1) -> Milestone:
    """A milestone billed and paid in full."""
    invoice = invoiced(story, position)
    received(
        invoice=invoice,
        amount=invoice.gross,
        received_on=timezone.localdate() - timedelta(days=1),
        reference=f"BANK-{position}",
        by=story.finance,
        confirmed_by=story.second,
    )
    return story.milestone(position)


def requested(story: Story, purpose: str = EngagementRun.Purpose.ACCEPTANCE) -> EngagementRun:
    """A run in the queue."""
    operator = story.contract.benchmark.operator
    solution = solutions.submit(
        name="cascade", operator=operator, filename="cascade.py", source=SOURCE
    )
    return runs.request(
        engagement=story.engagement,
        solution=solution,
        purpose=purpose,
        request_key=uuid4(),
        by=story.consultant,
    )


def running(asked: EngagementRun) -> Run:
    """The run taken by a worker whose name no customer may read."""
    run = measuring.claim(run_id=asked.run_id, worker="gpu-rack-7-secret")
    assert run is not None
    return run


def measured(
    story: Story,
    speedup: float,
    *,
    purpose: str = EngagementRun.Purpose.ACCEPTANCE,
    **changed: Any,
) -> EngagementRun:
    """A run measured at about `speedup`, and what the contract makes of it."""
    asked = finished(requested(story, purpose), speedup, **changed)
    story.engagement.refresh_from_db()
    return asked


def finished(asked: EngagementRun, speedup: float, **changed: Any) -> EngagementRun:
    """A queued run as a worker measures and concludes it; `changed` is of its record."""
    run = running(asked)
    given = {"document": run.benchmark.document, "source": run.solution.source}
    handed_in = record(speedup=speedup, **given | changed)
    measuring.finish(run_id=run.pk, attempt=run.attempt, record_bytes=sign(handed_in))
    return runs.conclude(run=EngagementRun.objects.get(pk=asked.pk))


def failed(story: Story) -> EngagementRun:
    """An acceptance run that could not be measured."""
    asked = requested(story)
    run = running(asked)
    measuring.fail(
        run_id=run.pk,
        attempt=run.attempt,
        code=FailureCode.INTERRUPTED,
        reason="worker gpu-rack-7-secret lost its device",
    )
    return runs.conclude(run=EngagementRun.objects.get(pk=asked.pk))


@cached_story(SCENARIO)
def delivered() -> Story:
    """Audited, and no contract yet."""
    return audited(opened())


@cached_story(SCENARIO)
def on_offer() -> Story:
    """A contract waits for both signatures."""
    return offered(delivered())


@cached_story(SCENARIO)
def in_force(*, currency: str = "EUR", attempts: int = 1, inconclusive: str = "missed") -> Story:
    """Signed, and nothing billed."""
    story = audited(opened(currency=currency))
    return active(offered(story, attempts=attempts, inconclusive=inconclusive))


@cached_story(SCENARIO)
def underway(*, currency: str = "EUR") -> Story:
    """Signed, and the first milestone paid."""
    story = in_force(currency=currency)
    paid(story)
    return story


@cached_story(SCENARIO)
def missed() -> Story:
    """Measured at 1.1 times: the settlement is proposed."""
    story = underway()
    measured(story, 1.1)
    return story


@cached_story(SCENARIO)
def met() -> Story:
    """Measured at 2.6 times."""
    story = underway()
    measured(story, 2.6)
    return story


def approved(story: Story) -> Settlement:
    return settlements.approve(settlement=story.settlement, by=story.second)
