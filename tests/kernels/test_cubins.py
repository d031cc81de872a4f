"""Compiled CUDA C++ is kept for the next process, and never taken for other code's."""

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
    """What was compiled, on a machine that only seems to have a GPU and a compiler."""
    asked: list[Any] = []
    device = SimpleNamespace(set_current=lambda: None)
    core = SimpleNamespace(
        Device=lambda number: device, ObjectCode=SimpleNamespace(from_cubin=_Code), __version__="1"
    )

    def make(source: str, *, arch: str, options: Any = ()) -> _Code:
        asked.append((source, arch, tuple(options)))
        return _Code(b"the code of scale")

    monkeypatch.setenv(tuning.FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(cuda, "_core", lambda: core)
    monkeypatch.setattr(cuda, "_compiler", lambda: ("13", "0"))
    monkeypatch.setattr(cuda, "compiled", make)
    for name, answer in (
        *(("is_available", True), ("get_device_capability", (9, 0))),
        *(("current_device", 0), ("init", None)),
    ):
        monkeypatch.setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    return asked


def test_the_same_source_is_compiled_once(compiled: list[Any]) -> None:
    for _ in range(3):
        assert isinstance(cuda.compile(SOURCE, "scale"), cuda.Kernel)
    assert len(compiled) == 1


def test_another_source_option_or_compiler_is_compiled_anew(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda.compile(SOURCE, "scale")
    cuda.compile(SOURCE + " ", "scale")
    cuda.compile(SOURCE, "scale", options=[("WIDTH", "4")])
    monkeypatch.setattr(cuda, "_compiler", lambda: ("13", "1"))
    cuda.compile(SOURCE, "scale")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (10, 0))
    cuda.compile(SOURCE, "scale")
    assert len(compiled) == 5


def test_a_damaged_file_is_made_anew(compiled: list[Any], tmp_path: Path) -> None:
    cuda.compile(SOURCE, "scale")
    [kept] = (tmp_path / "cache").iterdir()
    kept.write_bytes(b"cut off")
    assert isinstance(cuda.compile(SOURCE, "scale"), cuda.Kernel)
    assert len(compiled) == 2
    assert kept.read_bytes() == b"the code of scale"


def test_a_kernel_that_is_not_there_is_said_so_from_the_cache_too(compiled: list[Any]) -> None:
    cuda.compile(SOURCE, "scale")
    with pytest.raises(cuda.CompileError, match="there is no kernel"):
        cuda.compile(SOURCE, "other")


def test_where_nothing_can_be_kept_it_is_compiled_every_time(
    compiled: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    for _ in range(2):
        cuda.compile(SOURCE, "scale")
    assert len(compiled) == 2


def test_what_cannot_be_kept_leaves_no_half_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("kernels.cubins.os.replace", full)
    cubins.keep(tmp_path / "kept" / "a.cubin", b"code")
    assert not list((tmp_path / "kept").iterdir())
