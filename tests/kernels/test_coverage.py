"""Off-the-shelf coverage: what fits, what is missing, and what nobody has read."""

from __future__ import annotations

from kernels import catalogue, coverage
from kernels.coverage import FEATURES, Needs


def _verdicts(operator: str, needs: Needs) -> dict[str, str]:
    return {fit.library.name: fit.verdict for fit in coverage.fits(operator, needs)}


def test_a_shared_prefix_in_pages_is_covered_by_one_library() -> None:
    needs = Needs(dtype="bfloat16", architecture="sm90", features=("paging", "prefix_sharing"))
    assert _verdicts("shared_prefix_attention", needs) == {"FlashInfer": "fits"}


def test_one_thing_missing_is_nearly_and_named() -> None:
    needs = Needs(dtype="bfloat16", architecture="sm90", features=("training",))
    [fit] = coverage.fits("shared_prefix_attention", needs)
    assert (fit.verdict, fit.missing, fit.unknown) == ("nearly", ("training",), ())


def test_two_things_missing_are_no_fit() -> None:
    needs = Needs(dtype="float64", architecture="sm90", features=("training",))
    assert _verdicts("shared_prefix_attention", needs) == {"FlashInfer": "no"}


def test_what_is_unknown_is_never_taken_for_yes() -> None:
    [four] = [
        fit
        for fit in coverage.fits("flash_attention", Needs(dtype="bfloat16"))
        if fit.library.name == "FlashAttention-4"
    ]
    assert (four.verdict, four.unknown) == ("nearly", ("bfloat16",))


def test_those_that_fit_come_first() -> None:
    found = coverage.fits("flash_attention", Needs(architecture="sm90", dtype="float16"))
    assert found[0].verdict == "fits"
    assert [fit.verdict for fit in found] == sorted(
        (fit.verdict for fit in found), key=("fits", "nearly", "no").index
    )


def test_facts_are_in_the_catalogues_words_and_say_where_they_stand() -> None:
    for known in coverage.libraries():
        assert set(known.operators) <= set(catalogue.operators()), known.name
        assert set(known.features) | set(known.lacks) <= set(FEATURES), known.name
        assert not set(known.features) & set(known.lacks), known.name
        assert known.documented.startswith("https://"), known.name
        assert known.read_on is not None or not known.operators, known.name


def test_every_library_that_the_field_names_was_read() -> None:
    known = " ".join(library.name for library in coverage.libraries() if library.read_on)
    for named in (
        *("FlashAttention-2", "FlashAttention-3", "FlashAttention-4", "FlexAttention"),
        *("vLLM", "FlashInfer", "TensorRT-LLM", "SGLang", "cuBLAS", "cuDNN", "CUTLASS"),
        *("Liger", "NVIDIA's fused mixture of experts"),
    ):
        assert named in known
    assert all(library.operators for library in coverage.libraries())
