"""Where engagements stand: everything that a board or an engagement's page reads of them.

`with_standing` fetches a list of engagements with all that `Standing` looks at, in a constant
number of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone

from benchmarks.models import Record
from engagements import audit as checks
from engagements.models import (
    Acceptance,
    Audit,
    ContractVersion,
    Document,
    DocumentFailure,
    Engagement,
    EngagementRun,
    Event,
    Finding,
    Milestone,
    Party,
    Settlement,
    TimeBox,
)
from engagements.queries.amounts import WITH_INVOICES
from engagements.queries.balances import open_invoices
from engagements.queries.burn_down import BurnDown, burn_down_of
from engagements.queries.overpayments import open_pay_backs, overpaid_invoices
from engagements.queries.to_settle import settled_with_more_since
from engagements.queries.unbilled_audits import unbilled_audits

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    EngagementWithMoney = WithAnnotations[Engagement, "Money"]

State = ContractVersion.State
EVENTS_SHOWN = 14


class Money(TypedDict):
    """What `with_standing` adds to an engagement: whether more came in than stays, whether
    an invoice waits for money, and whether an audit that ended without a contract is owed still."""

    has_too_much: bool
    owes: bool
    is_audit_owed: bool


def with_standing(engagements: QuerySet[Engagement]) -> QuerySet[EngagementWithMoney]:
    """The same engagements with what `Standing` reads, however many there are."""
    contracts = (
        ContractVersion.objects.defer("canonical")
        .select_related("benchmark")
        .defer("benchmark__canonical")
        .prefetch_related(
            Prefetch("acceptances", queryset=Acceptance.objects.select_related("user")),
            Prefetch("milestones", queryset=Milestone.objects.prefetch_related(*WITH_INVOICES)),
            "pauses",
            "settlements__disputes",
        )
    )
    runs = EngagementRun.objects.select_related(
        "run__record", "run__solution", "requested_by"
    ).defer("run__solution__source")
    this = OuterRef("pk")
    too_much = (
        Q(Exists(settled_with_more_since().filter(engagement=this)))
        | Q(Exists(overpaid_invoices().filter(engagement=this)))
        | Q(Exists(open_pay_backs().filter(invoice__engagement=this)))
    )
    rows = engagements.select_related("customer", "lead", "audit", "time_box").prefetch_related(
        "audit__findings",
        Prefetch("contracts", queryset=contracts),
        Prefetch("runs", queryset=runs),
    )
    audit_owed = Exists(unbilled_audits().filter(engagement=this))
    owes = Exists(open_invoices().filter(engagement=this))
    return rows.annotate(has_too_much=too_much, owes=owes, is_audit_owed=audit_owed)


@dataclass(frozen=True)
class Standing:
    """One engagement, from `with_standing`, with the questions that pages ask of it."""

    engagement: EngagementWithMoney

    @property
    def audit(self) -> Audit | None:
        """The audit, once it is started."""
        return getattr(self.engagement, "audit", None)

    @property
    def time_box(self) -> TimeBox | None:
        """The time-box, once the contract is in force."""
        return getattr(self.engagement, "time_box", None)

    @cached_property
    def clock(self) -> BurnDown | None:
        """The time-box as it stands today, with its pauses."""
        if self.time_box is None:
            return None
        return burn_down_of(self.time_box, self.in_force, today=timezone.localdate())

    @cached_property
    def findings(self) -> list[Finding]:
        """The six findings in the order in which the checks are asked."""
        if self.audit is None:
            return []
        order: dict[str, int] = {
            check.name: position for position, check in enumerate(checks.CHECKS)
        }
        return sorted(self.audit.findings.all(), key=lambda found: order[found.check_name])

    @property
    def tally(self) -> checks.Tally:
        """The findings counted."""
        return checks.tally(self.findings)

    @property
    def unanswered(self) -> int:
        """How many checks nobody has answered yet; answering `unknown` counts as answered."""
        return sum(finding.found_at is None for finding in self.findings)

    @property
    def versions(self) -> list[ContractVersion]:
        """Every version of the contract, newest first."""
        return list(self.engagement.contracts.all())

    @cached_property
    def in_force(self) -> ContractVersion | None:
        """The version that both parties accepted."""
        return next((row for row in self.versions if row.state == State.ACCEPTED), None)

    @cached_property
    def open_version(self) -> ContractVersion | None:
        """The version that is being drafted or on offer."""
        opened = (State.DRAFT, State.OFFERED)
        return next((row for row in self.versions if row.state in opened), None)

    @property
    def contract(self) -> ContractVersion | None:
        """The version that matters now: in force, else open, else the newest."""
        return self.in_force or self.open_version or next(iter(self.versions), None)

    def has_accepted(self, party: Party) -> bool:
        """Whether `party` has accepted the version that matters now."""
        contract = self.contract
        return contract is not None and any(
            acceptance.party == party for acceptance in contract.acceptances.all()
        )

    @property
    def milestones(self) -> list[Milestone]:
        """The parts of the fee under the version that matters now, after those that versions
        which it replaced released before it."""
        if self.contract is None:
            return []
        kept = (Milestone.State.RELEASED, Milestone.State.BILLED)
        before = [
            milestone
            for version in reversed(self.versions)
            if version.state == State.SUPERSEDED
            for milestone in version.milestones.all()
            if milestone.state in kept
        ]
        return [*before, *self.contract.milestones.all()]

    @property
    def settlements(self) -> list[Settlement]:
        """Every settlement that was proposed, the newest first."""
        return [row for version in self.versions for row in version.settlements.all()]

    @property
    def settlement(self) -> Settlement | None:
        """The live settlement: one a contract."""
        live = (row for row in self.settlements if row.state != Settlement.State.VOIDED)
        return next(live, None)

    @property
    def runs(self) -> list[EngagementRun]:
        """Every run that was asked for, newest first."""
        return list(self.engagement.runs.all())

    @property
    def open_acceptance(self) -> EngagementRun | None:
        """The acceptance run whose verdict is still to come."""
        wanted = EngagementRun.Purpose.ACCEPTANCE
        return next(
            (run for run in self.runs if run.purpose == wanted and run.concluded_at is None), None
        )

    @property
    def latest_record(self) -> Record | None:
        """What was measured last, with a ratio or without."""
        return next((record for run in self.runs if (record := record_of(run))), None)


def record_of(run: EngagementRun) -> Record | None:
    """The record of a run (fetched with it), once it has one."""
    return getattr(run.run, "record", None)


def standing_of(engagement: Engagement) -> Standing:
    """One engagement's standing, freshly read."""
    return Standing(with_standing(Engagement.objects.filter(pk=engagement.pk)).get())


def documents_of(engagement: Engagement) -> list[Document]:
    """The documents issued, newest first, without their bytes."""
    return list(engagement.documents.defer("content"))


def document_failures_of(engagement: Engagement) -> QuerySet[DocumentFailure]:
    """Documents that are due and could not be made."""
    issued = Document.objects.filter(kind=OuterRef("kind"), subject=OuterRef("subject"))
    return DocumentFailure.objects.filter(~Exists(issued), engagement=engagement)


def events_of(engagement: Engagement, *, limit: int | None = EVENTS_SHOWN) -> list[Event]:
    """What happened, newest first; everything when `limit` is None."""
    return list(engagement.events.order_by("-position")[:limit])
