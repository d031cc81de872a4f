"""Kernel names: demangled within bounds, and their families."""

from __future__ import annotations

import pytest

from engagements.evidence.readers import families, limits
from engagements.evidence.readers.names import demangled
from engagements.evidence.readers.recording import Names

MANGLED = "_Z9my_kernelPKfPfi"
PLAIN = "my_kernel(float const*, float*, int)"


def bomb(levels: int) -> str:
    """A name whose text doubles with every level: A<int, int>, A<A, A>, …"""
    places = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "_Z1f1AIiiE" + "".join(f"S_IS{place}_S{place}_E" for place in places[:levels])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (MANGLED, PLAIN),
        (PLAIN, PLAIN),
        ("_Znot_a_name", "_Znot_a_name"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("_Z" + "P" * 5_000, "_Z" + "P" * (limits.LONGEST_NAME - 2)),
        (bomb(30), bomb(30)),
    ],
)
def test_names_are_demangled_and_hostile_ones_stay_short(name: str, shown: str) -> None:
    assert demangled(name) == shown


def test_a_recording_keeps_a_mangled_name_and_its_text_as_one() -> None:
    names = Names()
    assert names.number(MANGLED) == names.number(PLAIN) == names.number(MANGLED)
    assert names.texts == [PLAIN]


@pytest.mark.parametrize(
    "kernel",
    [
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
        "cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>>>(Params)",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(deep_gemm::GemmType)MGroupedContiguous>(float*)",
        "triton_tem_fused__grouped_mm_0",
        "_grouped_matmul_kernel",
        "at::cuda::detail::prepare_grouped_gemm_data",
        "cutlass::gemm::kernel::GemmGrouped<Mma>",
        "fused_moe_kernel",
    ],
)
def test_grouped_products_are_experts(kernel: str) -> None:
    assert families.family(kernel) == "mixture of experts"


@pytest.mark.parametrize(
    ("kernel", "family"),
    [
        ("grouped_query_attention_kernel", "attention"),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "matrix product"),
        ("grouped_direct_convolution", "convolution"),
        ("GroupNormKernel", "normalisation"),
    ],
)
def test_other_groups_are_not(kernel: str, family: str) -> None:
    assert families.family(kernel) == family
