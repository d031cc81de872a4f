"""Captured tensors of a benchmark: read, sealed by digest, changed for every call."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save, save_file

from benchmarks.harness import __main__ as harness
from benchmarks.harness.devices import captured, contents
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.runs import referee
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.progress import Progress
from benchmarks.records import archives, benchmark_folders, captured_tensors, documents
from benchmarks.records.canonical import canonical
from benchmarks.records.captured_tensors import CapturedError
from benchmarks.records.folder_errors import FolderError

NAME = "captured/decode.safetensors"
HERE = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The element-wise starter with a captured x in its first workload."""
    made = tmp_path / "own_norm"
    assert harness.main(["init", "elementwise", str(made)]) == 0
    (made / "captured").mkdir()
    save_file({"x": torch.randn(16, 256) * 3}, made / NAME)
    description = made / "benchmark.toml"
    text = description.read_text()
    description.write_text(text.replace("weight = 0.7", f'weight = 0.7\ncaptured = "{NAME}"'))
    return made


def _with(folder: Path, tensors: dict[str, torch.Tensor], **changes: str) -> None:
    save_file(tensors, folder / NAME)
    description = folder / "benchmark.toml"
    text = description.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    description.write_text(text)


@pytest.mark.parametrize(
    "tensors",
    [
        {"x": torch.ones(15, 256)},
        {"x": torch.ones(16, 256).half()},
        {"z": torch.ones(16, 256)},
        {"x": torch.ones(16, 256), "residual": torch.ones(16, 256)},
        {"x": torch.ones(0, 256)},
        {"x": torch.ones(5000, 5000)},
    ],
)
def test_tensors_that_do_not_fit_the_workload_are_refused(
    folder: Path, tensors: dict[str, torch.Tensor]
) -> None:
    _with(folder, tensors)
    with pytest.raises(FolderError) as refused:
        benchmark_folders.of_folder(folder)
    assert refused.value.code == "folder.captured"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f'captured = "{NAME}"', 'captured = "captured/other.safetensors"'),
        (f'captured = "{NAME}"\n', ""),
        ("[program]", '[program]\nchain.x = "y"'),
    ],
)
def test_files_that_no_workload_can_use_are_refused(folder: Path, old: str, new: str) -> None:
    _with(folder, {"x": torch.ones(16, 256)}, **{old: new})
    with pytest.raises(FolderError) as refused:
        benchmark_folders.of_folder(folder)
    assert refused.value.code == "folder.captured"


HOSTILE = {
    "empty": b"",
    "text": b"x" * 100,
    "a long header": (2**40).to_bytes(8, "little") + b"{}",
    "half": save({"x": torch.ones(16, 256)})[:-100],
    "no tensor": save({}),
    "beyond the end": save({"x": torch.ones(16, 256)}).replace(b"16384", b"99999"),
    "negative": save({"x": torch.ones(16, 256)}).replace(b"[16,256]", b"[-6,256]"),
    "NaN": save({"x": torch.full((16, 256), torch.nan)}),
    "infinity": save({"x": torch.full((16, 256), torch.inf)}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(folder: Path, name: str) -> None:
    (folder / NAME).write_bytes(HOSTILE[name])
    with pytest.raises((FolderError, CapturedError)):
        captured_tensors.opened(*benchmark_folders.of_folder(folder))


def test_other_bytes_than_the_sealed_ones_are_refused(folder: Path) -> None:
    document, held = benchmark_folders.of_folder(folder)
    for files in ({}, {NAME: held[NAME] + b" "}, {NAME: save({"x": torch.ones(16, 256)})}):
        with pytest.raises(CapturedError):
            captured.of_workloads(document, files, HERE)


def test_only_the_digest_is_sealed_however_large_the_tensors_are(folder: Path) -> None:
    _with(
        folder,
        {"x": torch.ones(16, 500_000)},
        **{
            "axes.tokens = 16\naxes.hidden = 256": "axes.tokens = 16\naxes.hidden = 500_000",
            'shape = ["hidden", "hidden"]': 'shape = ["hidden"]',
            'fan_in = ["hidden"]': "",
        },
    )
    document, held = benchmark_folders.of_folder(folder)
    assert len(held[NAME]) > 30 * 2**20
    assert len(canonical(document)) < 20_000


def test_each_call_has_captured_numbers_of_its_own() -> None:
    specs = [
        {"name": "x", "shape": ["rows", 64], "dtype": "bfloat16"},
        {"name": "pages", "shape": ["rows"], "dtype": "int32", "below": "pages"},
        {"name": "borders", "shape": [3], "dtype": "int32", "below": "rows"},
        {"name": "fresh", "shape": ["rows"]},
    ]
    specs[2]["distribution"] = "offsets"
    axes = {"rows": 8, "pages": 50}
    held = {
        "x": torch.randn(8, 64).bfloat16(),
        "pages": torch.tensor([3, 3, 7, 7, 9, 9, 9, 3], dtype=torch.int32),
        "borders": torch.tensor([0, 5, 8], dtype=torch.int32),
    }
    held["x"][0, 0] = 3e38
    document = {
        "dtype": "float32",
        "definition": {"program_state": [], "program_inputs": specs, "axes": axes},
        "workloads": [{"name": "one", "axes": axes, "captured": NAME}],
        "captured": captured_tensors.described({NAME: save(held)}),
    }
    of_workload = captured.of_workloads(document, {NAME: save(held)}, HERE)["one"]
    layout = Layout.plan(specs, axes, "float32", 3)
    memory = torch.zeros(layout.nbytes, dtype=torch.uint8)
    contents.refill(memory, layout, contents.generator(HERE), of_workload)
    calls = [layout.tensors(memory, call) for call in range(3)]
    for call in calls:
        finite = held["x"].float()[1:]
        ratios = call["x"].float()[1:] / finite
        # One rounding to bfloat16 beyond the factors.
        assert 0.87 < ratios.min() < 0.9
        assert 1.1 < ratios.max() < 1.13
        assert call["x"].isfinite().all()
        # Renamed: equal where equal, and below the axis.
        pages = call["pages"].tolist()
        assert [pages.index(each) for each in pages] == [0, 0, 2, 2, 4, 4, 4, 0]
        assert max(pages) < 50
        assert call["borders"].tolist() == [0, 5, 8]
    for name in ("x", "pages", "fresh"):
        assert not torch.equal(calls[0][name], calls[1][name])


@pytest.mark.parametrize(
    ("name", "values"),
    [("pages", [0, 50]), ("pages", [-1, 3]), ("borders", [1, 8]), ("borders", [0, 7])],
)
def test_indices_outside_their_axis_are_refused(name: str, values: list[int]) -> None:
    specs = [
        {"name": "pages", "shape": [2], "dtype": "int32", "below": "pages"},
        {"name": "borders", "shape": [2], "dtype": "int32", "below": "rows"},
    ]
    specs[1]["distribution"] = "offsets"
    axes = {"rows": 8, "pages": 50}
    content = save({name: torch.tensor(values, dtype=torch.int32)})
    document = {
        "definition": {"program_state": [], "program_inputs": specs, "axes": axes},
        "workloads": [{"name": "one", "axes": axes, "captured": NAME}],
        "captured": captured_tensors.described({NAME: content}),
    }
    with pytest.raises(CapturedError):
        captured_tensors.opened(document, {NAME: content})


def test_a_run_measures_with_captured_tensors_and_its_bundle_contains_them(
    folder: Path, tmp_path: Path
) -> None:
    document, held = benchmark_folders.of_folder(folder)
    assert documents.load(canonical(document)) == document
    document["protocol"] |= {"rounds": 2, "round_ms": 2.0, "held_back_shapes": 0}
    source = (folder / "baselines" / "torch_eager.py").read_text()

    def run(files: dict[str, bytes]) -> dict[str, Any]:
        return referee.run(
            document,
            Candidate(name="mine", source=source),
            device_kind="cpu",
            command="twofold run",
            progress=Progress(document, shown=False),
            captured=files,
        )

    record = run(held)
    assert record["findings"] == []
    (tmp_path / "record.json").write_bytes(canonical(record))
    bundle = tmp_path / "bundle.zip"
    command = ["bundle", str(tmp_path / "record.json"), "--out", str(bundle)]
    # They are not beside the record.
    assert harness.main(command) == 2
    assert harness.main([*command, "--tensors", str(folder)]) == 0
    with zipfile.ZipFile(bundle) as opened:
        assert opened.read(NAME) == held[NAME]
    with pytest.raises(CapturedError):
        archives.archive(
            archives.Contents(
                record=canonical(record),
                benchmark=document,
                filename="mine.py",
                source=source,
                why_without="",
                public_key=None,
            )
        )


def test_init_takes_the_sizes_of_captured_tensors(tmp_path: Path) -> None:
    save_file({"x": torch.ones(5, 64)}, tmp_path / "Layer 3.safetensors")
    folder = tmp_path / "own"
    command = ["init", "elementwise", str(folder), "--captured"]
    assert harness.main([*command, str(tmp_path / "Layer 3.safetensors")]) == 0
    document, held = benchmark_folders.of_folder(folder)
    (load,) = document["workloads"]
    assert load["axes"] == {"tokens": 5, "hidden": 64}
    assert load["captured"] in held
    save_file({"w": torch.ones(5)}, tmp_path / "other.safetensors")
    command[2] = str(tmp_path / "other")
    assert harness.main([*command, str(tmp_path / "other.safetensors")]) == 2
    assert not (tmp_path / "other").exists()
