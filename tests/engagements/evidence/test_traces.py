"""What a trace says: wall-clock shares, with overlap counted once and idle time counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.engagements.evidence.traces import facts_of, host, kernel, launch, packed, trace
from tests.errors import unreadable

MS = 1000.0


def test_an_operator_of_60_percent_of_gpu_time_is_3_percent_of_a_step_that_waits() -> None:
    facts = facts_of(
        trace(
            host("step", 0, 1000 * MS),
            kernel("flash_fwd", 0, 30 * MS),
            kernel("gemm", 40 * MS, 20 * MS),
        )
    )
    attention = facts.kernels[0]
    assert facts.wall_ms == 1000
    assert facts.gpu_busy_share == pytest.approx(0.05)
    assert facts.gpu_idle_share == pytest.approx(0.95)
    assert (attention.name, attention.share_of_gpu) == ("flash_fwd", pytest.approx(0.6))
    assert attention.share_of_wall == pytest.approx(0.03)


def test_overlap_is_counted_once_across_streams_and_devices() -> None:
    facts = facts_of(
        trace(
            host("step", 0, 100),
            kernel("a", 0, 40, stream=7),
            kernel("a", 20, 40, stream=8),
            kernel("b", 50, 20, device=1),
            kernel("Memcpy HtoD", 60, 20, stream=9, category="gpu_memcpy"),
        )
    )
    a = next(row for row in facts.kernels if row.name == "a")
    assert facts.gpu_busy_share == pytest.approx(0.80)
    assert (a.calls, a.gpu_ms, a.busy_ms) == (2, pytest.approx(0.08), pytest.approx(0.06))
    assert a.share_of_wall == pytest.approx(0.60)
    assert facts.copy_share == pytest.approx(0.20)
    assert [(d.device, d.busy_share) for d in facts.devices] == [
        (0, pytest.approx(0.80)),
        (1, pytest.approx(0.20)),
    ]


def test_a_share_of_a_pattern_is_given_between_what_it_can_be() -> None:
    events = [host("step", 0, 100), kernel("gemm_a", 0, 40), kernel("gemm_b", 20, 40, stream=8)]
    facts = facts_of(trace(*events), patterns={"products": "gemm"})
    least, most = facts.share_of_wall("gemm")
    assert least <= 0.60 + 1e-9
    assert most == pytest.approx(0.60)
    assert facts.patterns[0].share_of_wall == pytest.approx(0.60)


def test_the_window_is_the_steps_and_what_they_launched() -> None:
    facts = facts_of(
        trace(
            host("warm up", 0, 500),
            kernel("early", 100, 50, correlation=1),
            launch(90, 1),
            host("ProfilerStep#7", 1000, 100, category="user_annotation"),
            host("ProfilerStep#8", 1100, 100, category="user_annotation"),
            launch(1010, 2),
            kernel("a", 1020, 60, correlation=2),
            launch(1190, 3),
            kernel("a", 1195, 105, correlation=3),
            launch(1400, 4),
            kernel("late", 1410, 1000, correlation=4),
        )
    )
    assert (facts.window.kind, facts.window.steps) == ("steps", 2)
    assert facts.wall_ms == pytest.approx(0.300)
    assert [row.name for row in facts.kernels] == ["a"]
    assert facts.gpu_busy_share == pytest.approx(165 / 300)
    assert facts.steps[0].gpu_busy_share == pytest.approx(0.60)


def test_kernels_belong_to_the_ranges_and_modules_around_their_launch() -> None:
    facts = facts_of(
        trace(
            host("forward", 0, 100, category="user_annotation"),
            host("nn.Module: Attention_0", 10, 30, category="python_function"),
            host("some_function", 10, 90, category="python_function"),
            launch(20, 1),
            launch(50, 2),
            launch(150, 3),
            kernel("inside both", 200, 10, correlation=1),
            kernel("inside forward", 210, 20, correlation=2),
            kernel("outside", 230, 40, correlation=3),
        )
    )
    assert [(row.name, row.calls, row.gpu_ms) for row in facts.ranges] == [("forward", 2, 0.03)]
    assert [(row.name, row.calls, row.gpu_ms) for row in facts.modules] == [
        ("Attention_0", 1, 0.01)
    ]


def test_a_gap_is_the_hosts_fault_when_nothing_was_launched_yet() -> None:
    facts = facts_of(
        trace(
            launch(0, 1),
            launch(6, 2),
            kernel("a", 10, 10, correlation=1),
            kernel("a", 25, 10, correlation=2),
            launch(60, 3),
            kernel("a", 65, 35, correlation=3),
        )
    )
    assert facts.wall_ms == pytest.approx(0.1)
    gaps = facts.gaps
    assert gaps is not None
    assert gaps.idle_ms == pytest.approx(0.045)
    # Before the first kernel, and the gap from 35 to 65; not that from 20 to 25.
    assert gaps.launch_bound_share == pytest.approx(0.30)


def test_graph_kernels_are_distinguished_from_single_launches() -> None:
    facts = facts_of(
        trace(
            launch(0, 1, "cudaGraphLaunch"),
            launch(10, 2),
            *(kernel("in a graph", 20 + 10 * n, 5, correlation=1) for n in range(3)),
            kernel("alone", 60, 2, correlation=2),
        )
    )
    launches = facts.launches
    assert (launches.calls, launches.graph_calls, launches.kernels) == (2, 1, 4)
    assert launches.graph_kernel_share == pytest.approx(0.75)
    assert launches.short_kernel_share == pytest.approx(0.25)


def test_communication_is_a_family_of_its_own() -> None:
    facts = facts_of(
        trace(kernel("ncclDevKernel_AllReduce_Sum_bf16", 0, 25), kernel("gemm", 25, 75))
    )
    assert facts.communication_share == pytest.approx(0.25)


def test_without_device_operations_nothing_is_said_of_the_gpu() -> None:
    facts = facts_of(trace(host("aten::mm", 0, 100)))
    assert (facts.gpu_busy_share, facts.gpu_idle_share, facts.kernels) == (None, None, ())
    assert any("no device operations" in warning for warning in facts.warnings)


def test_the_timeline_says_how_busy_each_family_kept_the_gpu() -> None:
    timeline = facts_of(
        trace(host("step", 0, 200), kernel("gemm", 0, 100), kernel("softmax", 100, 50))
    ).timeline
    assert timeline is not None
    half = len(timeline.busy) // 2
    assert timeline.families["matrix product"][:half] == (1.0,) * half
    assert sum(timeline.families["softmax"]) == pytest.approx(half / 2)
    assert set(timeline.busy[half * 3 // 2 + 1 :]) == {0.0}


@pytest.mark.parametrize(
    "change",
    [
        lambda event: event | {"cat": event["cat"].capitalize()},
        lambda event: event | {"ts": str(event["ts"]), "dur": str(event["dur"])},
        lambda event: event | {"ts": 1_790_857_026_000_000 + event["ts"]},
        lambda event: {"args": {"a": [{"b": 1}, {"c": 2}]} | event["args"]} | event,
        lambda event: event | {"name": event["name"] + ' {"ph": "X"}, {'},
        lambda event: event | {"pid": str(event["pid"])},
    ],
    ids=["capitals", "text", "epoch", "nested", "braces", "process as text"],
)
def test_other_spellings_of_kineto_say_the_same(
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    events = [host("step", 0, 100), kernel("a", 10, 20), kernel("b", 50, 20)]
    plain, changed = facts_of(trace(*events)), facts_of(trace(*map(change, events)))
    assert changed.wall_ms == pytest.approx(plain.wall_ms)
    assert changed.gpu_busy_share == pytest.approx(plain.gpu_busy_share)
    assert [row.calls for row in changed.kernels] == [1, 1]


def test_events_that_begin_and_end_apart_are_put_together() -> None:
    first = kernel("a", 10, 0)
    begun, ended = first | {"ph": "B"}, first | {"ph": "E", "ts": 40}
    facts = facts_of(trace(host("step", 0, 100), begun, ended))
    assert facts.gpu_busy_share == pytest.approx(0.3)


def test_numbers_that_are_none_are_passed_over() -> None:
    content = trace(host("step", 0, 100), kernel("a", 10, 20), kernel("b", 1, 1))
    facts = facts_of(content.replace(b'"dur": 1,', b'"dur": NaN,'))
    assert [row.name for row in facts.kernels] == ["a"]


@pytest.mark.parametrize("separator", [",", " ,\n", ",\r\n\t"])
def test_an_array_alone_is_a_trace_closed_or_not(separator: str) -> None:
    whole = trace(host("step", 0, 100), kernel("a", 10, 20))
    events = [json.dumps(event) for event in json.loads(whole)["traceEvents"]]
    for end in ("]", "", separator):
        facts = facts_of(f"[{separator.join(events)}{end}".encode())
        assert facts.gpu_busy_share == pytest.approx(0.2)


@pytest.mark.parametrize("where", ["before", "after"])
def test_other_keys_may_precede_or_follow_the_events(where: str) -> None:
    properties = [{"id": 0, "name": "NVIDIA H200", "note": '"traceEvents": ['}]
    events = {"traceEvents": [host("step", 0, 100), kernel("a", 10, 20)]}
    other = {"schemaVersion": 1, "deviceProperties": properties, "nested": {"traceEvents": [1]}}
    whole = (other | events) if where == "before" else (events | other)
    facts = facts_of(json.dumps(whole).encode())
    assert facts.devices[0].name == "NVIDIA H200"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "evidence.file_empty"),
        (b'{"a": 1, "b": [', "evidence.no_events"),
        (b'{"schemaVersion": 1, "traceEvents": []}', "evidence.no_events"),
        (trace(host("a", 0, 1))[:-40], "evidence.trace_truncated"),
        (trace(host("a", 0, 1)).replace(b'"ts": 0', b'"ts": 0x'), "evidence.json_invalid"),
        (b'{"traceEvents": [{"ph": "X", "args": ' + b"[" * 100_000, "evidence.trace_truncated"),
        (b'{"traceEvents": [' + b"[" * 5000 + b"]" * 5000 + b"]}", "evidence.json_invalid"),
        (trace(host("a", 0, 1)) + b"}", "evidence.json_invalid"),
        (packed(trace(host("a", 0, 1)))[:-9], "evidence.gzip_truncated"),
        (packed(packed(trace(host("a", 0, 1)))), "evidence.wrong_format"),
    ],
)
def test_a_broken_trace_fails_with_a_code(content: bytes, code: str) -> None:
    with unreadable(code):
        facts_of(content)
