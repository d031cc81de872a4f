from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.records import documents
from benchmarks.records.documents import InvalidBenchmark

Spoil = Callable[[dict[str, Any]], object]


def test_a_sound_document_passes(document: dict[str, Any]) -> None:
    documents.check(document)
    assert documents.load(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda d: d.pop("target"), "'target' is a required property"),
        (lambda d: d.update(target=0), r"\$\.target: 0"),
        (lambda d: d.update(target="2"), r"\$\.target: '2' is not of type 'number'"),
        (lambda d: d.update(schema="twofold.benchmark/2"), r"\$\.schema"),
        (lambda d: d.update(surprise=1), "surprise"),
        (lambda d: d.update(operator="../etc"), r"\$\.operator"),
        (lambda d: d.update(operator="other"), r"\$\.definition\.operator"),
        (lambda d: d.update(confidence=1.0), r"\$\.confidence"),
        (lambda d: d["hardware"].update(device="tpu"), r"\$\.hardware\.device"),
        (lambda d: d["program"].update(launch="graph"), r"\$\.program\.launch"),
        (lambda d: d["workloads"].clear(), r"\$\.workloads"),
        (lambda d: d["workloads"][0].update(weight=0.5), r"\$\.workloads: .* 0\.5"),
        (lambda d: d["workloads"][0]["axes"].pop("rows"), r"\$\.workloads\[0\]\.axes: rows"),
        (lambda d: d["workloads"][0]["axes"].update(rows=0), r"\$\.workloads\[0\]\.axes\.rows"),
        (lambda d: d["workloads"][0]["axes"].update(rows=1.5), r"\$\.workloads\[0\]\.axes"),
        (lambda d: d["workloads"].append(dict(d["workloads"][0])), "wide, wide"),
        (lambda d: d["protocol"].update(rounds=0), r"\$\.protocol\.rounds"),
        (lambda d: d["protocol"].update(round_ms=-1), r"\$\.protocol\.round_ms"),
        (lambda d: d["protocol"].update(replicates=5), r"\$\.protocol\.max_replicates"),
        (lambda d: d["protocol"].update(max_replicates=10**15), "1,000"),
        (lambda d: d["protocol"].pop("checked_calls"), "checked_calls"),
        (lambda d: d["tolerance"].update(matched_share=2), r"\$\.tolerance\.matched_share"),
        (lambda d: d["tolerance"].update(max_abs=1.0), r"\$\.tolerance"),
        (lambda d: d["sources"].update({"a.py": "md5:1"}), r"\$\.sources"),
        (
            lambda d: d.update(calibration={"baseline_us": {}, "band": 0.6, "device": "any"}),
            r"\$\.calibration\.band: 0.6 is greater than the maximum of 0.5",
        ),
        (lambda d: d["definition"].pop("program_inputs"), "program_inputs"),
        (lambda d: d["definition"]["state"][0].update(shape=[-1]), r"\$\.definition\.state\[0\]"),
    ],
)
def test_each_wrong_field_is_named(document: dict[str, Any], spoil: Spoil, complaint: str) -> None:
    spoil(document)
    with pytest.raises(InvalidBenchmark, match=complaint) as caught:
        documents.check(document)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"x" * 1_000_001, b"[" * 100_000]
)
def test_what_is_no_document_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidBenchmark):
        documents.load(content)


def test_a_field_that_is_there_twice_is_refused_whichever_counts(document: dict[str, Any]) -> None:
    content = json.dumps(document).encode()
    with pytest.raises(InvalidBenchmark):
        documents.load(content[:-1] + b', "target": 9.0}')


def test_a_number_counts_as_its_digest_has_it(document: dict[str, Any]) -> None:
    document["protocol"]["rounds"] = float(document["protocol"]["rounds"])
    loaded = documents.load(json.dumps(document).encode())
    assert isinstance(loaded["protocol"]["rounds"], int)
