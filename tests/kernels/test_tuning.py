"""Tuning is done once, kept for exactly what it depends on, and never decides without a GPU."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernels import solutions, tuning

HERE = tuning.Machine(gpu="NVIDIA H200", driver="570.1", triton="3.6.0")


@dataclass(frozen=True)
class Config:
    block: int


CONFIGS = (Config(32), Config(64), Config(128))


class Kernel:
    """A kernel's file, and how often each of its configurations was timed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.timed: list[int] = []

    def best(self, *, key: tuple = (4096,), configs: tuple[Config, ...] = CONFIGS) -> Config:
        return tuning.best(
            source=self.file,
            key=key,
            configs=configs,
            run=lambda config: self.timed.append(config.block),
        )


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """On a machine whose quickest block is 64, with a cache of its own."""
    file = tmp_path / "triton_made_up.py"
    file.write_text("BLOCKS = 3\n")
    made = Kernel(file)

    def timed(call: Callable[[], object]) -> float:
        call()
        return abs(made.timed[-1] - 64) + 1.0

    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv(tuning.FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(tuning, "machine", lambda: HERE)
    monkeypatch.setattr(tuning, "_median_us", timed)
    return made


def test_the_quickest_is_found_once_and_kept(kernel: Kernel, tmp_path: Path) -> None:
    assert kernel.best() == Config(64)
    assert kernel.timed == [32, 64, 128]
    assert kernel.best() == Config(64)
    assert kernel.timed == [32, 64, 128]
    [file] = (tmp_path / "cache").iterdir()
    kept = json.loads(file.read_text())
    assert kept["config"] == {"block": 64}
    assert kept["median_us"] == [33.0, 1.0, 65.0]
    assert (kept["gpu"], kept["driver"], kept["triton"]) == ("NVIDIA H200", "570.1", "3.6.0")


@pytest.mark.parametrize("part", ["gpu", "driver", "triton"])
def test_another_machine_is_tuned_again(
    kernel: Kernel, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.best()
    monkeypatch.setattr(tuning, "machine", lambda: dataclasses.replace(HERE, **{part: "another"}))
    kernel.best()
    assert kernel.timed == [32, 64, 128] * 2


def test_a_changed_file_is_tuned_again(kernel: Kernel) -> None:
    kernel.best()
    kernel.file.write_text("BLOCKS = 4\n")
    kernel.best()
    assert len(kernel.timed) == 6


def test_a_changed_launcher_of_a_shared_kernel_is_tuned_again(
    kernel: Kernel, tmp_path: Path
) -> None:
    launcher = tmp_path / "cuda_made_up.py"
    text = "def best(tuning, source, configs, timed):\n    return tuning.best(\n"
    text += "        source=source, key=(), configs=configs,\n"
    text += "        run=lambda config: timed.append(config.block),\n    )\n"
    launcher.write_text(text)

    def best() -> Config:
        found: Config = solutions.module_of(launcher).best(
            tuning, kernel.file, CONFIGS, kernel.timed
        )
        return found

    assert [best(), best()] == [Config(64)] * 2
    assert len(kernel.timed) == 3
    launcher.write_text(text.replace("config.block", "config.block + 0"))
    best()
    assert len(kernel.timed) == 6


def test_another_size_is_tuned_by_itself(kernel: Kernel) -> None:
    kernel.best(key=(4096, "bfloat16"))
    kernel.best(key=(4096, "float16"))
    assert len(kernel.timed) == 6
    kernel.best(key=(4096, "bfloat16"))
    assert len(kernel.timed) == 6


def test_a_removed_configuration_is_not_used(kernel: Kernel) -> None:
    kernel.best()
    assert kernel.best(configs=(Config(16), Config(32))) == Config(32)


def test_a_cached_result_counts_only_for_its_own_key(kernel: Kernel, tmp_path: Path) -> None:
    kernel.best()
    [file] = (tmp_path / "cache").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "driver": "copied from elsewhere"}))
    kernel.best()
    assert len(kernel.timed) == 6
    file.write_text("half a fi")
    kernel.best()
    assert len(kernel.timed) == 9


def test_a_configuration_that_does_not_fit_is_skipped(kernel: Kernel) -> None:
    def run(config: Config) -> None:
        if config.block > 32:
            raise RuntimeError("out of resource: shared memory")
        kernel.timed.append(config.block)

    found = tuning.best(source=kernel.file, key=(), configs=CONFIGS[::-1], run=run)
    assert found == Config(32)


def test_if_no_configuration_runs_the_first_error_is_shown(kernel: Kernel) -> None:
    def run(config: Config) -> None:
        raise RuntimeError(f"no block of {config.block}")

    with pytest.raises(tuning.NoConfigurationRuns, match="RuntimeError: no block of 32"):
        tuning.best(source=kernel.file, key=(), configs=CONFIGS, run=run)


def test_without_a_writable_cache_every_process_tunes(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "a file"
    taken.write_text("")
    monkeypatch.setenv(tuning.FOLDER_VARIABLE, str(taken / "cache"))
    assert kernel.best() == kernel.best() == Config(64)
    assert len(kernel.timed) == 6


@pytest.mark.parametrize(
    ("variable", "value"), [("TRITON_INTERPRET", "1"), (tuning.SWITCH_VARIABLE, "off")]
)
def test_tuning_can_be_off(
    kernel: Kernel, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert kernel.best() == CONFIGS[0]
    assert kernel.timed == []


def test_without_a_gpu_the_first_configuration_is_used(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "machine", lambda: None)
    assert kernel.best() == CONFIGS[0]
    assert kernel.timed == []
    assert not (tmp_path / "cache").exists()


def test_a_side_caches_it_beside_its_compiled_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(tuning.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    assert tuning.cache_folder() == tmp_path / "tuning"


def test_two_kinds_of_gpu_in_one_process_are_two_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [0]
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.current_device", lambda: at[0])
    monkeypatch.setattr("torch.cuda.get_device_name", lambda index=None: f"GPU {at[0]}")
    monkeypatch.setattr(tuning, "_driver", lambda: "570.1")
    first = tuning.machine()
    at[0] = 1
    second = tuning.machine()
    tuning._machine_of.cache_clear()
    assert first is not None
    assert second is not None
    assert (first.gpu, second.gpu) == ("GPU 0", "GPU 1")
