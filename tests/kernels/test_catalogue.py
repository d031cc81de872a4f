"""The catalogue: its content without torch, and benchmark documents that can be sealed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published import report_tables, reports
from kernels import catalogue, solutions

KERNELS = Path(str(catalogue.__file__)).parent
OPERATORS = catalogue.operators()
EVERY_PRESET = [(op, preset) for op in OPERATORS for preset in catalogue.presets(op)]
PARTS = {
    "calibration",
    "schema",
    "name",
    "operator",
    "dtype",
    "definition",
    "program",
    "sources",
    "workloads",
    "tolerance",
    "operator_tolerance",
    "arithmetic",
    "baseline",
    "hardware",
    "target",
    "confidence",
    "protocol",
}


def test_the_catalogue_has_the_first_two_operators() -> None:
    assert {"shared_prefix_attention", "windowed_skip_attention"} <= set(OPERATORS)


def test_the_web_tier_can_read_the_catalogue_without_torch() -> None:
    program = (
        "import sys\n"
        "from kernels import catalogue\n"
        "for operator in catalogue.operators():\n"
        "    catalogue.candidates(operator), catalogue.baselines(operator)\n"
        "    for preset in catalogue.presets(operator):\n"
        "        catalogue.benchmark_document(operator, preset)\n"
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize(("operator", "preset"), EVERY_PRESET)
def test_a_document_is_complete_plain_and_the_same_every_time(operator: str, preset: str) -> None:
    document = catalogue.benchmark_document(operator, preset)
    assert set(document) == PARTS
    assert json.loads(json.dumps(document)) == document
    assert catalogue.benchmark_document(operator, preset) == document


@pytest.mark.parametrize(("operator", "preset"), EVERY_PRESET)
def test_a_preset_is_measurable(operator: str, preset: str) -> None:
    chosen, what = catalogue.presets(operator)[preset], catalogue.definition(operator)
    assert sum(load.weight for load in chosen.workloads) == pytest.approx(1.0)
    assert all(set(load.axes) == set(what.axes) for load in chosen.workloads)
    assert chosen.dtype in what.tolerances
    assert chosen.baseline in catalogue.baselines(operator)
    assert chosen.candidate in catalogue.candidates(operator)


@pytest.mark.parametrize("operator", OPERATORS)
def test_sealed_sources_are_the_files_that_are_run(operator: str) -> None:
    folder = Path(catalogue.__file__).parent / operator
    for name, digest in catalogue.source_digests(operator).items():
        assert digest == "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("operator", OPERATORS)
def test_listed_baselines_are_the_ones_that_load(operator: str) -> None:
    loaded = __import__(f"kernels.{operator}.baselines", fromlist=["BASELINES"]).BASELINES
    assert set(loaded) == set(catalogue.baselines(operator))


@pytest.mark.parametrize("operator", OPERATORS)
def test_cost_grows_with_the_work(operator: str) -> None:
    axes = dict(catalogue.presets(operator)["tiny"].workloads[0].axes)
    axis = catalogue.definition(operator).held_back.free[0]
    twice = {**axes, axis: 2 * axes[axis]}
    assert catalogue.flops(operator, twice) == 2 * catalogue.flops(operator, axes)
    smaller = catalogue.bytes_moved(operator, axes, "bfloat16")
    # Indices, scales and int8 weights are as wide whatever the benchmark's dtype is.
    assert smaller < catalogue.bytes_moved(operator, axes, "float32") <= 2 * smaller
    assert catalogue.bytes_moved(operator, twice, "bfloat16") > smaller


def test_pairs_of_the_window_are_counted_one_by_one() -> None:
    from kernels.windowed_skip_attention.op import pairs

    axes = {"seq_len": 57, "window": 9, "stride": 5}
    counted = sum(
        1 for query in range(57) for key in range(query + 1) if query - key < 9 or key % 5 == 0
    )
    assert pairs(axes) == counted


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(catalogue.CatalogueError, match="shared_prefix_attention"):
        catalogue.definition("nothing")
    with pytest.raises(catalogue.CatalogueError, match="cpu"):
        catalogue.benchmark_document("shared_prefix_attention", "nothing")
    with pytest.raises(solutions.SolutionError, match="sdpa"):
        solutions.baseline("shared_prefix_attention", "nothing")
    with pytest.raises(solutions.SolutionError, match="torch_cascade"):
        solutions.candidate("shared_prefix_attention/nothing")


@pytest.mark.parametrize(
    ("reference", "code"), [("nothing", "solution.reference"), ("/at_all.py", "solution.file")]
)
def test_a_candidate_is_a_name_or_an_existing_file(reference: str, code: str) -> None:
    with pytest.raises(solutions.SolutionError) as raised:
        solutions.candidate(reference)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("torch_a.py", b"x = 1\n", "solution.run"),
        ("torch_a.py", b"run = 3\n", "solution.run"),
        ("torch_a.py", b"def run(p, i, o):\n    pass\nprepare = 3\n", "solution.prepare"),
        ("torch_a.py", b"def run(p, i, o)\n    pass\n", "solution.syntax"),
        ("torch_a.py", b"def run(p, i, o):\n    pass\n\x00", "solution.syntax"),
        ("cuda_a.cu", b"/* python\ndef run(p, i, o):\n    pass  # \xe9\n*/\n", "solution.encoding"),
    ],
)
def test_a_file_that_is_not_a_solution_is_an_error(
    tmp_path: Path, name: str, content: bytes, code: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(solutions.SolutionError, match=name) as raised:
        solutions.candidate(file)
    assert raised.value.code == code


def test_a_solution_without_prepare_gets_the_state_itself(tmp_path: Path) -> None:
    file = tmp_path / "torch_plain.py"
    file.write_text("def run(prepared, inputs, out):\n    out['out'] = prepared['k']\n")
    solution = solutions.candidate(file)
    state: Any = {"k": 5}
    out: dict[str, Any] = {}
    solution.run(solution.prepare(state, {}), {}, out)
    assert out == {"out": 5}


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_readme_states_when_the_kernel_is_worth_it_and_if_it_is_measured(
    operator: str,
) -> None:
    folder = KERNELS / operator
    words = (folder / "README.md").read_text().replace("\n", " ").lower()
    assert "worth it when" in words
    assert "not worth it" in words or "never by itself" in words
    measured = any(folder.glob("records/*.record.json*"))
    assert ("not measured" in words.partition("**figures.**")[2]) is not measured


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_readme_shows_exactly_the_figures_of_its_records(operator: str) -> None:
    """Printed by `python -m kernels report --markdown OPERATOR`."""
    words = (KERNELS / operator / "README.md").read_text()
    found = reports.of(operator)
    if found:
        assert report_tables.markdown(found, named=False) in words
    else:
        assert "| record |" not in words


def test_the_catalogues_guide_shows_the_figures_of_all_records() -> None:
    """Printed by `python -m kernels report --markdown`."""
    words = (KERNELS / "README.md").read_text()
    assert report_tables.markdown(reports.reports(), named=True) in words
