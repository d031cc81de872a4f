"""The benchmark of a passing audit: its shapes, its dtype, its GPU, the closest baseline."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.records import documents
from engagements.audit.rules import AuditInputs, Needs, Thresholds, Tried, agreed, off_the_shelf
from engagements.evidence.readers import TrafficFacts, read
from kernels import catalogue
from tests.engagements.audit.inputs import LLAMA_32K, answered, inputs, seen, traffic
from tests.engagements.evidence.traces import captured
from tests.errors import declined


def document(looked_at: AuditInputs) -> dict[str, Any]:
    found = agreed.document(looked_at, off_the_shelf.find(looked_at), reference="TF-1")
    documents.check(found)
    return found


def decode_log() -> TrafficFacts:
    """Six batches, the small ones more often; an axis that the Definition does not have."""
    rows = [f"{batch},32768,x{batch}" for batch in range(1, 7) for _ in range(70 - 10 * batch)]
    content = "\n".join(["batch,prefix_len,tenant", *rows]).encode()
    facts = read(io.BytesIO(content), "log.csv")
    assert isinstance(facts, TrafficFacts)
    return facts


def test_the_four_most_frequent_shapes_have_their_weights() -> None:
    found = document(inputs(needs=answered(LLAMA_32K), traffic=seen(decode_log())))
    loads = found["workloads"]
    assert [load["axes"]["batch"] for load in loads] == [1, 2, 3, 4]
    # 60, 50, 40 and 30 calls of these 180.
    assert [load["weight"] for load in loads] == [
        pytest.approx(calls / 180) for calls in (60, 50, 40, 30)
    ]
    # What the log does not say is as the needs state it, and then as in the catalogue.
    usual = catalogue.presets("shared_prefix_attention")["h200"].workloads[0].axes
    assert {load["axes"]["own_len"] for load in loads} == {256}
    assert {load["axes"]["layers"] for load in loads} == {usual["layers"]}


def test_without_a_log_it_is_the_shape_that_is_needed() -> None:
    (load,) = document(inputs(needs=answered(LLAMA_32K)))["workloads"]
    assert (load["weight"], load["axes"]["batch"]) == (1.0, 32)


def test_a_log_without_any_axis_of_the_definition_says_nothing() -> None:
    other = traffic((1, 128, 1.0))
    needs = answered(replace(LLAMA_32K, definition="moe_routing", axes={}))
    found = document(inputs(needs=needs, traffic=seen(other)))
    assert found["workloads"] == catalogue.benchmark_document("moe_routing", "cuda")["workloads"]


def test_it_is_measured_on_the_gpu_that_was_profiled() -> None:
    profiled = seen(captured("h200_llama_decode_32k_prefix.trace.json.gz"))
    there = document(inputs(needs=answered(LLAMA_32K), trace=profiled))
    assert there["hardware"]["name"] == "NVIDIA H200"
    anywhere = document(inputs(needs=answered(LLAMA_32K)))
    assert anywhere["hardware"] == {"device": "cuda", "name": None}


def test_dtype_tolerance_and_target_are_the_audit_s() -> None:
    needs = answered(replace(LLAMA_32K, dtype="float16"))
    found = document(inputs(needs=needs, thresholds=Thresholds(target=1.5)))
    assert (found["dtype"], found["target"]) == ("float16", 1.5)
    assert found["tolerance"] == found["definition"]["tolerances"]["float16"]


def test_the_baseline_is_the_closest_library_s() -> None:
    tried = answered(Tried(library="torch FlexAttention", lacks=("speed",)))
    needs = answered(replace(LLAMA_32K, definition="sparse_mask_attention", axes={}))
    found = document(inputs(needs=needs, tried=(tried,)))
    assert found["baseline"]["name"].startswith("flex_attention")


@pytest.mark.parametrize(
    ("needs", "code"),
    [
        (None, "audit.operator_missing"),
        (Needs(definition="a thing of ours"), "audit.operator_missing"),
        (replace(LLAMA_32K, dtype="float4"), "audit.dtype_unsupported"),
    ],
)
def test_a_benchmark_without_its_inputs_is_declined(needs: Needs | None, code: str) -> None:
    looked_at = inputs(needs=answered(needs)) if needs else inputs()
    with declined(code):
        document(looked_at)
