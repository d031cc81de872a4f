"""What engagements does when others have something to tell, and when its tables are made."""

from typing import Any

from allauth.mfa.signals import authenticator_added
from django.apps import AppConfig
from django.apps import apps as installed
from django.apps.registry import Apps
from django.db import transaction
from django.db.models.signals import post_migrate
from django.dispatch import receiver
from django.http import HttpRequest

from benchmarks.models import Run
from benchmarks.signals import run_concluded
from engagements.models import User
from engagements.services import sign_ins


@receiver(run_concluded, dispatch_uid="engagements.conclude")
def conclude_when_committed(sender: Any, *, run: Run, **kwargs: Any) -> None:
    """Turn a verdict into money as soon as it is stored; the sweep catches what is lost here."""
    from engagements.tasks import conclude_run

    transaction.on_commit(lambda: conclude_run.delay(run.pk), robust=True)


@receiver(authenticator_added, dispatch_uid="engagements.second_factor")
def end_sign_ins_without_a_second_factor(
    sender: Any, *, request: HttpRequest, user: User, **kwargs: Any
) -> None:
    """Whoever turns it on may have cause to: sign-ins that were made without it end, but theirs."""
    sign_ins.end(user=user, but=request)


@receiver(post_migrate, dispatch_uid="engagements.chart")
def write_chart(sender: AppConfig, *, apps: Apps = installed, **kwargs: Any) -> None:
    """Write the chart of accounts into new tables; what finance changed in it stays.

    `apps` is what was migrated to: who goes back far enough has no ledger.
    """
    from engagements.ledger import chart

    if sender.name == "engagements" and "account" in apps.all_models["engagements"]:
        chart.write_missing()
