"""Runners with their device, key and queue, for their page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from benchmarks.models import Run
from engagements.people import service_accounts
from engagements.people.models import User
from engagements.runners import attempts, services
from engagements.runners.models import Runner
from engagements.runs.models import EngagementRun

# A runner asks for work every few seconds, and reports every few seconds while it measures.
SILENT_AFTER: Final = timedelta(minutes=2)


@dataclass(frozen=True, kw_only=True)
class RunnerStatus:
    """A runner with its present run and the number of runs that wait for it."""

    runner: Runner
    measuring: EngagementRun | None
    waiting: int
    may_retire: bool
    may_revoke: bool
    may_renew: bool

    @property
    def state(self) -> str:
        """The state as one word, for the badge."""
        runner = self.runner
        if runner.key is not None and runner.key.revoked_at is not None:
            return "revoked"
        if not runner.is_active:
            return "retired"
        if runner.key is None:
            return "new"
        if runner.seen_at is None or timezone.now() - runner.seen_at > SILENT_AFTER:
            return "silent"
        return "measuring" if self.measuring else "idle"


def runners_for(user: User) -> list[RunnerStatus]:
    """The runners that exist for `user`, those in use first."""
    managed = set(services.managed_by(user).values_list("pk", flat=True))
    renewable = set(service_accounts.managed_by(user).values_list("pk", flat=True))
    rows = sorted(services.visible_to(user), key=lambda row: not row.is_active)
    return [
        RunnerStatus(
            runner=row,
            measuring=_measuring(row),
            waiting=_waiting(row) if row.is_active else 0,
            may_retire=row.is_active and row.pk in managed,
            may_revoke=row.pk in managed and row.key is not None and row.key.revoked_at is None,
            may_renew=row.is_active and row.account_id in renewable,
        )
        for row in rows
    ]


def _measuring(runner: Runner) -> EngagementRun | None:
    newest = runner.attempts.select_related("run").first()
    if newest is None or not newest.is_current:
        return None
    return EngagementRun.objects.select_related("engagement").filter(run=newest.run_id).first()


def _waiting(runner: Runner) -> int:
    queued = attempts.waiting(runner).filter(state=Run.State.QUEUED)
    return sum(attempts.fits(run, runner) for run in queued)
