"""Upload, check, discuss, approve and seal a customer's own benchmark."""

from __future__ import annotations

import os
from typing import Any, BinaryIO
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Max

from benchmarks.errors import BenchmarkError
from benchmarks.models import BenchmarkCheck, place_of_records
from benchmarks.records import benchmark_folders, captured_tensors, folder_archives
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.captured_tensors import CapturedError
from benchmarks.records.folder_errors import FolderError
from benchmarks.services import benchmarks, captured_files, checks
from benchmarks.storage import make_durable
from benchmarks.text import readable
from engagements import access
from engagements.benchmark.models import (
    BenchmarkApproval,
    BenchmarkComment,
    BenchmarkVersion,
    SealedVersion,
    Side,
    VersionCheck,
)
from engagements.benchmark.sources import lines_of
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.text import strip_invisible
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

# Stages in which a benchmark may change; a sealed one stays as it is.
STAGES = (Stage.SCOPING, Stage.AUDITING, Stage.AUDITED, Stage.OFFERED, Stage.ACTIVE)


def upload(*, engagement: Engagement, name: str, content: BinaryIO, by: User) -> BenchmarkVersion:
    """Store an archive as the next version and queue its check.

    The same bytes return the same version. Declines an archive that is not a benchmark folder,
    with a code of `records.benchmark_folders`.
    """
    side_of(engagement, by)
    packed = content.read(folder_archives.MAX_ARCHIVE_BYTES + 1)
    try:
        texts, captured = folder_archives.read(packed)
        document = benchmark_folders.document(texts, captured=benchmark_folders.described(captured))
    except FolderError as error:
        raise ApplicationError(str(error), code=error.code) from error
    try:
        captured_tensors.opened(document, captured)
    except CapturedError as error:
        raise ApplicationError(str(error), code=error.code) from error
    captured_files.store(files=captured)
    digest = digest_of_bytes(packed)
    stored_as = _store(packed, digest)
    with transaction.atomic():
        row = stages.locked(engagement.pk)
        stages.require_stage(row, *STAGES, to="for a benchmark to be uploaded")
        if known := BenchmarkVersion.objects.filter(engagement=row, digest=digest).first():
            return known
        last = row.benchmark_versions.aggregate(last=Max("number"))["last"] or 0
        version = BenchmarkVersion(
            engagement=row,
            number=last + 1,
            name=strip_invisible(readable(os.path.basename(name), longest=200)) or "benchmark",
            file=stored_as,
            digest=digest,
            size_bytes=len(packed),
            title=readable(document["definition"]["title"], longest=200),
            uploaded_by=by,
        )
        validation.save_validated(version)
        events.record(
            engagement=row,
            verb="benchmark.uploaded",
            summary=f"Version {version.number} of the benchmark was uploaded: {version.title}.",
            actor=by,
            changes={"version": version.number, "digest": digest},
            for_customer=True,
        )
        _queue(version, document, by, uuid4())
    return version


@transaction.atomic
def check(*, version: BenchmarkVersion, by: User, request_key: UUID) -> VersionCheck:
    """Check a version again; a repeated `request_key` returns the same check."""
    row = stages.locked(version.engagement_id)
    side_of(row, by)
    stages.require_stage(row, *STAGES, to="for a benchmark to be checked")
    known = VersionCheck.objects.filter(version=version, check_job__request_key=request_key).first()
    if known is not None:
        return known
    newest = version.checks.select_related("check_job").first()
    if newest is not None and not newest.check_job.is_concluded:
        raise ApplicationError(
            "This version is being checked. Cancel that check first.",
            code="benchmark.check_in_progress",
        )
    return _queue(version, _document(version), by, request_key)


@transaction.atomic
def cancel(*, version: BenchmarkVersion, by: User) -> None:
    """Cancel the version's check. Idempotent."""
    side_of(version.engagement, by)
    newest = version.checks.first()
    if newest is not None and checks.cancel(check_id=newest.check_job_id, by=by.name):
        # Locks the check first and the engagement second, as a worker that concludes it does.
        events.record(
            engagement=version.engagement,
            verb="benchmark.check_cancelled",
            summary=f"The check of version {version.number} of the benchmark was cancelled.",
            actor=by,
            changes={"version": version.number},
        )


@transaction.atomic
def comment(
    *, version: BenchmarkVersion, text: str, by: User, path: str = "", line: int | None = None
) -> BenchmarkComment:
    """Comment on a version, a file of it or a line."""
    row = stages.locked(version.engagement_id)
    said = BenchmarkComment(
        version=version,
        author=by,
        side=side_of(row, by, reads=True),
        path=path,
        line=line,
        text=validation.text(text, noun="The comment"),
    )
    content = files_of(version).get(path) if path else None
    if path and content is None:
        raise ApplicationError(f"This version has no {path}.", code="benchmark.no_file")
    if line is not None and not 1 <= line <= len(lines_of(content or "")):
        raise ApplicationError(f"{path} has no line {line}.", code="benchmark.no_line")
    validation.save_validated(said)
    events.record(
        engagement=row,
        verb="benchmark.commented",
        summary=f"{by.name} commented on version {version.number} of the benchmark.",
        actor=by,
        changes={"version": version.number, "path": path, "line": line},
        for_customer=True,
    )
    return said


@transaction.atomic
def approve(*, version: BenchmarkVersion, digest: str, by: User) -> BenchmarkApproval:
    """Approve the checked benchmark that was shown; the second side's approval seals it.

    Idempotent. `digest` is that of the checked document.
    """
    row = stages.locked(version.engagement_id)
    side = side_of(row, by)
    stages.require_stage(row, *STAGES, to="for a benchmark to be approved")
    checked = passed_check(version)
    if checked is None or checked.checked_digest != digest:
        raise ApplicationError(
            "This version has not passed its check, or was checked again. Review the result.",
            code="benchmark.not_checked",
        )
    if settings.TWOFOLD_REQUIRED_CALIBRATION and checked.benchmark["calibration"] is None:
        raise ApplicationError(
            "The baseline is not calibrated. Check the version again on an idle machine.",
            code="benchmark.not_calibrated",
        )
    given = BenchmarkApproval.objects.filter(version=version, side=side, digest=digest).first()
    if given is None:
        given = BenchmarkApproval(version=version, side=side, user=by, digest=digest)
        validation.save_validated(given)
        events.record(
            engagement=row,
            verb="benchmark.approved",
            summary=f"{side.label} approved version {version.number} of the benchmark.",
            actor=by,
            changes={"version": version.number, "digest": digest},
            for_customer=True,
        )
    if BenchmarkApproval.objects.filter(version=version, digest=digest).count() == len(Side):
        _seal(row, version, checked)
    return given


def record_check(check: BenchmarkCheck) -> None:
    """Record the outcome of a check, in its transaction."""
    asked = VersionCheck.objects.select_related("version__engagement").filter(check_job=check)
    if (found := asked.first()) is None:
        return
    version = found.version
    if not check.passed:
        verb, said = "benchmark.not_passed", "did not pass its check"
    else:
        verb, said = "benchmark.to_approve", "passed its check and can be approved"
    events.record(
        engagement=version.engagement,
        verb=verb,
        summary=f"Version {version.number} of the benchmark {said}: {version.title}.",
        actor=None,
        changes={"version": version.number, "digest": check.checked_digest},
        for_customer=True,
    )


def _seal(engagement: Engagement, version: BenchmarkVersion, checked: BenchmarkCheck) -> None:
    try:
        benchmark = benchmarks.seal(document=checked.benchmark)
    except BenchmarkError as error:
        raise ApplicationError(error.message, code=error.code) from error
    _, created = SealedVersion.objects.get_or_create(version=version, benchmark=benchmark)
    if created:
        events.record(
            engagement=engagement,
            verb="benchmark.sealed",
            summary=f"Version {version.number} of the benchmark was sealed: {version.title}.",
            actor=None,
            changes={"version": version.number, "benchmark": benchmark.digest},
            for_customer=True,
        )


def side_of(engagement: Engagement, by: User, *, reads: bool = False) -> Side:
    """The side that `by` acts for: a consultant, or a signatory (`reads`: any member)."""
    if access.is_consultant(by):
        return Side.CONSULTANCY
    if not (reads and access.customers_of(by).filter(pk=engagement.customer_id).exists()):
        access.require_signatory(engagement, by)
    return Side.CUSTOMER


def passed_check(version: BenchmarkVersion) -> BenchmarkCheck | None:
    """The newest check of a version, if it passed."""
    newest = version.checks.select_related("check_job").first()
    return newest.check_job if newest is not None and newest.check_job.passed else None


def archive_of(version: BenchmarkVersion) -> bytes:
    """The archive as uploaded. Raises ApplicationError where storage has lost or changed it."""
    try:
        with place_of_records().open(version.file.name or "", "rb") as opened:
            content = bytes(opened.read())
    except OSError as error:
        raise ApplicationError(
            "This archive is missing from storage. Restore the backup.",
            code="benchmark.file_missing",
        ) from error
    if digest_of_bytes(content) != version.digest:
        raise ApplicationError(
            "This archive was changed in storage. Restore the backup.",
            code="benchmark.file_changed",
        )
    return content


def files_of(version: BenchmarkVersion) -> dict[str, str]:
    """The text of a version's files by path."""
    return folder_archives.read(archive_of(version))[0]


def _document(version: BenchmarkVersion) -> dict[str, Any]:
    texts, captured = folder_archives.read(archive_of(version))
    return benchmark_folders.document(texts, captured=benchmark_folders.described(captured))


def _queue(
    version: BenchmarkVersion, document: dict[str, Any], by: User, request_key: UUID
) -> VersionCheck:
    job = checks.request(document=document, request_key=request_key)
    return VersionCheck.objects.create(version=version, check_job=job, requested_by=by)


def _store(content: bytes, digest: str) -> str:
    """Store an archive under its digest. A file without a row is harmless."""
    place = place_of_records()
    hexadecimal = digest.removeprefix("sha256:")
    stored_as = place.save(f"benchmarks/{hexadecimal[:2]}/{hexadecimal}", ContentFile(content))
    make_durable(place, stored_as)
    return stored_as
