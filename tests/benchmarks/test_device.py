"""Which device a worker means, whichever way its environment names it."""

from pathlib import Path

import pytest

from benchmarks.measuring import device

FIRST, SECOND = (
    "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
    "GPU-11111111-2222-3333-4444-555555555555",
)


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two GPUs as the driver tells them."""
    for place, uuid in (("0000:1b:00.0", FIRST), ("0000:43:00.0", SECOND)):
        _tell(tmp_path, place, uuid)
    monkeypatch.setattr(device, "_GPUS", tmp_path)
    return tmp_path


def _tell(folder: Path, place: str, uuid: str) -> None:
    gpu = folder / place
    gpu.mkdir(exist_ok=True)
    (gpu / "information").write_text(
        f"Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\nGPU UUID: \t {uuid}\nVideo BIOS: \t 96.00\n"
    )


def _named(monkeypatch: pytest.MonkeyPatch, visible: str) -> str:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    (found,) = device.devices_of({"device": "cuda", "name": None})
    return found


@pytest.mark.parametrize("visible", ["", "0", "0,1", FIRST, "GPU-8932", f"{FIRST},{SECOND}"])
def test_one_gpu_is_one_device_however_it_is_named(
    gpus: Path, monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    assert _named(monkeypatch, visible) == f"cuda-{FIRST}"
    assert _named(monkeypatch, "1") == _named(monkeypatch, SECOND) == f"cuda-{SECOND}"


def test_a_gpu_unknown_to_the_driver_keeps_its_name(
    gpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _named(monkeypatch, "7") == "cuda-7"
    assert _named(monkeypatch, "MIG-1") == "cuda-MIG-1"
    _tell(gpus, "0000:1b:00.0", "GPU-????????-????-????-????-????????????")
    assert _named(monkeypatch, "0") == "cuda-0"
    assert device.devices_of({"device": "cpu", "name": None}, 2) == ("cpu",)


def test_a_run_of_several_ranks_names_as_many_gpus(
    gpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    both = (f"cuda-{FIRST}", f"cuda-{SECOND}")
    assert device.devices_of({"device": "cuda", "name": None}, 2) == both
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert device.devices_of({"device": "cuda", "name": None}, 2) == both[::-1]
