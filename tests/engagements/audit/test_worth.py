"""Check 6: the ceiling, from the share of the time and the most that the kernel can gain."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engagements.audit.rules import (
    Finding,
    Needs,
    Operator,
    Outcome,
    Thresholds,
    ceiling,
    selection,
    worth,
)
from engagements.audit.rules.ceiling import CeilingFigures
from tests.engagements.audit.inputs import (
    LLAMA_32K,
    answered,
    attention_step,
    captured_compute,
    inputs,
    measured,
    ratio,
    seen,
    stated,
)
from tests.engagements.evidence.traces import captured, facts_of, host, kernel, trace

ATTENTION = Operator(kind="family", name="attention")
SHARES = st.floats(0.0, 1.0)
SPEEDUPS = st.floats(1.0, 1e6)


def figures(finding: Finding) -> CeilingFigures:
    assert isinstance(finding.figures, CeilingFigures)
    return finding.figures


@given(share=SHARES, kernel=SPEEDUPS)
def test_the_whole_gains_something_and_never_more_than_the_kernel_or_the_rest_allows(
    share: float, kernel: float
) -> None:
    whole = ceiling.ratio(share, kernel)
    assert 1 - 1e-12 <= whole <= kernel * (1 + 1e-12)
    most = ceiling.infinite(share)
    assert most is None or whole <= most * (1 + 1e-12)


@given(share=SHARES, kernels=st.tuples(SPEEDUPS, SPEEDUPS).map(sorted))
def test_a_faster_kernel_never_makes_the_whole_slower(share: float, kernels: list[float]) -> None:
    slow, fast = (ceiling.ratio(share, kernel) for kernel in kernels)
    assert slow <= fast * (1 + 1e-12)


@given(share=st.floats(0.01, 1.0), target=st.floats(1.01, 100))
def test_the_kernel_speedup_that_is_needed_gives_the_target_and_is_there_below_the_ceiling(
    share: float, target: float
) -> None:
    needed = ceiling.needed(share, target)
    if needed is None:
        assert (ceiling.infinite(share) or math.inf) <= target * (1 + 1e-9)
    else:
        assert ceiling.ratio(share, needed) == pytest.approx(target)


@given(share=SHARES, up_to=st.floats(1, 1000))
def test_the_curve_rises_from_one(share: float, up_to: float) -> None:
    points = ceiling.curve(share, up_to)
    assert points[0][0] == 1.0
    assert points[0][1] == pytest.approx(1.0)
    assert points[-1][0] == pytest.approx(max(up_to, 2.0))
    assert all(a[1] <= b[1] + 1e-9 for a, b in itertools.pairwise(points))


@pytest.mark.parametrize(("share", "kernel"), [(-0.1, 2), (1.1, 2), (0.5, 0), (0.5, -1)])
def test_there_is_no_ceiling_outside(share: float, kernel: float) -> None:
    with pytest.raises(ValueError, match="No ceiling"):
        ceiling.ratio(share, kernel)


def test_half_the_time_gives_at_most_twice_as_fast() -> None:
    # 1 / (1 - 0.4) = 1.67: no kernel makes that 2.
    finding = worth.find(inputs(share=stated(0.4)))
    assert finding.outcome == Outcome.FAIL
    assert finding.sentence == "Even an infinitely fast kernel gives at most 1.67× end to end."
    assert figures(finding).needed is None
    assert figures(finding).infinite == pytest.approx(1 / 0.6)


def test_the_source_s_own_numbers() -> None:
    # 2.3x of the step of the experts that is 1.4x of the whole: it was half of the time.
    assert ceiling.ratio(0.5055, 2.3) == pytest.approx(1.4, abs=1e-3)
    # 3x of something that is 1% of the time.
    assert ceiling.ratio(0.01, 3.0) == pytest.approx(1.0067, abs=1e-4)


@pytest.mark.parametrize(
    ("share", "claimed", "outcome"),
    [
        (0.9, ratio(5.0), "pass"),  # 1 / (0.1 + 0.18) = 3.57
        (0.9, ratio(2.0), "fail"),  # 1 / (0.1 + 0.45) = 1.82
        (0.9, ratio(2.0, 5.0), "unknown"),
    ],
)
def test_a_claim_is_carried_to_the_whole_and_questioned(
    share: float, claimed: object, outcome: str
) -> None:
    finding = worth.find(inputs(share=stated(share), kernel_speedup=stated(claimed)))
    assert finding.outcome == outcome
    assert "laimed" in finding.sentence
    assert any("may we repeat the measurement" in question for question in finding.questions)


def test_a_kernel_at_a_third_of_the_roofline_can_gain_three_times() -> None:
    profiled = seen(measured(dram_share=1 / 3, sm_share=0.2, bound="latency"))
    finding = worth.find(inputs(share=stated(0.9), compute=(profiled,)))
    assert figures(finding).most == pytest.approx(3)
    # 1 / (0.1 + 0.9 / 3) = 2.5; 60 and 80% of the roofline are 1.8 and 2.4 times a third.
    assert finding.value == pytest.approx(2.5)
    assert finding.outcome == Outcome.PASS
    reachable = figures(finding).reachable
    assert reachable is not None
    assert (reachable.low, reachable.high) == (pytest.approx(1.8), pytest.approx(2.4))


def test_at_80_percent_nothing_is_left_without_another_algorithm() -> None:
    profiled = seen(measured(dram_share=0.8, bound="memory", signature="tuned"))
    finding = worth.find(inputs(share=stated(0.95), compute=(profiled,)))
    assert finding.outcome == Outcome.FAIL
    assert "only another algorithm could gain more" in finding.sentence
    assert any("moves fewer bytes" in question for question in finding.questions)
    low_target = Thresholds(target=1.1)
    again = worth.find(inputs(share=stated(0.95), compute=(profiled,), thresholds=low_target))
    assert again.outcome == Outcome.FAIL


def test_a_shared_prefix_read_once_is_another_algorithm() -> None:
    known = captured("h200_llama_decode_32k_prefix.trace.json.gz")
    finding = worth.find(inputs(trace=seen(known), needs=answered(LLAMA_32K)))
    fewer = figures(finding).fewer_bytes
    assert fewer is not None
    # Keys and values of the prompt once, of 257 own tokens 32 times, queries in and out.
    keys = 2 * 32768 * 8 + 2 * 32 * 8 * 257 + 2 * 32 * 32
    assert fewer.least_bytes == keys * 128 * 2
    assert fewer.call_us == pytest.approx(11423.558 / 12, abs=0.1)
    assert fewer.floor_us == pytest.approx(keys * 128 * 2 / 4.8e12 * 1e6)
    share = 11.423558 / 15.506
    most = fewer.call_us / fewer.floor_us
    assert finding.value == pytest.approx(1 / (1 - share + share / most), rel=1e-3)
    assert finding.outcome == Outcome.PASS


def test_on_several_gpus_a_call_is_counted_once() -> None:
    # Two devices run the same 100 us side by side, twice: two calls of 100 us, not four of 50.
    events = [
        kernel("flash_fwd", start, 100.0, device=device)
        for device in (0, 1)
        for start in (0.0, 500.0)
    ]
    facts = facts_of(trace(host("step", 0.0, 1000.0), *events))
    found = selection.selected(inputs(trace=seen(facts), operator=ATTENTION))
    assert found is not None
    assert found.call_us == pytest.approx(100.0)


def test_a_target_beyond_what_kernels_reach_is_said_to_be() -> None:
    # 2x of the whole takes 2.25x of the kernel; 80% of the roofline are 2x of it.
    profiled = seen(measured(dram_share=0.4, bound="latency"))
    finding = worth.find(inputs(share=stated(0.9), compute=(profiled,)))
    assert finding.outcome == Outcome.PASS
    assert "more of the roofline than kernels usually reach" in finding.paragraph


def test_a_roofline_of_instructions_alone_is_no_limit_on_a_low_rung() -> None:
    ladder = captured_compute("ladder_details.ncu.csv")
    tiled = Operator(kind="pattern", name="tiled", pattern="^tiled$")
    finding = worth.find(inputs(share=stated(0.9), compute=(seen(ladder),), operator=tiled))
    # The SMs are 57% busy, yet cuBLAS does the same product in a thirtieth of the time.
    assert figures(finding).roofline_share == pytest.approx(0.5691)
    assert finding.outcome == Outcome.UNKNOWN
    assert "fewer instructions" in finding.sentence


@pytest.mark.parametrize(
    ("name", "roofline"), [("nvjet", 0.9347), ("vectorized_elementwise", 0.8333)]
)
def test_the_two_tuned_kernels_of_the_export_have_nothing_left(name: str, roofline: float) -> None:
    export = captured_compute("h200_ncu_details.csv")
    chosen = Operator(kind="pattern", name=name, pattern=name)
    finding = worth.find(inputs(share=stated(0.9), compute=(seen(export),), operator=chosen))
    assert figures(finding).roofline_share == pytest.approx(roofline)
    assert finding.outcome == Outcome.FAIL


def test_a_claim_beyond_the_roofline_is_called_that() -> None:
    profiled = seen(measured(dram_share=0.5, bound="latency"))
    finding = worth.find(
        inputs(share=stated(0.95), compute=(profiled,), kernel_speedup=stated(ratio(10.0)))
    )
    assert "beyond the roofline" in finding.paragraph
    assert finding.outcome == Outcome.FAIL


def test_a_kernel_that_is_a_small_part_of_the_operator_decides_nothing() -> None:
    other = seen(measured("flash_combine_kernel", dram_share=0.9))
    trace = seen(attention_step(0.9))
    finding = worth.find(inputs(trace=trace, compute=(other,), operator=ATTENTION))
    assert figures(finding).kernels == ()
    assert finding.outcome == Outcome.UNKNOWN


def test_kernels_that_are_only_of_the_same_kind_are_said_to_be() -> None:
    alike, same = (
        worth.find(
            inputs(
                trace=seen(attention_step(0.86)),
                compute=(seen(measured(name, dram_share=0.5, bound="latency")),),
            )
        ).paragraph
        for name in ("flash_attention_of_another", "flash_fwd_kernel")
    )
    assert "The profile has none of these kernel names" in alike
    assert "names none" not in same


def test_what_was_measured_end_to_end_decides() -> None:
    for gained, outcome in ((1.08, "fail"), (1.9, "fail"), (2.8, "pass")):
        finding = worth.find(inputs(share=stated(0.9), end_to_end=seen(ratio(gained))))
        assert finding.outcome == outcome


def test_a_ratio_above_the_ceiling_cannot_be() -> None:
    finding = worth.find(inputs(share=stated(0.4), end_to_end=stated(ratio(3.0))))
    assert finding.outcome == Outcome.FAIL
    assert finding.sentence.startswith("3× is impossible")
    profiled = seen(measured(dram_share=0.5, bound="latency"))
    finding = worth.find(
        inputs(share=stated(0.9), compute=(profiled,), end_to_end=stated(ratio(3.0)))
    )
    assert finding.outcome == Outcome.FAIL
    assert finding.sentence.startswith("3× is impossible")


def test_what_is_missing_is_collected_by_the_kernels_own_names() -> None:
    finding = worth.find(inputs(trace=seen(attention_step(0.9)), operator=ATTENTION))
    assert finding.outcome == Outcome.UNKNOWN
    command = finding.to_collect[0].command or ""
    assert command.startswith("ncu --set full --page raw --csv")
    assert "regex:flash_fwd_kernel" in command


def test_without_a_share_it_is_unknown() -> None:
    finding = worth.find(inputs())
    assert finding.outcome == Outcome.UNKNOWN
    assert (finding.to_collect[0].command or "").startswith("nsys profile")


def test_a_device_without_a_data_sheet_has_no_floor() -> None:
    needs = Needs(
        definition="flash_attention", dtype="bfloat16", axes={"batch": 1}, device="Abacus"
    )
    finding = worth.find(inputs(share=stated(0.9), needs=answered(needs)))
    assert figures(finding).fewer_bytes is None
