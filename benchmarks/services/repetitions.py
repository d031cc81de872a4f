"""Records measured again elsewhere, such as by a customer with the bundle."""

from typing import Any

from benchmarks import evidence, storage
from benchmarks.errors import BenchmarkError
from benchmarks.models import Repetition, Run, SigningKey
from benchmarks.records import signatures


def add(*, content: bytes, by: str, run: Run | None = None) -> Repetition:
    """Store a record beside the run that it repeats; the same record again is the same row.

    Without `run`, the newest finished run of the same benchmark and source. An unsigned record,
    or one signed by an unknown key, is stored and shown as such. Raises BenchmarkError for an
    invalid record, a bad signature, or another benchmark or source.
    """
    recomputed = evidence.recompute(content)
    record = recomputed.record
    evidence.check_unused(recomputed)
    repeated = run or _newest_run(record)
    if not _repeats(record, repeated):
        raise BenchmarkError(
            f"The record was measured with another benchmark or source than {repeated}.",
            code="repetition.other_run",
        )
    key_id, key = _signer(content)
    row, _ = Repetition.objects.get_or_create(
        run=repeated,
        digest=recomputed.digest,
        defaults={
            "file": storage.store(digest=recomputed.digest, content=content),
            **recomputed.columns(),
            "key_id": key_id,
            "signed_by": key,
            "added_by": by[:200] or "unknown",
        },
    )
    return row


def _repeats(record: dict[str, Any], run: Run) -> bool:
    return (record["benchmark_digest"], record["candidate"]["source_digest"]) == (
        run.benchmark.digest,
        run.solution.digest,
    )


def _newest_run(record: dict[str, Any]) -> Run:
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
        raise BenchmarkError(
            "No finished run here measured this benchmark with this source.",
            code="repetition.no_run",
        )
    return run


def _signer(content: bytes) -> tuple[str, SigningKey | None]:
    """The key id in the signature, and the key where it is registered and not revoked."""
    signature = signatures.signature_of(content)
    if signature is None:
        return "", None
    key = SigningKey.objects.filter(key_id=signature["key_id"]).first()
    if key is None:
        return signature["key_id"], None
    evidence.check_signature(content, key)
    return key.key_id, key if key.revoked_at is None else None
