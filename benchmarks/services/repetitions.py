"""Records that were measured again elsewhere, such as by a customer with the bundle."""

from dataclasses import dataclass
from typing import Any

from benchmarks import storage
from benchmarks.errors import Refused
from benchmarks.harness.records import records, signatures
from benchmarks.harness.verdict import verdicts
from benchmarks.models import Repetition, Run, SigningKey
from benchmarks.text import readable


def add(*, content: bytes, by: str, run: Run | None = None) -> Repetition:
    """Keep a record beside the run that it repeats; the same record again is the same row.

    Without `run` it is the newest finished run of the same benchmark and source. Refused when
    the record contradicts itself, was changed after one of our keys signed it, or repeats
    something else. An unsigned record, or one under another's key, is kept and shown as such.
    """
    try:
        record = records.load(content)
        contradictions = records.problems(record)
        summary = verdicts.recompute(record)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise Refused(f"This is no record: {error}.") from error
    if contradictions:
        raise Refused(f"The record contradicts itself: {'; '.join(contradictions)}.")
    repeated = run or _repeated(record)
    if not _repeats(record, repeated):
        raise Refused(f"The record is of another benchmark or another source than {repeated}.")
    signer = _signer(content)
    row, _ = Repetition.objects.get_or_create(
        run=repeated,
        digest=record["digest"],
        defaults={
            "file": storage.store(digest=record["digest"], content=content),
            "verdict": summary.verdict,
            "ratio": summary.ratio,
            "low": summary.low,
            "high": summary.high,
            "summary": summary.as_data(),
            "device_name": readable(record["environment"]["device"]["name"], longest=200),
            "key_id": signer.key_id,
            "signed_by": signer.key,
            "added_by": by[:200] or "unknown",
        },
    )
    return row


@dataclass(frozen=True)
class _Signer:
    key_id: str
    key: SigningKey | None


def _repeats(record: dict[str, Any], run: Run) -> bool:
    return (record["benchmark_digest"], record["candidate"]["source_digest"]) == (
        run.benchmark.digest,
        run.solution.digest,
    )


def _repeated(record: dict[str, Any]) -> Run:
    run = (
        Run.objects.filter(
            state=Run.State.FINISHED,
            benchmark__digest=record["benchmark_digest"],
            solution__digest=record["candidate"]["source_digest"],
        )
        .order_by("-finished_at", "-pk")
        .first()
    )
    if run is None:
        raise Refused("No run here has measured this benchmark with this source.")
    return run


def _signer(content: bytes) -> _Signer:
    said = signatures.signature_of(content)
    if said is None:
        return _Signer("", None)
    key = SigningKey.objects.filter(key_id=said["key_id"]).first()
    if key is None:
        # Nobody here can tell whether it holds, and nothing rests on it.
        return _Signer(said["key_id"], None)
    try:
        signatures.check(content, signatures.public_key(key.public_key.encode()))
    except signatures.SignatureError as error:
        raise Refused(f"The record does not hold under key {key.key_id}: {error}.") from error
    return _Signer(key.key_id, key if key.revoked_at is None else None)
