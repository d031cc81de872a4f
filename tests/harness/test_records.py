from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.records import records
from benchmarks.records.canonical import canonical
from benchmarks.records.records import RecordError
from benchmarks.verdict import consistency
from tests.harness.samples import twice_as_fast

Change = Callable[[dict[str, Any]], object]


def _first_workload(record: dict[str, Any]) -> dict[str, Any]:
    workload: dict[str, Any] = record["replicates"][0]["workloads"][0]
    return workload


def test_a_valid_record_is_accepted() -> None:
    record = twice_as_fast()
    assert records.load(canonical(record)) == record
    assert consistency.problems(record) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda r: _first_workload(r)["rounds"][0].update(candidate_us=50.0), "summary.ratio"),
        (lambda r: r["summary"].update(verdict="missed"), "summary.verdict: says 'missed'"),
        (lambda r: r["summary"].update(low=1.99), "summary.low"),
        (lambda r: r["summary"].update(target=2.5), "summary.target"),
        (lambda r: r["benchmark"].update(target=2.5), "benchmark_digest"),
        (lambda r: r["candidate"].update(source="pass"), "candidate.source_digest"),
        (lambda r: r["environment"].update(cores=64), "digest: the record was changed"),
        (lambda r: r["replicates"].append(r["replicates"][0]), "summary.verdict"),
    ],
)
def test_a_changed_record_is_rejected(change: Change, complaint: str) -> None:
    record = copy.deepcopy(twice_as_fast())
    change(record)
    resealed = {**record, "digest": records.digest_of(record)}
    assert any(complaint in found for found in consistency.problems(record))
    if complaint.startswith("digest"):
        assert consistency.problems(resealed) == []
    else:
        # Sealing it again hides the change from the digest, not from the recomputation.
        assert any(complaint in found for found in consistency.problems(resealed))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda r: r.update(schema="twofold.record/9"), r"\$\.schema"),
        (lambda r: r.pop("summary"), "summary"),
        (lambda r: r["environment"].pop("isolation"), "isolation"),
        (
            lambda r: _first_workload(r)["rounds"][0].update(
                baseline_ms=_first_workload(r)["rounds"][0].pop("baseline_us")
            ),
            "baseline_",
        ),
        (lambda r: _first_workload(r)["rounds"][0].update(baseline_us="200"), "not of type"),
        (lambda r: _first_workload(r)["rounds"].clear(), "rounds"),
        (lambda r: r["benchmark"].update(target=-1), r"\$\.target"),
        (lambda r: r["summary"].update(verdict="great"), r"\$\.summary\.verdict"),
        (lambda r: r.update(digest="abc"), r"\$\.digest"),
    ],
)
def test_another_form_is_refused_with_its_place(change: Change, complaint: str) -> None:
    record = copy.deepcopy(twice_as_fast())
    change(record)
    with pytest.raises(RecordError, match=complaint):
        records.load(json.dumps(record).encode())


def test_a_file_cut_off_anywhere_is_refused() -> None:
    content = canonical(twice_as_fast())
    for length in (0, 1, len(content) // 2, len(content) - 1):
        with pytest.raises(RecordError):
            records.load(content[:length])


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff",
        b"[]",
        b"3",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"1" * 5_000,
        b" " * 8_000_001,
    ],
)
def test_what_is_no_record_is_refused(content: bytes) -> None:
    with pytest.raises(RecordError):
        records.load(content)


def test_a_number_counts_as_its_digest_has_it() -> None:
    """Where 4.0 stayed what it is, a schedule of looks could not be made of it."""
    record = twice_as_fast()
    as_written = canonical(record).replace(b'"max_replicates":1', b'"max_replicates":1.0')
    assert as_written != canonical(record)
    assert records.load(as_written) == record
    assert consistency.problems(records.load(as_written)) == []


def test_readings_that_are_not_those_of_the_rounds_are_no_telemetry() -> None:
    record = copy.deepcopy(twice_as_fast())
    # One reading for three rounds would be read as that of each.
    columns = {name: [1] for name in ("sm_mhz", "memory_mhz", "power_w", "temperature_c")}
    side = {**columns, "throttle": [0]}
    _first_workload(record)["telemetry"] = {"baseline": side, "candidate": side}
    assert "not one reading a round" in consistency.seal(record)["summary"]["reasons"][0]


def test_a_record_without_conclusions_is_reported_without_a_crash() -> None:
    record = copy.deepcopy(twice_as_fast())
    pair = {"name": "another", "calls": 1, "overhead_us": 0.0}
    rounds = _first_workload(record)["rounds"]
    record["observations"]["operator"] = [{**pair, "rounds": rounds}]
    assert any("nothing follows" in found for found in consistency.problems(record))


def test_a_record_with_more_wrong_entries_than_anybody_reads_is_refused_at_once() -> None:
    """Every one of them would take a hundredth of a millisecond and a line to be told."""
    for wrong in ({"replicates": [0] * 1_000_000}, {"correctness": {"trials": [0] * 1_000_000}}):
        with pytest.raises(RecordError, match="0 is not of type 'object'"):
            records.load(json.dumps({**twice_as_fast(), **wrong}).encode())
    record = copy.deepcopy(twice_as_fast())
    record["summary"]["reasons"] = ["x" * 100_000]
    record["summary"]["ratio"] = 9.0
    assert max(map(len, consistency.problems(record))) < 2_000
    record["controls"] = [{"name": "x", "passed": True, "detail": "x"}] * 1_000
    assert len(consistency.problems(record)) <= 20
