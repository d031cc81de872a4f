"""What a candidate begins as, measured by the referee like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.__main__ import main
from benchmarks.harness.cli.folders import KINDS
from benchmarks.harness.runs import candidates, referee
from benchmarks.harness.runs.progress import Progress
from benchmarks.records import benchmark_folders
from kernels import candidate_templates, catalogue, languages, solutions

SHARED = "shared_prefix_attention"
TEMPLATES = Path(solutions.__file__).parent / "template"
STARTERS = Path(candidates.__file__).parents[1] / "starters"


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def _is_right(document: dict[str, Any], file: Path) -> None:
    document["protocol"] |= {
        **{"replicates": 1, "max_replicates": 1, "rounds": 2},
        **{"aa_rounds": 0, "operator_rounds": 0},
    }
    record = referee.run(
        document,
        candidates.read(str(file)),
        device_kind="cpu",
        command="",
        progress=Progress(document, shown=False),
    )
    assert record["findings"] == []
    assert {trial["outcome"] for trial in record["correctness"]["trials"]} == {"right"}
    assert record["candidate"]["filename"] == file.name


@pytest.mark.soak
def test_the_torch_template_of_attention_passes_a_whole_run() -> None:
    _is_right(catalogue.benchmark_document(SHARED, "tiny"), TEMPLATES / "torch_template.py")


@pytest.mark.soak
@pytest.mark.parametrize("operator", catalogue.operators_of_one_rank())
def test_a_template_of_an_operator_passes_a_whole_run(operator: str, tmp_path: Path) -> None:
    file = tmp_path / languages.TRITON.filename
    assert main(["template", operator, "--language", "triton", "--out", str(file)]) == 0
    _is_right(catalogue.benchmark_document(operator, "tiny"), file)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_template_of_a_customers_folder_passes_a_whole_run(kind: str, tmp_path: Path) -> None:
    document = benchmark_folders.document(benchmark_folders.read(STARTERS / kind))
    offered = candidate_templates.languages(document["definition"], "cpu")
    assert [each.name for each in offered] == ["torch", "triton", "numba"]
    for language in (languages.TORCH, languages.TRITON):
        file = tmp_path / language.filename
        command = ["template", str(STARTERS / kind), "--out", str(file)]
        assert main([*command, "--language", language.name]) == 0
        _is_right(document, file)


@pytest.mark.soak
def test_a_candidate_in_another_language_passes_a_whole_run(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    file = tmp_path / languages.NUMBA.filename
    assert main(["template", "vector_add", "--language", "numba", "--out", str(file)]) == 0
    _is_right(catalogue.benchmark_document("vector_add", "tiny"), file)


def test_a_template_never_replaces_a_file(tmp_path: Path) -> None:
    file = tmp_path / "triton_mine.py"
    file.write_text("mine")
    assert main(["template", "vector_add", "--out", str(file)]) == 2
    assert main(["template", "vector_add", "--out", str(tmp_path / "mine.cu")]) == 2
    assert main(["template", "vector_add", "--language", "klingon"]) == 2
    assert main(["template", "no_such_operator"]) == 2
    assert file.read_text() == "mine"
