"""A template of every language is right for its operator before anything in it is changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernels import candidate_templates, catalogue, cuda, languages, solutions, trials
from kernels.definition import NotAvailable
from kernels.languages import Language
from tests.kernels.drawing import sizes_of

SOAKED = [
    pytest.param(operator, marks=pytest.mark.soak) for operator in catalogue.operators_of_one_rank()
]


def _written(folder: Path, operator: str, language: Language) -> Path:
    file = folder / language.filename
    file.write_text(
        candidate_templates.text(
            catalogue.definition(operator).as_data(),
            catalogue.reference_source(operator),
            language,
            "float32",
        )
    )
    return file


def _is_right(operator: str, file: Path, size: str) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)[size]
    state, inputs = (
        trials.draw(specs, axes, torch.float32, "cpu") for specs in (what.state, what.inputs)
    )
    out = {spec.name: trials.poison(spec, axes, torch.float32, "cpu") for spec in what.outputs}
    solution = solutions.candidate(file)
    solution.run(solution.prepare(state, axes), inputs, out)
    expected = solutions.reference(operator).reference(state=state, inputs=inputs, axes=axes)
    for name, made in out.items():
        right, words = trials.compare(made, expected[name], what.tolerances["float32"])
        assert right, f"{name}: {words}"


@pytest.mark.parametrize("operator", ["fused_ffn", *SOAKED])
def test_templates_are_right_at_odd_sizes(operator: str, tmp_path: Path) -> None:
    for language in (languages.TORCH, languages.TRITON):
        _is_right(operator, _written(tmp_path, operator, language), "odd and small")


@pytest.mark.soak
@pytest.mark.parametrize("operator", catalogue.operators_of_one_rank())
def test_templates_in_numba_are_right_at_odd_sizes(operator: str, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    _is_right(operator, _written(tmp_path, operator, languages.NUMBA), "odd and small")


def test_every_template_parses_and_one_in_cuda_keeps_its_launcher(tmp_path: Path) -> None:
    for operator in catalogue.operators_of_one_rank():
        data = catalogue.definition(operator).as_data()
        names = [each.name for each in candidate_templates.languages(data)]
        assert names == ["torch", "triton", "gluon", "cuda", "numba"]
        for name in names:
            file = _written(tmp_path, operator, languages.known()[name])
            if name == "cuda":
                assert callable(solutions.candidate(file).run)
            else:
                compile(file.read_text(), file.name, "exec")


def test_no_template_for_an_operator_of_several_ranks() -> None:
    data = catalogue.definition("allreduce_residual_norm").as_data()
    assert candidate_templates.languages(data) == []


@pytest.mark.soak
def test_the_kernel_of_the_cuda_template_compiles_ahead() -> None:
    pytest.importorskip("cuda.core")
    for item in ("char", "short", "int", "long long"):
        assert cuda.compile_for("sm_90a", languages.CUDA.cuda, options=[("ITEM", item)])


def test_a_package_brings_a_language_by_an_entry_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mojo = Language(name="mine", title="Mine", package="no_such_dsl", install="no-such-dsl")
    point = SimpleNamespace(name="mine", value="acme:MINE", load=lambda: mojo)
    monkeypatch.setattr(languages, "entry_points", lambda group: [point])
    languages.known.cache_clear()
    try:
        assert languages.known()["mine"] is mojo
        file = tmp_path / "mine_first.py"
        file.write_text("import no_such_dsl.language\n\ndef run(prepared, inputs, out): ...\n")
        with pytest.raises(NotAvailable, match="pip install no-such-dsl"):
            solutions.candidate(file)
        point.load = lambda: object()
        languages.known.cache_clear()
        with pytest.raises(TypeError):
            languages.known()
    finally:
        languages.known.cache_clear()
