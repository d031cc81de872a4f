"""A customer's own benchmark: a folder that is read, sealed, measured and confined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import __main__ as harness
from benchmarks.harness.cli.folders import KINDS
from benchmarks.harness.failures import SideFailed
from benchmarks.harness.runs import folder_checks, referee
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import operators
from benchmarks.records import archives, benchmark_folders, documents, records
from benchmarks.records.canonical import canonical
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.records.folder_errors import FolderError
from benchmarks.verdict import consistency

Files = dict[str, str]
_BASELINE = "baselines/torch_eager.py"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A folder of the element-wise kind, as `twofold init` writes it."""
    folder = tmp_path / "fused_norm"
    assert harness.main(["init", "elementwise", str(folder)]) == 0
    return benchmark_folders.read(folder)


def _run(files: Files, candidate: str | None = None) -> dict[str, Any]:
    document = benchmark_folders.document(files)
    document["protocol"] |= {"rounds": 2, "round_ms": 2.0, "held_back_shapes": 2}
    document["workloads"] = [{**document["workloads"][0], "weight": 1.0}]
    return referee.run(
        document,
        Candidate(name="mine", source=candidate or files[_BASELINE]),
        device_kind="cpu",
        command="twofold run",
        progress=Progress(document, shown=False),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_becomes_a_document_that_contains_all_its_files(
    kind: str, tmp_path: Path
) -> None:
    folder = tmp_path / f"own_{kind}"
    assert harness.main(["init", kind, str(folder)]) == 0
    out = tmp_path / "b.json"
    assert harness.main(["new", str(folder), "--out", str(out)]) == 0
    document = documents.load(out.read_bytes())
    assert document["operator"] == f"own_{kind}"
    assert set(document["sources"]) == set(document["files"]) == set(benchmark_folders.read(folder))
    with operators.unpacked(document):
        operators.check_sealed(document)
        assert operators.costs(document)[0]["flops"] > 0
    assert harness.main(["init", kind, str(folder)]) == 2


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        ("reference.py", None, None, "folder.missing"),
        ("run.sh", None, "echo", "folder.file"),
        ("program.py", "class Step", "class Stairs", "folder.function"),
        ("program.py", "class Step", "class Step(", "folder.syntax"),
        ("benchmark.toml", "[axes]", "[axes", "folder.syntax"),
        ("benchmark.toml", "terms = 256", "terms = -1", "folder.field"),
        ("benchmark.toml", 'base = "tiny"', 'base = "tiny"\nrounds = 1', "folder.field"),
        ("benchmark.toml", '"fused_norm"', '"vector_add"', "folder.name"),
        ("benchmark.toml", 'baseline = "torch_eager"', 'baseline = "none"', "folder.baseline"),
        ("benchmark.toml", "weight = 0.7", "weight = 0.9", "folder.weights"),
        ("benchmark.toml", "axes.tokens = 16\n", "", "folder.axes"),
        ("benchmark.toml", '["tokens", "hidden"]', '["tokens", "width"]', "folder.axes"),
        ("benchmark.toml", "axes.tokens = 256", "axes.tokens = 200_000_000", "folder.tensors"),
    ],
)
def test_a_folder_that_is_no_benchmark_is_refused(
    files: Files, name: str, old: str | None, new: str | None, code: str
) -> None:
    if new is None:
        del files[name]
    else:
        files[name] = new if old is None else files[name].replace(old, new, 1)
    with pytest.raises(FolderError) as refused:
        benchmark_folders.document(files)
    assert refused.value.code == code


def test_links_and_other_files_are_not_read(tmp_path: Path) -> None:
    for name in ("linked", "other"):
        folder = tmp_path / name
        harness.main(["init", "matmul", str(folder)])
    (tmp_path / "linked" / "baselines" / "key.py").symlink_to("/etc/passwd")
    (tmp_path / "other" / "weights.bin").write_bytes(b"\0")
    for name in ("linked", "other"):
        with pytest.raises(FolderError) as refused:
            benchmark_folders.read(tmp_path / name)
        assert refused.value.code == "folder.file"


def test_a_document_with_other_files_than_its_sources_is_refused(files: Files) -> None:
    document = benchmark_folders.document(files)
    document["files"] = {**files, "program.py": files["program.py"] + "\n"}
    with pytest.raises(InvalidBenchmark):
        documents.check(document)


def test_a_run_confines_the_reference_and_its_record_repeats_without_the_folder(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would raise, at import and at each question, where the referee's environment is.
    monkeypatch.setenv("TWOFOLD_SIGNING_KEY_FILE", "secret")
    guard = 'import os\n\nassert "TWOFOLD_SIGNING_KEY_FILE" not in os.environ\n'
    files["reference.py"] = files["reference.py"].replace(
        "import torch\n", f"{guard}import torch\n"
    )
    record = _run(files)
    assert record["findings"] == []
    assert {trial["outcome"] for trial in record["correctness"]["trials"]} == {"right"}
    assert consistency.problems(record) == []
    again = records.load(canonical(record))["benchmark"]
    assert again["files"] == files
    bundle = archives.archive(
        archives.Contents(
            record=canonical(record),
            benchmark=again,
            filename="mine.py",
            source=record["candidate"]["source"],
            why_without="",
            public_key=None,
        )
    )
    assert bundle
    # Nothing of it stays behind for the next run.
    assert operators._described_folder("fused_norm") is None


def test_a_reference_that_answers_differently_ends_the_run(files: Files) -> None:
    files["reference.py"] += """

_honest = reference_step
asked = []


def reference_step(*, state, inputs, axes):
    asked.append(1)
    found = _honest(state=state, inputs=inputs, axes=axes)
    return {**found, "y": found["y"] + 1e-9 * torch.rand(()).double()}
"""
    with pytest.raises(SideFailed, match=r"reference\.py"):
        _run(files)


@pytest.mark.soak
def test_zeros_in_the_slot_are_caught(files: Files) -> None:
    zeros = "\n\ndef run(prepared, inputs, out):\n    out['y'].zero_(), out['sum'].zero_()\n"
    record = _run(files, files[_BASELINE] + zeros)
    assert record["summary"]["verdict"] == "disqualified"


@pytest.mark.soak
@pytest.mark.parametrize("name", ["norm_quantize", "transformers_mlp"])
def test_folders_of_customers_pass_and_meet_a_target(name: str, tmp_path: Path) -> None:
    folder = Path(__file__).parent / "folders" / name
    checked, record = tmp_path / "benchmark.json", tmp_path / "record.json"
    assert harness.main(["check", str(folder), "--out", str(checked)]) == 0
    document = documents.load(checked.read_bytes())
    baseline = folder / "baselines" / f"{document['baseline']['name']}.py"
    assert baseline.stem != "torch_twice"
    assert harness.main(["run", str(checked), str(baseline), "--out", str(record)]) == 0
    assert records.load(record.read_bytes())["findings"] == []


def _training_softmax() -> Files:
    """The tests' softmax with its gradient among the Program's outputs."""
    files = benchmark_folders.read(Path(__file__).parent / "folders" / "own_softmax")
    tensors = """
[[program.inputs]]
name = "x"
shape = ["rows", "columns"]

[[program.inputs]]
name = "grad_y"
shape = ["rows", "columns"]

[[program.outputs]]
name = "y"
shape = ["rows", "columns"]

[[program.outputs]]
name = "grad_x"
shape = ["rows", "columns"]
"""
    description = files["benchmark.toml"].replace('chain.x = "y"\n', tensors)
    trained = Path(__file__).parent / "operators" / "softmax_training"
    files |= {
        "benchmark.toml": description,
        "program.py": (trained / "program.py").read_text(),
        "reference.py": (trained / "reference.py").read_text(),
    }
    for name in [each for each in files if each.startswith("baselines/")]:
        del files[name]
    forward = "import torch\n\n\ndef run(state, inputs, out):\n"
    forward += '    torch.softmax(inputs["x"] + state["bias"], -1, out=out["y"])\n'
    backward = """

def gradients(state, inputs, out, grads, axes):
    y, grad = out["y"], grads["y"]
    return {"x": y * (grad - (grad * y).sum(-1, keepdim=True))}
"""
    return {**files, "baselines/torch_eager.py": forward + backward}


def test_a_baseline_of_a_training_program_defines_gradients() -> None:
    files = _training_softmax()
    assert benchmark_folders.document(files)
    name = "baselines/torch_eager.py"
    files[name] = files[name].replace("def gradients", "def backward")
    with pytest.raises(FolderError) as raised:
        benchmark_folders.document(files)
    assert raised.value.code == "folder.function"


@pytest.mark.soak
@pytest.mark.parametrize(("uses_them", "passed"), [(True, True), (False, False)])
def test_a_check_tries_wrong_gradients(uses_them: bool, passed: bool) -> None:
    files = _training_softmax()
    if not uses_them:
        own = """\
        y = out["y"]
        grad = inputs["grad_y"]
        out["grad_x"].copy_(y * (grad - (grad * y).sum(-1, keepdim=True)))
"""
        head, _, _ = files["program.py"].partition("        found = self._gradients")
        files["program.py"] = head + own
    results: list[Any] = []
    folder_checks.check(benchmark_folders.document(files), results.append)
    (found,) = (each for each in results if getattr(each, "code", "") == "check.gradients")
    assert found.passed is passed
    (slow,) = (each for each in results if getattr(each, "code", "") == "check.slow")
    assert slow.passed


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_passes_its_check(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / f"own_{kind}"
    assert harness.main(["init", kind, str(folder)]) == 0
    assert harness.main(["check", str(folder)]) == 0


@pytest.mark.soak
def test_a_program_that_ignores_its_slot_fails_its_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ignoring"
    assert harness.main(["init", "elementwise", str(folder)]) == 0
    program = folder / "program.py"
    called = "        self._run(self._prepared, given, out)\n"
    own = """\
        total = torch.add(self._projected, inputs["residual"], out=out["sum"])
        inverse = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5)
        torch.mul(total * inverse, self._weight, out=out["y"])
"""
    text = program.read_text().replace(called, own)
    program.write_text(
        text.replace(
            "        self._run", '        self._weight = state["weight"]\n        self._run', 1
        )
    )
    assert harness.main(["check", str(folder)]) == 1
    assert "program.py" in capsys.readouterr().out


@pytest.mark.parametrize(("calls_it", "code"), [(True, "check.tolerance"), (False, "check.slot")])
def test_a_tolerance_that_passes_everything_is_told_from_an_unused_slot(
    calls_it: bool, code: str, files: Files
) -> None:
    def run(document: Any, source: str, **protocol: Any) -> Any:
        # Zeros pass either way; a candidate that raises ends the run where it is called.
        return SideFailed("raised") if "raise" in source and calls_it else {"findings": []}

    document = benchmark_folders.document(files)
    result = folder_checks._zeros("Zeros", document, files[_BASELINE], run)
    assert (result.code, result.passed) == (code, False)


@pytest.mark.parametrize(("low", "passed"), [(None, True), (0.97, True), (1.6, False)])
def test_a_baseline_that_is_faster_as_the_candidate_is_refused(
    low: float | None, passed: bool, files: Files
) -> None:
    summary: dict[str, Any] = {"ratio": low, "low": low, "reasons": []}
    record: dict[str, Any] = {
        "findings": [],
        "summary": summary,
        "correctness": None,
        "elapsed_s": 1.0,
    }
    document = benchmark_folders.document(files)
    trial = folder_checks._trial_of_baseline(document, "torch_eager", lambda *_: record)
    result = trial("Baseline")
    assert (result.code, result.passed) == ("check.baseline", passed)
