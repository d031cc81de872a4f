"""make lists its commands, and its scripts can be run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.consultancy.starting import ROOT


def test_make_alone_lists_every_command() -> None:
    said = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in ("demo", "test", "lint", "install", "up", "help", "lock", "clean", "forget"):
        assert f"make {command} " in said


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile, an environment and local data."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (".venv/bin/tool", ".twofold/records/precious.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    return tmp_path


def make(checkout: Path, target: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", target], cwd=checkout, input=said, capture_output=True, text=True, check=False
    )


def test_clean_removes_the_environment_and_no_data(checkout: Path) -> None:
    assert make(checkout, "clean").returncode == 0
    assert not (checkout / ".venv").exists()
    assert (checkout / ".twofold/records/precious.json").exists()


@pytest.mark.parametrize("said", ["", "\n", "yes\n"])
def test_data_is_not_forgotten_by_accident(checkout: Path, said: str) -> None:
    forgot = make(checkout, "forget", said)
    assert forgot.returncode != 0
    assert "Nothing was deleted." in forgot.stdout
    assert (checkout / ".twofold/records/precious.json").exists()


def test_data_is_forgotten_on_purpose(checkout: Path) -> None:
    forgot = make(checkout, "forget", "forget\n")
    assert forgot.returncode == 0
    assert "the records of every run" in forgot.stdout
    assert not (checkout / ".twofold").exists()
    assert "There is no local data" in make(checkout, "forget").stdout


def test_every_script_can_be_run() -> None:
    for script in ("run", "lint", "install", "lock"):
        file = ROOT / ".ci" / script
        assert os.access(file, os.X_OK)
        subprocess.run(["bash", "-n", str(file)], check=True)
