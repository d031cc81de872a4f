"""Definitions of FlashInfer-Bench become benchmark folders. These are our own, in its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.harness import __main__ as harness
from benchmarks.records import benchmark_folders
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.records.flashinfer_bench import definitions, folders, workloads
from benchmarks.records.flashinfer_bench.errors import ImportRefused

SCALED = {
    "name": "scaled_pages-h8",
    "op_type": "gqa_paged",
    "description": 'Rows of "q" plus scaled pages.',
    "axes": {
        "total_q": {"type": "var", "description": "queries"},
        "num_pages": {"type": "var"},
        "num_kv_indices": {"type": "var"},
        "len_indptr": {"type": "var"},
        "hidden": {"type": "const", "value": 8},
    },
    "constraints": ["total_q == qo_indptr[-1].item()", "num_kv_indices == total_q"],
    "inputs": {
        "q": {"shape": ["total_q", "hidden"], "dtype": "bfloat16"},
        "qo_indptr": {"shape": ["len_indptr"], "dtype": "int32"},
        "cache": {"shape": ["num_pages", "hidden"], "dtype": "bfloat16"},
        "kv_indices": {"shape": ["num_kv_indices"], "dtype": "int32"},
        "weight": {"shape": ["hidden", "hidden"], "dtype": "bfloat16"},
        "scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {
        "out": {"shape": ["total_q", "hidden"], "dtype": "bfloat16"},
        "segment": {"shape": ["total_q"], "dtype": "int32"},
    },
    "reference": """\
import torch


@torch.no_grad()
def run(q, weight, cache, qo_indptr, kv_indices, scale):
    assert q.shape[0] == qo_indptr[-1].item()
    pages = cache[kv_indices.long()] @ weight
    places = torch.arange(q.shape[0], device=q.device)
    segment = torch.searchsorted(qo_indptr.long(), places, right=True) - 1
    return (q + scale * pages).to(q.dtype), segment.int()
""",
}
AXES = {"total_q": 6, "num_pages": 9, "num_kv_indices": 6, "len_indptr": 3}


def _lines(*points: dict[str, int], scale: float = 0.5) -> bytes:
    return b"\n".join(
        json.dumps(
            {
                "definition": SCALED["name"],
                "solution": None,
                "workload": {
                    "uuid": str(index),
                    "axes": {**AXES, **point},
                    "inputs": {
                        "q": {"type": "random"},
                        "scale": {"type": "scalar", "value": scale},
                    },
                },
                "evaluation": None,
            }
        ).encode()
        for index, point in enumerate(points)
    )


def _definition(**changes: Any) -> definitions.Definition:
    return definitions.read(json.dumps({**SCALED, **changes}).encode(), "d.json")


def _options(**changes: Any) -> folders.Options:
    return folders.Options(**{"device": "cpu", "operator": "scaled", "below": {}, **changes})


def _trace_set(root: Path) -> Path:
    """A Definition and its Workloads, laid out as the project's data set."""
    for kind, name, content in (
        ("definitions", "scaled.json", json.dumps(SCALED).encode()),
        ("workloads", "scaled.jsonl", _lines({}, {}, {"total_q": 4, "num_kv_indices": 4})),
    ):
        (root / kind / "gqa_paged").mkdir(parents=True)
        (root / kind / "gqa_paged" / name).write_bytes(content)
    return root / "definitions" / "gqa_paged" / "scaled.json"


def test_a_definition_and_its_workloads_become_a_folder(tmp_path: Path) -> None:
    file, folder = _trace_set(tmp_path), tmp_path / "mine"
    assert harness.main(["import", "flashinfer-bench", str(file), str(folder)]) == 0
    document = benchmark_folders.document(benchmark_folders.read(folder))
    definition = document["definition"]
    assert document["dtype"] == "bfloat16"
    assert [each["name"] for each in definition["state"]] == ["cache", "weight"]
    drawn = {each["name"]: (each["distribution"], each["below"]) for each in definition["inputs"]}
    assert drawn == {
        "q": ("normal", ""),
        "qo_indptr": ("offsets", "total_q"),
        "kv_indices": ("permutation", "num_pages"),
    }
    assert [each["weight"] for each in document["workloads"]] == pytest.approx([2 / 3, 1 / 3])
    assert document["workloads"][0]["axes"] == {**AXES, "hidden": 8}
    # Each axis is in a constraint, or pointed into: other sizes may not be valid.
    assert definition["held_back"]["free"] == []


def test_reference_and_baseline_compute_what_the_definition_computes() -> None:
    sizes = workloads.from_lines(_lines({}), "w.jsonl", _definition(), {})
    files = folders.files(_definition(), sizes, _options())
    given = {
        "q": torch.randn(6, 8).bfloat16(),
        "qo_indptr": torch.tensor([0, 2, 6], dtype=torch.int32),
        "kv_indices": torch.arange(6, dtype=torch.int32),
    }
    state = {"cache": torch.randn(9, 8).bfloat16(), "weight": torch.randn(8, 8).bfloat16()}
    own: dict[str, Any] = {}
    exec(str(SCALED["reference"]), own)
    expected, segment = own["run"](**given, **state, scale=0.5)
    reference: dict[str, Any] = {}
    exec(files["reference.py"], reference)
    found = reference["reference_step"](state=state, inputs=given, axes=AXES)
    assert found["segment"].tolist() == segment.tolist() == [0, 0, 1, 1, 1, 1]
    assert found["out"].dtype == torch.float64
    torch.testing.assert_close(found["out"], expected.double(), atol=0.1, rtol=0.02)
    # Computed in float32: more exact than the Definition's own bfloat16.
    exact = given["q"].double() + 0.5 * (state["cache"][:6].double() @ state["weight"].double())
    torch.testing.assert_close(found["out"], exact, atol=1e-4, rtol=1e-4)
    baseline: dict[str, Any] = {}
    exec(files["baselines/definition.py"], baseline)
    out = {"out": torch.empty(6, 8).bfloat16(), "segment": torch.empty(6, dtype=torch.int32)}
    baseline["run"](baseline["prepare"](state, AXES), given, out)
    assert torch.equal(out["out"], expected)
    assert torch.equal(out["segment"], segment)


def _with_input(name: str, **spec: Any) -> dict[str, Any]:
    inputs: dict[str, Any] = SCALED["inputs"]
    return {"inputs": {**inputs, name: spec}}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"op_type": "sampling"}, "import.sampling"),
        ({"reference": "def run(q):\n    return torch.multinomial(q, 1)"}, "import.sampling"),
        ({"reference": "def walk(q):\n    return q"}, "import.reference"),
        ({"reference": "def run(q:"}, "import.reference"),
        ({"axes": {"hidden": {"type": "const"}}}, "import.field"),
        (_with_input("q", shape=["rows"], dtype="float16"), "import.field"),
        (_with_input("a b", shape=["hidden"], dtype="float16"), "import.field"),
        (_with_input("packed", shape=["hidden"], dtype="float4_e2m1"), "import.dtype"),
        (_with_input("topk_ids", shape=["total_q"], dtype="int32"), "import.below"),
    ],
)
def test_what_cannot_be_converted_is_refused(changes: dict[str, Any], code: str) -> None:
    def convert() -> None:
        definition = _definition(**changes)
        sizes = workloads.from_options([AXES], definition, {"scale": 1})
        folders.files(definition, sizes, _options())

    with pytest.raises(ImportRefused) as refused:
        convert()
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--scalar", "scale=1"], "import.axes"),
        (["--axes", "rows=4", "--scalar", "scale=1"], "import.axes"),
        (["--axes", "total_q=0", "--scalar", "scale=1"], "import.option"),
        (["--axes", "total_q=6,num_pages=9,num_kv_indices=5,len_indptr=3"], "import.constraint"),
        (["--axes", "total_q=6,num_pages=9,num_kv_indices=6,len_indptr=3"], "import.scalar"),
        (["--workloads", "{bad}"], "import.workloads"),
        (["--workloads", "{several}"], "import.scalar"),
        (["--workloads", "{one}", "--below", "weight=num_pages"], "import.option"),
        (["--workloads", "{huge}"], "folder.tensors"),
    ],
)
def test_sizes_and_scalars_that_are_missing_or_do_not_fit_are_refused(
    options: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.json").write_text(json.dumps(SCALED))
    for name, content in {
        "bad": b'{"definition": 1}',
        "several": _lines({}) + b"\n" + _lines({}, scale=2.0),
        "one": _lines({}),
        "huge": _lines({"num_pages": 10**9}),
    }.items():
        (tmp_path / name).write_bytes(content)
        options = [each.replace(f"{{{name}}}", str(tmp_path / name)) for each in options]
    folder = tmp_path / "mine"
    command = ["import", "flashinfer-bench", str(tmp_path / "d.json"), str(folder), *options]
    assert harness.main(command) == 2
    assert f"[{code}]" in capsys.readouterr().err
    assert not folder.exists()


def test_empty_workloads_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.json").write_text(json.dumps(SCALED))
    (tmp_path / "w.jsonl").write_bytes(_lines({}, {"num_pages": 0}))
    command = ["import", "flashinfer-bench", str(tmp_path / "d.json"), str(tmp_path / "mine")]
    assert harness.main([*command, "--workloads", str(tmp_path / "w.jsonl")]) == 0
    assert "w.jsonl, line 2: num_pages" in capsys.readouterr().out
    with pytest.raises(InvalidBenchmark):
        workloads.from_lines(_lines({"num_pages": 0}), "w.jsonl", _definition(), {})


@pytest.mark.soak
def test_an_imported_folder_passes_its_check_and_runs(tmp_path: Path) -> None:
    file, folder = _trace_set(tmp_path), tmp_path / "mine"
    assert harness.main(["import", "flashinfer-bench", str(file), str(folder)]) == 0
    assert harness.main(["check", str(folder)]) == 0
    baseline, record = folder / "baselines" / "definition.py", tmp_path / "r.json"
    assert harness.main(["run", str(folder), str(baseline), "--out", str(record)]) == 0
    assert json.loads(record.read_bytes())["findings"] == []
