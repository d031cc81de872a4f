"""Random requests about runs, verdicts and the handover."""

from __future__ import annotations

from engagements.contracts.milestones import services as milestones
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from tests.engagements.proofs.lives.actions import Actions, request
from tests.engagements.world import measured


class RunActions(Actions):
    """The consultancy at work, and the customer who takes it over."""

    @request(
        "active",
        verdict=["met", "missed", "missed", "inconclusive", "invalid", "failed"],
    )
    def measure(self, verdict: str) -> None:
        asked = self.ask("request run", lambda: self.world.request(self.in_force()))
        if asked:
            measured(asked, verdict)
            self.conclude()

    @request("active")
    def request_run(self) -> None:
        self.ask("request run", lambda: self.world.request(self.in_force()))

    @request("active", verdict=["met", "missed", "inconclusive"])
    def finish_run(self, verdict: str) -> None:
        asked = self.engagement.runs.filter(run__finished_at=None).first()
        if asked:
            measured(asked, verdict)
            self.conclude()

    def conclude(self) -> None:
        asked = EngagementRun.objects.filter(engagement=self.engagement).order_by("-pk").first()
        if asked and asked.run.is_concluded:
            self.ask("conclude run", lambda: runs.conclude(run=asked), twice=True)

    @request("met missed")
    def accept_handover(self) -> None:
        by = self.world.signatory
        self.ask(
            "accept handover",
            lambda: milestones.accept_handover(engagement=self.engagement, by=by),
        )
