"""What to do instead, with what this evidence says that it would bring."""

from __future__ import annotations

import io
from typing import Any

import pytest

from engagements.audit.rules import Alternative, AuditInputs, Interval, Needs, Tried, instead
from engagements.evidence.readers import TrafficFacts, read
from tests.engagements.audit.inputs import answered, inputs, measured, seen, stated, step, traffic
from tests.engagements.evidence.traces import captured, facts_of, host, kernel, launch, trace


def by_name(looked_at: AuditInputs) -> dict[str, Alternative]:
    return {choice.name: choice for choice in instead.alternatives(looked_at)}


def about(number: float) -> Any:
    """Stands in an interval where a float is wanted."""
    return pytest.approx(number)


def test_batching_wins_what_the_cheapest_batch_costs_less() -> None:
    # A sequence costs 10 us alone and 2.5 us in a batch of four: half of them could be cheaper.
    facts = traffic(*[(1, 128, 10.0)] * 4, (4, 128, 10.0), times=200)
    gain = by_name(inputs(traffic=seen(facts)))["batching"].gain
    # 50 us for eight sequences now, 8 x 2.5 = 20 us at best.
    assert gain == Interval(low=1.0, high=about(2.5))


def test_other_sizes_are_held_apart() -> None:
    # The long calls are not compared with the short ones, which cost the same in either batch.
    facts = traffic((1, 128, 10.0), (4, 128, 40.0), (4, 4096, 900.0), times=400)
    gain = by_name(inputs(traffic=seen(facts)))["batching"].gain
    assert gain == Interval(low=1.0, high=about(1.0))


@pytest.mark.parametrize(
    "log",
    [
        traffic((1, 128, 10.0), (4, 4096, 900.0), times=500),
        traffic((1, 128, 10.0), (4, 128, 10.0), times=499),
    ],
    ids=["every size in one batch", "too few calls"],
)
def test_a_log_that_compares_nothing_leaves_it_to_the_idle_time(log: TrafficFacts) -> None:
    facts = step(("gemm", 0.0, 750.0))
    assert by_name(inputs(traffic=seen(log)))["batching"].gain is None
    gain = by_name(inputs(traffic=seen(log), trace=seen(facts)))["batching"].gain
    assert gain == Interval(low=1.0, high=about(1 / 0.75))


def test_without_a_batch_axis_the_idle_time_bounds_it() -> None:
    facts = step(("gemm", 0.0, 750.0))
    gain = by_name(inputs(trace=seen(facts)))["batching"].gain
    assert gain == Interval(low=1.0, high=about(1 / 0.75))


def test_compiling_wins_launch_gaps_and_small_kernels_at_most() -> None:
    # Launched at 0 and at 500, each 100 us: the gap between is the host's.
    facts = facts_of(
        trace(
            host("step", 0.0, 1000.0),
            launch(0.0, 1),
            launch(500.0, 2),
            kernel("elementwise_add", 10.0, 100.0, correlation=1),
            kernel("sm90_gemm", 510.0, 490.0, correlation=2),
        )
    )
    assert facts.gaps is not None
    bound = facts.gaps.launch_bound_share
    assert bound is not None
    assert bound == pytest.approx(0.41, abs=0.011)
    gain = by_name(inputs(trace=seen(facts)))["compiling"].gain
    assert gain == Interval(low=1.0, high=about(1 / (1 - bound - 0.1)))


def test_a_data_loader_is_no_launch_that_a_graph_would_save() -> None:
    # The second launch comes 8 ms after the first kernel ended, the third 50 us after the second.
    facts = facts_of(
        trace(
            host("step", 0.0, 10_000.0),
            launch(0.0, 1),
            launch(9000.0, 2),
            launch(9950.0, 3),
            kernel("sm90_gemm", 0.0, 1000.0, correlation=1),
            kernel("sm90_gemm", 9000.0, 900.0, correlation=2),
            kernel("sm90_gemm", 9950.0, 50.0, correlation=3),
        )
    )
    found = by_name(inputs(trace=seen(facts)))
    assert found["compiling"].gain == Interval(low=1.0, high=about(1 / 0.995))
    assert found["scheduling"].gain == Interval(low=1.0, high=about(1 / 0.2))
    assert "80% of the time the GPU waits for the host's own work" in found["scheduling"].basis


def test_what_replays_graphs_has_no_launches_to_win() -> None:
    choice = by_name(inputs(trace=seen(captured("graph_replay.trace.json.gz"))))["compiling"]
    assert "already run in CUDA graphs" in choice.basis


def test_quantisation_touches_matrix_products() -> None:
    # Half of the time: 1 / (0.5 + 0.5 / 1.4) and 1 / (0.5 + 0.5 / 1.8).
    facts = step(("sm90_gemm_bf16", 0.0, 500.0), ("softmax", 500.0, 500.0))
    gain = by_name(inputs(trace=seen(facts)))["quantisation"].gain
    assert gain == Interval(low=about(1 / (0.5 + 0.5 / 1.4)), high=about(1 / (0.5 + 0.5 / 1.8)))


@pytest.mark.parametrize(("dtype", "high"), [("int8", 1.0), ("float8", 1.0)])
def test_eight_bits_already_leave_nothing(dtype: str, high: float) -> None:
    needs = answered(Needs(definition="int8_linear", dtype=dtype))
    gain = by_name(inputs(needs=needs, trace=seen(step(("gemm", 0.0, 900.0)))))["quantisation"].gain
    assert gain == Interval(low=1.0, high=high)


def test_a_dtype_that_nobody_says_is_asked_for() -> None:
    choice = by_name(inputs(trace=seen(step(("gemm", 0.0, 900.0)))))["quantisation"]
    assert choice.gain is None
    assert choice.gain is None
    assert choice.to_collect is not None


def test_topology_is_bounded_by_communication() -> None:
    facts = step(("ncclDevKernel_AllReduce", 0.0, 250.0), ("gemm", 250.0, 750.0))
    assert by_name(inputs(trace=seen(facts)))["topology"].gain == Interval(
        low=1.0, high=about(1 / 0.75)
    )
    alone = by_name(inputs(trace=seen(step(("gemm", 0.0, 900.0)))))["topology"]
    assert alone.gain == Interval(low=1.0, high=1.0)
    assert "one GPU" in alone.basis


def test_scheduling_is_bounded_by_the_busiest_of_several_gpus() -> None:
    uneven = facts_of(
        trace(
            host("step", 0.0, 1000.0),
            kernel("gemm", 0.0, 900.0, device=0),
            kernel("gemm", 0.0, 300.0, device=1),
        )
    )
    assert by_name(inputs(trace=seen(uneven)))["scheduling"].gain == Interval(
        low=1.0, high=about(0.9 / 0.6)
    )
    assert by_name(inputs(trace=seen(step(("gemm", 0.0, 900.0)))))["scheduling"].gain is None


def test_a_library_that_fits_is_the_first_thing_to_try() -> None:
    # A third of the roofline, 90% of the time: at 80% of it the kernel is 2.4 times as fast.
    fits = answered(Tried(library="It fits"))
    profiled = seen(measured(dram_share=1 / 3, bound="latency"))
    choice = by_name(inputs(share=stated(0.9), tried=(fits,), compute=(profiled,)))["library"]
    assert choice.title == "Use It fits"
    assert choice.gain == Interval(low=1.0, high=about(1 / (0.1 + 0.9 / 2.4)))
    unmeasured = by_name(inputs(tried=(fits,)))["library"]
    assert unmeasured.gain is None


def test_libraries_that_fit_are_one_choice_with_one_estimate() -> None:
    tried = tuple(answered(Tried(library=name)) for name in ("One", "Another", "A third"))
    [choice] = [
        choice
        for choice in instead.alternatives(inputs(share=stated(0.9), tried=tried))
        if choice.name == "library"
    ]
    assert choice.title == "Use a library that fits"
    assert choice.to_collect
    assert choice.to_collect.what == "A third, Another or One, tried on the operator's shapes."


def test_the_most_promising_comes_first_and_the_unknown_last() -> None:
    found = instead.alternatives(inputs(trace=seen(captured("idle_gpu.trace.json.gz"))))
    highest = [choice.gain.high if choice.gain else 0.0 for choice in found]
    assert highest == sorted(highest, reverse=True)
    assert [choice.name for choice in found[:2]] == ["batching", "scheduling"]
    assert len(found) == 5


def test_a_log_of_sizes_that_are_no_numbers_is_no_batch() -> None:
    content = b"batch,duration_us\nsmall,1\nlarge,2\n"
    facts = read(io.BytesIO(content), "x.csv")
    assert isinstance(facts, TrafficFacts)
    assert by_name(inputs(traffic=seen(facts)))["batching"].gain is None
