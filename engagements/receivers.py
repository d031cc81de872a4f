"""Signal receivers; `EngagementsConfig.ready` connects them."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed
from django.apps.registry import Apps
from django.http import HttpRequest

from benchmarks.models import BenchmarkCheck, Run, SigningKey
from engagements.benchmark import services as benchmark_services
from engagements.billing.bank_models import BankLine
from engagements.common.queue import enqueue
from engagements.event_log.models import Event
from engagements.ledger import chart
from engagements.notifications import delivery
from engagements.notifications.webhooks import services as webhooks
from engagements.payouts import refund_accounts
from engagements.people import sign_ins
from engagements.people.models import User
from engagements.runs import services as runs

PAYMENT_VERBS = ("payment.recorded", "payment.confirmed")


def conclude_run(sender: Any, *, run: Run, **kwargs: Any) -> None:
    """Enqueue the outcome of a concluded run; the sweep picks up a lost message."""
    enqueue("conclude_run", run.pk)


def record_check(sender: Any, *, check: BenchmarkCheck, **kwargs: Any) -> None:
    """Record the outcome of a check of a customer's own benchmark."""
    benchmark_services.record_check(check)


def review_runs(sender: Any, *, key: SigningKey, **kwargs: Any) -> None:
    """Ask for a review of every met run that a revoked key signed."""
    runs.review_runs_signed_by(key)


def end_other_sign_ins(sender: Any, *, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """End every other session of a user who adds a second factor."""
    sign_ins.end_all(user=user, except_for=request)


def notify_people(sender: Any, *, event: Event, **kwargs: Any) -> None:
    """Notify the people whom the event concerns, by mail and on the site."""
    delivery.notify(event)
    webhooks.notify(event)


def propose_refund_account(sender: Any, *, event: Event, **kwargs: Any) -> None:
    """Propose the payer's bank account of a payment for the customer's refunds."""
    line = event.changes.get("bank_line") if event.verb in PAYMENT_VERBS else None
    if line is not None:
        refund_accounts.propose_from(
            line=BankLine.objects.get(pk=line), engagement=event.engagement
        )


def create_missing_accounts(sender: AppConfig, *, apps: Apps = installed, **kwargs: Any) -> None:
    """Create the ledger's missing accounts after `migrate`; edited ones keep their changes.

    `apps` is the migrated state, which may lack the ledger.
    """
    if "account" in apps.all_models["engagements"]:
        chart.write_missing()
