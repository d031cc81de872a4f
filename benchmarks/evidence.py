"""Validate a record before it concludes a run or is kept as a repetition."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from benchmarks.errors import RecordRejected
from benchmarks.limits import limits
from benchmarks.models import Record, Run, SigningKey
from benchmarks.records import records, signatures
from benchmarks.text import readable
from benchmarks.verdict import consistency, verdicts


@dataclass(frozen=True)
class Recomputed:
    """A record without contradictions, and its verdict, computed again from the raw samples."""

    record: dict[str, Any]
    content: bytes
    summary: verdicts.Summary

    @property
    def digest(self) -> str:
        """The digest that seals the record."""
        return str(self.record["digest"])

    @property
    def nonces(self) -> dict[str, str]:
        """The nonces in the record, by issuer; none in records from before they were issued."""
        return dict(self.record.get("nonces") or {})

    def columns(self) -> dict[str, Any]:
        """The columns that `Record` and `Repetition` share."""
        return {
            "verdict": self.summary.verdict,
            "ratio": self.summary.ratio,
            "low": self.summary.low,
            "high": self.summary.high,
            "summary": self.summary.as_data(),
            "device_name": readable(self.record["environment"]["device"]["name"], longest=200),
        }


def recompute(content: bytes) -> Recomputed:
    """Parse a record and compute its verdict from its raw samples.

    Raises RecordRejected for anything that is not a record, is too large or contradicts itself.
    """
    largest = limits().record_bytes
    if len(content) > largest:
        raise RecordRejected(
            f"The record has {len(content):,} bytes; the limit is {largest:,}.",
            code="record.too_large",
        )
    try:
        record = records.load(content)
        contradictions = consistency.problems(record)
        summary = verdicts.recompute(record)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise RecordRejected(
            f"The file is not a valid record: {error}.", code="record.invalid"
        ) from error
    if contradictions:
        raise RecordRejected(
            f"The record contradicts itself: {'; '.join(contradictions)}.",
            code="record.contradictory",
        )
    return Recomputed(record, content, summary)


def examine(
    *, run: Run, content: bytes, device_name: str | None = None
) -> tuple[Recomputed, SigningKey]:
    """Validate the record of a run: signature, verdict, benchmark, source, device and nonces.

    `device_name` is that of the machine that hands it in, where it is known. Raises
    RecordRejected.
    """
    recomputed = recompute(content)
    key = _registered_signer(content)
    if key.owner != run.measured_by:
        raise RecordRejected(
            f"The record is signed by key {key.key_id} ({key.name}), which may not sign this run.",
            code="record.foreign_key",
        )
    record = recomputed.record
    if record["benchmark_digest"] != run.benchmark.digest:
        raise RecordRejected(
            "The record was measured with another benchmark.", code="record.other_benchmark"
        )
    if record["candidate"]["source_digest"] != run.solution.digest:
        raise RecordRejected(
            "The record was measured with another source.", code="record.other_source"
        )
    if device_name not in (None, record["environment"]["device"]["name"]):
        raise RecordRejected(
            f"The record was measured on another device than {device_name}.",
            code="record.other_device",
        )
    _check_nonces(run, recomputed.nonces)
    return recomputed, key


def _check_nonces(run: Run, found: dict[str, str]) -> None:
    """Raise RecordRejected unless the record was measured in this attempt of this run."""
    required = settings.TWOFOLD_REQUIRED_NONCES or run.measured_by
    if found != run.nonces and (found or required):
        raise RecordRejected(
            "The record does not contain the nonces of this run: it was measured for another one, "
            "or without them.",
            code="record.other_nonce",
        )


def check_unused(recomputed: Recomputed) -> None:
    """Raise RecordRejected for a record handed in by hand with an unknown or used nonce."""
    nonce = recomputed.nonces.get("site")
    if nonce is None:
        return
    used = Record.objects.filter(nonce=nonce).first()
    if used is None and not Run.objects.filter(nonce=nonce).exists():
        raise RecordRejected(
            "The record contains a nonce that was not issued here.", code="record.unknown_nonce"
        )
    if used is not None and used.digest != recomputed.digest:
        raise RecordRejected(
            "The record contains a nonce that another record has used.", code="record.used_nonce"
        )


def check_signature(content: bytes, key: SigningKey) -> None:
    """Raise RecordRejected unless `key` signed these bytes."""
    try:
        signatures.check(content, signatures.public_key(key.public_key.encode()))
    except signatures.SignatureError as error:
        raise RecordRejected(
            f"The signature of key {key.key_id} ({key.name}) does not verify: {error}.",
            code="record.bad_signature",
        ) from error


def _registered_signer(content: bytes) -> SigningKey:
    signature = signatures.signature_of(content)
    if signature is None:
        raise RecordRejected("The record is not signed.", code="record.unsigned")
    key = SigningKey.objects.filter(key_id=signature["key_id"]).first()
    if key is None:
        raise RecordRejected(
            f"The record is signed by key {signature['key_id']}, which is not registered here.",
            code="record.unknown_key",
        )
    if key.revoked_at is not None:
        raise RecordRejected(
            f"The record is signed by key {key.key_id} ({key.name}), which was revoked on "
            f"{key.revoked_at:%-d %b %Y}.",
            code="record.revoked_key",
        )
    if key.retired_at is not None:
        raise RecordRejected(
            f"The record is signed by key {key.key_id} ({key.name}), which was retired on "
            f"{key.retired_at:%-d %b %Y}.",
            code="record.retired_key",
        )
    check_signature(content, key)
    return key
