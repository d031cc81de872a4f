"""What is handed to the workers once the transaction that wants it has committed."""

from __future__ import annotations

from django.db import transaction


def issue_document(kind: str, subject: str) -> None:
    """Have a document issued. A message that gets lost is made good by the sweep."""
    # A lambda, because Django names what failed by its __qualname__, which a partial lacks.
    transaction.on_commit(lambda: _send(kind, subject), robust=True)


def read_evidence(evidence_id: int) -> None:
    """Have evidence read. A message that gets lost is made good by the sweep."""

    def send() -> None:
        from engagements.services import evidence_reading

        evidence_reading.send(evidence_id=evidence_id)

    transaction.on_commit(send, robust=True)


def send_mail(mail_id: int) -> None:
    """Have a mail sent. A message that gets lost is made good by the sweep."""

    def send() -> None:
        from engagements.tasks import send_mail as task

        task.delay(mail_id)

    transaction.on_commit(send, robust=True)


def send_password_mail(password_mail_id: int) -> None:
    """Have a password's mail sent. A message that gets lost is made good by the sweep."""

    def send() -> None:
        from engagements.tasks import send_password_mail as task

        task.delay(password_mail_id)

    transaction.on_commit(send, robust=True)


def compute_findings(engagement_id: int) -> None:
    """Have an audit's findings computed. A message that gets lost is made good by the sweep."""

    def send() -> None:
        from engagements.tasks import compute_findings as task

        task.delay(engagement_id)

    transaction.on_commit(send, robust=True)


def sum_operator(audit_id: int) -> None:
    """Have the kernels of an operator summed exactly; asked for anew, it is done once."""

    def send() -> None:
        from engagements.tasks import sum_operator as task

        task.delay(audit_id)

    transaction.on_commit(send, robust=True)


def _send(kind: str, subject: str) -> None:
    # The tasks call the services, so this one looks back at call time.
    from engagements.tasks import issue_document as task

    task.delay(kind, subject)
