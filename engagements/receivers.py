"""What engagements does when benchmarks has something to tell."""

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from benchmarks.models import Run
from benchmarks.signals import run_concluded


@receiver(run_concluded, dispatch_uid="engagements.conclude")
def conclude_when_committed(sender: Any, *, run: Run, **kwargs: Any) -> None:
    """Turn a verdict into money as soon as it is stored; the sweep catches what is lost here."""
    from engagements.tasks import conclude_run

    transaction.on_commit(lambda: conclude_run.delay(run.pk), robust=True)
