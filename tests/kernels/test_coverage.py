"""Off-the-shelf coverage: libraries that fit, missing needs, and unknowns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels import catalogue, coverage
from kernels.coverage import FEATURES, Fit, Needs


def _verdicts(operator: str, needs: Needs) -> dict[str, str]:
    return {fit.library.name: fit.verdict for fit in coverage.fits(operator, needs)}


def _fit(library: str, operator: str, needs: Needs) -> Fit:
    [found] = [fit for fit in coverage.fits(operator, needs) if fit.library.name == library]
    return found


def test_a_shared_prefix_in_pages_is_covered_by_those_that_cascade() -> None:
    needs = Needs(dtype="bfloat16", architecture="sm90", features=("paging", "prefix_sharing"))
    assert _verdicts("shared_prefix_attention", needs) == {
        "FlashInfer": "fits",
        "vLLM paged attention": "fits",
    }


def test_one_missing_need_is_nearly_a_fit() -> None:
    needs = Needs(dtype="bfloat16", architecture="sm90", features=("training",))
    fit = _fit("FlashInfer", "shared_prefix_attention", needs)
    assert (fit.verdict, fit.missing, fit.unknown) == ("nearly", ("training",), ())


def test_two_missing_needs_are_no_fit() -> None:
    needs = Needs(dtype="float64", architecture="sm90", features=("training",))
    assert set(_verdicts("shared_prefix_attention", needs).values()) == {"no"}


def test_an_unknown_does_not_count_as_a_yes() -> None:
    fit = _fit("torch FlexAttention", "flash_attention", Needs(dtype="bfloat16"))
    assert (fit.verdict, fit.unknown) == ("nearly", ("bfloat16",))


@pytest.mark.parametrize(
    ("library", "operator", "dtype", "architecture", "features", "missing"),
    [
        # FP8 forward, no backward.
        ("FlashAttention-3", "flash_attention", "float8", "sm90", ("training",), "training"),
        ("FlashAttention-4", "flash_attention", "float8", "sm90", (), "sm90"),
        ("cuDNN attention", "flash_attention", "float8", "sm80", (), "sm80"),
        ("TensorRT-LLM engines", "int8_linear", "float8", "sm80", (), "sm80"),
        ("CUTLASS", "matmul_ladder", "float4", "sm90", (), "sm90"),
    ],
)
def test_conflicting_needs_are_missing_together(
    library: str,
    operator: str,
    dtype: str,
    architecture: str,
    features: tuple[str, ...],
    missing: str,
) -> None:
    needs = Needs(dtype=dtype, architecture=architecture, features=features)
    fit = _fit(library, operator, needs)
    assert (fit.verdict, fit.missing) == ("nearly", (f"{dtype} with {missing}",))
    assert _fit(library, operator, replace(needs, dtype="float16")).verdict == "fits"


def test_a_conflict_is_named_once() -> None:
    needs = Needs(dtype="float8", architecture="sm90", features=("quantisation",))
    fit = _fit("FlashAttention-4", "flash_attention", needs)
    assert fit.missing == ("float8 and quantisation with sm90",)
    lacking = replace(needs, architecture="sm75")
    assert _fit("FlashAttention-4", "flash_attention", lacking).missing == ("sm75",)


def test_an_operator_may_run_on_fewer_gpus_than_its_library() -> None:
    needs = Needs(dtype="bfloat16", architecture="sm120")
    assert _verdicts("flash_attention", needs)["FlashAttention-4"] == "fits"
    fit = _fit("FlashAttention-4", "sparse_mask_attention", needs)
    assert fit.missing == ("sparse_mask_attention with sm120",)


def test_int8_weights_are_off_the_shelf_on_hopper() -> None:
    needs = Needs(dtype="bfloat16", architecture="sm90", features=("quantisation",))
    found = _verdicts("int8_linear", needs)
    assert found["CUTLASS mixed-input product"] == "fits"
    # It quantises the activations, too.
    assert found["vLLM INT8 (W8A8)"] == "nearly"


def test_those_that_fit_come_first() -> None:
    found = coverage.fits("flash_attention", Needs(architecture="sm90", dtype="float16"))
    assert found[0].verdict == "fits"
    assert [fit.verdict for fit in found] == sorted(
        (fit.verdict for fit in found), key=("fits", "nearly", "no").index
    )


def test_facts_use_the_catalogues_names_and_cite_their_pages() -> None:
    for known in coverage.libraries():
        assert set(known.operators) <= set(catalogue.operators()), known.name
        assert set(known.features) | set(known.lacks) <= set(FEATURES), known.name
        assert not set(known.features) & set(known.lacks), known.name
        for page in (known.documented, *known.elsewhere):
            assert page.startswith("https://"), known.name
        assert any(character.isdigit() for character in known.version), known.name
        assert known.read_on is not None, known.name


def test_conflicts_are_between_abilities_of_the_library() -> None:
    for known in coverage.libraries():
        has = {*known.operators, *(known.dtypes or ()), *known.features}
        anywhere = known.architectures or ("sm80", "sm86", "sm89", "sm90")
        for conflict in known.conflicts:
            assert set(conflict.these) <= has, (known.name, str(conflict))
            assert set(conflict.those) <= has | set(anywhere), (known.name, str(conflict))


def test_libraries_have_distinct_names() -> None:
    names = [known.name for known in coverage.libraries()]
    assert len(names) == len(set(names))


def test_every_operator_has_a_library() -> None:
    for operator in catalogue.operators():
        assert coverage.fits(operator, Needs()), operator


def test_a_library_that_is_a_baseline_is_known_to_have_the_operator() -> None:
    packages = {"flash-attn-4": "FlashAttention-4", "liger-kernel": "Liger-Kernel"}
    for operator in catalogue.operators():
        known = {fit.library.name for fit in coverage.fits(operator, Needs())}
        for name, baseline in catalogue.baselines(operator).items():
            assert packages.get(baseline.package) in {None, *known}, (operator, name)
            assert name != "compiled" or "torch.compile" in known, operator


def test_the_fields_usual_libraries_are_covered() -> None:
    known = " ".join(library.name for library in coverage.libraries() if library.read_on)
    for named in (
        *("FlashAttention-2", "FlashAttention-3", "FlashAttention-4"),
        *("torch.compile", "FlexAttention", "grouped_mm"),
        *("vLLM", "FlashInfer", "TensorRT-LLM", "SGLang", "cuBLAS", "cuDNN", "CUTLASS"),
        *("Liger", "NVIDIA's fused mixture of experts"),
    ):
        assert named in known
    assert all(library.operators for library in coverage.libraries())
