"""Tasks of the workers: conclude runs, read evidence, issue documents, and sweep.

A task takes an id and calls a service, which looks again under a lock; delivered twice, it
changes nothing the second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from celery import shared_task
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Run
from engagements.api import idempotency
from engagements.audit import findings, subjects
from engagements.audit.models import Audit
from engagements.billing import mails as invoice_mails
from engagements.billing import reminders
from engagements.common import queue
from engagements.common.errors import ApplicationError
from engagements.contracts import mails as contract_mails
from engagements.contracts import offers
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones import services as milestones
from engagements.contracts.time_box import cooperation, warnings
from engagements.contracts.time_box.models import TimeBox
from engagements.documents import failures
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import anchors
from engagements.evidence import reading
from engagements.notifications import digests, mails, password_mails
from engagements.notifications.webhooks import services as webhooks
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements import finance_mails, queues
from engagements.settlements import services as settlements

log = logging.getLogger(__name__)


@shared_task
def conclude_run(run_id: int) -> None:
    """Turn the verdict of the run `run_id` (of benchmarks) into what its contract makes of it."""
    asked = EngagementRun.objects.filter(run_id=run_id).first()
    if asked:
        runs.conclude(run=asked)


@shared_task
def issue_document(kind: str, subject: str) -> None:
    """Issue a document unless it has been issued."""
    from engagements import documents

    document = documents.issue(kind=kind, subject=subject)
    contract_mails.write(document=document)
    invoice_mails.write(document=document)


@shared_task
def read_evidence(evidence_id: int) -> str:
    """Read a file that was added as evidence, unless it has been read."""
    return reading.read(evidence_id=evidence_id, patterns_of=subjects.patterns_of)


@shared_task
def send_mail(mail_id: int) -> bool:
    """Send a mail that was written down, unless it is sent."""
    return mails.send(mail_id=mail_id)


@shared_task
def send_password_mail(password_mail_id: int) -> bool:
    """Send a mail with a link to choose a password, unless it was sent."""
    return password_mails.send(password_mail_id=password_mail_id)


@shared_task(soft_time_limit=60)
def deliver_webhook(delivery_id: int) -> None:
    """Send a message to a webhook, unless another worker does."""
    webhooks.deliver(delivery_id=delivery_id)


@shared_task
def compute_findings(engagement_id: int) -> bool:
    """Compute an audit's findings if something is known that they were not computed from."""
    return findings.compute_when_due(engagement=Engagement.objects.get(pk=engagement_id))


@shared_task
def sum_operator(audit_id: int) -> bool:
    """Sum the kernels of an audit's operator in its profile, unless that was done."""
    return subjects.sum_exactly(audit=Audit.objects.get(pk=audit_id))


def _overdue_time_boxes() -> Iterable[TimeBox]:
    return TimeBox.objects.filter(
        ends_on__lt=timezone.localdate(), engagement__stage=Stage.ACTIVE
    ).select_related("engagement")


def _unconcluded_runs() -> Iterable[EngagementRun]:
    ended = [Run.State.FINISHED, Run.State.FAILED]
    both = Q(counterpart__isnull=True) | Q(counterpart__run__state__in=ended)
    # A counterpart is concluded with its acceptance run.
    runs = EngagementRun.objects.exclude(purpose=EngagementRun.Purpose.COUNTERPART)
    return runs.filter(both, concluded_at__isnull=True, run__state__in=ended)


def _missing_documents() -> Iterable[tuple[str, str]]:
    from engagements import documents

    missing = documents.missing()
    failures.clear_all_except(missing)
    return missing


def _issue(document: tuple[str, str]) -> object:
    from engagements import documents

    kind, subject = document
    return documents.issue(kind=kind, subject=subject)


def _once() -> Iterable[None]:
    return [None]


# The steps of the sweep, in order: a query of due rows, and the service for each.
SWEEPS: Mapping[str, tuple[Callable[[], Iterable[Any]], Callable[[Any], object]]] = {
    "conclude run": (_unconcluded_runs, lambda run: runs.conclude(run=run)),
    # Before the end of the time-box, which waiting for the customer moves.
    "wait for cooperation": (
        lambda: cooperation.following(),
        lambda row: cooperation.follow_waiting(engagement=row),
    ),
    "end time-box": (
        _overdue_time_boxes,
        lambda box: settlements.propose_after_time_box(engagement=box.engagement),
    ),
    "warn of time-box": (lambda: warnings.due(), lambda row: warnings.warn(engagement=row)),
    "remind of offer": (
        lambda: contract_mails.awaiting_reminder(),
        lambda row: contract_mails.remind(contract=row),
    ),
    "expire offer": (lambda: offers.expiring(), lambda row: offers.expire(contract=row)),
    "read evidence": (_once, lambda _: reading.sweep()),
    "compute findings": (
        lambda: findings.under_way(),
        lambda row: findings.compute_when_due(engagement=row),
    ),
    "anchor event log": (_once, lambda _: anchors.take_when_due()),
    "release milestones": (
        lambda: milestones.due(),
        lambda row: milestones.release_due(contract=row),
    ),
    "deem handover accepted": (
        lambda: list(handovers.delivered()),
        lambda row: handovers.accept_when_deemed(engagement=row),
    ),
    "remind": (lambda: reminders.due(), lambda row: reminders.remind(invoice=row)),
    "warn of refund day": (
        lambda: queues.refunds_near(),
        lambda row: finance_mails.warn_of_refund_day(settlement=row),
    ),
    "issue document": (_missing_documents, _issue),
    "mail contract": (
        lambda: contract_mails.unsent(),
        lambda row: contract_mails.write(document=row),
    ),
    "mail invoice": (
        lambda: invoice_mails.unsent(),
        lambda row: invoice_mails.write(document=row),
    ),
    "write digest": (lambda: digests.due(), lambda person: digests.write(person=person)),
    "deliver webhooks": (
        lambda: webhooks.waiting(),
        # Sent by tasks: an endpoint that does not answer must not delay the sweep.
        lambda pk: queue.send("deliver_webhook", pk),
    ),
    "clear answers of the API": (_once, lambda _: idempotency.clear_old()),
    "send mail": (lambda: mails.waiting(), lambda pk: mails.send(mail_id=pk)),
    "send password mail": (
        lambda: password_mails.waiting(),
        lambda pk: password_mails.send(password_mail_id=pk),
    ),
}


@shared_task
def sweep() -> None:
    """Handle lost messages, deadlines, missing documents and unsent mail.

    An error is logged and stops neither the other rows nor the other steps.
    """
    for step, (due, act) in SWEEPS.items():
        try:
            rows = list(due())
        except Exception:
            log.exception("%s: the rows that are due could not be read", step)
            continue
        for row in rows:
            try:
                act(row)
            except ApplicationError as error:
                log.info("%s %s: %s", step, row, error)
            except Exception:
                log.exception("%s %s failed; the next sweep tries again", step, row)
