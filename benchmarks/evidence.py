"""Whether the bytes that a worker hands in are believed as the record of a run."""

from dataclasses import dataclass
from typing import Any

from benchmarks.errors import RecordRefused
from benchmarks.harness.records import records, signatures
from benchmarks.harness.verdict import verdicts
from benchmarks.limits import limits
from benchmarks.models import Run, SigningKey
from benchmarks.text import readable


@dataclass(frozen=True)
class Believed:
    """A record that was checked, and what was computed again from its raw samples."""

    record: dict[str, Any]
    content: bytes
    digest: str
    summary: verdicts.Summary
    signed_by: SigningKey

    def figures(self) -> dict[str, Any]:
        """The columns of a `Record` row."""
        return {
            "verdict": self.summary.verdict,
            "ratio": self.summary.ratio,
            "low": self.summary.low,
            "high": self.summary.high,
            "summary": self.summary.as_data(),
            "device_name": readable(self.record["environment"]["device"]["name"], longest=200),
            "signed_by": self.signed_by,
        }


def examine(*, run: Run, content: bytes) -> Believed:
    """Check a record against its run. RecordRefused says in a sentence why it is not believed."""
    if len(content) > limits().record_bytes:
        raise RecordRefused(f"The record is larger than {limits().record_bytes} bytes.")
    try:
        record = records.load(content)
        contradictions = records.problems(record)
        summary = verdicts.recompute(record)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise RecordRefused(f"What came back is no record: {error}.") from error
    signed_by = _signer(content)
    if contradictions:
        raise RecordRefused(f"The record contradicts itself: {'; '.join(contradictions)}.")
    if record["benchmark_digest"] != run.benchmark.digest:
        raise RecordRefused("The record is of another benchmark than the run's.")
    if record["candidate"]["source_digest"] != run.solution.digest:
        raise RecordRefused("The record is of another source than the run's solution.")
    return Believed(record, content, record["digest"], summary, signed_by)


def _signer(content: bytes) -> SigningKey:
    """The registered key that signed these bytes; RecordRefused when there is none."""
    said = signatures.signature_of(content)
    if said is None:
        raise RecordRefused("The record is not signed.")
    key = SigningKey.objects.filter(key_id=said["key_id"]).first()
    if key is None:
        raise RecordRefused(
            f"The record is signed by key {said['key_id']}, which is not registered here."
        )
    if key.revoked_at is not None:
        raise RecordRefused(
            f"The record is signed by key {key.key_id} of {key.name}, which was revoked on "
            f"{key.revoked_at:%d %B %Y}."
        )
    try:
        signatures.check(content, signatures.public_key(key.public_key.encode()))
    except signatures.SignatureError as error:
        raise RecordRefused(
            f"The record does not hold under key {key.key_id} of {key.name}: {error}."
        ) from error
    return key
