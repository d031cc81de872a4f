"""What the workers do for engagements: conclude runs, read evidence, issue documents, and sweep.

A task takes an id and calls a service, which looks again under a lock; delivered twice, it
changes nothing the second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from celery import shared_task
from django.utils import timezone

from benchmarks.models import Run
from engagements.audit import findings, operators
from engagements.audit.models import Audit
from engagements.billing import mails as invoice_mails
from engagements.billing import reminders
from engagements.common.errors import ApplicationError
from engagements.contracts import mails as contract_mails
from engagements.contracts import offers
from engagements.contracts.milestones import releases
from engagements.contracts.time_box import warnings
from engagements.contracts.time_box.models import TimeBox
from engagements.documents import failures
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import anchors
from engagements.evidence import reading
from engagements.notifications import mails, password_mails
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
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
    return reading.read(evidence_id=evidence_id, patterns_of=operators.patterns_of)


@shared_task
def send_mail(mail_id: int) -> bool:
    """Send a mail that was written down, unless it is sent."""
    return mails.send(mail_id=mail_id)


@shared_task
def send_password_mail(password_mail_id: int) -> bool:
    """Send a mail with which somebody chooses a password, unless it is sent."""
    return password_mails.send(password_mail_id=password_mail_id)


@shared_task
def compute_findings(engagement_id: int) -> bool:
    """Compute an audit's findings if something is known that they were not computed from."""
    return findings.compute_when_due(engagement=Engagement.objects.get(pk=engagement_id))


@shared_task
def sum_operator(audit_id: int) -> bool:
    """Sum the kernels of an audit's operator in its profile, unless that was done."""
    return operators.sum_exactly(audit=Audit.objects.get(pk=audit_id))


@shared_task
def sweep() -> None:
    """Do what is due and was not done: a lost message, a deadline, a missing document.

    One that fails is logged and does not hold up the others.
    """
    for asked in EngagementRun.objects.filter(
        concluded_at__isnull=True, run__state__in=[Run.State.FINISHED, Run.State.FAILED]
    ):
        _try("conclude run", asked.pk, partial(runs.conclude, run=asked))
    for box in TimeBox.objects.filter(
        ends_on__lt=timezone.localdate(), engagement__stage=Stage.ACTIVE
    ).select_related("engagement"):
        _try(
            "end time-box",
            box.pk,
            partial(settlements.settle_when_time_box_is_over, engagement=box.engagement),
        )
    for engagement in warnings.due():
        _try("warn", engagement, partial(warnings.warn, engagement=engagement))
    for contract in offers.expiring():
        _try("expire", contract, partial(offers.expire, contract=contract))
    _try("read", "evidence that waits", reading.sweep)
    for engagement in findings.under_way():
        _try("compute", engagement, partial(findings.compute_when_due, engagement=engagement))
    _try("anchor", "the event log", anchors.take_when_due)
    for contract in releases.dated():
        _try("release", contract, partial(releases.release_dated, contract=contract))
    for invoice in reminders.due():
        _try("remind", invoice, partial(reminders.remind, invoice=invoice))
    _issue_missing_documents()
    for document in contract_mails.unsent():
        _try("mail", document, partial(contract_mails.write, document=document))
    for document in invoice_mails.unsent():
        _try("mail", document, partial(invoice_mails.write, document=document))
    for mail_id in mails.waiting():
        _try("send mail", mail_id, partial(mails.send, mail_id=mail_id))
    for pk in password_mails.waiting():
        _try("send password mail", pk, partial(password_mails.send, password_mail_id=pk))


def _issue_missing_documents() -> None:
    from engagements import documents

    missing = documents.missing()
    failures.forget_all_but(missing)
    for kind, subject in missing:
        _try(
            f"issue {kind}",
            subject,
            partial(documents.issue, kind=kind, subject=subject),
        )


def _try(what: str, subject: object, act: Callable[[], object]) -> None:
    try:
        act()
    except ApplicationError as refusal:
        log.info("%s %s: %s", what, subject, refusal)
    except Exception:
        log.exception("%s %s failed; the next sweep tries again", what, subject)
