"""The life of a check of a benchmark folder: request, finish, fail, cancel.

Claims and leases are those of every job (`leases`).
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from benchmarks import signals
from benchmarks.errors import BenchmarkError, StaleAttempt
from benchmarks.jobs import JobState
from benchmarks.models import BenchmarkCheck
from benchmarks.records import documents
from benchmarks.records.canonical import canonical, digest_of_bytes
from benchmarks.services import leases, messages
from benchmarks.text import readable


def request(*, document: dict[str, Any], request_key: UUID) -> BenchmarkCheck:
    """Queue a check of a folder's document; the same `request_key` is the same check."""
    try:
        documents.check(document)
    except ValueError as error:
        raise BenchmarkError(f"Invalid benchmark: {error}.", code="benchmark.invalid") from error
    content = canonical(document)
    check, created = BenchmarkCheck.objects.get_or_create(
        request_key=request_key,
        defaults={"document": content, "digest": digest_of_bytes(content)},
    )
    if check.digest != digest_of_bytes(content):
        raise BenchmarkError(
            "This request was already used for another benchmark.", code="check.request_key_reused"
        )
    if created:
        messages.wake_worker_on_commit(BenchmarkCheck, check.pk)
    return check


def finish(*, check_id: int, attempt: int, results: list[Any], checked: bytes | None) -> None:
    """Conclude a check with its trials, and the benchmark if it passed.

    Raises StaleAttempt when another attempt has claimed the check, and BenchmarkError for a
    benchmark of other files, which fails the check.
    """
    found = None if checked is None else _same_files(check_id, attempt, checked)
    with transaction.atomic():
        check = _locked(check_id, attempt)
        if check is None:
            raise StaleAttempt(
                f"Attempt {attempt} of check {check_id} is stale.", code="check.stale_attempt"
            )
        check.results = results
        if found is not None:
            check.checked = canonical(found)
            check.checked_digest = digest_of_bytes(check.checked)
        _conclude(check, JobState.FINISHED)


def fail(*, check_id: int, attempt: int, reason: str) -> bool:
    """Conclude a check without a result; False when the attempt is stale."""
    with transaction.atomic():
        check = _locked(check_id, attempt)
        if check is None:
            return False
        check.failure_reason = readable(reason) or "The check failed without a reason."
        _conclude(check, JobState.FAILED)
    return True


def cancel(*, check_id: int, by: str) -> bool:
    """End a queued or running check; False when it is concluded. Its worker stops within a beat."""
    with transaction.atomic():
        check = BenchmarkCheck.objects.select_for_update().get(pk=check_id)
        if check.is_concluded:
            return False
        check.failure_reason = f"{readable(by, longest=200)} cancelled this check."
        _conclude(check, JobState.FAILED)
    return True


def _same_files(check_id: int, attempt: int, content: bytes) -> dict[str, Any]:
    """The checked benchmark, which must be made of the files that were to be checked."""
    asked = BenchmarkCheck.objects.get(pk=check_id)
    try:
        found = documents.load(content)
    except ValueError as error:
        fail(
            check_id=check_id, attempt=attempt, reason=f"The check’s benchmark is invalid: {error}."
        )
        raise BenchmarkError(str(error), code="check.benchmark_invalid") from error
    if found["sources"] != asked.benchmark["sources"]:
        reason = "The check’s benchmark has other files. Check this version again."
        fail(check_id=check_id, attempt=attempt, reason=reason)
        raise BenchmarkError(reason, code="check.other_files")
    return found


def _locked(check_id: int, attempt: int) -> BenchmarkCheck | None:
    return leases.current(BenchmarkCheck, check_id, attempt).select_for_update().first()


def _conclude(check: BenchmarkCheck, state: JobState) -> None:
    check.state = state
    check.leased_until = None
    check.finished_at = timezone.now()
    check.save()
    signals.check_concluded.send(sender=BenchmarkCheck, check=check)
