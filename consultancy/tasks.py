"""Tasks of the installation itself."""

from __future__ import annotations

from celery import shared_task

from consultancy.monitoring import checks


@shared_task
def check_data() -> bool:
    """Verify events, ledger, documents and files once a day; whether that was due."""
    return checks.run_when_due()
