"""Whether the bytes that a worker hands in are believed as the record of a run."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.errors import RecordRefused
from benchmarks.harness import records, verdicts
from benchmarks.harness.canonical import canonical, digest_of_bytes
from benchmarks.limits import limits
from benchmarks.models import Run, Verdict


@dataclass(frozen=True)
class Believed:
    """A record that was checked, and what was computed again from its raw samples."""

    record: dict[str, Any]
    content: bytes
    digest: str
    summary: verdicts.Summary

    def figures(self) -> dict[str, Any]:
        """The columns of a `Record` row."""
        return {
            "verdict": self.summary.verdict,
            "ratio": self.summary.ratio,
            "low": self.summary.low,
            "high": self.summary.high,
            "summary": json.loads(canonical(asdict(self.summary))),
            "device_name": self.record["environment"]["device"]["name"][:200],
        }


def examine(*, run: Run, content: bytes) -> Believed:
    """Check a record against its run. RecordRefused says in a sentence why it is not believed."""
    if len(content) > limits().record_bytes:
        raise RecordRefused(f"The record is larger than {limits().record_bytes} bytes.")
    try:
        record = records.load(content)
        digest = records.digest_of(record)
    except ValueError as error:
        raise RecordRefused(f"What came back is no record: {error}.") from error
    _same("record's digest", record["digest"], digest)
    _same("sealed benchmark", canonical_digest(record["benchmark"]), run.benchmark.digest)
    _same("benchmark digest", record["benchmark_digest"], run.benchmark.digest)
    source = record["candidate"]["source"].encode("utf-8", "surrogatepass")
    _same("candidate's source", digest_of_bytes(source), run.solution.digest)
    _same("candidate's digest", record["candidate"]["source_digest"], run.solution.digest)
    return Believed(record, canonical(record), digest, _recomputed(record))


def canonical_digest(document: dict[str, Any]) -> str:
    """The digest of a document as it lies in a record."""
    return digest_of_bytes(canonical(document))


def _recomputed(record: dict[str, Any]) -> verdicts.Summary:
    try:
        summary = verdicts.recompute(record)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise RecordRefused(
            f"No verdict can be computed from the record's samples: {error}."
        ) from error
    if summary.verdict not in Verdict.values:
        raise RecordRefused(f"The samples give the unknown verdict {summary.verdict}.")
    stated = record["summary"]
    for figure in ("verdict", "ratio", "low", "high"):
        _same(f"stated {figure}", stated[figure], getattr(summary, figure))
    return summary


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise RecordRefused(
            f"The record is not believed: its {what} is {found}, where {expected} belongs."
        )
