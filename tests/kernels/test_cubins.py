"""Compiled CUDA C++ is cached for the next process and never used for other code."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels import cubins, cuda, tuning

SOURCE = 'extern "C" __global__ void scale() {}'


class _Code:
    """Stands in for cuda.core's code: it has the kernels that its bytes name."""

    def __init__(self, code: bytes) -> None:
        self.code = code

    def get_kernel(self, name: str) -> SimpleNamespace:
        if name.encode() not in self.code:
            raise LookupError(name)
        return SimpleNamespace(handle=0)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The compilations on a machine that pretends to have a GPU and a compiler."""
    compilations: list[Any] = []
    device = SimpleNamespace(set_current=lambda: None)
    core = SimpleNamespace(
        Device=lambda number: device, ObjectCode=SimpleNamespace(from_cubin=_Code), __version__="1"
    )

    def make(arch: str, source: str, *, options: Any = ()) -> _Code:
        compilations.append((source, arch, tuple(options)))
        return _Code(b"the code of scale")

    monkeypatch.setenv(tuning.FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(cuda, "_core", lambda: core)
    monkeypatch.setattr(cuda, "_compiler_versions", lambda: ("13", "0"))
    monkeypatch.setattr(cuda, "compile_for", make)
    for name, answer in (
        *(("is_available", True), ("get_device_capability", (9, 0))),
        *(("current_device", 0), ("init", None)),
    ):
        monkeypatch.setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    return compilations


def test_the_same_source_is_compiled_once(compiled: list[Any]) -> None:
    for _ in range(3):
        assert isinstance(cuda.compile(SOURCE, "scale"), cuda.Kernel)
    assert len(compiled) == 1


def test_another_source_option_or_compiler_is_compiled_again(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda.compile(SOURCE, "scale")
    cuda.compile(SOURCE + " ", "scale")
    cuda.compile(SOURCE, "scale", options=[("WIDTH", "4")])
    monkeypatch.setattr(cuda, "_compiler_versions", lambda: ("13", "1"))
    cuda.compile(SOURCE, "scale")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (10, 0))
    cuda.compile(SOURCE, "scale")
    assert len(compiled) == 5


def test_a_damaged_file_is_compiled_again(compiled: list[Any], tmp_path: Path) -> None:
    cuda.compile(SOURCE, "scale")
    [file] = (tmp_path / "cache").iterdir()
    file.write_bytes(b"cut off")
    assert isinstance(cuda.compile(SOURCE, "scale"), cuda.Kernel)
    assert len(compiled) == 2
    assert file.read_bytes() == b"the code of scale"


def test_a_missing_kernel_is_an_error_with_cached_code_too(compiled: list[Any]) -> None:
    cuda.compile(SOURCE, "scale")
    with pytest.raises(cuda.CompileError) as raised:
        cuda.compile(SOURCE, "other")
    assert raised.value.code == "compile.kernel"


def test_without_a_writable_cache_every_call_compiles(compiled: list[Any], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    for _ in range(2):
        cuda.compile(SOURCE, "scale")
    assert len(compiled) == 2


def test_a_full_disk_leaves_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("kernels.cubins.os.replace", full)
    cubins.write(tmp_path / "cache" / "a.cubin", b"code")
    assert not list((tmp_path / "cache").iterdir())
