"""Store evidence unchanged; a worker reads it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from django.core.files import File
from django.core.files.storage import Storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import Solution, place_of_records
from benchmarks.storage import make_durable, path_of
from benchmarks.text import readable
from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.common.text import strip_invisible
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.evidence import candidates, messages
from engagements.evidence.models import Evidence
from engagements.evidence.readers import EvidenceError, Facts, confined, from_data
from engagements.people.models import User

LARGEST_FILE_BYTES = 4 * 2**30
BLOCK_BYTES = 4 * 2**20
# Stages in which evidence may be added.
STAGES = (Stage.SCOPING, Stage.AUDITING, Stage.AUDITED, Stage.OFFERED, Stage.ACTIVE)


def add(
    *,
    engagement: Engagement,
    name: str,
    content: BinaryIO,
    by: User | None = None,
    by_name: str = "",
    candidate: Solution | None = None,
) -> Evidence:
    """Store a file and enqueue its reading. The same bytes return the same row.

    `content` is read from its start. `by` is the consultant or the customer's person who adds it;
    without one, `by_name` is the user of the terminal. Consultants may name the `candidate` that
    it profiles.
    """
    added_by_name = _named(engagement, by, by_name)
    if candidate is not None and by is not None:
        access.require_consultant(by)
    name = (
        strip_invisible(readable(os.path.basename(name.replace("\\", "/")), longest=200))
        or "evidence"
    )
    digest, size_bytes = _digest_of(content)
    if size_bytes == 0:
        raise ApplicationError(f"{name} is empty. Choose another file.", code="evidence.file_empty")
    # The file is stored first: a file without a row is harmless, a row without a file is not.
    stored_as = _store(content, digest=digest, size_bytes=size_bytes)
    with transaction.atomic():
        row = stages.locked(engagement.pk)
        stages.require_stage(row, *STAGES, to="for evidence to be added")
        known = live(row).filter(digest=digest).first()
        if known is not None:
            if candidate is not None and by is not None:
                return candidates.assign(evidence=known, candidate=candidate, by=by)
            return known
        candidates.require_candidate(row, candidate)
        evidence = Evidence(
            engagement=row,
            name=name,
            file=stored_as,
            digest=digest,
            size_bytes=size_bytes,
            added_by=by,
            added_by_name=added_by_name,
            candidate=candidate,
        )
        validation.save_validated(evidence)
        _record_added(evidence)
        messages.send_after_commit(evidence.pk)
    return evidence


def _named(engagement: Engagement, by: User | None, by_name: str) -> str:
    """Return the name of the person or of the user of the terminal. Declines others."""
    if by is not None:
        access.require_contributor(engagement, by)
    elif not by_name:
        raise ApplicationError(
            "Enter the name of the person who adds the evidence.", code="evidence.author_missing"
        )
    return readable(str(by) if by else by_name, longest=160)


def _record_added(evidence: Evidence) -> None:
    """Record the event. The user of a terminal has no account, so the changes name them."""
    changes: dict[str, object] = {
        "name": evidence.name,
        "digest": evidence.digest,
        "size_bytes": evidence.size_bytes,
    }
    if evidence.added_by is None:
        changes["by"] = evidence.added_by_name
    if evidence.candidate is not None:
        changes["candidate"] = evidence.candidate.digest
    events.record(
        engagement=evidence.engagement,
        verb="evidence.added",
        summary=f"Evidence was added: {evidence.name}.",
        actor=evidence.added_by,
        changes=changes,
    )


def live(engagement: Engagement) -> QuerySet[Evidence]:
    """The evidence of an engagement that was not withdrawn."""
    return Evidence.objects.filter(engagement=engagement).exclude(state=Evidence.State.WITHDRAWN)


def of_workload(engagement: Engagement) -> QuerySet[Evidence]:
    """The evidence about the customer's workload, which the audit reads."""
    return live(engagement).filter(candidate__isnull=True)


@transaction.atomic
def withdraw(*, evidence: Evidence, reason: str, by: User) -> Evidence:
    """Withdraw a file: its facts and bytes are deleted, a tombstone stays. Idempotent.

    Consultants withdraw any file, people of the customer what they added. Findings are computed
    anew without it; those of a delivered audit stay as they were delivered.
    """
    engagement = stages.locked(evidence.engagement_id)
    row = Evidence.objects.select_for_update(of=("self",)).get(pk=evidence.pk)
    if row.state == Evidence.State.WITHDRAWN:
        return row
    if row.added_by_id == by.pk:
        access.require_contributor(engagement, by)
    else:
        access.require_consultant(by)
    stages.require_stage(engagement, *STAGES, to="for evidence to be withdrawn")
    row.state, row.withdrawn_by = Evidence.State.WITHDRAWN, by
    row.withdrawal_reason = validation.text(reason, noun="The reason")
    row.summary, row.format, row.failure_reason = None, "", ""
    row.leased_until, row.concluded_at = None, timezone.now()
    validation.save_validated(row)
    events.record(
        engagement=engagement,
        verb="evidence.withdrawn",
        summary=f"Evidence was withdrawn: {row.name}. {row.withdrawal_reason}",
        actor=by,
        changes={"name": row.name, "digest": row.digest, "reason": row.withdrawal_reason},
    )
    enqueue("compute_findings", engagement.pk)
    stored_as = row.file.name or ""
    transaction.on_commit(lambda: _delete_unused(stored_as))
    return row


def _delete_unused(stored_as: str) -> None:
    """Delete the bytes of a withdrawn file, unless another row keeps the same ones."""
    used = Evidence.objects.filter(file=stored_as).exclude(state=Evidence.State.WITHDRAWN)
    if stored_as and not used.exists():
        place_of_records().delete(stored_as)


@transaction.atomic
def read_again(*, evidence: Evidence, by: User) -> Evidence:
    """Enqueue a file again, such as after a new version of its reader."""
    access.require_consultant(by)
    stages.locked(evidence.engagement_id)
    row = Evidence.objects.select_for_update().get(pk=evidence.pk)
    if not row.is_concluded:
        return row
    row.state, row.attempt, row.sent_at = Evidence.State.QUEUED, 0, None
    row.summary, row.concluded_at = None, None
    row.format, row.failure_reason, row.read_share = "", "", 0.0
    validation.save_validated(row)
    events.record(
        engagement=row.engagement,
        verb="evidence.read_again",
        summary=f"Evidence is read again: {row.name}.",
        actor=by,
        changes={"digest": row.digest},
    )
    messages.send_after_commit(row.pk)
    return row


def facts_of(evidence: Evidence) -> Facts | None:
    """Return the facts of the file; None before reading, or from an older reader."""
    if evidence.summary is None:
        return None
    try:
        return from_data(evidence.summary)
    except (ValueError, KeyError):
        return None


def read_with(*, evidence: Evidence, patterns: Mapping[str, str]) -> Facts:
    """Read the file now, with exact sums for kernel name patterns. Slow.

    EvidenceError when it cannot be read.
    """
    with on_disk(evidence) as file:
        return confined.read(file, evidence.name, patterns=patterns)


def open_file(evidence: Evidence) -> File[bytes]:
    """Open the stored file. OSError when it is missing."""
    return place_of_records().open(evidence.file.name or "", "rb")


@contextmanager
def on_disk(evidence: Evidence) -> Iterator[Path]:
    """Provide the file as a path, a copy if necessary. EvidenceError when it is missing."""
    name = evidence.file.name or ""
    place = place_of_records()
    path = path_of(place, name)
    if path is not None:
        if not path.is_file():
            raise EvidenceError(
                "This file is missing from storage. Upload it again, or restore the backup.",
                code="evidence.file_missing",
            )
        yield path
        return
    with tempfile.NamedTemporaryFile() as copy:
        _fetch(place, name, copy)
        yield Path(copy.name)


def _fetch(place: Storage, name: str, copy: IO[bytes]) -> None:
    try:
        with place.open(name, "rb") as kept:
            for block in kept.chunks(BLOCK_BYTES):
                copy.write(block)
        copy.flush()
    except OSError as error:
        raise EvidenceError(
            f"The file cannot be fetched from storage: {error}", code="evidence.file_missing"
        ) from error


def _digest_of(content: BinaryIO | File[bytes]) -> tuple[str, int]:
    """Return SHA-256 and length of a stream. Declines a file over the limit."""
    content.seek(0)
    counted, size_bytes = hashlib.sha256(), 0
    while block := content.read(BLOCK_BYTES):
        size_bytes += len(block)
        if size_bytes > LARGEST_FILE_BYTES:
            raise ApplicationError(
                f"The file is too large. Choose one of at most {LARGEST_FILE_BYTES // 2**30} GiB.",
                code="evidence.file_too_large",
            )
        counted.update(block)
    content.seek(0)
    return f"sha256:{counted.hexdigest()}", size_bytes


def store(content: BinaryIO | File[bytes]) -> tuple[str, int, str]:
    """Store a file that no worker reads; return its digest, size in bytes and name in storage."""
    digest, size_bytes = _digest_of(content)
    return digest, size_bytes, _store(content, digest=digest, size_bytes=size_bytes)


def _store(content: BinaryIO | File[bytes], *, digest: str, size_bytes: int) -> str:
    """Store the bytes under their digest; return the name in storage."""
    place = place_of_records()
    hexadecimal = digest.removeprefix("sha256:")
    name = f"evidence/{hexadecimal[:2]}/{hexadecimal}"
    if _holds(place, name, digest, size_bytes):
        return name
    # A partial file of a killed process keeps its name; the storage chooses another one.
    stored_as = place.save(name, File(content, name=name))
    make_durable(place, stored_as)
    return stored_as


def _holds(place: Storage, name: str, digest: str, size_bytes: int) -> bool:
    if not place.exists(name) or place.size(name) != size_bytes:
        return False
    with place.open(name, "rb") as kept:
        return _digest_of(kept)[0] == digest
