"""Real captures of an H200 say what was read off them by other means (captures/README.md)."""

from __future__ import annotations

import pytest

from engagements.evidence.readers import ComputeFacts, read
from tests.engagements.evidence.traces import CAPTURES, captured


def measured(name: str) -> ComputeFacts:
    facts = read(CAPTURES / name, name)
    assert isinstance(facts, ComputeFacts)
    return facts


def test_the_decode_step_spends_86_percent_of_gpu_time_in_attention() -> None:
    facts = captured("h200_llama_decode_32k_prefix.trace.json.gz")
    attention = facts.families[0]
    assert (attention.name, attention.calls) == ("attention", 12)
    assert attention.share_of_gpu == pytest.approx(0.86, abs=0.005)
    assert facts.kernels[0].share_of_gpu == pytest.approx(11.423558 / 13.271, abs=1e-3)
    assert facts.gpu_busy_ms == pytest.approx(13.271, abs=1e-3)
    assert facts.devices[0].name == "NVIDIA H200"


@pytest.mark.parametrize(
    ("name", "busy_ms", "wall_ms"),
    [
        ("idle_gpu", 0.67, 102.2),
        ("prefill", 23.3, 23.7),
        ("moe", 4.1, 27.1),
        ("compiled", 2.6, 3.9),
    ],
)
def test_two_steps_are_as_busy_as_their_raw_events(
    name: str, busy_ms: float, wall_ms: float
) -> None:
    facts = captured(f"{name}.trace.json.gz")
    assert (facts.window.kind, facts.window.steps) == ("steps", 2)
    assert facts.gpu_busy_ms == pytest.approx(busy_ms, rel=0.015)
    assert facts.wall_ms == pytest.approx(wall_ms, rel=0.01)


def test_an_idle_gpu_waits_for_launches() -> None:
    facts = captured("idle_gpu.trace.json.gz")
    assert facts.gpu_idle_share is not None
    assert facts.gaps is not None
    assert facts.gpu_idle_share > 0.99
    assert facts.gaps.launch_bound_share == pytest.approx(facts.gpu_idle_share, abs=0.01)
    assert facts.launches.short_kernel_share == 1.0


def test_a_prefill_is_bound_by_its_matrix_products() -> None:
    facts = captured("prefill.trace.json.gz")
    assert facts.gaps is not None
    assert facts.families[0].name == "matrix product"
    assert {row.name for row in facts.ranges} >= {"mlp", "attention"}
    assert (facts.gaps.launch_bound_share or 0) < 0.02


def test_experts_one_after_another_are_launched_too_slowly() -> None:
    facts = captured("moe.trace.json.gz")
    assert facts.ranges[0].name == "expert"
    assert facts.gaps is not None
    assert (facts.gaps.launch_bound_share or 0) > 0.7


def test_compiled_kernels_find_their_families() -> None:
    facts = captured("compiled.trace.json.gz")
    assert {"matrix product", "attention", "elementwise", "normalisation"} <= {
        row.name for row in facts.families
    }


@pytest.mark.parametrize("page", ["raw", "details", "details_printed"])
def test_every_rung_of_the_ladder_is_recognised_by_its_profile(page: str) -> None:
    facts = measured(f"ladder_{page}.ncu.csv")
    rungs = [(kernel.name.split("_")[0], kernel.signature) for kernel in facts.kernels[:4]]
    assert rungs == [
        ("naive", "naive"),
        ("coalesced", "coalesced"),
        ("tiled", "tiled"),
        ("nvjet", "pipelined"),
    ]


def test_a_kernel_shows_its_binding_limit_its_stalls_and_its_memory() -> None:
    naive, coalesced, tiled, product = measured("ladder_raw.ncu.csv").kernels[:4]
    limits = [each.limit and each.limit.name for each in (naive, coalesced, product)]
    assert limits == ["L1 and shared memory", "SMs", "Tensor cores"]
    # Its traffic keeps L2 busier, at 92%, but passes through it: DRAM binds.
    elementwise = measured("h200_ncu_details.csv").kernels[5]
    assert elementwise.limit is not None
    assert (elementwise.limit.name, elementwise.limit.peak_share) == ("DRAM", 0.8333)
    # Almost all of its traffic is in L1, so it is far from the roofline of DRAM and SMs.
    assert naive.roofline_share == pytest.approx(0.0582, abs=1e-4)
    stall = naive.stalls[0]
    assert (stall.reason, stall.share) == ("lg_throttle", pytest.approx(0.887, abs=1e-3))
    assert stall.cycles == pytest.approx(246.5, abs=0.1)
    l1 = next(unit for unit in naive.units if unit.name == "L1 and shared memory")
    assert (l1.peak_share, l1.hit_rate) == pytest.approx((0.989, 0.996), abs=1e-3)
    assert l1.moved_bytes == 32 * (8_858_370_048 + 4_194_316)
    assert tiled.conflict_share == pytest.approx(2_216_585 / 73_848_678)


def test_the_details_page_names_the_largest_stalls_alone() -> None:
    raw, details = measured("ladder_raw.ncu.csv"), measured("ladder_details.ncu.csv")
    for one, other in zip(raw.kernels[:3], details.kernels[:3], strict=True):
        found = {stall.reason: stall.share for stall in one.stalls}
        assert other.stalls
        for stall in other.stalls:
            assert stall.share == pytest.approx(found[stall.reason], abs=0.01)
    reasons = [kernel.stalls[0].reason for kernel in measured("h200_ncu_details.csv").kernels[:5]]
    assert reasons == ["not_selected", "not_selected", "wait", "gmma", "long_scoreboard"]


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("ladder_raw.ncu.csv", set()),
        ("ladder_details.ncu.csv", set()),
        ("h200_ncu_details.csv", {"LaunchStats", "SourceCounters"}),
        (
            "h200_ncu_raw.csv",
            {"MemoryWorkloadAnalysis", "WarpStateStats", "Occupancy", "SourceCounters"},
        ),
    ],
)
def test_an_export_says_which_sections_it_lacks(name: str, lacks: set[str]) -> None:
    assert set(measured(name).lacks) == lacks


def test_figures_of_the_details_page_are_those_of_the_file() -> None:
    # Read by eye: launches 3 (a matrix product) and 5 (elementwise) of the export.
    product, elementwise = (measured("h200_ncu_details.csv").kernels[n] for n in (3, 5))
    assert (product.duration_us, product.occupancy) == (1387.04, 0.1478)
    assert (product.dram_share, product.sm_share) == (0.2069, 0.9347)
    assert (product.bound, product.signature) == ("compute", "tuned")
    assert (elementwise.duration_us, elementwise.occupancy) == (60.96, 0.8132)
    assert (elementwise.dram_share, elementwise.sm_share) == (0.8333, 0.4321)
    assert elementwise.bound == "memory"


def test_figures_of_the_raw_page_are_those_of_the_file() -> None:
    facts = measured("h200_ncu_raw.csv")
    assert len(facts.kernels) == 8
    random, product = facts.kernels[0], facts.kernels[3]
    assert (random.duration_us, random.dram_share, random.sm_share) == (158.464, 0.1422, 0.7612)
    assert (random.waves, random.registers, random.theoretical_occupancy) == (1.6, 44, 0.625)
    assert (product.duration_us, product.tensor_share) == (1383.616, 0.934)
    # Achieved occupancy was not collected: it is not made up from the theoretical one.
    assert product.occupancy is None
    assert any("occupancy was not measured" in warning for warning in facts.warnings)


def test_both_pages_of_one_report_agree() -> None:
    raw, details = measured("ladder_raw.ncu.csv"), measured("ladder_details.ncu.csv")
    for one, other in zip(raw.kernels, details.kernels, strict=True):
        assert one.name == other.name
        assert one.duration_us == pytest.approx(other.duration_us, rel=2e-3)
        assert one.dram_share == pytest.approx(other.dram_share, abs=1e-3)
        assert one.sm_share == pytest.approx(other.sm_share, abs=1e-3)
        assert (one.bound, one.signature == other.signature) == (other.bound, True)
