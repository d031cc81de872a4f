"""The Makefile lists its commands, guards local data, and its scripts are executable."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.consultancy.settings_loader import ROOT

COMMANDS = ("demo", "test", "soak", "lint", "install", "up", "help", "lock", "clean", "forget")


def test_make_alone_lists_every_command() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in COMMANDS:
        assert f"make {command} " in listed


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile, an environment and local data."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (".venv/bin/tool", ".twofold/records/precious.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    return tmp_path


def make(checkout: Path, target: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", target], cwd=checkout, input=answer, capture_output=True, text=True, check=False
    )


def test_clean_removes_the_environment_and_no_data(checkout: Path) -> None:
    assert make(checkout, "clean").returncode == 0
    assert not (checkout / ".venv").exists()
    assert (checkout / ".twofold/records/precious.json").exists()


@pytest.mark.parametrize("answer", ["", "\n", "yes\n"])
def test_data_is_not_deleted_by_accident(checkout: Path, answer: str) -> None:
    forgot = make(checkout, "forget", answer)
    assert forgot.returncode != 0
    assert (checkout / ".twofold/records/precious.json").exists()


def test_data_is_deleted_on_confirmation(checkout: Path) -> None:
    forgot = make(checkout, "forget", "forget\n")
    assert forgot.returncode == 0
    assert not (checkout / ".twofold").exists()
    assert make(checkout, "forget").returncode == 0


def test_every_script_can_be_run() -> None:
    for script in ("run", "lint", "install", "lock"):
        file = ROOT / ".ci" / script
        assert os.access(file, os.X_OK)
        subprocess.run(["bash", "-n", str(file)], check=True)
