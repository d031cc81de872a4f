"""Whatever a file did not record, the checks answer: with less, or with unknown."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engagements.audit.rules import Operator, Outcome
from engagements.audit.rules.verdict import as_data, examine, from_data
from engagements.evidence.readers.facts import ComputeFacts, TraceFacts, TrafficFacts
from tests.engagements.audit.inputs import (
    LLAMA_32K,
    answered,
    captured_compute,
    inputs,
    seen,
    traffic,
    work,
)
from tests.engagements.evidence.traces import captured

TRACES = tuple(
    captured(f"{name}.trace.json.gz") for name in ("moe", "streams", "graph_replay", "host_only")
)
LOGS = (traffic((1, 128, 10.0), (8, 128, 40.0), times=600), traffic((1, 128, 1.0)))
EXPORTS = tuple(captured_compute(f"ladder_{page}.ncu.csv") for page in ("details", "raw"))
BLANKS: dict[str, Any] = {
    "gaps": None,
    "timeline": None,
    "copy_share": None,
    "communication_share": None,
    "gpu_idle_share": None,
    "devices": (),
    "steps": (),
    "kernels": (),
    "families": (),
    "ranges": (),
    "modules": (),
}
UNTIMED: dict[str, Any] = {
    "coverage_of_time": None,
    "curve_of_time": None,
    "shapes_for_time": None,
    "tail_share_of_time": None,
    "effective_shapes_by_time": None,
    "p50": None,
    "p99": None,
}
COUNTERS = ("dram_share", "sm_share", "tensor_share", "dram_bytes", "bound", "signature")
OPERATORS = (
    None,
    Operator(kind="family", name="attention"),
    Operator(kind="range", name="expert"),
    Operator(kind="module", name="nowhere"),
    Operator(kind="pattern", name="products", pattern="nvjet|gemm|tiled"),
)


@st.composite
def traces(draw: st.DrawFn) -> TraceFacts:
    facts = draw(st.sampled_from(TRACES))
    blank = draw(st.sets(st.sampled_from(sorted(BLANKS))))
    return dataclasses.replace(facts, **{name: BLANKS[name] for name in blank})


@st.composite
def logs(draw: st.DrawFn) -> TrafficFacts:
    facts = draw(st.sampled_from(LOGS))
    if draw(st.booleans()):
        shapes = [dataclasses.replace(shape, share_of_time=None) for shape in facts.shapes]
        facts = dataclasses.replace(facts, shapes=tuple(shapes), **UNTIMED)
    return dataclasses.replace(facts, drift=None) if draw(st.booleans()) else facts


@st.composite
def exports(draw: st.DrawFn) -> ComputeFacts:
    facts = draw(st.sampled_from(EXPORTS))
    blank: dict[str, Any] = dict.fromkeys(draw(st.sets(st.sampled_from(COUNTERS))))
    kernels = [dataclasses.replace(kernel, **blank) for kernel in facts.kernels]
    return dataclasses.replace(facts, kernels=tuple(kernels))


@settings(max_examples=150)
@given(data=st.data())
def test_what_was_not_recorded_never_stops_a_check(data: st.DataObject) -> None:
    known: dict[str, Any] = {"operator": data.draw(st.sampled_from(OPERATORS))}
    if data.draw(st.booleans()):
        known["trace"] = seen(data.draw(traces()))
    if data.draw(st.booleans()):
        known["traffic"] = seen(data.draw(logs()))
    if data.draw(st.booleans()):
        known["compute"] = (seen(data.draw(exports())),)
    if data.draw(st.booleans()):
        known |= {"needs": answered(LLAMA_32K), "work": work()}
    verdict = examine(inputs(**known))
    assert from_data(as_data(verdict)) == verdict
    for finding in verdict.findings:
        assert finding.sentence
        assert finding.paragraph
        # Who does not know says what to collect; who does says from what.
        assert finding.to_collect if finding.outcome == Outcome.UNKNOWN else finding.evidence
        if finding.outcome != Outcome.UNKNOWN:
            assert finding.shown
