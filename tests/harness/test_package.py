"""The package alone: the referee and the catalogue in an environment without Django."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.harness.sides.visible_files import ROOT
from kernels import catalogue, installed

RECORD = ROOT / "kernels" / "vector_add" / "records" / "h200.record.json"
UV = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))


def _ran(*command: object, cwd: Path) -> str:
    ended = subprocess.run(
        [str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.soak
def test_the_wheel_verifies_records_in_a_new_environment_without_django(tmp_path: Path) -> None:
    # Of a copy, because setuptools builds beside the sources.
    source = tmp_path / "source"
    packages = ("benchmarks", "kernels", "consultancy", "engagements")
    for name in packages:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    _ran(UV, "build", "--wheel", "--out-dir", tmp_path, source, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert "benchmarks/harness/__main__.py" in zipfile.ZipFile(wheel).namelist()
    made = tmp_path / "made"
    _ran(UV, "venv", "--python", sys.executable, made, cwd=tmp_path)
    _ran(UV, "pip", "install", "--python", made / "bin" / "python", wheel, cwd=tmp_path)
    assert "twofold" in _ran(made / "bin" / "twofold", "--help", cwd=tmp_path)
    assert "missed" in _ran(made / "bin" / "twofold", "verify", RECORD, cwd=tmp_path)
    (tmp_path / "b.json").write_text(
        _ran(made / "bin" / "twofold", "new", "vector_add", "--preset", "tiny", cwd=tmp_path)
    )
    listed = _ran(UV, "pip", "list", "--python", made / "bin" / "python", cwd=tmp_path).lower()
    assert "django" not in listed
    assert "torch" not in listed
    # Measuring says what it needs.
    ended = subprocess.run(
        [made / "bin" / "twofold", "run", "b.json", "vector_add/torch_plain", "--out", "r.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.strip().count("\n") == 0
    assert "twofold[worker]" in ended.stderr


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with one operator, named by an entry point."""
    import kernels

    operator = tmp_path / "acme_operators" / "acme_add"
    shutil.copytree(ROOT / "kernels" / "vector_add", operator)
    (operator.parent / "__init__.py").touch()
    for file in operator.rglob("*.py"):
        file.write_text(file.read_text().replace("vector_add", "acme_add"))
    described = tmp_path / "acme-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{installed.GROUP}]\nacme = acme_operators\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(kernels, "__path__", list(kernels.__path__))
    installed.folders.cache_clear()
    yield operator
    installed.folders.cache_clear()
    for name in [each for each in sys.modules if each.startswith("kernels.acme_add")]:
        del sys.modules[name]


def test_an_installed_packages_operators_are_in_the_catalogue(other_package: Path) -> None:
    assert "acme_add" in catalogue.operators()
    assert catalogue.folder("acme_add") == other_package
    document = catalogue.benchmark_document("acme_add", "tiny")
    assert document["operator"] == "acme_add"
    assert catalogue.candidates("acme_add")["torch_plain"].parent == other_package
