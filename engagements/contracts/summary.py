"""An engagement's contract versions and time-box, as pages read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.utils import timezone

from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.time_box.burn_down import BurnDown, burn_down_of
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement.models import Engagement

State = ContractVersion.State


def versions_for_summary() -> QuerySet[ContractVersion]:
    """Contract versions with benchmark, acceptances and pauses, to prefetch."""
    return (
        ContractVersion.objects.defer("canonical")
        .select_related("benchmark")
        .defer("benchmark__canonical")
        .prefetch_related(
            Prefetch("acceptances", queryset=Acceptance.objects.select_related("user")),
            "pauses",
        )
    )


def contract_summary_of(engagement: Engagement) -> ContractSummary:
    """Return the contract of one engagement, read in a constant number of queries."""
    prefetch_related_objects(
        [engagement],
        Prefetch("contracts", queryset=versions_for_summary()),
        "cooperation_requests",
    )
    return ContractSummary(engagement)


@dataclass(frozen=True)
class ContractSummary:
    """The contract of one engagement, in all its versions, and its time-box."""

    engagement: Engagement

    @property
    def time_box(self) -> TimeBox | None:
        """The time-box, once the contract is in force."""
        return getattr(self.engagement, "time_box", None)

    @cached_property
    def clock(self) -> BurnDown | None:
        """The time-box as of today, with its pauses."""
        if self.time_box is None:
            return None
        return burn_down_of(self.time_box, self.in_force, today=timezone.localdate())

    @cached_property
    def versions(self) -> list[ContractVersion]:
        """Every version of the contract, newest first."""
        return list(self.engagement.contracts.all())

    @cached_property
    def in_force(self) -> ContractVersion | None:
        """The version that both parties accepted."""
        return next((row for row in self.versions if row.state == State.ACCEPTED), None)

    @cached_property
    def open_version(self) -> ContractVersion | None:
        """The version in draft or on offer."""
        opened = (State.DRAFT, State.OFFERED)
        return next((row for row in self.versions if row.state in opened), None)

    @property
    def contract(self) -> ContractVersion | None:
        """The current version: in force, else open, else the newest."""
        return self.in_force or self.open_version or next(iter(self.versions), None)

    def has_accepted(self, party: Party) -> bool:
        """Whether `party` has accepted the current version."""
        contract = self.contract
        return contract is not None and any(
            acceptance.party == party for acceptance in contract.acceptances.all()
        )

    @property
    def milestones(self) -> list[Milestone]:
        """The milestones of the current version, after those that earlier versions released."""
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
